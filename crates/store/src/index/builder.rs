//! Dividing the blocks of a capture into extents, with the keys of each.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use super::fuse::{self, Fuse};
use super::keys::{Key, Keys};
use super::layout::{ADDRESSES, EXTENT_BYTES, Extent, FLOWS, MAGIC, PORTS, SET_BYTES};
use crate::read::{ErrorKind, Item, ReadError, Reader};

/// An extent with this many bytes ends as soon as its keys fit.
const EXTENT_BYTES_MIN: u64 = 4 << 20;

/// An extent of this size ends, whether its keys fit or not.
const EXTENT_BYTES_MAX: u64 = 32 << 20;

/// An index takes at most one byte for so many bytes of the capture: 0.25 %.
const BYTES_PER_INDEX_BYTE: u64 = 400;

/// A small index may be larger.
const SMALL_BYTES: u64 = 4 << 10;

/// More keys of one class would not fit.
const KEYS_MAX: usize = (EXTENT_BYTES_MAX / BYTES_PER_INDEX_BYTE) as usize + SMALL_BYTES as usize;

/// Packets between two attempts to end an extent whose keys do not fit yet.
const PACKETS_BETWEEN: u32 = 64;

/// Packets of these many flows in a row are recognised without a look at the sets.
const RECENT: usize = 1024;

/// Hashes are hashed already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Keys of one class in an extent. Its memory is used again for the next one.
#[derive(Default)]
struct Class {
    keys: HashSet<u64, BuildHasherDefault<Identity>>,
    /// Whether some are missing: there are too many, or packets whose keys are unknown.
    is_incomplete: bool,
}

/// The extent that is being filled, and those before.
pub(super) struct Builder {
    link_types: Vec<u16>,
    /// Those that have ended and were not taken yet.
    ended: Vec<Extent>,
    /// Bytes that the index has so far.
    index_bytes: u64,
    current: Extent,
    addresses: Class,
    ports: Class,
    flows: Class,
    /// Hashes of flows that are in the sets.
    recent: Vec<u64>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            link_types: Vec::new(),
            ended: Vec::new(),
            index_bytes: MAGIC.len() as u64,
            current: empty(0),
            addresses: Class::default(),
            ports: Class::default(),
            flows: Class::default(),
            recent: vec![0; RECENT],
        }
    }
}

fn empty(offset: u64) -> Extent {
    Extent {
        offset,
        bytes: 0,
        packets: 0,
        times_ns: [u64::MAX, 0],
        fingerprint: 0,
        classes: 0,
        keys: None,
    }
}

