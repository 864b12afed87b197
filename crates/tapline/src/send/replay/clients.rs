//! Which packets of a recording come from clients: those are sent on one interface, the others on another.

use wire::dissect;
use wire::protocol::link_type;

use super::roles::{FlowRoles, by_packet};
use crate::send::generate::Addresses;

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
    /// By the roles that a first pass through the packets found.
    Learned(FlowRoles),
}

impl Clients {
    /// Whether a client sends this Ethernet frame. One without addresses counts as a client's. An ARP message has those
    /// of its sender and its target.
    pub fn send(&self, frame: &[u8]) -> bool {
        let summary = dissect(link_type::ETHERNET, frame);
        let Some((source, _)) = summary.addresses() else {
            return true;
        };
        match self {
            Self::Addresses(clients) => clients.iter().any(|clients| clients.contains(source)),
            Self::Auto => by_packet(&summary),
            Self::Learned(roles) => roles.client_sends(&summary),
        }
    }
}
