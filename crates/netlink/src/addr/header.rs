//! What of an address is no attribute of its own.

use super::{Addr, Lifetime};
use crate::codec::{Attribute, Malformed, Request, attributes, split};
use crate::interface::IfIndex;
use crate::prefix::Family;
use crate::table::Table;
use crate::uapi::{
    AF_INET, AF_INET6, IFA_CACHEINFO, IFA_F_DADFAILED, IFA_F_DEPRECATED, IFA_F_HOMEADDRESS,
    IFA_F_MANAGETEMPADDR, IFA_F_MCAUTOJOIN, IFA_F_NODAD, IFA_F_NOPREFIXROUTE, IFA_F_OPTIMISTIC,
    IFA_F_PERMANENT, IFA_F_SECONDARY, IFA_F_STABLE_PRIVACY, IFA_F_TENTATIVE, IFA_FLAGS,
};

/// Length of `struct ifaddrmsg`.
pub(super) const HEADER_BYTES: usize = 8;

/// The fixed header of address messages (`struct ifaddrmsg`).
#[derive(Clone, Copy, Default)]
pub(super) struct Header {
    pub family: u8,
    pub prefix_len: u8,
    pub scope: u8,
    pub index: IfIndex,
}

impl Header {
    pub(super) fn emit(self) -> [u8; HEADER_BYTES] {
        let [i0, i1, i2, i3] = self.index.0.to_ne_bytes();
        [self.family, self.prefix_len, 0, self.scope, i0, i1, i2, i3]
    }
}

impl Addr {
    /// The flags that can be given, with their words.
    pub(super) fn flag_fields(&mut self) -> [(&'static str, &mut Option<bool>); 6] {
        [
            ("nodad", &mut self.nodad),
            ("optimistic", &mut self.optimistic),
            ("home", &mut self.home),
            ("mngtmpaddr", &mut self.mngtmpaddr),
            ("noprefixroute", &mut self.noprefixroute),
            ("autojoin", &mut self.autojoin),
        ]
    }

    /// The flags that can be given, with their bits.
    pub(super) fn flags(&self) -> [(u32, Option<bool>); 6] {
        [
            (IFA_F_NODAD, self.nodad),
            (IFA_F_OPTIMISTIC, self.optimistic),
            (IFA_F_HOMEADDRESS, self.home),
            (IFA_F_MANAGETEMPADDR, self.mngtmpaddr),
            (IFA_F_NOPREFIXROUTE, self.noprefixroute),
            (IFA_F_MCAUTOJOIN, self.autojoin),
        ]
    }

    /// Adds the attributes that hold several fields.
    pub(super) fn put_parts(&self, request: &mut Request) {
        if self.flags().iter().any(|(_, on)| on.is_some()) {
            let set = self.flags().into_iter().filter(|(_, on)| *on == Some(true));
            request.u32(IFA_FLAGS, set.fold(0, |flags, (bit, _)| flags | bit));
        }
        if self.valid_life_time.is_some() || self.preferred_life_time.is_some() {
            let valid = self.valid_life_time.unwrap_or(Lifetime::FOREVER);
            let preferred = self.preferred_life_time.unwrap_or(valid);
            // `struct ifa_cacheinfo`; the two times at its end are the kernel's to tell.
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&preferred.0.to_ne_bytes());
            bytes[4..8].copy_from_slice(&valid.0.to_ne_bytes());
            request.attribute(IFA_CACHEINFO, &bytes);
        }
    }

    /// Reads the body of a message; false for a family other than IPv4 and IPv6.
    pub(super) fn fill(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("address header", 0, body)?;
        let [family, prefix_len, flags, scope, i0, i1, i2, i3] = *header;
        if family != AF_INET && family != AF_INET6 {
            return Ok(false);
        }
        self.clear();
        self.dev = Some(IfIndex(u32::from_ne_bytes([i0, i1, i2, i3])));
        self.family = Some(Family::from(family));
        self.prefixlen = Some(prefix_len);
        self.scope = Some(scope.into());
        let mut flags = u32::from(flags);
        for attribute in attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                IFA_FLAGS => flags = attribute.u32()?,
                IFA_CACHEINFO => self.take_lifetimes(attribute)?,
                _ => self.take(attribute)?,
            }
        }
        self.take_flags(flags);
        // IFA_ADDRESS is the other end's where there is one, and else the interface's own again.
        self.local = self.local.or(self.peer);
        self.peer = self.peer.filter(|peer| Some(*peer) != self.local);
        Ok(true)
    }

    fn take_lifetimes(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        let [p0, p1, p2, p3, v0, v1, v2, v3] = attribute.array()?;
        self.preferred_life_time = Some(Lifetime(u32::from_ne_bytes([p0, p1, p2, p3])));
        self.valid_life_time = Some(Lifetime(u32::from_ne_bytes([v0, v1, v2, v3])));
        Ok(())
    }

    fn take_flags(&mut self, flags: u32) {
        let has = |bit| Some(flags & bit != 0);
        self.nodad = has(IFA_F_NODAD);
        self.optimistic = has(IFA_F_OPTIMISTIC);
        self.home = has(IFA_F_HOMEADDRESS);
        self.mngtmpaddr = has(IFA_F_MANAGETEMPADDR);
        self.noprefixroute = has(IFA_F_NOPREFIXROUTE);
        self.autojoin = has(IFA_F_MCAUTOJOIN);
        self.dynamic = Some(flags & IFA_F_PERMANENT == 0);
        self.deprecated = has(IFA_F_DEPRECATED);
        self.tentative = has(IFA_F_TENTATIVE);
        self.dadfailed = has(IFA_F_DADFAILED);
        self.stable_privacy = has(IFA_F_STABLE_PRIVACY);
        // One bit, with a meaning in each family.
        match self.family {
            Some(Family::V4) => self.secondary = has(IFA_F_SECONDARY),
            _ => self.temporary = has(IFA_F_SECONDARY),
        }
    }
}
