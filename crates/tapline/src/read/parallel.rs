//! Reads one regular file with all CPUs, and delivers its packets in order.
//!
//! ```text
//! file:      | part | part | part | part | part | part | …     each thread matches the packets of a part
//! threads:     A      B      A      A      B      A            and copies the accepted blocks
//! in order:  ──▶ reader: confirms the parts, delivers the copies, reads everything that is no packet
//! ```
//!
//! The start of a part is a guess from the bytes. It counts only if the part before ends exactly there;
//! otherwise the part is scanned again from the confirmed offset. So the result is that of reading in
//! order, whatever the bytes. Interfaces, statistics and errors are read by the one
//! [`Reader`], at their position.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use abi::signal::with_signals_blocked;
use store::read::{self, BlockDecoder, PacketBlock, Part, PartScanner, Position, Reader};

use super::delivery::ItemReceiver;
use super::error::ReadError;
use super::selection::PacketMatcher;

/// Maximum bytes of native blocks delivered at once.
const RUN_BYTES_MAX: usize = 256 << 10;

/// How the work is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParallelPlan {
    /// Bytes of a part.
    pub part_bytes: u64,
    pub threads: u64,
}

impl ParallelPlan {
    /// A part is small enough that accepted packets are still in a cache when they are delivered, and
    /// large enough that handing it over costs nothing.
    pub(super) fn new(threads: Option<usize>) -> Self {
        let threads =
            threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        Self {
            part_bytes: 1 << 20,
            threads: threads.clamp(1, 64) as u64,
        }
    }

    /// Maximum number of parts in work or waiting for delivery.
    fn window(&self) -> u64 {
        2 * self.threads + 1
    }
}

/// Reads a regular file for a receiver.
pub(super) struct ParallelReader<'a, R> {
    reader: &'a mut Reader,
    receiver: &'a mut R,
    plan: ParallelPlan,
}

/// Where reading a stretch of the file stopped.
enum Stopped {
    /// At the requested bound.
    Bound,
    /// At the end of the file or at an error, or because nothing more is needed.
    End(Option<read::ReadError>),
    /// Behind a new interface: the threads need a new matcher.
    Interface,
}

impl<'a, R: ItemReceiver> ParallelReader<'a, R> {
    pub(super) fn new(reader: &'a mut Reader, receiver: &'a mut R, plan: ParallelPlan) -> Self {
        Self {
            reader,
            receiver,
            plan,
        }
    }

    /// Reads to the end. Returns the error of the file, if there is one.
    pub(super) fn run(&mut self) -> Result<Option<read::ReadError>, ReadError> {
        // In a file with interfaces everywhere, ever longer stretches are read in order: each new
        // interface makes the work of the threads useless.
        let mut parts_in_order = 1;
        loop {
            let bound = (self.reader.offset() / self.plan.part_bytes)
                .saturating_add(parts_in_order)
                .saturating_mul(self.plan.part_bytes);
            if let Stopped::End(error) = self.read_in_order(bound)? {
                return Ok(error);
            }
            let begin = self.reader.offset();
            if let Stopped::End(error) = self.read_with_threads()? {
                return Ok(error);
            }
            let parts = (self.reader.offset() - begin) / self.plan.part_bytes;
            let is_short = parts < parts_in_order + self.plan.window();
            parts_in_order = if is_short {
                parts_in_order.saturating_mul(2)
            } else {
                1
            };
        }
    }

    fn read_in_order(&mut self, bound: u64) -> Result<Stopped, ReadError> {
        let known = self.reader.interfaces().len();
        while self.reader.offset() < bound {
            if self.receiver.is_done() {
                return Ok(Stopped::End(None));
            }
            match self.reader.next_item() {
                Ok(Some(item)) => self.receiver.item(item)?,
                Ok(None) => return Ok(Stopped::End(None)),
                Err(error) => return Ok(Stopped::End(Some(error))),
            }
        }
        Ok(if self.reader.interfaces().len() == known {
            Stopped::Bound
        } else {
            Stopped::Interface
        })
    }

