//! IP addresses of interfaces.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::codec::{Attribute, Malformed, Message, Request, attributes, split};
use crate::error::{Action, NetlinkError, Subject};
use crate::handle::{Listing, Netlink};
use crate::interface::IfIndex;
use crate::uapi::{
    AF_INET, AF_INET6, AF_UNSPEC, IFA_ADDRESS, IFA_F_NODAD, IFA_F_TENTATIVE, IFA_FLAGS, IFA_LOCAL,
    NLM_F_CREATE, NLM_F_EXCL, RTM_DELADDR, RTM_GETADDR, RTM_NEWADDR,
};

const HEADER_BYTES: usize = 8;

/// An address with the length of its network prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Bits of the prefix: 0 to 32, or to 128.
    pub prefix_len: u8,
}

/// Whether an IPv6 address is first probed for on the network, as RFC 4862 asks; IPv4 has no such step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DuplicateDetection {
    /// Probed for: the address can be used after about a second.
    #[default]
    On,
    /// Not probed for: the address can be used at once (`nodad`).
    Off,
}

/// An address on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InterfaceAddress {
    /// The interface.
    pub index: IfIndex,
    /// Its own address and the prefix.
    pub address: Address,
    /// The address of the other end, on a point-to-point interface.
    pub peer: Option<IpAddr>,
    /// How far it is valid (`RT_SCOPE_*`): 0 everywhere, 253 on the link, 254 on the host.
    pub scope: u8,
    /// `IFA_F_*`.
    pub flags: u32,
}

impl InterfaceAddress {
    /// Duplicate address detection has not ended: packets cannot come from it yet.
    #[doc(alias = "IFA_F_TENTATIVE")]
    pub fn is_tentative(&self) -> bool {
        self.flags & IFA_F_TENTATIVE != 0
    }

    /// Reads the body of an `RTM_NEWADDR` or `RTM_DELADDR`; `None` for a family other than IPv4 and
    /// IPv6. Attributes it does not know are passed over.
    ///
    /// # Errors
    /// [`Malformed`] when the message ends too early or has no address.
    /// # Source
    /// `inet_fill_ifaddr`, net/ipv4/devinet.c; `inet6_fill_ifaddr`, net/ipv6/addrconf.c.
    pub fn parse(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("address header", 0, body)?;
        let [family, prefix_len, flags, scope, i0, i1, i2, i3] = *header;
        if family != AF_INET && family != AF_INET6 {
            return Ok(None);
        }
        let (mut own, mut other, mut flags) = (None, None, u32::from(flags));
        for attribute in attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                IFA_LOCAL => own = Some(ip(family, attribute)?),
                IFA_ADDRESS => other = Some(ip(family, attribute)?),
                IFA_FLAGS => flags = attribute.u32()?,
                _ => {}
            }
        }
        // IFA_ADDRESS is the other end's where there is one, and else the interface's own again.
        let need = if family == AF_INET { 4 } else { 16 };
        let missing = Malformed {
            layer: "IP address",
            at: HEADER_BYTES,
            need,
            have: 0,
        };
        let ip = own.or(other).ok_or(missing)?;
        Ok(Some(Self {
            index: IfIndex(u32::from_ne_bytes([i0, i1, i2, i3])),
            address: Address { ip, prefix_len },
            peer: other.filter(|other| *other != ip),
            scope,
            flags,
        }))
    }
}

impl Netlink {
    /// All IPv4 and IPv6 addresses of the namespace. Equals `ip address show`.
    ///
    /// # Errors
    /// [`NetlinkError`] when the kernel's answer is lost or unreadable.
    pub fn addresses(&mut self) -> Result<Listing<InterfaceAddress>, NetlinkError> {
        let request = Request::dump(RTM_GETADDR, &[AF_UNSPEC; HEADER_BYTES]);
        let parse = |message: Message<'_>| match message.kind {
            RTM_NEWADDR => InterfaceAddress::parse(message.body),
            _ => Ok(None),
        };
        self.list_all(request, parse)
            .map_err(NetlinkError::about(Action::List, Subject::Addresses))
    }

    /// Gives an interface an address. Equals `ip address add IP/LEN dev NAME [nodad]`.
    ///
    /// The kernel begins to receive for an IPv6 address a little later, when its local route is there:
    /// a [`Watch`](crate::Watch) of [`Route`](crate::Route) tells when.
    ///
    /// # Errors
    /// `Cause::Refused` with EEXIST when it has it, EINVAL when the prefix is too long.
    pub fn add_address(
        &mut self,
        index: IfIndex,
        address: Address,
        detection: DuplicateDetection,
    ) -> Result<(), NetlinkError> {
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        let mut request = address_request(RTM_NEWADDR, flags, index, address);
        if detection == DuplicateDetection::Off {
            request.u32(IFA_FLAGS, IFA_F_NODAD);
        }
        let about = NetlinkError::about(Action::Add, Subject::Address(address.ip, index));
        self.tell(request).map_err(about)
    }

    /// Takes an address from an interface. Equals `ip address del IP/LEN dev NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with EADDRNOTAVAIL when it does not have it.
    pub fn remove_address(&mut self, index: IfIndex, address: Address) -> Result<(), NetlinkError> {
        let request = address_request(RTM_DELADDR, 0, index, address);
        let about = NetlinkError::about(Action::Remove, Subject::Address(address.ip, index));
        self.tell(request).map_err(about)
    }
}

fn address_request(kind: u16, flags: u16, index: IfIndex, address: Address) -> Request {
    let family = if address.ip.is_ipv4() {
        AF_INET
    } else {
        AF_INET6
    };
    let [i0, i1, i2, i3] = index.0.to_ne_bytes();
    let header = [family, address.prefix_len, 0, 0, i0, i1, i2, i3];
    let mut request = Request::new(kind, flags, &header);
    for attribute in [IFA_LOCAL, IFA_ADDRESS] {
        put_ip(&mut request, attribute, address.ip);
    }
    request
}

pub(crate) fn put_ip(request: &mut Request, kind: u16, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => request.attribute(kind, &ip.octets()),
        IpAddr::V6(ip) => request.attribute(kind, &ip.octets()),
    }
}

pub(crate) fn ip(family: u8, attribute: Attribute<'_>) -> Result<IpAddr, Malformed> {
    match family {
        AF_INET => attribute
            .array::<4>()
            .map(|bytes| Ipv4Addr::from(bytes).into()),
        _ => attribute
            .array::<16>()
            .map(|bytes| Ipv6Addr::from(bytes).into()),
    }
}
