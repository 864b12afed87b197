//! ICMP errors in the words of ping(8).

use std::net::Ipv4Addr;

use tapline::ping::{AnswerMessage, Classification, IcmpErrorKind, NetworkError, Probe};

/// The text for an error.
///
/// # Source
/// Types and codes: RFC 792, RFC 1122 section 3.2.2.1, RFC 1812 section 5.2.7.1, RFC 4443 section 3.
pub fn describe(error: &NetworkError) -> String {
    let (kind, code) = (error.kind, error.code);
    words(IcmpErrorKind { kind, code }, error.router.is_ipv6())
}

/// The text for an error of a family.
pub fn words(error: IcmpErrorKind, is_ipv6: bool) -> String {
    let IcmpErrorKind { kind, code } = error;
    if is_ipv6 {
        icmpv6(kind, code)
    } else {
        icmpv4(kind, code)
    }
}

/// The error in an answer and its probe, which may have ended already.
pub fn reported_error(
    class: &Classification,
    message: &AnswerMessage,
) -> Option<(Probe, NetworkError)> {
    match (class, message) {
        (
            Classification::Error { probe, error, .. } | Classification::Notice { probe, error },
            _,
        ) => Some((*probe, *error)),
        (Classification::Duplicate { probe, .. }, AnswerMessage::Error { error, .. }) => {
            Some((*probe, *error))
        }
        _ => None,
    }
}

/// The parameter of an error: MTU, better router, or pointer.
///
/// # Source
/// `pr_icmph`, ping/ping.c and ping/ping6_common.c of iputils, for the words.
pub fn detail(message: &AnswerMessage) -> String {
    match message {
        AnswerMessage::Error {
            error, parameter, ..
        } => parameter_text(error, *parameter),
        _ => String::new(),
    }
}

fn parameter_text(error: &NetworkError, parameter: [u8; 4]) -> String {
    match (error.router.is_ipv4(), error.kind, mtu(error, parameter)) {
        (true, _, Some(mtu)) => format!(" (mtu = {mtu})"),
        (false, _, Some(mtu)) => format!(": mtu={mtu}"),
        (true, 5, _) => format!("(New nexthop: {})", Ipv4Addr::from(parameter)),
        (true, 12, _) => format!(": pointer = {}", parameter[0]),
        _ => String::new(),
    }
}

/// The MTU in an error about the size of a packet.
pub fn mtu(error: &NetworkError, parameter: [u8; 4]) -> Option<u32> {
    let [.., high, low] = parameter;
    match (error.router.is_ipv4(), error.kind, error.code) {
        // The first half is unused, or the length of the quote (RFC 4884, 4.1).
        (true, 3, 4) => Some(u16::from_be_bytes([high, low]).into()),
        (false, 2, _) => Some(u32::from_be_bytes(parameter)),
        _ => None,
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

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    /// The text for an error and its parameter.
    fn text(kind: u8, code: u8, parameter: [u8; 4], is_ipv6: bool) -> String {
        let router = if is_ipv6 {
            Ipv6Addr::LOCALHOST.into()
        } else {
            Ipv4Addr::LOCALHOST.into()
        };
        let error = NetworkError { router, kind, code };
        describe(&error) + &parameter_text(&error, parameter)
    }

    /// As iputils has them: `strings ping` shows its formats.
    #[test]
    fn errors_and_their_parameters_read_as_in_ping() {
        for (line, expected) in [
            (
                text(3, 4, [0, 0, 5, 20], false),
                "Frag needed and DF set (mtu = 1300)",
            ),
            (
                text(3, 4, [0, 32, 5, 20], false),
                "Frag needed and DF set (mtu = 1300)",
            ),
            (
                text(5, 1, [10, 78, 0, 9], false),
                "Redirect Host(New nexthop: 10.78.0.9)",
            ),
            (
                text(12, 0, [20, 0, 0, 0], false),
                "Parameter problem: pointer = 20",
            ),
            (text(2, 0, [0, 0, 5, 0], true), "Packet too big: mtu=1280"),
            (
                text(3, 1, [1, 2, 3, 4], false),
                "Destination Host Unreachable",
            ),
            (text(3, 0, [1, 2, 3, 4], true), "Time exceeded: Hop limit"),
        ] {
            assert_eq!(line, expected);
        }
    }
}
