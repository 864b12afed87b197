//! Dividing the blocks of a capture into extents, with the keys of each.

use super::fuse::{self, Fuse, Workspace, mix};
use super::hashes::{AddressSet, Identities, IdentitySet, Ports};
use super::keys::{Key, Keys, flow_hash, plain_flow, word_of};
use super::layout::{
    ADDRESSES, BYTES_PER_INDEX_BYTE, EXTENT_BYTES, EXTENT_BYTES_MAX, Extent, FLOWS, KEYS_MAX,
    MAGIC, PORTS, SET_BYTES, SMALL_BYTES,
};
use crate::read::{ErrorKind, Frame, Item, ReadError, Reader};

/// An extent with this many bytes ends as soon as its keys fit.
const EXTENT_BYTES_MIN: u64 = 4 << 20;

/// Packets between two attempts to end an extent whose keys do not fit yet.
const PACKETS_BETWEEN: u32 = 64;

/// Packets that wait for the CPU together.
const TOGETHER: usize = PACKETS_BETWEEN as usize;

/// Packets of these many flows in a row are recognised without a look at the sets.
const RECENT: usize = 1024;

/// Extents behind the current one for which an index has room: one, for the last blocks of a capture.
const BEHIND: u64 = 1;

/// The same if blocks of other types follow: they have an extent of their own, and so do the packets behind them.
const BEHIND_WITH_OTHERS: u64 = 3;

/// All classes of keys.
const ALL: u32 = ADDRESSES | PORTS | FLOWS;

/// The extent that is being filled, and those before.
pub(crate) struct Builder {
    link_types: Vec<u16>,
    /// Extents that have ended and were not taken yet.
    ended: Vec<Extent>,
    /// Bytes that the index has so far.
    index_bytes: u64,
    current: Extent,
    identities: Identities,
    /// Flows whose addresses and ports are in the sets. Not used where the extent does without flows.
    flows: IdentitySet,
    /// Hashes of flows, which the index has.
    flow_hashes: Vec<u64>,
    addresses: AddressSet,
    /// Hashes of addresses, which the index has.
    address_hashes: Vec<u64>,
    ports: Ports,
    /// Classes of keys that the current extent does without: there are too many, or packets whose keys are unknown.
    dropped: u32,
    /// Most keys that can fit, even when the current extent has its largest size.
    keys_max: usize,
    /// Identities of flows that are in the sets, or among those that wait.
    recent: Box<[u64; RECENT]>,
    /// Packets that wait while the CPU fetches the places of their flows, or of their addresses.
    waiting: Vec<Waiting>,
    /// Addresses of packets of IPv4 that wait where the extent does without flows.
    ipv4: Box<[[u32; 2]; TOGETHER]>,
    /// Number of these packets.
    ipv4_count: usize,
    workspace: Workspace,
}

/// The keys of a packet that has all of them.
#[derive(Clone, Copy)]
struct Waiting {
    /// Identity of the flow; 0 where the extent does without flows.
    flow: u64,
    /// The addresses as [numbers](word_of).
    addresses: [u64; 2],
    ports: [u16; 2],
}

impl Default for Builder {
    fn default() -> Self {
        let mut builder = Self {
            link_types: Vec::new(),
            ended: Vec::new(),
            index_bytes: 0,
            current: empty(0),
            identities: Identities::default(),
            flows: IdentitySet::default(),
            flow_hashes: Vec::new(),
            addresses: AddressSet::default(),
            address_hashes: Vec::new(),
            ports: Ports::default(),
            dropped: 0,
            keys_max: 0,
            recent: Box::new([0; RECENT]),
            waiting: Vec::with_capacity(TOGETHER),
            ipv4: Box::new([[0; 2]; TOGETHER]),
            ipv4_count: 0,
            workspace: Workspace::default(),
        };
        builder.begin_capture();
        builder
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
    /// Adds the next items of `reader`, which lends all items of one capture. Returns whether there were some. What follows the
    /// last whole block is left out.
    pub(super) fn add_items(&mut self, reader: &mut Reader) -> Result<bool, ReadError> {
        if self.end() == 0 {
            // The header of the file, which the reader has read.
            self.others(reader.offset());
        }
        reader.take_without_options(|frame| self.packet(frame));
        // All other items, and more of the file.
        let before = reader.offset();
        match reader.next_item() {
            Ok(Some(Item::Packet(_))) => {
                let block_bytes = (reader.offset() - before) as usize;
                let packet = reader.last_packet();
                self.packet(Frame {
                    interface: packet.interface,
                    timestamp_ns: packet.timestamp_ns,
                    bytes: packet.bytes,
                    block_bytes,
                });
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
        reader.take_from(blocks, |frame| self.packet(frame))
    }

    /// Bytes of the capture so far.
    pub(super) fn end(&self) -> u64 {
        self.current.offset + self.current.bytes
    }

    /// Bytes of an index with all extents that have ended.
    pub(super) fn index_bytes(&self) -> u64 {
        self.index_bytes
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
            self.end_extent(BEHIND);
        }
    }

    /// A packet.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, whose fields then stay in registers"
    )]
    fn packet(&mut self, frame: Frame<'_>) {
        if self.current.packets == 0 && self.current.bytes > 0 {
            self.end_extent(BEHIND);
        }
        self.current.bytes += frame.block_bytes as u64;
        self.current.packets += 1;
        let [first, last] = &mut self.current.times_ns;
        if let Some(time) = frame.timestamp_ns {
            (*first, *last) = ((*first).min(time), (*last).max(time));
        } else {
            // It may be selected with any time.
            (*first, *last) = (0, u64::MAX);
        }
        let link_type = self.link_types.get(frame.interface as usize);
        self.add_keys(link_type.copied().unwrap_or(u16::MAX), frame.bytes);
        let bytes = self.current.bytes;
        let is_due = self.current.packets.is_multiple_of(PACKETS_BETWEEN);
        if bytes >= EXTENT_BYTES_MIN && (is_due || bytes >= EXTENT_BYTES_MAX) {
            self.end_complete_extent();
        }
    }

