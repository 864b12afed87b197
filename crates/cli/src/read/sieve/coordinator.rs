//! The one reader, which proves what the threads guessed.

use std::thread;

use store::read::{Item, Mark, ReadError, Reader};

use super::pool::{Judged, Passing, Plan, Pool, Rules};
use super::receiver::Receiver;
use crate::failure::Failure;

/// Reads a mapped file for a receiver.
pub struct Sieve<'a, R> {
    reader: &'a mut Reader,
    receiver: &'a mut R,
    plan: Plan,
}

/// How a stretch of the file was read.
enum Reached {
    /// To where it was asked for.
    Bound,
    /// No more is to be read: the file is at its end or broken, or nothing more is wanted.
    End(Option<ReadError>),
    /// To where packets are to be understood in another way.
    NewRules,
}

impl<'a, R: Receiver> Sieve<'a, R> {
    pub fn new(reader: &'a mut Reader, receiver: &'a mut R, plan: Plan) -> Self {
        Self {
            reader,
            receiver,
            plan,
        }
    }

    /// Reads to the end; answers with the damage, if that was the end.
    pub fn run(&mut self) -> Result<Option<ReadError>, Failure> {
        // A file whose interfaces come all along it is read alone for ever longer stretches: what
        // the threads did until they met one is lost.
        let mut alone = 1;
        loop {
            let bound = (self.reader.offset() / self.plan.part_bytes).saturating_add(alone);
            let bound = bound.saturating_mul(self.plan.part_bytes);
            if let Reached::End(end) = self.read_alone(bound)? {
                return Ok(end);
            }
            let begin = self.reader.offset();
            if let Reached::End(end) = self.read_with_threads()? {
                return Ok(end);
            }
            let parts = (self.reader.offset() - begin) / self.plan.part_bytes;
            let is_short = parts < alone + self.plan.parts_in_turn * self.plan.threads;
            alone = if is_short { alone.saturating_mul(2) } else { 1 };
        }
    }

    fn read_alone(&mut self, bound: u64) -> Result<Reached, Failure> {
        let known = self.reader.interfaces().len();
        while self.reader.offset() < bound {
            if self.receiver.must_end() {
                return Ok(Reached::End(None));
            }
            match self.reader.next_item() {
                Ok(Some(item)) => self.receiver.take(item)?,
                Ok(None) => return Ok(Reached::End(None)),
                Err(error) => return Ok(Reached::End(Some(error))),
            }
        }
        Ok(if self.reader.interfaces().len() == known {
            Reached::Bound
        } else {
            Reached::NewRules
        })
    }

    fn read_with_threads(&mut self) -> Result<Reached, Failure> {
        let Some(parts) = self.reader.parts() else {
            return self.read_alone(u64::MAX);
        };
        let judge = self.receiver.judge().clone();
        let rules = Rules { parts, judge };
        thread::scope(|scope| {
            let mut pool = Pool::start(self.plan, scope, &rules, self.reader.offset());
            while let Some(task) = pool.next() {
                for judged in task {
                    let reached = self.accept(&rules, judged)?;
                    if !matches!(reached, Reached::Bound) {
                        return Ok(reached);
                    }
                }
            }
            self.read_alone(u64::MAX)
        })
    }

    /// Takes a part's packets, if it begins where the part before has ended.
    fn accept(&mut self, rules: &Rules, mut judged: Judged) -> Result<Reached, Failure> {
        let Mark { offset, blocks } = self.reader.mark();
        if offset >= judged.bound {
            return Ok(Reached::Bound);
        }
        if judged.part.start != offset {
            judged = rules.judge_from(offset, judged.bound);
        }
        let mut taken = 0;
        let mut rest = judged.passing.as_slice();
        while let Some((passing, others)) = rest.split_first() {
            if self.receiver.must_end() {
                return Ok(Reached::End(None));
            }
            self.receiver.refuse(passing.before - taken);
            if let Some((end, packets)) = run(rest, self.receiver.blocks_wanted()) {
                let bytes = rules.parts.slice(passing.spot.offset..end);
                self.receiver.pass_blocks(bytes, packets as u64)?;
                taken = passing.before + packets as u64;
                rest = &rest[packets..];
                continue;
            }
            taken = passing.before + 1;
            rest = others;
            self.reader.return_to(Mark {
                offset: passing.spot.offset,
                blocks,
            });
            match self.reader.next_item() {
                Ok(Some(Item::Packet(packet))) => self.receiver.pass(&packet)?,
                // Only if somebody writes to the file just now.
                Ok(_) => {}
                Err(error) => return Ok(Reached::End(Some(error))),
            }
        }
        if self.receiver.must_end() {
            return Ok(Reached::End(None));
        }
        self.receiver.refuse(judged.part.packets - taken);
        self.reader.return_to(Mark {
            offset: judged.part.end,
            blocks: blocks + judged.part.blocks,
        });
        if judged.part.is_cut {
            return self.read_alone(judged.bound);
        }
        Ok(Reached::Bound)
    }
}

/// Bytes of blocks that are passed on at once: less than a file's buffer.
const RUN_BYTES: u64 = 64 << 10;

/// The packets at the beginning of `passing` whose blocks follow one another and may be written as they
/// are: where they end, and how many they are.
fn run(passing: &[Passing], wanted: u64) -> Option<(u64, usize)> {
    let begin = passing.first()?.spot.offset;
    let (mut end, mut packets) = (begin, 0);
    for Passing { spot, .. } in passing {
        if spot.block_bytes == 0
            || spot.offset != end
            || packets as u64 == wanted
            || packets > 0 && end - begin >= RUN_BYTES
        {
            break;
        }
        end += u64::from(spot.block_bytes);
        packets += 1;
    }
    (packets > 0).then_some((end, packets))
}