impl Builder {
    /// Adds the next item of `reader`, which lends all items of one capture. Returns whether there was one. What follows the
    /// last whole block is left out.
    pub(super) fn add_item(&mut self, reader: &mut Reader) -> Result<bool, ReadError> {
        if self.end() == 0 {
            // The header of the file, which the reader has read.
            self.others(0, reader.offset());
        }
        let from = self.end();
        match reader.next_item() {
            Ok(Some(Item::Packet(packet))) => {
                let link_type = self.link_types.get(packet.interface as usize);
                let link_type = link_type.copied().unwrap_or(u16::MAX);
                let time = packet.timestamp_ns;
                let keys = Keys::of(link_type, packet.bytes);
                self.packet(from, reader.offset(), time, keys);
            }
            Ok(Some(item)) => {
                if let Item::Interface { interface, .. } = item {
                    self.link_types.push(interface.link_type.0);
                }
                self.others(from, reader.offset());
            }
            Ok(None) => return Ok(false),
            Err(error) if error.kind == ErrorKind::Truncated => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Bytes of the capture so far.
    pub(super) fn end(&self) -> u64 {
        self.current.offset + self.current.bytes
    }

    /// Whether extents have ended since they were taken.
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Takes the extents that have ended since the last call.
    pub(super) fn take_ended(&mut self) -> std::vec::Drain<'_, Extent> {
        self.ended.drain(..)
    }

    /// Ends the last extent.
    pub(super) fn finish(&mut self) {
        if self.current.bytes > 0 {
            self.end_extent(self.end());
        }
    }

    fn packet(&mut self, from: u64, to: u64, time: Option<u64>, keys: Option<Keys>) {
        if self.current.packets == 0 && self.current.bytes > 0 {
            self.end_extent(from);
        }
        self.current.bytes += to - from;
        self.current.packets += 1;
        let [first, last] = &mut self.current.times_ns;
        if let Some(time) = time {
            (*first, *last) = ((*first).min(time), (*last).max(time));
        } else {
            // It may be selected with any time.
            (*first, *last) = (0, u64::MAX);
        }
        if let Some(keys) = keys {
            self.add(&keys);
        } else {
            for class in [&mut self.addresses, &mut self.ports, &mut self.flows] {
                class.is_incomplete = true;
            }
        }
        let bytes = self.current.bytes;
        let is_due = self.current.packets.is_multiple_of(PACKETS_BETWEEN);
        if bytes >= EXTENT_BYTES_MAX || bytes >= EXTENT_BYTES_MIN && is_due && self.fits() {
            self.end_extent(to);
        }
    }

    /// Blocks of other types.
    fn others(&mut self, from: u64, to: u64) {
        if self.current.packets > 0 {
            self.end_extent(from);
        }
        self.current.bytes += to - from;
    }

    fn add(&mut self, keys: &Keys) {
        let flow = keys.flow().map(Key::hash);
        if let Some(flow) = flow {
            let recent = &mut self.recent[flow as usize % RECENT];
            if *recent == flow {
                return;
            }
            *recent = flow;
            if !self.flows.insert(flow) {
                // What the flow consists of is in the sets, too.
                return;
            }
        }
        for address in keys.addresses.into_iter().flatten() {
            self.addresses.insert(Key::Address(address).hash());
        }
        for port in keys.ports.into_iter().flatten() {
            self.ports.insert(Key::Port(port).hash());
        }
    }

    /// What the index may have with the current extent.
    fn budget(&self) -> usize {
        let all = (self.end() / BYTES_PER_INDEX_BYTE).max(SMALL_BYTES);
        // This extent, and one behind it for the last blocks of a capture.
        let used = self.index_bytes + (2 * EXTENT_BYTES + SET_BYTES) as u64;
        all.saturating_sub(used) as usize
    }

    fn fits(&self) -> bool {
        let classes = [&self.addresses, &self.ports, &self.flows];
        let complete = classes.iter().filter(|class| !class.is_incomplete);
        let count = complete.map(|class| class.keys.len()).sum();
        fuse::bytes(count) <= self.budget()
    }

    /// Ends the current extent; the next begins at `offset`. Classes of keys that do not fit are dropped: flows first,
    /// since addresses and ports tell something of them.
    fn end_extent(&mut self, offset: u64) {
        let budget = self.budget();
        let mut extent = std::mem::replace(&mut self.current, empty(offset));
        let mut hashes = Vec::new();
        let classes = [
            (&mut self.addresses, ADDRESSES),
            (&mut self.ports, PORTS),
            (&mut self.flows, FLOWS),
        ];
        for (class, bit) in classes {
            let fits = fuse::bytes(hashes.len() + class.keys.len()) <= budget;
            if extent.packets > 0 && !class.is_incomplete && fits {
                extent.classes |= bit;
                hashes.extend(&class.keys);
            }
            class.keys.clear();
            class.is_incomplete = false;
        }
        self.recent.fill(0);
        if extent.classes != 0 {
            hashes.sort_unstable();
            hashes.dedup();
            extent.keys = Fuse::new(&hashes);
        }
        self.index_bytes += EXTENT_BYTES as u64;
        match &extent.keys {
            Some(keys) => self.index_bytes += (SET_BYTES + keys.fingerprints.len()) as u64,
            None => extent.classes = 0,
        }
        self.ended.push(extent);
    }
}

impl Class {
    /// Adds a key. Returns false if the class had it already.
    fn insert(&mut self, hash: u64) -> bool {
        if self.is_incomplete {
            return true;
        }
        let is_new = self.keys.insert(hash);
        self.is_incomplete = self.keys.len() > KEYS_MAX;
        is_new
    }
}
