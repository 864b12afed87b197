//! Which packets of a recording come from clients: those are sent on one interface, the others on another.

use wire::dissect;
use wire::dissect::{Summary, Transport};
use wire::protocol::link_type;

use super::generate::Addresses;

/// How clients are told from servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clients {
    /// By each packet alone. Of two different ports the higher one is the client's, since dynamic ports are above those
    /// of services. An echo request comes from a client, its reply from a server. Otherwise the lower address is the
    /// client's. So all packets of one direction of a flow are on one side.
    #[default]
    Auto,
    /// By the source address: clients have one of these.
    Addresses(Vec<Addresses>),
}

impl Clients {
    /// Whether a client sends this Ethernet frame. One without addresses counts as a client's. An ARP message has those
    /// of its sender and its target.
    pub fn send(&self, frame: &[u8]) -> bool {
        let summary = dissect(link_type::ETHERNET, frame);
        let Some((source, destination)) = summary.addresses() else {
            return true;
        };
        match self {
            Self::Addresses(clients) => clients.iter().any(|clients| clients.contains(source)),
            Self::Auto => by_ports(&summary)
                .or_else(|| by_echo(&summary))
                .unwrap_or(source <= destination),
        }
    }
}

/// `None` without ports, and for fragments: only the first one has them.
fn by_ports(summary: &Summary<'_>) -> Option<bool> {
    let (source, destination) = summary.ports().filter(|_| summary.fragment.is_none())?;
    (source != destination).then_some(source > destination)
}

fn by_echo(summary: &Summary<'_>) -> Option<bool> {
    let (kind, request, reply) = match summary.transport {
        Transport::Icmpv4(header) => (
            header.kind(),
            wire::Icmpv4::ECHO_REQUEST,
            wire::Icmpv4::ECHO_REPLY,
        ),
        Transport::Icmpv6(header) => (
            header.kind(),
            wire::Icmpv6::ECHO_REQUEST,
            wire::Icmpv6::ECHO_REPLY,
        ),
        _ => return None,
    };
    let is_echo = summary.fragment.is_none() && (kind == request || kind == reply);
    is_echo.then_some(kind == request)
}
