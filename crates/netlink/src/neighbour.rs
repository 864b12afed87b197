//! Neighbours: which hardware address an IP address on the link has.

use std::net::IpAddr;

use crate::address::put_ip;
use crate::codec::Request;
use crate::error::{Action, NetlinkError, Subject};
use crate::handle::Netlink;
use crate::interface::{IfIndex, MacAddress};
use crate::uapi::{
    AF_INET, AF_INET6, NDA_DST, NDA_LLADDR, NLM_F_CREATE, NLM_F_REPLACE, NUD_PERMANENT,
    RTM_NEWNEIGH,
};

/// A host on the link of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Neighbour {
    /// The interface.
    pub index: IfIndex,
    /// Its IP address.
    pub ip: IpAddr,
    /// Its hardware address.
    pub mac: MacAddress,
}

impl Netlink {
    /// Enters a neighbour for good: it is not asked after on the link.
    ///
    /// Equals `ip neighbour replace IP lladdr MAC dev NAME nud permanent`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such interface.
    #[doc(alias = "RTM_NEWNEIGH")]
    pub fn set_neighbour(&mut self, neighbour: Neighbour) -> Result<(), NetlinkError> {
        let Neighbour { index, ip, mac } = neighbour;
        let mut header = [0; 12];
        header[0] = if ip.is_ipv4() { AF_INET } else { AF_INET6 };
        header[4..8].copy_from_slice(&index.0.to_ne_bytes());
        header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
        let mut request = Request::new(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &header);
        put_ip(&mut request, NDA_DST, ip);
        request.attribute(NDA_LLADDR, &mac.0);
        self.tell(request).map_err(NetlinkError::about(
            Action::Set,
            Subject::Neighbour(ip, index),
        ))
    }
}
