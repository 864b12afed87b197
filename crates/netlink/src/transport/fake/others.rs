//! Neighbours, nexthops, forwarding entries and rules in a fake kernel.

use rustix::io::Errno;

use super::storable::{CascadeEffect, Existing, Reference, StorableObject};
use crate::object::Object;
use crate::uapi::RTNLGRP_NEIGH;
use crate::values::interface::IfIndex;
use crate::verb::Verb;
use crate::{Fdb, FdbFlags, Neigh, Nexthop, Rule};

impl StorableObject for Neigh {
    const ABSENT: Errno = Errno::NOENT;

    /// A proxy entry can be for all interfaces.
    fn link(&self) -> Option<IfIndex> {
        self.dev.filter(|dev| dev.0 != 0)
    }
}

impl StorableObject for Nexthop {
    const ABSENT: Errno = Errno::NOENT;

    /// # Source
    /// `rtm_to_nh_config`, `nh_check_attr_group`, net/ipv4/nexthop.c.
    fn check(&self, verb: Verb, _: &[Self], existing: &Existing) -> Result<(), Errno> {
        if matches!(verb, Verb::Del | Verb::Get | Verb::List) {
            return Ok(());
        }
        let links = self.dev.into_iter().map(Reference::Link);
        let members = self.group.iter().flat_map(|group| &group.0);
        let mut needed = links.chain(members.map(|member| Reference::Nexthop(member.id)));
        if needed.all(|it| existing.has(it)) {
            Ok(())
        } else {
            Err(Errno::INVAL)
        }
    }

    /// Without an id, the lowest that is free.
    fn created(mut self, held: &[Self], _: &mut Existing) -> Vec<Self> {
        let is_free = |id: &u32| held.iter().all(|nexthop| nexthop.id != Some(*id));
        self.id = self.id.or_else(|| (1..=u32::MAX).find(is_free));
        vec![self]
    }

    fn link(&self) -> Option<IfIndex> {
        self.dev
    }

    fn reference(&self) -> Option<Reference> {
        self.id.map(Reference::Nexthop)
    }

    /// A group is deleted with its last member.
    fn without(&mut self, gone: Reference) -> CascadeEffect {
        let id = match gone {
            Reference::Link(link) if self.dev == Some(link) => return CascadeEffect::Deleted,
            Reference::Link(_) => return CascadeEffect::Unchanged,
            Reference::Nexthop(id) => id,
        };
        let Some(group) = &mut self.group else {
            return CascadeEffect::Unchanged;
        };
        let count = group.0.len();
        group.0.retain(|member| member.id != id);
        match group.0.len() {
            0 => CascadeEffect::Deleted,
            left if left == count => CascadeEffect::Unchanged,
            _ => CascadeEffect::Changed,
        }
    }
}

impl StorableObject for Fdb {
    const ABSENT: Errno = Errno::NOENT;
    const NOTIFIED_GROUPS: &'static [u32] = &[RTNLGRP_NEIGH];

    /// A request for both tables adds an entry to each, first to that of the bridge (`rtnl_fdb_add`,
    /// net/core/rtnetlink.c).
    fn created(self, _: &[Self], _: &mut Existing) -> Vec<Self> {
        let other = self.flags.unwrap_or_default().0 & !TABLES.0;
        let given = self.tables();
        let tables = [FdbFlags::MASTER, FdbFlags::SELF];
        let tables = tables.into_iter().filter(|table| given.contains(*table));
        let entry = |table: FdbFlags| self.clone().flags(FdbFlags(other | table.0));
        tables.map(entry).collect()
    }

    /// The table of the device and that of its bridge have entries of their own.
    fn is_identified_by(&self, said: &Self) -> bool {
        self.lladdr == said.lladdr
            && self.dev == said.dev
            && self.vlan == said.vlan
            && self.tables().0 & said.tables().0 != 0
    }

    fn link(&self) -> Option<IfIndex> {
        self.dev.filter(|dev| dev.0 != 0)
    }
}

/// The flags that name a table of forwarding entries.
const TABLES: FdbFlags = FdbFlags(FdbFlags::MASTER.0 | FdbFlags::SELF.0);

impl Fdb {
    /// The tables that it is in; without flags, that of the bridge.
    fn tables(&self) -> FdbFlags {
        match FdbFlags(self.flags.unwrap_or_default().0 & TABLES.0) {
            FdbFlags(0) => FdbFlags::MASTER,
            tables => tables,
        }
    }
}

/// The priority of the rule for the table main, which a network has from the start.
const MAIN_PRIORITY: u32 = 32_766;

/// A rule is identified by all of its fields, and the first that has the given ones is deleted.
impl StorableObject for Rule {
    const ABSENT: Errno = Errno::NOENT;
    const IS_RANKED: bool = true;

    /// Without a priority, that before the others (`fib_default_rule_pref`, net/core/fib\_rules.c).
    fn created(mut self, held: &[Self], _: &mut Existing) -> Vec<Self> {
        let others = held.iter().filter(|rule| rule.family == self.family);
        let others = others
            .filter_map(|rule| rule.priority)
            .filter(|it| *it > 0)
            .min();
        let before = others.map_or(MAIN_PRIORITY, |least| least.min(MAIN_PRIORITY)) - 1;
        self.priority.get_or_insert(before);
        vec![self]
    }

    /// The kernel does not compare whether the selection is inverted, nor the target of `goto`.
    fn is_deleted_by(&self, said: &Self) -> bool {
        let mut said = said.clone().settable();
        (said.not, said.goto) = (None, None);
        self.matches(&said)
    }

    fn rank(&self) -> u32 {
        self.priority.unwrap_or_default()
    }
}
