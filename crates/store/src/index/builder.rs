//! Dividing the blocks of a capture into extents, with the keys of each.

use std::net::{IpAddr, Ipv4Addr};

use super::fuse::{self, Fuse};
use super::hashes::{FlowIdentities, Hashes, Ports};
use super::keys::{Key, Keys, plain_flow};
use super::layout::{
    ADDRESSES, BYTES_PER_INDEX_BYTE, EXTENT_BYTES, EXTENT_BYTES_MAX, Extent, FLOWS, KEYS_MAX,
    MAGIC, PORTS, SET_BYTES, SMALL_BYTES,
};
use crate::model::Packet;
use crate::read::{ErrorKind, Item, ReadError, Reader};

/// An extent with this many bytes ends as soon as its keys fit.
const EXTENT_BYTES_MIN: u64 = 4 << 20;

/// Packets between two attempts to end an extent whose keys do not fit yet.
const PACKETS_BETWEEN: u32 = 64;

/// Packets of these many flows in a row are recognised without a look at the sets.
const RECENT: usize = 1024;

/// All classes of keys.
const ALL: u32 = ADDRESSES | PORTS | FLOWS;

/// The extent that is being filled, and those before.
pub(super) struct Builder {
    link_types: Vec<u16>,
    /// Extents that have ended and were not taken yet.
    ended: Vec<Extent>,
    /// Bytes that the index has so far.
    index_bytes: u64,
    current: Extent,
    addresses: Hashes,
    ports: Ports,
    /// Identities of flows whose addresses and ports are in the sets, also where the extent does without flows.
    flows: Hashes,
    /// Hashes of flows, which the index has. Strangers can choose flows of which it is the same.
    flow_hashes: Vec<u64>,
    identities: FlowIdentities,
    /// Classes of keys that the current extent does without: there are too many, or packets whose keys are unknown.
    dropped: u32,
    /// Most keys that can fit, even when the current extent has its largest size.
    keys_max: usize,
    /// Identities of flows that are in the sets, or among those that wait.
    recent: Vec<u64>,
    /// Keys that are not in the sets yet. Many at a time are added: the processor then fetches their places together, which
    /// are seldom in its caches.
    waiting: Vec<Waiting>,
}

/// Keys of a packet, and the identity of its flow.
struct Waiting {
    flow: Option<u64>,
    keys: Keys,
}

impl Default for Builder {
    fn default() -> Self {
        let mut builder = Self {
            link_types: Vec::new(),
            ended: Vec::new(),
            index_bytes: MAGIC.len() as u64,
            current: empty(0),
            addresses: Hashes::default(),
            ports: Ports::default(),
            flows: Hashes::default(),
            flow_hashes: Vec::new(),
            identities: FlowIdentities::default(),
            dropped: 0,
            keys_max: 0,
            recent: no_flows(),
            waiting: Vec::with_capacity(PACKETS_BETWEEN as usize),
        };
        builder.begin_extent(0);
        builder
    }
}

