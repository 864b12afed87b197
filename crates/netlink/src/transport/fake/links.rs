//! Links in a fake kernel.

use rustix::io::Errno;

use super::storable::{CascadeEffect, Existing, Reference, StorableObject};
use crate::objects::link::{Link, LinkKind};
use crate::schema::AttributeSet;
use crate::values::interface::{IfIndex, IfName};
use crate::verb::Verb;

impl StorableObject for Link {
    const ABSENT: Errno = Errno::NODEV;
    const IS_RANKED: bool = true;

    /// A name belongs to one link.
    ///
    /// # Source
    /// `__rtnl_newlink`, `do_set_master`, net/core/rtnetlink.c; `dev_get_valid_name`, net/core/dev.c.
    fn check(&self, verb: Verb, held: &[Self], existing: &Existing) -> Result<(), Errno> {
        if !matches!(verb, Verb::Add | Verb::Set) {
            return Ok(());
        }
        let own = held.iter().find(|link| link.is_identified_by(self));
        match (verb, own) {
            (Verb::Add, Some(_)) => return Err(Errno::EXIST),
            (Verb::Set, None) => return Err(Errno::NODEV),
            _ => {}
        }
        let is_taken = |name: Option<IfName>| {
            let mut others = held
                .iter()
                .filter(|link| own.is_none_or(|own| link.index != own.index));
            name.is_some() && others.any(|link| link.name == name)
        };
        let peer = self.peer_of_new().filter(|_| verb == Verb::Add);
        let is_peer_taken =
            |peer: &Self| is_taken(peer.name) || (peer.name.is_some() && peer.name == self.name);
        if is_taken(self.name) || peer.is_some_and(is_peer_taken) {
            return Err(Errno::EXIST);
        }
        if verb == Verb::Add && !self.is_of_pair() {
            match self.lower_link() {
                Some(lower) if !existing.has(Reference::Link(lower)) => return Err(Errno::NODEV),
                None if self.needs_lower() => return Err(Errno::INVAL),
                _ => {}
            }
        }
        let master = self.master.filter(|master| master.0 != 0);
        match master {
            Some(master) if !existing.has(Reference::Link(master)) => Err(Errno::INVAL),
            _ => Ok(()),
        }
    }

    /// A pair is created with its peer, which is the first of the two.
    fn created(mut self, held: &[Self], existing: &mut Existing) -> Vec<Self> {
        let mut links = Vec::new();
        if let Some(peer) = self.take_peer() {
            let kind = self.kind_name().map(LinkKind::named);
            let mut peer = match kind {
                Some(kind) => peer.kind(kind),
                None => peer,
            };
            peer.choose(held, existing);
            links.push(peer);
            self.choose(&[held, &links].concat(), existing);
            links[0].lower = self.index;
            self.lower = links[0].index;
        } else {
            self.choose(held, existing);
        }
        links.push(self);
        links
    }

    fn is_identified_by(&self, said: &Self) -> bool {
        match (said.index, said.name) {
            (Some(index), _) => self.index == Some(index),
            (None, Some(name)) => self.name == Some(name),
            (None, None) => false,
        }
    }

    /// The kernel lists links in the order of their indexes.
    fn rank(&self) -> u32 {
        self.index.unwrap_or_default().0
    }

    fn apply(&mut self, change: Self) {
        let (index, flags) = (self.index, self.flags);
        let has_left = change.master == Some(IfIndex(0));
        self.merge(change);
        (self.index, self.flags) = (index, flags);
        if has_left {
            self.leave();
        }
    }

    fn reference(&self) -> Option<Reference> {
        self.index.map(Reference::Link)
    }

    /// A pair is deleted together, and so are links on a lower link, except tunnels. Ports lose their master.
    ///
    /// # Source
    /// `vlan_device_event`, net/8021q/vlan.c; `macvlan_device_event`, drivers/net/macvlan.c; `veth_dellink`,
    /// drivers/net/veth.c; `vxlan_handle_lowerdev_unregister`, drivers/net/vxlan/vxlan_core.c.
    fn without(&mut self, gone: Reference) -> CascadeEffect {
        let Reference::Link(gone) = gone else {
            return CascadeEffect::Unchanged;
        };
        if self.lower_link() == Some(gone) {
            return CascadeEffect::Deleted;
        }
        if self.master == Some(gone) {
            self.leave();
            return CascadeEffect::Changed;
        }
        CascadeEffect::Unchanged
    }
}

impl Link {
    /// Whether it cannot be created without a lower link.
    fn needs_lower(&self) -> bool {
        use LinkKind::{Ipvlan, Ipvtap, Macvlan, Macvtap, Vlan};

        let kind = self.link_kind();
        matches!(
            kind,
            Some(Vlan(_) | Macvlan(_) | Macvtap(_) | Ipvlan(_) | Ipvtap(_))
        )
    }

    /// The link with which it is deleted: the lower link, or the other end of a pair.
    fn lower_link(&self) -> Option<IfIndex> {
        let lower = match self.link_kind() {
            Some(LinkKind::Vxlan(vxlan)) => vxlan.link,
            _ => self
                .lower
                .filter(|_| self.needs_lower() || self.is_of_pair()),
        };
        lower.filter(|lower| lower.0 != 0)
    }

    fn is_of_pair(&self) -> bool {
        matches!(
            self.link_kind(),
            Some(LinkKind::Veth(_) | LinkKind::Netkit(_))
        )
    }

    fn leave(&mut self) {
        self.master = None;
        if let Some(info) = &mut self.linkinfo {
            info.port = None;
        }
    }

    fn peer_of_new(&self) -> Option<&Self> {
        self.link_kind().and_then(LinkKind::peer)
    }

    /// The peer to create with it; `None` if its kind has no pairs.
    fn take_peer(&mut self) -> Option<Self> {
        match &mut self.linkinfo.as_mut()?.kind {
            Some(LinkKind::Veth(veth)) => Some(veth.peer.take().map_or_else(Self::new, |it| *it)),
            Some(LinkKind::Netkit(netkit)) => {
                Some(netkit.peer.take().map_or_else(Self::new, |it| *it))
            }
            _ => None,
        }
    }

    /// Chooses its index, its name and what else a request need not give.
    fn choose(&mut self, held: &[Self], existing: &mut Existing) {
        if self.index.is_none() {
            self.index = Some(existing.next_index());
        }
        self.mtu.get_or_insert(1500);
        self.up.get_or_insert(false);
        let pattern = match (self.name, self.kind_name()) {
            (Some(name), _) => name.to_string(),
            (None, Some(kind)) => format!("{kind}%d"),
            (None, None) => return,
        };
        if pattern.contains("%d") {
            let names = (0_u32..).map(|number| pattern.replace("%d", &number.to_string()));
            let mut names = names.map_while(|name| IfName::new(name).ok());
            let free = names.find(|name| held.iter().all(|link| link.name != Some(*name)));
            self.name = free.or(self.name);
        }
    }
}
