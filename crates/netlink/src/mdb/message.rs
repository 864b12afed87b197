//! Groups in messages.

use super::entry::ENTRY_BYTES;
use super::source::Sources;
use super::{Mdb, MdbGroup};
use crate::codec::{Attribute, Attributes, Malformed, Request, attributes, split};
use crate::interface::IfIndex;
use crate::table::{Code, Entry, Native, Shape, Table};
use crate::uapi::{
    AF_BRIDGE, MDBA_MDB, MDBA_MDB_ENTRY, MDBA_MDB_ENTRY_INFO, MDBA_SET_ENTRY, MDBA_SET_ENTRY_ATTRS,
    MDBE_ATTR_GROUP_MODE, MDBE_ATTR_RTPROT, MDBE_ATTR_SOURCE, MDBE_ATTR_SRC_LIST,
};

/// Length of `struct br_port_msg`.
pub(super) const HEADER_BYTES: usize = 8;

/// What is said of a group; what is told has other types.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        kind: MDBA_SET_ENTRY,
        constant: "MDBA_SET_ENTRY",
        shape: Shape::Bytes,
    },
    Entry {
        kind: MDBA_SET_ENTRY_ATTRS,
        constant: "MDBA_SET_ENTRY_ATTRS",
        shape: Shape::Nest {
            skip: 0,
            entries: || SAID,
        },
    },
];

const SAID: &[Entry] = &[
    Entry {
        kind: MDBE_ATTR_SOURCE,
        constant: "MDBE_ATTR_SOURCE",
        shape: Shape::Ip,
    },
    Entry {
        kind: MDBE_ATTR_SRC_LIST,
        constant: "MDBE_ATTR_SRC_LIST",
        shape: <Sources as Code<Vec<super::MdbSource>>>::SHAPE,
    },
    Entry {
        kind: MDBE_ATTR_GROUP_MODE,
        constant: "MDBE_ATTR_GROUP_MODE",
        shape: Shape::Number,
    },
    Entry {
        kind: MDBE_ATTR_RTPROT,
        constant: "MDBE_ATTR_RTPROT",
        shape: Shape::Number,
    },
];

pub(super) fn header(dev: IfIndex) -> [u8; HEADER_BYTES] {
    let [i0, i1, i2, i3] = dev.0.to_ne_bytes();
    [AF_BRIDGE, 0, 0, 0, i0, i1, i2, i3]
}

impl Mdb {
    /// Adds the attributes of a request.
    pub(super) fn put_attributes(&self, group: MdbGroup, request: &mut Request) {
        request.attribute(MDBA_SET_ENTRY, &self.emit_entry(group));
        let is_said = self.src.is_some()
            || self.source_list.is_some()
            || self.filter_mode.is_some()
            || self.protocol.is_some();
        if !is_said {
            return;
        }
        request.nested(MDBA_SET_ENTRY_ATTRS, &[], |request| {
            if let Some(src) = &self.src {
                Native::put(src, MDBE_ATTR_SOURCE, request);
            }
            if let Some(list) = &self.source_list {
                Sources::put(list, MDBE_ATTR_SRC_LIST, request);
            }
            if let Some(mode) = &self.filter_mode {
                Native::put(mode, MDBE_ATTR_GROUP_MODE, request);
            }
            if let Some(protocol) = &self.protocol {
                Native::put(protocol, MDBE_ATTR_RTPROT, request);
            }
        });
    }

    /// Reads a message about the groups of a bridge.
    pub(super) fn read(body: &[u8], mut take: impl FnMut(Self)) -> Result<(), Malformed> {
        // Lists leave the family out.
        let (header, rest) = split::<HEADER_BYTES>("multicast header", 0, body)?;
        let [_, _, _, _, i0, i1, i2, i3] = *header;
        let dev = IfIndex(u32::from_ne_bytes([i0, i1, i2, i3]));
        for table in attributes(rest, HEADER_BYTES) {
            for entry in inside(table?, MDBA_MDB) {
                for info in inside(entry?, MDBA_MDB_ENTRY) {
                    let info = info?;
                    if info.kind != MDBA_MDB_ENTRY_INFO {
                        continue;
                    }
                    let (mut mdb, rest) = Self::read_entry(dev, info.at, info.bytes)?;
                    for attribute in attributes(rest, info.at + ENTRY_BYTES) {
                        mdb.take(attribute?)?;
                    }
                    take(mdb);
                }
            }
        }
        Ok(())
    }
}

/// The attributes inside one of this type; of another type there are none.
fn inside(attribute: Attribute<'_>, kind: u16) -> Attributes<'_> {
    if attribute.kind == kind {
        attribute.attributes()
    } else {
        attributes(&[], attribute.at)
    }
}