    /// Ends the current extent if its keys fit, or if it must not become larger.
    #[inline(never)]
    fn end_complete_extent(&mut self) {
        if self.current.bytes >= EXTENT_BYTES_MAX || self.fits() {
            self.end_extent(BEHIND);
        }
    }

    /// `bytes` bytes of blocks of other types, which every reader needs.
    fn others(&mut self, bytes: u64) {
        if self.current.packets > 0 {
            if self.budget(self.end(), BEHIND_WITH_OTHERS) > 0 {
                self.end_extent(BEHIND_WITH_OTHERS);
            } else {
                // There are too many of them among the packets. No search passes over an extent without keys and of all times.
                self.dropped = ALL;
                self.current.times_ns = [0, u64::MAX];
            }
        }
        self.current.bytes += bytes;
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, whose fields then stay in registers"
    )]
    fn add_keys(&mut self, link_type: u16, packet: &[u8]) {
        if self.drops(ALL) {
            return;
        }
        match plain_flow(link_type, packet) {
            Some((addresses, ports)) if self.drops(FLOWS) => self.add_ipv4(addresses, ports),
            Some((addresses, ports)) => self.add_ipv4_flow(addresses, ports),
            None => self.add_keys_of_any(link_type, packet),
        }
    }

    /// Adds addresses and ports of IPv4 where the extent does without flows. Most packets are of a known flow, but finding that
    /// takes as long as finding their addresses.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for most packets of extents with many flows"
    )]
    fn add_ipv4(&mut self, addresses: [u32; 2], ports: [u16; 2]) {
        if !self.drops(PORTS) {
            for port in ports {
                self.ports.insert(port);
            }
        }
        for address in addresses {
            self.addresses.prefetch_ipv4(address);
        }
        if let Some(place) = self.ipv4.get_mut(self.ipv4_count) {
            *place = addresses;
            self.ipv4_count += 1;
        }
        if self.ipv4_count >= TOGETHER {
            self.settle();
        }
    }

    #[inline(never)]
    fn add_ipv4_flow(&mut self, addresses: [u32; 2], ports: [u16; 2]) {
        self.add_flow(addresses.map(u64::from), ports, |identities| {
            identities.of_ipv4(addresses, ports)
        });
    }

    #[inline(never)]
    fn add_keys_of_any(&mut self, link_type: u16, packet: &[u8]) {
        let Some(keys) = Keys::of(link_type, packet) else {
            self.dropped = ALL;
            return;
        };
        if let Some((addresses, ports)) = keys.flow() {
            self.add_flow(addresses.map(word_of), ports, |identities| {
                identities.of(addresses, ports)
            });
            return;
        }
        for address in keys.addresses.into_iter().flatten() {
            self.add_address(word_of(address));
        }
        for port in keys.ports.into_iter().flatten() {
            self.ports.insert(port);
        }
        self.drop_classes();
    }

    /// Adds a flow with this identity, its addresses and its ports, now or with others that follow.
    #[inline]
    fn add_flow(
        &mut self,
        addresses: [u64; 2],
        ports: [u16; 2],
        identity: impl FnOnce(&Identities) -> u64,
    ) {
        let mut flow = 0;
        if self.drops(FLOWS) {
            for address in addresses {
                self.addresses.prefetch(address);
            }
        } else {
            flow = identity(&self.identities);
            let recent = &mut self.recent[flow as usize % RECENT];
            if std::mem::replace(recent, flow) == flow {
                return;
            }
            self.flows.prefetch(flow);
        }
        self.waiting.push(Waiting {
            flow,
            addresses,
            ports,
        });
        if self.waiting.len() == TOGETHER {
            self.settle();
        }
    }

    /// Adds the keys that wait.
    #[inline(never)]
    fn settle(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        if !self.drops(FLOWS) {
            // What a known flow consists of is in the sets, too.
            waiting.retain(|packet| self.flows.insert(packet.flow));
            for packet in &waiting {
                for address in packet.addresses {
                    self.addresses.prefetch(address);
                }
                let hash = flow_hash(packet.addresses.map(mix), packet.ports);
                self.flow_hashes.push(hash);
            }
        }
        let keeps_ports = !self.drops(PORTS);
        for packet in waiting.drain(..) {
            for address in packet.addresses {
                self.add_address(address);
            }
            if keeps_ports {
                for port in packet.ports {
                    self.ports.insert(port);
                }
            }
        }
        self.waiting = waiting;
        let ipv4 = self.ipv4[..self.ipv4_count].as_flattened();
        self.ipv4_count = 0;
        if !self.drops(ADDRESSES) {
            let hashes = &mut self.address_hashes;
            let add = |address: u32| hashes.push(mix(u64::from(address)));
            self.addresses.insert_ipv4(ipv4, add);
        }
        self.drop_classes();
    }

    /// Adds the address with this [number](word_of).
    #[inline]
    fn add_address(&mut self, address: u64) {
        if !self.drops(ADDRESSES) && self.addresses.insert(address) {
            self.address_hashes.push(mix(address));
        }
    }

    /// Drops classes of keys until the others can fit.
    #[inline]
    fn drop_classes(&mut self) {
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
            (ADDRESSES, self.address_hashes.len()),
            (PORTS, self.ports.len()),
            (FLOWS, self.flow_hashes.len()),
        ];
        let kept = classes.iter().filter(|(class, _)| !self.drops(*class));
        kept.map(|(_, count)| count).sum()
    }

    /// Bytes that the index has for the keys of the current extent, if that ends at `end` and `behind` extents without keys follow.
    fn budget(&self, end: u64, behind: u64) -> usize {
        let all = (end / BYTES_PER_INDEX_BYTE).max(SMALL_BYTES);
        let extents = (1 + behind) * EXTENT_BYTES as u64;
        all.saturating_sub(self.index_bytes + extents + SET_BYTES as u64) as usize
    }

    fn fits(&mut self) -> bool {
        self.settle();
        let (keys, budget) = (self.keys(), self.budget(self.end(), BEHIND));
        keys <= fuse::capacity_at_most(budget) && fuse::bytes(keys) <= budget
    }

    /// Begins another capture. The memory of the sets stays.
    pub(super) fn begin_capture(&mut self) {
        self.link_types.clear();
        self.ended.clear();
        self.index_bytes = MAGIC.len() as u64;
        self.begin_extent(0);
    }

    fn begin_extent(&mut self, offset: u64) {
        self.current = empty(offset);
        self.flows.clear();
        self.flow_hashes.clear();
        self.addresses.clear();
        self.address_hashes.clear();
        self.ports.clear();
        self.recent.fill(0);
        self.waiting.clear();
        self.ipv4_count = 0;
        self.dropped = 0;
        let most = fuse::capacity_at_most(self.budget(offset + EXTENT_BYTES_MAX, BEHIND));
        self.keys_max = most.min(KEYS_MAX);
    }

    /// Ends the current extent; the next begins behind it. Classes of keys that do not fit are dropped. The index has room for
    /// `behind` further extents.
    #[cold]
    fn end_extent(&mut self, behind: u64) {
        self.settle();
        let end = self.end();
        let budget = self.budget(end, behind);
        let mut extent = self.current.clone();
        let mut hashes = std::mem::take(&mut self.address_hashes);
        let has_keys = extent.packets > 0 && !self.drops(ADDRESSES);
        if has_keys && fuse::bytes(hashes.len()) <= budget {
            extent.classes = ADDRESSES;
        } else {
            hashes.clear();
        }
        for class in [PORTS, FLOWS] {
            if extent.packets == 0 || self.drops(class) {
                continue;
            }
            let before = hashes.len();
            match class {
                PORTS => hashes.extend(self.ports.iter().map(|port| Key::Port(port).hash())),
                _ => hashes.append(&mut self.flow_hashes),
            }
            if fuse::bytes(hashes.len()) <= budget {
                extent.classes |= class;
            } else {
                hashes.truncate(before);
            }
        }
        if extent.classes != 0 {
            extent.keys = Fuse::new(&mut hashes, &mut self.workspace);
        }
        // Its memory is used again.
        self.address_hashes = hashes;
        self.index_bytes += EXTENT_BYTES as u64;
        match &extent.keys {
            Some(keys) => self.index_bytes += (SET_BYTES + keys.fingerprints.len()) as u64,
            None => extent.classes = 0,
        }
        self.ended.push(extent);
        self.begin_extent(end);
    }
}
