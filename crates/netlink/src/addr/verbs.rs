//! How addresses are spoken of.

use std::net::IpAddr;

use super::header::{HEADER_BYTES, Header};
use super::{Addr, Broadcast, Scope};
use crate::codec::{Malformed, Request};
use crate::error::{NetlinkError, Subject};
use crate::handle::{Listing, Netlink};
use crate::interface::IfIndex;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::prefix::Family;
use crate::table::{Entry, Table};
use crate::uapi::{
    AF_UNSPEC, IFA_F_MCAUTOJOIN, IFA_F_NOPREFIXROUTE, RTM_DELADDR, RTM_GETADDR, RTM_NEWADDR,
    RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
};

/// Longest label, in bytes.
const MAX_LABEL: usize = 15;

impl Object for Addr {
    /// Interface, address, prefix length, peer.
    type Key = (IfIndex, IpAddr, u8, Option<IpAddr>);

    const MESSAGES: Messages = Messages {
        new: RTM_NEWADDR,
        del: RTM_DELADDR,
        get: RTM_GETADDR,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR];
    const HAS_GET: bool = false;

    fn entries() -> &'static [Entry] {
        <Self as Table>::entries()
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        let kind = Self::MESSAGES.of(verb);
        match verb {
            Verb::Append => return Err(Unfit::new("an address can be added, not appended")),
            Verb::Get | Verb::List => {
                let header = Header {
                    family: self.asked_family(),
                    index: self.ifindex(),
                    ..Header::default()
                };
                request.begin(kind, verb.flags(), &header.emit());
                return Ok(());
            }
            _ => {}
        }
        let (local, prefix_len) = self.checked()?;
        let header = Header {
            family: Family::of(local).into(),
            prefix_len,
            scope: self.scope.unwrap_or_else(|| usual_scope(local)).into(),
            index: self.ifindex(),
        };
        request.begin(kind, verb.flags(), &header.emit());
        if verb == Verb::Del {
            Table::put(&self.key_only(local), request);
            return Ok(());
        }
        self.put_parts(request);
        Table::put(&self.said(local, prefix_len), request);
        Ok(())
    }

    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        self.fill(body)
    }

    fn key(&self) -> Option<Self::Key> {
        Some((self.dev?, self.local?, self.prefixlen?, self.peer))
    }

    fn matches(&self, wanted: &Self) -> bool {
        match (wanted.broadcast, self.local, self.prefixlen) {
            (Some(broadcast), Some(IpAddr::V4(local)), Some(prefix_len)) => {
                let wanted = Self {
                    broadcast: Some(Broadcast::At(broadcast.of(local, prefix_len))),
                    ..wanted.clone()
                };
                Table::matches(self, &wanted)
            }
            _ => Table::matches(self, wanted),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        *self
            == Self {
                valid_life_time: self.valid_life_time,
                preferred_life_time: self.preferred_life_time,
                ..other.clone()
            }
    }

    fn subject(&self) -> Subject {
        match self.local {
            Some(local) => Subject::Address(local, self.ifindex()),
            None => Subject::Addresses,
        }
    }
}

impl Addr {
    /// The family that is asked for.
    fn asked_family(&self) -> u8 {
        let family = self.family.or_else(|| self.local.map(Family::of));
        family.map_or(AF_UNSPEC, Into::into)
    }

    /// The address and its prefix length, if they can be said to be one.
    fn checked(&self) -> Result<(IpAddr, u8), Unfit> {
        let local = (self.local).ok_or_else(|| Unfit::new("no address is given"))?;
        if self.ifindex() == IfIndex(0) {
            return Err(Unfit::new("no interface is given for the address"));
        }
        let family = Family::of(local);
        if self.family.is_some_and(|given| given != family) {
            return Err(Unfit::new(format!("{local} is not of the family given")));
        }
        if let Some(peer) = self.peer.filter(|peer| Family::of(*peer) != family) {
            return Err(Unfit::new(format!(
                "the peer {peer} and the address {local} are of two families"
            )));
        }
        let bits = if local.is_ipv4() { 32 } else { 128 };
        let prefix_len = self.prefixlen.unwrap_or(bits);
        if prefix_len > bits {
            return Err(Unfit::new(format!(
                "{local} has no prefix of {prefix_len} bits"
            )));
        }
        if self.anycast.is_some() {
            return Err(Unfit::new("the kernel makes anycast addresses itself"));
        }
        self.check_family(local)?;
        Ok((local, prefix_len))
    }

    /// What the kernel would pass over because it is for the other family.
    fn check_family(&self, local: IpAddr) -> Result<(), Unfit> {
        let of_both = IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN;
        let of_one = |(bit, on): &(u32, Option<bool>)| bit & of_both == 0 && *on == Some(true);
        if local.is_ipv4() && self.flags().iter().any(of_one) {
            return Err(Unfit::new(
                "nodad, optimistic, home and mngtmpaddr are for IPv6 addresses",
            ));
        }
        if local.is_ipv6() && (self.label.is_some() || self.broadcast.is_some()) {
            return Err(Unfit::new("label and broadcast are for IPv4 addresses"));
        }
        match &self.label {
            Some(label) if label.len() > MAX_LABEL => Err(Unfit::new(format!(
                "the label {label:?} is longer than {MAX_LABEL} bytes"
            ))),
            _ => Ok(()),
        }
    }

    /// What is said of it, with what follows from other fields worked out.
    fn said(&self, local: IpAddr, prefix_len: u8) -> Self {
        let broadcast = match (self.broadcast, local) {
            (Some(broadcast), IpAddr::V4(local)) => {
                Some(Broadcast::At(broadcast.of(local, prefix_len)))
            }
            _ => None,
        };
        Self {
            peer: self.peer.or(self.local),
            broadcast,
            ..self.clone()
        }
    }

    /// What says which address is meant. Without a prefix length it is, in IPv4, one of any.
    fn key_only(&self, local: IpAddr) -> Self {
        let any = local.is_ipv4() && self.prefixlen.is_none();
        Self {
            local: self.local,
            peer: self
                .peer
                .or(self.local)
                .filter(|_| !any || self.peer.is_some()),
            label: self.label.clone(),
            ..Self::default()
        }
    }
}

/// The scope that `ip(8)` gives an address without one.
fn usual_scope(local: IpAddr) -> Scope {
    match local {
        IpAddr::V4(ip) if ip.is_loopback() => Scope::Host,
        _ => Scope::Global,
    }
}

impl Netlink {
    /// All IPv4 and IPv6 addresses of the namespace. Equals `ip address show`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn addresses(&mut self) -> Result<Listing<Addr>, NetlinkError> {
        self.list(&Addr::new())
    }
}
