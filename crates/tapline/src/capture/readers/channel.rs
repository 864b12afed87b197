//! The channel from a reader to the merger: the reader encodes packets into chunks, and says up to which time it has delivered all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use abi::clock::{monotonic_ns, realtime_ns};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use store::model::Packet as Record;
use store::write::{ChunkEncoder, PacketChunk};
use wire::metadata::Direction;
use wire::packet_id;

use super::super::account::summary::{CaptureSummary, Ended};
use super::super::engine::{Engine, Run};
use super::super::job::close;
use super::super::read::consumer::{Consumer, ConsumerError};
use super::super::read::dispatcher::{Dispatcher, Round};
use crate::packet::Packet;
use crate::stop::Stop;
use crate::wait::wait;

/// Most chunks of a channel.
pub const CHUNKS: usize = 64;

/// Chunks that are allocated together.
const ALLOCATED: usize = 16;

/// After so many chunks the merger is woken, and does not wait for its time. A wake-up costs as much as hundreds of packets.
const WAKE_CHUNKS: usize = CHUNKS / 4;

/// Longest time between the time stamp of a packet and its arrival in the ring. The kernel stamps packets before it
/// queues them for the CPU that delivers them; a device stamps them before it interrupts a CPU. The error of a device's
/// time stamps that are converted to the time of day is far smaller.
pub const IN_FLIGHT_NS: u64 = 50_000_000;

/// How late the kernel may hand over a block of TPACKET_V3: its timer counts jiffies, of at most 10 ms.
const LATE_BLOCK_NS: u64 = 20_000_000;

/// Interval at which a reader without packets tells the time.
pub const HEARTBEAT_NS: u64 = 50_000_000;

/// Least time between two chunks that are not full.
const HAND_OVER_NS: u64 = 20_000_000;

/// What merger and reader know of each other.
#[derive(Debug, Default)]
pub struct ChannelState {
    /// All packets with an older time stamp have been handed over. `u64::MAX`: the reader has ended.
    mark_ns: AtomicU64,
    /// The reader waits for an empty chunk.
    is_starved: AtomicBool,
    /// Longest time for which the reader lets packets gather.
    batch_ns: AtomicU64,
}

/// Wakes the merger.
#[derive(Debug)]
pub struct MergerWaker {
    event: OwnedFd,
    is_asleep: AtomicBool,
}

/// The merger's end of a channel.
pub struct ChunkReceiver {
    full: Receiver<PacketChunk>,
    empty: SyncSender<PacketChunk>,
    state: Arc<ChannelState>,
}

/// The reader's end of a channel, and the chunk that it fills.
pub struct ChunkSender {
    full: SyncSender<PacketChunk>,
    empty: Receiver<PacketChunk>,
    state: Arc<ChannelState>,
    waker: Arc<MergerWaker>,
    encoder: ChunkEncoder,
    chunk: PacketChunk,
    chunk_bytes: usize,
    /// Empty chunks: those that were not used yet come first.
    spare: Vec<PacketChunk>,
    /// Chunks allocated.
    made: usize,
    /// Chunks handed over since the merger was woken.
    unannounced: usize,
    /// Receive queue of packets that do not say so themselves.
    queue: Option<u32>,
    /// Link types of the interfaces, if packets get identifiers.
    identified: Option<Vec<u16>>,
    /// Latest time stamp of all chunks handed over.
    newest_ns: u64,
    /// When the last chunk was handed over.
    handed_over_ns: u64,
    /// Packets that come after such a time without one can be older by this much.
    invisible_ns: u64,
    /// Time stamp of the oldest packet that waits in a ring, or may: with several rings, packets of one are handed over while
    /// older ones wait in another. `u64::MAX` with one ring.
    unread_ns: u64,
}

/// The merger has ended, because the file failed.
#[derive(Debug, thiserror::Error)]
#[error("the file is closed")]
struct Closed;

/// The two ends of a channel with chunks of `chunk_bytes` bytes.
pub fn channel(
    encoder: ChunkEncoder,
    waker: Arc<MergerWaker>,
    chunk_bytes: usize,
    queue: Option<u32>,
) -> (ChunkSender, ChunkReceiver) {
    // Neither is ever full: there are no more chunks.
    let (full, filled) = sync_channel(CHUNKS);
    let (empty, emptied) = sync_channel(CHUNKS);
    let state = Arc::<ChannelState>::default();
    let sender = ChunkSender {
        full,
        empty: emptied,
        state: state.clone(),
        waker,
        encoder,
        chunk: PacketChunk::new(chunk_bytes),
        chunk_bytes,
        spare: Vec::new(),
        made: 1,
        unannounced: 0,
        queue,
        identified: None,
        newest_ns: 0,
        handed_over_ns: 0,
        invisible_ns: 0,
        unread_ns: u64::MAX,
    };
    let receiver = ChunkReceiver {
        full: filled,
        empty,
        state,
    };
    (sender, receiver)
}