/// No flows: nothing that is looked for in a place is in it.
fn no_flows() -> Vec<u64> {
    let mut recent = vec![0; RECENT];
    recent[0] = 1;
    recent
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
    /// Adds the next items of `reader`, which lends all items of one capture. Returns whether there were some. What follows the
    /// last whole block is left out.
    pub(super) fn add_items(&mut self, reader: &mut Reader) -> Result<bool, ReadError> {
        if self.end() == 0 {
            // The header of the file, which the reader has read.
            self.others(reader.offset());
        }
        reader.take_without_options(|packet, bytes| self.packet(packet, bytes));
        // All other items, and more of the file.
        let before = reader.offset();
        match reader.next_item() {
            Ok(Some(Item::Packet(_))) => {
                let bytes = reader.offset() - before;
                self.packet(&reader.last_packet(), bytes);
            }
            Ok(Some(item)) => {
                if let Item::Interface { interface, .. } = item {
                    self.link_types.push(interface.link_type.0);
                }
                self.others(reader.offset() - before);
            }
            Ok(None) => return Ok(false),
            Err(error) if error.kind == ErrorKind::Truncated => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Adds the packets at the start of `blocks`, which follow what `reader` has read. Returns the number of their bytes.
    pub(super) fn add_packets(&mut self, reader: &mut Reader, blocks: &[u8]) -> usize {
        reader.take_from(blocks, |packet, bytes| self.packet(packet, bytes))
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
            self.end_extent();
        }
    }

    /// A packet, whose block has `bytes` bytes.
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>, bytes: u64) {
        if self.current.packets == 0 && self.current.bytes > 0 {
            self.end_extent();
        }
        self.current.bytes += bytes;
        self.current.packets += 1;
        let [first, last] = &mut self.current.times_ns;
        if let Some(time) = packet.timestamp_ns {
            (*first, *last) = ((*first).min(time), (*last).max(time));
        } else {
            // It may be selected with any time.
            (*first, *last) = (0, u64::MAX);
        }
        let link_type = self.link_types.get(packet.interface as usize);
        self.add_keys(link_type.copied().unwrap_or(u16::MAX), packet.bytes);
        let bytes = self.current.bytes;
        let is_due = self.current.packets.is_multiple_of(PACKETS_BETWEEN);
        if bytes >= EXTENT_BYTES_MAX || bytes >= EXTENT_BYTES_MIN && is_due && self.fits() {
            self.end_extent();
        }
    }

    /// `bytes` bytes of blocks of other types.
    fn others(&mut self, bytes: u64) {
        if self.current.packets > 0 {
            self.end_extent();
        }
        self.current.bytes += bytes;
    }

    #[inline]
    fn add_keys(&mut self, link_type: u16, packet: &[u8]) {
        if self.drops(ALL) {
            return;
        }
        if let Some((addresses, ports)) = plain_flow(link_type, packet) {
            let identity = self.identities.of_ipv4(addresses, ports);
            if !self.is_recent(identity) {
                let keys = Keys {
                    addresses: Some(addresses.map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))),
                    ports: ports.map(Some),
                };
                self.wait(Some(identity), keys);
            }
        } else if let Some(keys) = Keys::of(link_type, packet) {
            let flow = keys.flow();
            let flow = flow.map(|(addresses, ports)| self.identities.of(addresses, ports));
            if !flow.is_some_and(|identity| self.is_recent(identity)) {
                self.wait(flow, keys);
            }
        } else {
            self.dropped = ALL;
        }
    }

    /// Whether a flow is in the sets, or among those that wait. It counts as recent from now on.
    #[inline]
    fn is_recent(&mut self, identity: u64) -> bool {
        let recent = &mut self.recent[identity as usize % RECENT];
        std::mem::replace(recent, identity) == identity
    }

    #[inline]
    fn wait(&mut self, flow: Option<u64>, keys: Keys) {
        self.waiting.push(Waiting { flow, keys });
        if self.waiting.len() == PACKETS_BETWEEN as usize {
            self.settle();
        }
    }

    /// Adds the keys that wait.
    fn settle(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        if !self.drops(FLOWS) || self.flows.len() < KEYS_MAX {
            self.flows
                .prefetch(waiting.iter().filter_map(|packet| packet.flow));
            let keeps_flows = !self.drops(FLOWS);
            // What a known flow consists of is in the sets, too.
            waiting.retain(|packet| {
                let (Some(identity), Some((addresses, ports))) = (packet.flow, packet.keys.flow())
                else {
                    return true;
                };
                let is_new = self.flows.insert(identity);
                if is_new && keeps_flows {
                    self.flow_hashes.push(Key::Flow(addresses, ports).hash());
                }
                is_new
            });
        }
        if !self.drops(ADDRESSES) {
            let addresses = || {
                let pairs = waiting.iter().filter_map(|packet| packet.keys.addresses);
                pairs.flatten().map(|address| Key::Address(address).hash())
            };
            self.addresses.prefetch(addresses());
            for address in addresses() {
                self.addresses.insert(address);
            }
        }
        if !self.drops(PORTS) {
            for port in waiting
                .iter()
                .flat_map(|packet| packet.keys.ports)
                .flatten()
            {
                self.ports.insert(port);
            }
        }
        waiting.clear();
        self.waiting = waiting;
        // Flows first, since addresses and ports tell something of them.
        for class in [FLOWS, PORTS, ADDRESSES] {
            if self.keys() <= self.keys_max {
                break;
            }
            self.dropped |= class;
        }
    }

    /// Whether the extent does without all of `classes`.
    fn drops(&self, classes: u32) -> bool {
        self.dropped & classes == classes
    }

    /// Number of keys in the classes that the extent keeps.
    fn keys(&self) -> usize {
        let classes = [
            (ADDRESSES, self.addresses.len()),
            (PORTS, self.ports.len()),
            (FLOWS, self.flow_hashes.len()),
        ];
        let kept = classes.iter().filter(|(class, _)| !self.drops(*class));
        kept.map(|(_, count)| count).sum()
    }

    /// What the index may have with the current extent, if that ends at `end`.
    fn budget(&self, end: u64) -> usize {
        let all = (end / BYTES_PER_INDEX_BYTE).max(SMALL_BYTES);
        // This extent, and one behind it for the last blocks of a capture.
        let used = self.index_bytes + (2 * EXTENT_BYTES + SET_BYTES) as u64;
        all.saturating_sub(used) as usize
    }

    fn fits(&mut self) -> bool {
        self.settle();
        let (keys, budget) = (self.keys(), self.budget(self.end()));
        keys <= fuse::capacity_at_most(budget) && fuse::bytes(keys) <= budget
    }

    fn begin_extent(&mut self, offset: u64) {
        self.current = empty(offset);
        self.dropped = 0;
        let most = fuse::capacity_at_most(self.budget(offset + EXTENT_BYTES_MAX));
        self.keys_max = most.min(KEYS_MAX);
    }

    /// Ends the current extent; the next begins behind it. Classes of keys that do not fit are dropped.
    #[cold]
    fn end_extent(&mut self) {
        self.settle();
        let end = self.end();
        let budget = self.budget(end);
        let mut extent = self.current.clone();
        let mut hashes = Vec::with_capacity(self.keys());
        for class in [ADDRESSES, PORTS, FLOWS] {
            let before = hashes.len();
            match class {
                ADDRESSES => hashes.extend(self.addresses.iter()),
                PORTS => hashes.extend(self.ports.iter().map(|port| Key::Port(port).hash())),
                _ => hashes.extend(&self.flow_hashes),
            }
            if extent.packets > 0 && !self.drops(class) && fuse::bytes(hashes.len()) <= budget {
                extent.classes |= class;
            } else {
                hashes.truncate(before);
            }
        }
        self.addresses.clear();
        self.ports.clear();
        self.flows.clear();
        self.flow_hashes.clear();
        self.recent = no_flows();
        if extent.classes != 0 {
            extent.keys = Fuse::new(hashes);
        }
        self.index_bytes += EXTENT_BYTES as u64;
        match &extent.keys {
            Some(keys) => self.index_bytes += (SET_BYTES + keys.fingerprints.len()) as u64,
            None => extent.classes = 0,
        }
        self.ended.push(extent);
        self.begin_extent(end);
    }
}
