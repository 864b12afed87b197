//! Application protocols, by port.

mod dhcp;
pub mod dns;
mod http;
mod ntp;
mod quic;
mod tls;

use std::fmt;

pub use dhcp::{Dhcp, Dhcpv6};
pub use dns::Dns;
pub use http::Http;
pub use ntp::Ntp;
pub use quic::Quic;
pub use tls::Tls;

/// Port of DNS.
const DNS: u16 = 53;
/// Port of multicast DNS, RFC 6762.
const MULTICAST_DNS: u16 = 5353;
/// Port of LLMNR, RFC 4795.
const LLMNR: u16 = 5355;
/// Port of NTP.
const NTP: u16 = 123;
/// Most DNS messages of a TCP segment that are printed.
const MAX_MESSAGES: usize = 8;

/// What the payload of a UDP or TCP packet carries. `Display` prints it on one line, after its name; the alternate
/// form (`{:#}`) with more details.
///
/// TCP streams are not reassembled: a message that starts in an earlier packet is not recognised, and one that
/// continues in the next packet is printed as far as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Application<'a> {
    /// A DNS message.
    Dns(Dns<'a>),
    /// A multicast DNS message.
    MulticastDns(Dns<'a>),
    /// A link-local multicast name resolution message, which has the format of DNS.
    Llmnr(Dns<'a>),
    /// DNS messages in a TCP segment, with their lengths.
    DnsStream(&'a [u8]),
    /// A DHCP message.
    Dhcp(Dhcp<'a>),
    /// A DHCPv6 message.
    Dhcpv6(Dhcpv6<'a>),
    /// An NTP packet.
    Ntp(Ntp<'a>),
    /// A QUIC packet with a long header.
    Quic(Quic<'a>),
    /// A TLS record.
    Tls(Tls<'a>),
    /// The first line of an HTTP message.
    Http(Http<'a>),
}

impl<'a> Application<'a> {
    /// Recognises the payload of a UDP packet, by its ports; QUIC by its version.
    pub fn of_udp((source, destination): (u16, u16), payload: &'a [u8]) -> Option<Self> {
        let is = |port| source == port || destination == port;
        let dns = || Dns::parse(payload, 0).ok();
        if is(DNS) {
            return dns().map(Self::Dns);
        }
        if is(MULTICAST_DNS) {
            return dns().map(Self::MulticastDns);
        }
        if is(LLMNR) {
            return dns().map(Self::Llmnr);
        }
        if is(67) || is(68) {
            return Dhcp::parse(payload, 0).ok().map(Self::Dhcp);
        }
        if is(546) || is(547) {
            return Dhcpv6::parse(payload, 0).ok().map(Self::Dhcpv6);
        }
        if is(NTP) {
            return Ntp::parse(payload, 0).ok().map(Self::Ntp);
        }
        Quic::parse(payload).map(Self::Quic)
    }

    /// Recognises the payload of a TCP packet: DNS by its ports, TLS and HTTP by their first bytes.
    pub fn of_tcp((source, destination): (u16, u16), payload: &'a [u8]) -> Option<Self> {
        let &first = payload.first()?;
        let is_dns = |port| matches!(port, DNS | MULTICAST_DNS);
        if is_dns(source) || is_dns(destination) {
            let is_message = messages(payload)
                .next()
                .is_some_and(|dns| dns.is_plausible());
            return is_message.then_some(Self::DnsStream(payload));
        }
        match first {
            20..=24 => Tls::parse(payload).map(Self::Tls),
            b'A'..=b'Z' => Http::parse(payload).map(Self::Http),
            _ => None,
        }
    }

    /// The name of the protocol.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dns(_) | Self::DnsStream(_) => "DNS",
            Self::MulticastDns(_) => "mDNS",
            Self::Llmnr(_) => "LLMNR",
            Self::Dhcp(_) => "DHCP",
            Self::Dhcpv6(_) => "DHCPv6",
            Self::Ntp(_) => "NTP",
            Self::Quic(_) => "QUIC",
            Self::Tls(_) => "TLS",
            Self::Http(_) => "HTTP",
        }
    }
}

/// The messages of a TCP segment that starts with one: each follows its length, RFC 1035, 4.2.2. The last may be
/// incomplete.
fn messages(mut payload: &[u8]) -> impl Iterator<Item = Dns<'_>> {
    std::iter::from_fn(move || {
        let (&len, rest) = payload.split_first_chunk::<2>()?;
        let len = usize::from(u16::from_be_bytes(len));
        let (message, rest) = rest.split_at(len.min(rest.len()));
        payload = rest;
        Dns::parse(message, 0).ok()
    })
}

impl fmt::Display for Application<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        f.write_str(" ")?;
        match self {
            Self::Dns(dns) | Self::MulticastDns(dns) | Self::Llmnr(dns) => dns.fmt(f),
            Self::DnsStream(payload) => {
                for (index, dns) in messages(payload).take(MAX_MESSAGES).enumerate() {
                    f.write_str(if index == 0 { "" } else { "; " })?;
                    dns.fmt(f)?;
                }
                Ok(())
            }
            Self::Dhcp(dhcp) => dhcp.fmt(f),
            Self::Dhcpv6(dhcp) => dhcp.fmt(f),
            Self::Ntp(ntp) => ntp.fmt(f),
            Self::Quic(quic) => quic.fmt(f),
            Self::Tls(tls) => tls.fmt(f),
            Self::Http(http) => http.fmt(f),
        }
    }
}