/// A received packet with its receive queue, if the reader knows it and the ring does not.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "called for every packet, which then stays in registers"
)]
pub fn of_queue<'p>(packet: &Packet<'p>, queue: Option<u32>) -> Packet<'p> {
    let mut record = *packet.record();
    if record.queue.is_none() && record.direction == Some(Direction::In) {
        record.queue = queue;
    }
    Packet::from(record)
}

/// Reads until the capture ends. The calling thread is the reader.
pub fn read(engine: &mut Engine, channel: &mut ChunkSender, stop: &Stop) -> CaptureSummary {
    channel.see_within(engine.invisible_ns());
    channel.gather_for(engine.batch_ns());
    let mut dispatcher = Dispatcher {
        consumer: channel,
        remaining: u64::MAX,
        failure: None,
    };
    let mut run = engine.begin();
    let ended = read_until_end(engine, &mut run, &mut dispatcher, stop);
    close(
        engine,
        dispatcher,
        stop,
        Some(run),
        ended.unwrap_or_else(Ended::Wait),
    )
}

fn read_until_end(
    engine: &mut Engine,
    run: &mut Run,
    dispatcher: &mut Dispatcher<'_, ChunkSender>,
    stop: &Stop,
) -> io::Result<Ended> {
    loop {
        // Read before the rings: later packets cannot be older than this, however long the reader is held up.
        let now_ns = realtime_ns();
        let waits = engine.before_round(run, dispatcher)?;
        if run.is_changed() {
            dispatcher.consumer.see_within(engine.invisible_ns());
            dispatcher.consumer.gather_for(engine.batch_ns());
        }
        let round = if waits {
            Round::EMPTY
        } else {
            let unread_ns = engine.oldest_unread_ns(now_ns, LATE_BLOCK_NS);
            dispatcher.consumer.see_unread(unread_ns);
            dispatcher.round(&mut engine.queues)
        };
        let is_empty = if waits {
            !engine.queues.iter().any(|queue| queue.ring().holds(1))
        } else {
            round.emptied
        };
        // Packets of a ring that takes over are not seen before the ring before it is at its end.
        if is_empty && engine.queues.iter().all(|queue| queue.next.is_none()) {
            dispatcher.try_to(|channel| channel.caught_up(now_ns));
        }
        let until_ns = monotonic_ns().saturating_add(HEARTBEAT_NS);
        if let Some(ended) = engine.after_round(run, round, dispatcher, stop, until_ns)? {
            return Ok(ended);
        }
    }
}

impl ChunkSender {
    /// Adds a [`packet_id`] to packets of interfaces with these link types.
    pub fn identify_packets(&mut self, link_types: &[u16]) {
        self.identified = Some(link_types.to_vec());
    }

    #[inline(never)]
    fn identified_packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let mut record = *packet.record();
        let link_types = self.identified.as_deref().unwrap_or_default();
        if let Some(link_type) = link_types.get(packet.interface()) {
            record.packet_id = packet_id(*link_type, record.bytes);
        }
        self.encode(&record)
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to chunk"
    )]
    fn encode(&mut self, record: &Record<'_>) -> Result<(), ConsumerError> {
        // Bound: an empty chunk has room for every packet.
        while !self.encoder.encode(record, &mut self.chunk)? {
            self.hand_over()?;
        }
        Ok(())
    }

    /// The reader sees a packet at most `block_ns` after the kernel has put it into a ring. A shorter time than before does not
    /// count: the rings before may have packets still.
    fn see_within(&mut self, block_ns: u64) {
        let late_ns = match block_ns {
            0 => 0,
            block_ns => block_ns + LATE_BLOCK_NS,
        };
        self.invisible_ns = self.invisible_ns.max(IN_FLIGHT_NS + late_ns);
    }

    /// Packets gather for at most `batch_ns` before they are read. The longest time so far counts: packets that gathered for it may
    /// still be in a ring.
    fn gather_for(&self, batch_ns: u64) {
        // It publishes nothing else.
        self.state.batch_ns.fetch_max(batch_ns, Ordering::Relaxed);
    }

    /// No packet that waits in a ring is older than `unread_ns`.
    pub fn see_unread(&mut self, unread_ns: u64) {
        self.unread_ns = unread_ns;
    }

    /// The rings were empty at `now_ns`.
    fn caught_up(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        // If the clock was set back, the difference wraps.
        let is_due = now_ns.wrapping_sub(self.handed_over_ns) >= HAND_OVER_NS;
        if !self.chunk.is_empty() {
            if !is_due {
                return Ok(());
            }
            self.hand_over()?;
        }
        self.handed_over_ns = now_ns;
        self.mark(now_ns.saturating_sub(self.invisible_ns));
        Ok(())
    }

    /// Hands the chunk over, and continues with an empty one. Waits for it if the merger has all of them.
    fn hand_over(&mut self) -> Result<(), ConsumerError> {
        // The chunk that came last is used next: it is most likely in a cache.
        self.spare.extend(self.empty.try_iter());
        match self.spare.pop().or_else(|| self.unused()) {
            Some(next) => self.send(next),
            None => self.hand_over_starved(),
        }
    }

    /// A chunk that was not used yet, since memory costs time when it is used first.
    fn unused(&mut self) -> Option<PacketChunk> {
        if self.spare.is_empty() && self.made < CHUNKS {
            let count = ALLOCATED.min(CHUNKS - self.made);
            self.spare = PacketChunk::several(count, self.chunk_bytes);
            self.made += count;
        }
        self.spare.pop()
    }

    #[cold]
    fn hand_over_starved(&mut self) -> Result<(), ConsumerError> {
        // The chunk that is full goes first: the merger may have no other to free.
        self.send_and_replace(PacketChunk::new(0))?;
        self.state.is_starved.store(true, Ordering::SeqCst);
        self.waker.wake();
        self.chunk = self.empty.recv().map_err(|_| Closed)?;
        Ok(())
    }

    fn send(&mut self, next: PacketChunk) -> Result<(), ConsumerError> {
        self.send_and_replace(next)?;
        self.unannounced += 1;
        if self.unannounced >= WAKE_CHUNKS {
            self.unannounced = 0;
            self.waker.wake();
        }
        Ok(())
    }

    fn send_and_replace(&mut self, next: PacketChunk) -> Result<(), Closed> {
        let full = std::mem::replace(&mut self.chunk, next);
        self.newest_ns = self.newest_ns.max(full.newest_ns());
        self.full.try_send(full).map_err(|_| Closed)?;
        let oldest_ns = self.newest_ns.min(self.unread_ns);
        self.mark(oldest_ns.saturating_sub(IN_FLIGHT_NS));
        Ok(())
    }

    /// Everything older than `time_ns` has been handed over.
    fn mark(&self, time_ns: u64) {
        // Release pairs with the load in `ChunkReceiver::mark_ns`: the merger then finds the chunks before.
        self.state.mark_ns.fetch_max(time_ns, Ordering::Release);
    }
}