    fn read_with_threads(&mut self) -> Result<Stopped, ReadError> {
        let Some(scanner) = self.reader.part_scanner() else {
            return self.read_in_order(u64::MAX);
        };
        let matcher = PartMatcher {
            scanner,
            matcher: self.receiver.matcher().clone(),
        };
        let mut decoder = self.reader.block_decoder();
        thread::scope(|scope| {
            let mut pool = ThreadPool::start(self.plan, scope, &matcher, self.reader.offset());
            // For parts with a wrong guess.
            let mut rescanner = matcher.clone();
            while let Some(part) = pool.next_part() {
                self.receiver.read_to(self.reader.offset())?;
                let blocks = match self.deliver(&mut rescanner, &mut decoder, part)? {
                    (Stopped::Bound, blocks) => blocks,
                    (stopped, _) => return Ok(stopped),
                };
                pool.recycle(blocks);
            }
            self.read_in_order(u64::MAX)
        })
    }

    /// Delivers a part, after scanning it again if it does not begin where the part before ends.
    ///
    /// Returns the buffer of the part's blocks.
    fn deliver(
        &mut self,
        rescanner: &mut PartMatcher,
        decoder: &mut BlockDecoder,
        mut matched: MatchedPart,
    ) -> Result<(Stopped, Vec<u8>), ReadError> {
        let Position { offset, blocks } = self.reader.position();
        if offset >= matched.bound {
            return Ok((Stopped::Bound, matched.blocks));
        }
        if matched.part.start != offset {
            matched = rescanner.scan_from(offset, matched.bound, matched.blocks);
        }
        let MatchedPart {
            part,
            accepted,
            blocks: buffer,
            bound,
        } = matched;
        decoder.load(buffer);
        let mut taken = 0;
        let mut rest = accepted.as_slice();
        while let Some(first) = rest.first() {
            if self.receiver.is_done() {
                return Ok((Stopped::End(None), Vec::new()));
            }
            let (bytes, packets) = native_run(rest, self.receiver.blocks_max());
            self.receiver.rejected(first.before - taken);
            if packets == 0 {
                let Some(packet) = decoder.next_packet() else {
                    break;
                };
                self.receiver.accepted(&packet)?;
                taken = first.before + 1;
                rest = &rest[1..];
            } else {
                let run = decoder.take(bytes);
                self.receiver.accepted_blocks(run, packets as u64)?;
                taken = rest[packets - 1].before + 1;
                self.receiver
                    .rejected(taken - first.before - packets as u64);
                rest = &rest[packets..];
            }
        }
        if self.receiver.is_done() {
            return Ok((Stopped::End(None), Vec::new()));
        }
        self.receiver.rejected(part.packets - taken);
        self.reader.seek(Position {
            offset: part.end,
            blocks: blocks + part.blocks,
        });
        let buffer = decoder.load(Vec::new());
        if part.is_cut {
            return Ok((self.read_in_order(bound)?, buffer));
        }
        Ok((Stopped::Bound, buffer))
    }
}

/// The native blocks at the start of `accepted` to deliver at once: their bytes and their number.
fn native_run(accepted: &[AcceptedPacket], packets_max: u64) -> (usize, usize) {
    let (mut bytes, mut packets) = (0, 0);
    for packet in accepted {
        let length = packet.block_bytes as usize;
        if !packet.is_native
            || packets as u64 == packets_max
            || packets > 0 && bytes + length > RUN_BYTES_MAX
        {
            break;
        }
        bytes += length;
        packets += 1;
    }
    (bytes, packets)
}

/// An accepted packet, whose block was copied.
struct AcceptedPacket {
    /// Packets of the part before it.
    before: u64,
    block_bytes: u32,
    is_native: bool,
}

/// A part with its accepted packets.
struct MatchedPart {
    part: Part,
    accepted: Vec<AcceptedPacket>,
    /// Copies of the accepted packets' blocks.
    blocks: Vec<u8>,
    /// The requested end of the part.
    bound: u64,
}

/// Scans parts and matches their packets.
#[derive(Clone)]
struct PartMatcher {
    scanner: PartScanner,
    matcher: PacketMatcher,
}

impl PartMatcher {
    /// Matches the packets of the part in `range`. `blocks` is a buffer to reuse.
    fn scan(&mut self, range: Range<u64>, blocks: Vec<u8>) -> MatchedPart {
        let bound = range.end;
        let mut matches = Matches::new(blocks);
        let part = self.scanner.scan(range, |packet, block| {
            matches.add(self.matcher.accepts(packet), block);
        });
        matches.part(part, bound)
    }

