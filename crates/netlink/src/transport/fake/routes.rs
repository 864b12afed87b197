//! Routes in a fake kernel.

use rustix::io::Errno;

use super::lookup::look_up;
use super::storable::{CascadeEffect, Existing, Reference, StorableObject};
use crate::DsField;
use crate::object::Object;
use crate::objects::route::Route;
use crate::uapi::{RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};
use crate::values::interface::IfIndex;
use crate::values::prefix::Family;
use crate::verb::Verb;

impl StorableObject for Route {
    const ABSENT: Errno = Errno::SRCH;
    const NOTIFIED_GROUPS: &'static [u32] = &[RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE];

    /// A deletion only compares.
    fn check(&self, verb: Verb, _: &[Self], existing: &Existing) -> Result<(), Errno> {
        if matches!(verb, Verb::Del | Verb::Get | Verb::List) {
            return Ok(());
        }
        if let Some(id) = self.nhid
            && !existing.has(Reference::Nexthop(id))
        {
            return Err(Errno::INVAL);
        }
        let is_missing = |link| !existing.has(Reference::Link(link));
        if self.links().any(is_missing) {
            return Err(Errno::NODEV);
        }
        Ok(())
    }

    /// An IPv6 route always has a metric.
    fn created(mut self, _: &[Self], _: &mut Existing) -> Vec<Self> {
        let is_v6 = self.dst.is_some_and(|dst| dst.family() == Family::V6);
        if is_v6 {
            self.metric = self.route_key().map(|key| key.metric);
        }
        vec![self]
    }

    /// The kernel looks up routes by packets.
    fn answer(held: &[Self], said: &Self, body: &[u8]) -> Result<Self, Errno> {
        look_up(held, said, body)
    }

    /// Deletion ignores fields that the request does not give.
    fn is_identified_by(&self, said: &Self) -> bool {
        let key = |route: &Self| Object::key(route).map(|key| (key.table, key.dst, key.src));
        let is_open = said.metric.is_none() && said.tos.unwrap_or_default() == DsField(0);
        key(said).is_some() && key(said) == key(self) && (is_open || said.key() == self.key())
    }

    fn link(&self) -> Option<IfIndex> {
        self.dev
    }

    /// An IPv4 route is deleted with the link of any of its next hops, and an IPv6 route with that of the last one.
    ///
    /// # Source
    /// `fib_sync_down_dev`, net/ipv4/fib\_semantics.c; `fib6_ifdown`, net/ipv6/route.c.
    fn without(&mut self, gone: Reference) -> CascadeEffect {
        let gone = match gone {
            Reference::Nexthop(id) if self.nhid == Some(id) => return CascadeEffect::Deleted,
            Reference::Link(link) if self.links().any(|it| it == link) => link,
            _ => return CascadeEffect::Unchanged,
        };
        let is_v4 = self.family == Some(Family::V4) || self.dst.is_some_and(|to| to.ip.is_ipv4());
        let Some(hops) = self.nexthops.as_mut().filter(|_| !is_v4) else {
            return CascadeEffect::Deleted;
        };
        hops.retain(|hop| hop.dev != Some(gone));
        match hops.as_slice() {
            [] => return CascadeEffect::Deleted,
            [only] => {
                (self.dev, self.gateway, self.via) = (only.dev, only.gateway, only.via);
                self.encap.clone_from(&only.encap);
                self.nexthops = None;
            }
            _ => {}
        }
        CascadeEffect::Changed
    }
}

impl Route {
    /// The links of all its next hops.
    fn links(&self) -> impl Iterator<Item = IfIndex> {
        let hops = self.nexthops.iter().flatten().filter_map(|hop| hop.dev);
        self.dev.into_iter().chain(hops).filter(|link| link.0 != 0)
    }
}