impl Consumer for ChunkSender {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to chunk"
    )]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let packet = of_queue(packet, self.queue);
        if self.identified.is_some() {
            // A copy: a packet whose address is taken cannot stay in registers.
            let copy = packet;
            return self.identified_packet(&copy);
        }
        self.encode(packet.record())
    }

    fn interface(&mut self, interface: &store::model::Interface) -> Result<(), ConsumerError> {
        self.encoder.add_interface(interface.clone())?;
        if let Some(link_types) = &mut self.identified {
            link_types.push(interface.link_type.0);
        }
        Ok(())
    }

    fn finish(&mut self, _statistics: &[store::model::Statistics]) -> Result<(), ConsumerError> {
        if !self.chunk.is_empty() {
            self.hand_over()?;
        }
        Ok(())
    }
}

/// The reader has ended.
impl Drop for ChunkSender {
    fn drop(&mut self) {
        self.mark(u64::MAX);
        self.waker.wake();
    }
}

impl ChunkReceiver {
    /// All packets that are older are in the chunks that [`next`](Self::next) returns from now on, or has
    /// returned. `u64::MAX`: there are no others.
    pub fn mark_ns(&self) -> u64 {
        self.state.mark_ns.load(Ordering::Acquire)
    }

    /// Longest time for which the reader lets packets gather so far.
    pub fn batch_ns(&self) -> u64 {
        self.state.batch_ns.load(Ordering::Relaxed)
    }

    /// The next chunk that was handed over.
    pub fn next(&self) -> Option<PacketChunk> {
        self.full.try_recv().ok()
    }

    /// Whether the reader waits for a chunk.
    pub fn is_starved(&self) -> bool {
        self.state.is_starved.load(Ordering::SeqCst)
    }

    /// Gives an empty chunk back.
    pub fn give_back(&self, chunk: PacketChunk) {
        self.state.is_starved.store(false, Ordering::SeqCst);
        // There is room for all chunks. A reader that has ended needs none.
        let _ = self.empty.try_send(chunk);
    }
}

impl MergerWaker {
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self {
            event: eventfd(0, flags)?,
            is_asleep: AtomicBool::new(false),
        })
    }

    /// Wakes the merger if it sleeps.
    fn wake(&self) {
        // Sequentially consistent with the flags and marks stored before: either the merger sees them before it
        // sleeps, or this sees that it sleeps.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            // Fails only if the counter of 64 bits is full; the event is readable then.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    /// Sleeps at most `time`, unless `has_work`, or until a reader wakes it or `stop` is requested. Returns whether it
    /// was.
    pub fn wait_for(
        &self,
        time: Duration,
        stop: BorrowedFd<'_>,
        has_work: impl Fn() -> bool,
    ) -> io::Result<bool> {
        self.is_asleep.store(true, Ordering::SeqCst);
        std::sync::atomic::fence(Ordering::SeqCst);
        let time = if has_work() { Duration::ZERO } else { time };
        let mut polled = [
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
            PollFd::from_borrowed_fd(self.event.as_fd(), PollFlags::IN),
        ];
        let result = wait(&mut polled, time);
        self.is_asleep.store(false, Ordering::SeqCst);
        let is_stopped = !polled[0].revents().is_empty();
        if !polled[1].revents().is_empty() {
            // It is readable.
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
        }
        result.map(|_| is_stopped)
    }
}
