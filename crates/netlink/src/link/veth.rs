use std::os::fd::{AsRawFd, BorrowedFd};

use super::header::Header;
use super::{Link, link_message};
use crate::codec::Request;
use crate::error::{Action, NetlinkError, Object};
use crate::handle::Netlink;
use crate::interface::{IfName, MacAddress};
use crate::uapi::{
    IFLA_ADDRESS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU,
    IFLA_NET_NS_FD, IFLA_NUM_RX_QUEUES, IFLA_NUM_TX_QUEUES, NLM_F_CREATE, NLM_F_ECHO, NLM_F_EXCL,
    RTM_NEWLINK, VETH_INFO_PEER,
};

/// A pair of virtual Ethernet links: what goes into one comes out of the other.
#[derive(Clone, Copy, Debug)]
pub struct Veth<'a> {
    /// The end in the namespace of the [`Netlink`].
    pub near: VethEnd,
    /// The other end.
    pub far: VethEnd,
    /// Where the other end is to be; `None` puts it beside the first.
    pub far_namespace: Option<BorrowedFd<'a>>,
}

/// One end of a pair; the kernel chooses what is `None`.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd {
    /// Its name.
    pub name: IfName,
    /// Its hardware address.
    pub mac: Option<MacAddress>,
    /// Bytes of the longest packet, without the link-layer header.
    pub mtu: Option<u32>,
    /// How many queues it has, for receiving and as many for transmitting.
    pub queue_count: Option<u32>,
}

impl VethEnd {
    /// An end called `name`; the rest is the kernel's choice.
    pub fn named(name: IfName) -> Self {
        Self {
            name,
            mac: None,
            mtu: None,
            queue_count: None,
        }
    }

    fn emit(&self, request: &mut Request) {
        request.text(IFLA_IFNAME, self.name.as_bytes());
        if let Some(mac) = self.mac {
            request.attribute(IFLA_ADDRESS, &mac.0);
        }
        if let Some(mtu) = self.mtu {
            request.u32(IFLA_MTU, mtu);
        }
        if let Some(count) = self.queue_count {
            request.u32(IFLA_NUM_TX_QUEUES, count);
            request.u32(IFLA_NUM_RX_QUEUES, count);
        }
    }
}

impl Netlink {
    /// Makes a pair, both ends down, and returns the near one; its `lower` is the index of the other.
    ///
    /// Equals `ip link add NEAR type veth peer name FAR netns NS`.
    ///
    /// # Errors
    /// `Cause::Refused` with EEXIST when one of the names is taken, EOPNOTSUPP when the kernel has no
    /// veth.
    /// # Source
    /// `veth_newlink`, drivers/net/veth.c.
    #[doc(alias = "VETH_INFO_PEER")]
    pub fn add_veth(&mut self, veth: &Veth<'_>) -> Result<Link, NetlinkError> {
        let header = Header::default().emit();
        let flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_ECHO;
        let mut request = Request::new(RTM_NEWLINK, flags, &header);
        veth.near.emit(&mut request);
        request.nested(IFLA_LINKINFO, &[], |request| {
            request.text(IFLA_INFO_KIND, b"veth");
            request.nested(IFLA_INFO_DATA, &[], |request| {
                request.nested(VETH_INFO_PEER, &header, |request| {
                    veth.far.emit(request);
                    if let Some(namespace) = veth.far_namespace {
                        request.u32(IFLA_NET_NS_FD, namespace.as_raw_fd().cast_unsigned());
                    }
                });
            });
        });
        let about = NetlinkError::about(Action::Add, Object::LinkNamed(veth.near.name.to_string()));
        self.ask(request, link_message).map_err(about)
    }
}