    /// Matches the packets of the part that begins with the block at `start`.
    fn scan_from(&mut self, start: u64, bound: u64, blocks: Vec<u8>) -> MatchedPart {
        let mut matches = Matches::new(blocks);
        let part = self.scanner.scan_from(start, bound, |packet, block| {
            matches.add(self.matcher.accepts(packet), block);
        });
        matches.part(part, bound)
    }
}

/// The packets of a part matched so far.
struct Matches {
    packets: u64,
    accepted: Vec<AcceptedPacket>,
    blocks: Vec<u8>,
}

impl Matches {
    fn new(mut blocks: Vec<u8>) -> Self {
        blocks.clear();
        Self {
            packets: 0,
            accepted: Vec::new(),
            blocks,
        }
    }

    #[inline]
    fn add(&mut self, is_accepted: bool, block: PacketBlock<'_>) {
        if is_accepted {
            self.blocks.extend_from_slice(block.bytes);
            self.accepted.push(AcceptedPacket {
                before: self.packets,
                block_bytes: block.bytes.len() as u32,
                is_native: block.is_native,
            });
        }
        self.packets += 1;
    }

    fn part(self, part: Part, bound: u64) -> MatchedPart {
        MatchedPart {
            part,
            accepted: self.accepted,
            blocks: self.blocks,
            bound,
        }
    }
}

struct PartTask {
    number: u64,
    range: Range<u64>,
    /// A buffer to reuse.
    blocks: Vec<u8>,
}

/// Threads that match the parts from one offset to the end of the file.
struct ThreadPool {
    plan: ParallelPlan,
    /// Start of the next part.
    from: u64,
    file_bytes: u64,
    tasks: SyncSender<PartTask>,
    results: Receiver<(u64, MatchedPart)>,
    /// Results that came before their turn.
    early: BTreeMap<u64, MatchedPart>,
    buffers: Vec<Vec<u8>>,
    sent: u64,
    returned: u64,
}

impl ThreadPool {
    /// Starts the threads. They end after the pool is dropped.
    fn start<'scope>(
        plan: ParallelPlan,
        scope: &'scope Scope<'scope, '_>,
        matcher: &PartMatcher,
        from: u64,
    ) -> Self {
        let (tasks, waiting) = sync_channel::<PartTask>(plan.window() as usize);
        let (sender, results) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..plan.threads {
            let (waiting, sender) = (Arc::clone(&waiting), sender.clone());
            let mut matcher = matcher.clone();
            let work = move || {
                loop {
                    let task = waiting
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .recv();
                    let Ok(PartTask {
                        number,
                        range,
                        blocks,
                    }) = task
                    else {
                        return;
                    };
                    if sender.send((number, matcher.scan(range, blocks))).is_err() {
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name("filter".into());
            // Fewer threads work, too. Without any, `next_part` returns `None`.
            if with_signals_blocked(|| thread.spawn_scoped(scope, work)).is_err() {
                break;
            }
        }
        Self {
            plan,
            from,
            file_bytes: matcher.scanner.file_bytes(),
            tasks,
            results,
            early: BTreeMap::new(),
            buffers: Vec::new(),
            sent: 0,
            returned: 0,
        }
    }

    /// The next part. `None` at the end of the file, or if no thread could be started.
    fn next_part(&mut self) -> Option<MatchedPart> {
        // Bound: the window.
        while self.sent < self.returned + self.plan.window() && self.from < self.file_bytes {
            let end = (self.from / self.plan.part_bytes + 1) * self.plan.part_bytes;
            let end = end.min(self.file_bytes);
            let task = PartTask {
                number: self.sent,
                range: self.from..end,
                blocks: self.buffers.pop().unwrap_or_default(),
            };
            self.tasks.send(task).ok()?;
            self.from = end;
            self.sent += 1;
        }
        if self.returned == self.sent {
            return None;
        }
        loop {
            if let Some(matched) = self.early.remove(&self.returned) {
                self.returned += 1;
                return Some(matched);
            }
            let (number, matched) = self.results.recv().ok()?;
            self.early.insert(number, matched);
        }
    }

    fn recycle(&mut self, blocks: Vec<u8>) {
        self.buffers.push(blocks);
    }
}

#[cfg(test)]
mod tests;
