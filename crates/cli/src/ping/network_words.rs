//! ICMP errors in the words that ping has for them.

use tapline::probe::NetworkError;

/// What `error` says.
///
/// # Source
/// Types and codes: RFC 792, RFC 1122 section 3.2.2.1, RFC 1812 section 5.2.7.1, RFC 4443 section 3.
pub fn words(error: &NetworkError) -> String {
    let (kind, code) = (error.kind, error.code);
    if error.router.is_ipv4() {
        icmpv4(kind, code)
    } else {
        icmpv6(kind, code)
    }
}

fn icmpv4(kind: u8, code: u8) -> String {
    let known = match (kind, code) {
        (3, 0) => "Destination Net Unreachable",
        (3, 1) => "Destination Host Unreachable",
        (3, 2) => "Destination Protocol Unreachable",
        (3, 3) => "Destination Port Unreachable",
        (3, 4) => "Frag needed and DF set",
        (3, 5) => "Source Route Failed",
        (3, 6) => "Destination Net Unknown",
        (3, 7) => "Destination Host Unknown",
        (3, 8) => "Source Host Isolated",
        (3, 9) => "Destination Net Prohibited",
        (3, 10) => "Destination Host Prohibited",
        (3, 11) => "Destination Net Unreachable for Type of Service",
        (3, 12) => "Destination Host Unreachable for Type of Service",
        (3, 13) => "Packet filtered",
        (3, 14) => "Precedence Violation",
        (3, 15) => "Precedence Cutoff",
        (4, _) => "Source Quench",
        (5, 0) => "Redirect Network",
        (5, 1) => "Redirect Host",
        (5, 2) => "Redirect Type of Service and Network",
        (5, 3) => "Redirect Type of Service and Host",
        (11, 0) => "Time to live exceeded",
        (11, 1) => "Frag reassembly time exceeded",
        (12, _) => "Parameter problem",
        (3, _) => return format!("Dest Unreachable, Bad Code: {code}"),
        (5, _) => return format!("Redirect, Bad Code: {code}"),
        (11, _) => return format!("Time exceeded, Bad Code: {code}"),
        _ => return format!("ICMP type {kind} code {code}"),
    };
    known.to_owned()
}

fn icmpv6(kind: u8, code: u8) -> String {
    let known = match (kind, code) {
        (1, 0) => "Destination unreachable: No route",
        (1, 1) => "Destination unreachable: Administratively prohibited",
        (1, 2) => "Destination unreachable: Beyond scope of source address",
        (1, 3) => "Destination unreachable: Address unreachable",
        (1, 4) => "Destination unreachable: Port unreachable",
        (2, _) => "Packet too big",
        (3, 0) => "Time exceeded: Hop limit",
        (3, 1) => "Time exceeded: Defragmentation failure",
        (4, 0) => "Parameter problem: Wrong header field",
        (4, 1) => "Parameter problem: Unknown header",
        (4, 2) => "Parameter problem: Unknown option",
        (1, _) => return format!("Destination unreachable: Unknown code {code}"),
        (3, _) => return format!("Time exceeded: code {code}"),
        (4, _) => return format!("Parameter problem: code {code}"),
        _ => return format!("ICMPv6 type {kind} code {code}"),
    };
    known.to_owned()
}
