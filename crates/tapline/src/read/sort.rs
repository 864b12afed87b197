//! Packets in the order of their times, within bounded memory.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use store::block::{Block, ByteOrder, Options};
use store::model::{Interface, Packet, Statistics};
use store::read::Header;

use super::delivery::Destination;
use super::error::ReadError;

/// Memory of a packet that waits, beside its bytes and options, rounded up: its fields, its place in the tree, and what the
/// allocator adds.
const PACKET_BYTES: u64 = size_of::<WaitingPacket>() as u64 + 128;

/// Sorts packets by time on their way into a destination.
///
/// Packets wait until they take more than a given memory. Then the earliest one goes on. Packets with equal times keep their order.
pub(super) struct SortedCopy<'a, D> {
    destination: &'a mut D,
    bytes_max: u64,
    /// Memory of the packets that wait.
    bytes: u64,
    /// By time, and by the order in which they came.
    waiting: BTreeMap<(u64, u64), Box<WaitingPacket>>,
    /// Packets that came so far.
    number: u64,
    /// Time of the packet that came last.
    previous_ns: u64,
    /// The latest time of a packet of this section that went on.
    latest_ns: u64,
    unsorted: u64,
}

/// A packet with its own memory.
struct WaitingPacket {
    /// Without bytes, comment and options.
    packet: Packet<'static>,
    /// Its bytes, then its options, which have the comment.
    data: Box<[u8]>,
    captured: usize,
    order: ByteOrder,
}

impl WaitingPacket {
    fn new(packet: &Packet<'_>) -> Self {
        let Packet {
            interface,
            timestamp_ns,
            bytes,
            original_len,
            direction,
            reception,
            checksum,
            toeplitz,
            queue,
            drop_count,
            packet_id,
            process_id,
            comment: _,
            options,
        } = *packet;
        Self {
            packet: Packet {
                interface,
                timestamp_ns,
                bytes: &[],
                original_len,
                direction,
                reception,
                checksum,
                toeplitz,
                queue,
                drop_count,
                packet_id,
                process_id,
                comment: None,
                options: Options::NONE,
            },
            data: [bytes, options.bytes].concat().into(),
            captured: bytes.len(),
            order: options.order,
        }
    }

    fn packet(&self) -> Packet<'_> {
        let (bytes, options) = self.data.split_at(self.captured);
        Packet {
            bytes,
            options: Options {
                bytes: options,
                order: self.order,
            },
            ..self.packet
        }
    }

    fn memory(&self) -> u64 {
        PACKET_BYTES + self.data.len() as u64
    }
}

impl<'a, D: Destination> SortedCopy<'a, D> {
    /// Packets that wait take at most `bytes_max` bytes of memory, and one packet.
    pub(super) fn new(bytes_max: NonZeroU64, destination: &'a mut D) -> Self {
        Self {
            destination,
            bytes_max: bytes_max.get(),
            bytes: 0,
            waiting: BTreeMap::new(),
            number: 0,
            previous_ns: 0,
            latest_ns: 0,
            unsorted: 0,
        }
    }

    /// Packets that came when a later one had gone on already.
    pub(super) fn unsorted(&self) -> u64 {
        self.unsorted
    }

    /// All packets that wait go on.
    pub(super) fn finish(&mut self) -> Result<(), ReadError> {
        while self.release()? {}
        Ok(())
    }

    /// The earliest packet goes on, if one waits.
    fn release(&mut self) -> Result<bool, ReadError> {
        let Some(((time_ns, _), waiting)) = self.waiting.pop_first() else {
            return Ok(false);
        };
        self.bytes -= waiting.memory();
        self.unsorted += u64::from(time_ns < self.latest_ns);
        self.latest_ns = self.latest_ns.max(time_ns);
        self.destination.packet(&waiting.packet())?;
        Ok(true)
    }
}

impl<D: Destination> Destination for SortedCopy<'_, D> {
    fn add_interface(
        &mut self,
        interface: Interface,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        self.destination.add_interface(interface, options)
    }

    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ReadError> {
        // One without a time stays behind the one before it, as in merged files.
        let time_ns = packet.timestamp_ns.unwrap_or(self.previous_ns);
        self.previous_ns = time_ns;
        self.number += 1;
        let waiting = Box::new(WaitingPacket::new(packet));
        self.bytes += waiting.memory();
        self.waiting.insert((time_ns, self.number), waiting);
        while self.bytes > self.bytes_max {
            self.release()?;
        }
        Ok(())
    }

    fn statistics(
        &mut self,
        statistics: &Statistics,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        self.destination.statistics(statistics, options)
    }

    /// Packets refer to interfaces of their own section, so they stay in it.
    fn section(&mut self, header: &Header) -> Result<(), ReadError> {
        self.finish()?;
        (self.previous_ns, self.latest_ns) = (0, 0);
        self.destination.section(header)
    }

    fn block(&mut self, block: &Block<'_>) -> Result<(), ReadError> {
        self.destination.block(block)
    }

    fn accepts_blocks(&self) -> bool {
        false
    }

    fn blocks(&mut self, _: &[u8], _: u64) -> Result<(), ReadError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        self.destination.flush()
    }
}
