//! The VLANs of bridge ports in a fake kernel.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::storable::{Existing, Reference};
use super::store::{Done, Notification, Store};
use crate::codec::{HEADER_BYTES, Malformed, Message, Request, attributes};
use crate::header::{BridgeHeader, LinkHeader};
use crate::object::Object;
use crate::objects::link::PortState;
use crate::objects::port_vlan::{MAX_VLAN, PortVlan, PortVlanFlags, known_flags};
use crate::uapi::{
    AF_BRIDGE, BRIDGE_VLAN_INFO_RANGE_BEGIN, BRIDGE_VLAN_INFO_RANGE_END, IFLA_AF_SPEC,
    IFLA_BRIDGE_VLAN_INFO, RTM_DELLINK, RTM_DELVLAN, RTM_GETVLAN, RTM_NEWVLAN, RTM_SETLINK,
};
use crate::values::interface::IfIndex;
use crate::verb::Verb;

/// A device can have VLANs whether or not it is a port of a bridge. As in the kernel, adding a VLAN that exists changes
/// its flags, and deleting one that does not exist succeeds.
#[derive(Debug, Default)]
pub(super) struct PortVlans(BTreeMap<(IfIndex, u16), PortVlan>);

/// VLANs that a request adds or deletes: the device, and their ids with their flags.
type Membership = (IfIndex, Vec<(u16, PortVlanFlags)>);

/// Decodes a link message about VLANs; `None` if it is about something else.
fn membership(body: &[u8]) -> Result<Option<Membership>, Malformed> {
    let (header, rest) = LinkHeader::split(body)?;
    if header.family != AF_BRIDGE {
        return Ok(None);
    }
    let (mut vlans, mut is_about_vlans, mut start) = (Vec::new(), false, None);
    for attribute in attributes(rest, LinkHeader::BYTES) {
        let attribute = attribute?;
        if attribute.kind != IFLA_AF_SPEC {
            continue;
        }
        for attribute in attribute.attributes() {
            let attribute = attribute?;
            if attribute.kind != IFLA_BRIDGE_VLAN_INFO {
                continue;
            }
            is_about_vlans = true;
            let [f0, f1, v0, v1] = attribute.array()?;
            let (flags, vlan) = (u16::from_ne_bytes([f0, f1]), u16::from_ne_bytes([v0, v1]));
            if flags & BRIDGE_VLAN_INFO_RANGE_BEGIN != 0 {
                start = Some(vlan);
                continue;
            }
            let first = start
                .take()
                .filter(|_| flags & BRIDGE_VLAN_INFO_RANGE_END != 0);
            let known = known_flags(flags);
            vlans.extend((first.unwrap_or(vlan)..=vlan.min(MAX_VLAN)).map(|vlan| (vlan, known)));
        }
    }
    Ok(is_about_vlans.then_some((IfIndex(header.index), vlans)))
}

/// The body of a message about a VLAN.
fn body(vlan: &PortVlan) -> Vec<u8> {
    let mut request = Request::default();
    request.begin(RTM_NEWVLAN, 0, &BridgeHeader::of(vlan.ifindex()));
    vlan.put_entry(&mut request);
    request.bytes()[HEADER_BYTES..].to_vec()
}

fn notification(kind: u16, vlan: &PortVlan) -> Notification {
    Notification {
        groups: PortVlan::GROUPS,
        kind,
        body: body(vlan),
    }
}

impl PortVlans {
    fn add(&mut self, (dev, vlans): Membership) -> Done {
        let mut done = Done::default();
        for (id, flags) in vlans {
            if flags.contains(PortVlanFlags::PVID) {
                for (_, other) in self.0.range_mut((dev, 0)..=(dev, MAX_VLAN)) {
                    let left = other.flags.unwrap_or_default().0 & !PortVlanFlags::PVID.0;
                    other.flags = Some(PortVlanFlags(left));
                }
            }
            let new = || PortVlan::on(dev, id).state(PortState::Forwarding);
            let vlan = self.0.entry((dev, id)).or_insert_with(new);
            vlan.flags = Some(flags);
            done.notifications.push(notification(RTM_NEWVLAN, vlan));
        }
        done
    }

    fn delete(&mut self, (dev, vlans): &Membership) -> Done {
        let gone = vlans
            .iter()
            .filter_map(|(id, _)| self.0.remove(&(*dev, *id)));
        Done {
            notifications: gone.map(|vlan| notification(RTM_DELVLAN, &vlan)).collect(),
            ..Done::default()
        }
    }

    /// Sets options of VLANs that exist.
    fn set(&mut self, said: Vec<PortVlan>) -> Result<Done, Errno> {
        let mut done = Done::default();
        for wanted in said {
            let key = wanted.key().ok_or(Errno::INVAL)?;
            let vlan = self.0.get_mut(&key).ok_or(Errno::NOENT)?;
            vlan.state = wanted.state.or(vlan.state);
            vlan.mcast_router = wanted.mcast_router.or(vlan.mcast_router);
            done.notifications.push(notification(RTM_NEWVLAN, vlan));
        }
        Ok(done)
    }

    fn list(&self) -> Done {
        Done {
            answers: self.0.values().map(body).collect(),
            ..Done::default()
        }
    }
}

impl Store for PortVlans {
    fn handle(
        &mut self,
        message: Message<'_>,
        existing: &mut Existing,
    ) -> Option<Result<Done, Errno>> {
        let verb = match message.kind {
            RTM_GETVLAN => Verb::List,
            RTM_NEWVLAN => Verb::Set,
            RTM_SETLINK => Verb::Add,
            RTM_DELLINK => Verb::Del,
            _ => return None,
        };
        if verb == Verb::List {
            return Some(Ok(self.list()));
        }
        if verb == Verb::Set {
            let mut said = Vec::new();
            let read = PortVlan::read(message.body, |vlan| said.push(vlan));
            return Some(read.map_err(|_| Errno::INVAL).and_then(|()| self.set(said)));
        }
        match membership(message.body) {
            Ok(Some((dev, _))) if !existing.has(Reference::Link(dev)) => Some(Err(Errno::NODEV)),
            Ok(Some(said)) if verb == Verb::Add => Some(Ok(self.add(said))),
            Ok(Some(said)) => Some(Ok(self.delete(&said))),
            Ok(None) => None,
            Err(_) => Some(Err(Errno::INVAL)),
        }
    }

    fn without(&mut self, gone: Reference, _: &Existing) -> Done {
        let Reference::Link(link) = gone else {
            return Done::default();
        };
        let ids = self.0.range((link, 0)..=(link, MAX_VLAN));
        let vlans = ids.map(|((_, id), _)| (*id, PortVlanFlags::default()));
        let all = (link, vlans.collect());
        self.delete(&all)
    }
}
