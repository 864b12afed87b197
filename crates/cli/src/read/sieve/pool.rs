//! Threads that judge the packets of parts, and their answers in the order of the parts.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use store::read::{Part, Parts, Spot};

use crate::read::judge::Judge;

/// How the work is divided.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes of a part.
    pub part_bytes: u64,
    /// Parts that a thread reads in turns.
    pub parts_in_turn: u64,
    pub threads: u64,
}

impl Plan {
    /// Parts are small enough that what was judged is still in a cache when it is written, and large
    /// enough that looking for their beginnings costs nothing.
    pub fn new() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self {
            part_bytes: 256 << 10,
            parts_in_turn: 16,
            threads: threads.min(64) as u64,
        }
    }

    /// Tasks given out and not taken back, at most.
    fn window(&self) -> u64 {
        2 * self.threads + 1
    }
}

/// By what packets are understood and judged; the same for all parts that a pool reads.
pub struct Rules {
    pub parts: Parts,
    pub judge: Judge,
}

/// A packet that passes.
pub struct Passing {
    pub spot: Spot,
    /// Packets of the part before it.
    pub before: u64,
}

/// A part, judged.
pub struct Judged {
    pub part: Part,
    pub passing: Vec<Passing>,
    /// Where the part ends that was asked for.
    pub bound: u64,
}

impl Rules {
    /// Judges the parts between `bounds`.
    pub fn judge(&self, bounds: &[u64]) -> Vec<Judged> {
        let mut seen: Vec<Seen> = bounds.iter().skip(1).map(|_| Seen::default()).collect();
        let parts = self.parts.walk(bounds, |number, spot, packet| {
            seen[number].note(spot, self.judge.passes(packet));
        });
        let judged = parts.into_iter().zip(seen).zip(&bounds[1..]);
        judged
            .map(|((part, seen), &bound)| Judged {
                part,
                passing: seen.passing,
                bound,
            })
            .collect()
    }

    /// Judges the part that begins at `start`, for sure.
    pub fn judge_from(&self, start: u64, bound: u64) -> Judged {
        let mut seen = Seen::default();
        let part = self.parts.walk_from(start, bound, |spot, packet| {
            seen.note(spot, self.judge.passes(packet));
        });
        Judged {
            part,
            passing: seen.passing,
            bound,
        }
    }
}

/// What was seen of a part so far.
#[derive(Default)]
struct Seen {
    packets: u64,
    passing: Vec<Passing>,
}

impl Seen {
    #[inline]
    fn note(&mut self, spot: Spot, passes: bool) {
        if passes {
            let before = self.packets;
            self.passing.push(Passing { spot, before });
        }
        self.packets += 1;
    }
}

struct Task {
    number: u64,
    /// Of its parts.
    bounds: Vec<u64>,
}

/// Packets of a task that are so few that their pages may as well be mapped again to write them.
const FEW_PASSING: usize = 64;

/// Threads at work on everything from a place to the end of the file.
pub struct Pool {
    plan: Plan,
    /// Where the next task begins.
    from: u64,
    /// Where the file ends.
    end: u64,
    tasks: SyncSender<Task>,
    answers: Receiver<(u64, Vec<Judged>)>,
    /// Answers that came before their turn.
    early: BTreeMap<u64, Vec<Judged>>,
    given: u64,
    taken: u64,
}

impl Pool {
    /// Starts the threads; they end soon after the pool is dropped.
    pub fn start<'scope>(
        plan: Plan,
        scope: &'scope Scope<'scope, '_>,
        rules: &'scope Rules,
        from: u64,
    ) -> Self {
        let (tasks, waiting) = sync_channel(plan.window() as usize);
        let (sender, answers) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..plan.threads {
            let (waiting, sender) = (Arc::clone(&waiting), sender.clone());
            let work = move || work(rules, &waiting, &sender);
            let thread = thread::Builder::new().name("judge".into());
            // Fewer threads do it too; without any, `next` has nothing to give.
            if thread.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        Self {
            plan,
            from,
            end: rules.parts.bytes(),
            tasks,
            answers,
            early: BTreeMap::new(),
            given: 0,
            taken: 0,
        }
    }

    /// The parts that come next, judged; `None` at the end of the file, or where no thread could be
    /// started.
    pub fn next(&mut self) -> Option<Vec<Judged>> {
        // Bound: `window` tasks, and as many answers.
        while self.given < self.taken + self.plan.window() && self.from < self.end {
            let bounds = self.bounds();
            let number = self.given;
            self.tasks.send(Task { number, bounds }).ok()?;
            self.given += 1;
        }
        if self.taken == self.given {
            return None;
        }
        loop {
            if let Some(judged) = self.early.remove(&self.taken) {
                self.taken += 1;
                return Some(judged);
            }
            let (number, judged) = self.answers.recv().ok()?;
            self.early.insert(number, judged);
        }
    }

    /// Those of the next task: multiples of a part's size, and the ends.
    fn bounds(&mut self) -> Vec<u64> {
        let mut bounds = vec![self.from];
        for _ in 0..self.plan.parts_in_turn {
            let next = (self.from / self.plan.part_bytes + 1) * self.plan.part_bytes;
            self.from = next.min(self.end);
            bounds.push(self.from);
            if self.from == self.end {
                break;
            }
        }
        bounds
    }
}

/// Takes task after task until there are no more.
fn work(rules: &Rules, tasks: &Mutex<Receiver<Task>>, answers: &Sender<(u64, Vec<Judged>)>) {
    loop {
        let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { number, bounds }) = task else {
            return;
        };
        let range = bounds[0]..bounds[bounds.len() - 1];
        rules.parts.expect(range.clone());
        let judged = rules.judge(&bounds);
        let passing: usize = judged.iter().map(|part| part.passing.len()).sum();
        if passing <= FEW_PASSING {
            rules.parts.forget(range);
        }
        if answers.send((number, judged)).is_err() {
            return;
        }
    }
}
