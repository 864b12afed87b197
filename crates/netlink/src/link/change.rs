use std::os::fd::{AsRawFd, BorrowedFd};

use super::header::Header;
use crate::codec::Request;
use crate::error::{Action, NetlinkError, Object};
use crate::handle::Netlink;
use crate::interface::{IfIndex, MacAddress};
use crate::uapi::{IFF_NOARP, IFF_UP, IFLA_ADDRESS, IFLA_MTU, IFLA_NET_NS_FD, RTM_NEWLINK};

/// What to change about a link; `None` leaves it as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkChange<'a> {
    /// Set it up, or down.
    pub up: Option<bool>,
    /// Let it resolve neighbours (ARP, neighbour discovery), or not.
    pub arp: Option<bool>,
    /// Bytes of the longest packet, without the link-layer header.
    pub mtu: Option<u32>,
    /// Hardware address.
    pub mac: Option<MacAddress>,
    /// Move it to this namespace.
    pub namespace: Option<BorrowedFd<'a>>,
}

impl Netlink {
    /// Changes a link, in one message.
    ///
    /// Equals `ip link set dev NAME [up|down] [arp on|off] [mtu N] [address MAC] [netns NS]`.
    ///
    /// # Errors
    /// `Cause::Refused`; of several changes the ones the kernel made before the refused one stay.
    /// # Source
    /// `do_setlink`, net/core/rtnetlink.c.
    pub fn set_link(&mut self, index: IfIndex, change: LinkChange<'_>) -> Result<(), NetlinkError> {
        let (mut flags, mut mask) = (0, 0);
        for (bit, wish) in [(IFF_UP, change.up), (IFF_NOARP, change.arp.map(|arp| !arp))] {
            if let Some(on) = wish {
                mask |= bit;
                flags |= if on { bit } else { 0 };
            }
        }
        let header = Header {
            index: index.0,
            flags,
            mask,
            ..Header::default()
        };
        let mut request = Request::new(RTM_NEWLINK, 0, &header.emit());
        if let Some(namespace) = change.namespace {
            request.u32(IFLA_NET_NS_FD, namespace.as_raw_fd().cast_unsigned());
        }
        if let Some(mtu) = change.mtu {
            request.u32(IFLA_MTU, mtu);
        }
        if let Some(mac) = change.mac {
            request.attribute(IFLA_ADDRESS, &mac.0);
        }
        self.tell(request)
            .map_err(NetlinkError::about(Action::Set, Object::Link(index)))
    }
}
