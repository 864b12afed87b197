//! VLANs of ports in messages: as a part of a link where they are made, in messages of their own where
//! they are told and set.

use super::{PortVlan, PortVlanFlags};
use crate::codec::{Attribute, Malformed, Request, attributes, split};
use crate::interface::IfIndex;
use crate::table::{Entry, Shape, Table};
use crate::uapi::{
    AF_BRIDGE, BRIDGE_FLAGS_MASTER, BRIDGE_FLAGS_SELF, BRIDGE_VLAN_INFO_ONLY_OPTS,
    BRIDGE_VLAN_INFO_RANGE_BEGIN, BRIDGE_VLAN_INFO_RANGE_END, BRIDGE_VLANDB_ENTRY,
    BRIDGE_VLANDB_ENTRY_INFO, BRIDGE_VLANDB_ENTRY_RANGE, IFLA_AF_SPEC, IFLA_BRIDGE_FLAGS,
    IFLA_BRIDGE_VLAN_INFO,
};

/// Length of `struct br_vlan_msg`.
pub(super) const HEADER_BYTES: usize = 8;
/// Length of `struct ifinfomsg`.
pub(super) const LINK_HEADER_BYTES: usize = 16;

/// What stands in messages about a VLAN.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    kind: BRIDGE_VLANDB_ENTRY,
    constant: "BRIDGE_VLANDB_ENTRY",
    shape: Shape::Nest {
        skip: 0,
        entries: <PortVlan as Table>::entries,
    },
}];

/// What stands in messages about a link.
pub(super) const LINK_ENTRIES: &[Entry] = &[Entry {
    kind: IFLA_AF_SPEC,
    constant: "IFLA_AF_SPEC",
    shape: Shape::Nest {
        skip: 0,
        entries: || AF_SPEC_ENTRIES,
    },
}];

const AF_SPEC_ENTRIES: &[Entry] = &[
    Entry {
        kind: IFLA_BRIDGE_FLAGS,
        constant: "IFLA_BRIDGE_FLAGS",
        shape: Shape::Number,
    },
    Entry {
        kind: IFLA_BRIDGE_VLAN_INFO,
        constant: "IFLA_BRIDGE_VLAN_INFO",
        shape: Shape::Bytes,
    },
];

pub(super) fn header(dev: IfIndex) -> [u8; HEADER_BYTES] {
    let [i0, i1, i2, i3] = dev.0.to_ne_bytes();
    [AF_BRIDGE, 0, 0, 0, i0, i1, i2, i3]
}

pub(super) fn link_header(dev: IfIndex) -> [u8; LINK_HEADER_BYTES] {
    let mut bytes = [0; LINK_HEADER_BYTES];
    bytes[0] = AF_BRIDGE;
    bytes[4..8].copy_from_slice(&dev.0.to_ne_bytes());
    bytes
}

/// `struct bridge_vlan_info`.
fn info(flags: u16, vlan: u16) -> [u8; 4] {
    let ([f0, f1], [v0, v1]) = (flags.to_ne_bytes(), vlan.to_ne_bytes());
    [f0, f1, v0, v1]
}

impl PortVlan {
    /// Adds the attributes that make `first` to `last` members, or take them out.
    pub(super) fn put_membership(&self, first: u16, last: u16, request: &mut Request) {
        let flags = self.flags.unwrap_or_default().0;
        request.nested(IFLA_AF_SPEC, &[], |request| {
            let places = [
                (self.own, BRIDGE_FLAGS_SELF),
                (self.master, BRIDGE_FLAGS_MASTER),
            ];
            let said = places.into_iter().filter(|(on, _)| *on == Some(true));
            let places = said.fold(0, |places, (_, place)| places | place);
            if places != 0 {
                request.attribute(IFLA_BRIDGE_FLAGS, &places.to_ne_bytes());
            }
            let mut put =
                |flags, vlan| request.attribute(IFLA_BRIDGE_VLAN_INFO, &info(flags, vlan));
            if first == last {
                put(flags, first);
            } else {
                put(flags | BRIDGE_VLAN_INFO_RANGE_BEGIN, first);
                put(flags | BRIDGE_VLAN_INFO_RANGE_END, last);
            }
        });
    }

    /// Adds the attributes that set options of `first` to `last`.
    pub(super) fn put_options(&self, first: u16, last: u16, request: &mut Request) {
        request.nested(BRIDGE_VLANDB_ENTRY, &[], |request| {
            let info = info(BRIDGE_VLAN_INFO_ONLY_OPTS, first);
            request.attribute(BRIDGE_VLANDB_ENTRY_INFO, &info);
            if first != last {
                request.attribute(BRIDGE_VLANDB_ENTRY_RANGE, &last.to_ne_bytes());
            }
            Table::put(self, request);
        });
    }

    /// Reads a message about the VLANs of a port.
    pub(super) fn read(body: &[u8], mut take: impl FnMut(Self)) -> Result<(), Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("VLAN header", 0, body)?;
        let [family, _, _, _, i0, i1, i2, i3] = *header;
        if family != AF_BRIDGE {
            return Ok(());
        }
        let dev = IfIndex(u32::from_ne_bytes([i0, i1, i2, i3]));
        for attribute in attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            if attribute.kind == BRIDGE_VLANDB_ENTRY {
                take(Self::read_entry(dev, attribute)?);
            }
        }
        Ok(())
    }

    fn read_entry(dev: IfIndex, entry: Attribute<'_>) -> Result<Self, Malformed> {
        let mut vlan = Self::new().dev(dev);
        for attribute in entry.attributes() {
            let attribute = attribute?;
            match attribute.kind {
                BRIDGE_VLANDB_ENTRY_INFO => {
                    let [f0, f1, v0, v1] = attribute.array()?;
                    let told = PortVlanFlags::PVID | PortVlanFlags::UNTAGGED;
                    vlan.flags = Some(PortVlanFlags(u16::from_ne_bytes([f0, f1]) & told.0));
                    vlan.vlan = Some(u16::from_ne_bytes([v0, v1]));
                }
                BRIDGE_VLANDB_ENTRY_RANGE => {
                    vlan.vlan_end = Some(u16::from_ne_bytes(attribute.array()?));
                }
                _ => vlan.take(attribute)?,
            }
        }
        Ok(vlan)
    }
}
