//! The statistics of targets whose answers are counted by a program in the kernel.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use super::answers::{CountedAnswers, IcmpErrorKind};
use super::target::{ProbeCounts, RttStatistics, TargetRecord};

/// The answers of each target, as counted in the kernel.
pub trait AnswerCounters: fmt::Debug + Send + Sync {
    /// The answers of `target` so far.
    fn answers(&self, target: u32) -> CountedAnswers;

    /// The histogram of their round trips, in the buckets of [`Prober::buckets`](crate::Prober::buckets): 216, or none.
    fn histogram(&self, target: u32) -> Vec<u32>;

    /// The ICMP error that was the answer of `target`, if there is one probe to each target.
    fn error(&self, _target: u32) -> Option<IcmpErrorKind> {
        None
    }

    /// Forgets those of `target`, for another one.
    fn reset(&self, target: u32);
}

/// Probes that were sent to a target, and those that were not: all that is kept here.
#[derive(Clone, Copy, Debug, Default)]
struct SentRecord {
    sent: u32,
    local_drops: u32,
}

/// The targets, by their index.
#[derive(Debug)]
pub(crate) struct KernelCountedTargets {
    records: Vec<SentRecord>,
    counters: Option<Box<dyn AnswerCounters>>,
    /// Targets that there is room for.
    room: u32,
    /// Probes that are lost of targets that have ended or changed.
    lost: HashMap<u32, u64>,
    /// Targets that end, and when their last probe is final; the earliest first.
    ending: VecDeque<(u64, u32)>,
    /// Probes of all targets that have timed out without being counted as lost.
    overdue: u64,
    /// Whether probes without an answer are lost.
    is_over: bool,
}

impl KernelCountedTargets {
    /// Bytes per target.
    pub const BYTES: u64 = size_of::<SentRecord>() as u64;

    /// For `targets` targets, and others that are added, up to `room`.
    pub fn new(targets: u32, room: u32) -> Self {
        Self {
            records: vec![SentRecord::default(); targets as usize],
            counters: None,
            room: room.max(targets),
            lost: HashMap::new(),
            ending: VecDeque::new(),
            overdue: 0,
            is_over: false,
        }
    }

    pub fn read_from(&mut self, counters: Box<dyn AnswerCounters>) {
        self.counters = Some(counters);
    }

    #[inline]
    pub fn sent(&mut self, target: u32) {
        self.records[target as usize].sent += 1;
    }

    pub fn not_sent(&mut self, target: u32) {
        self.records[target as usize].local_drops += 1;
    }

    pub fn room(&self) -> u32 {
        self.room
    }

    /// Makes room for `targets` targets.
    pub fn grow(&mut self, targets: u32) {
        self.records.resize(targets as usize, SentRecord::default());
    }

    /// Forgets a target, for another one.
    pub fn reset(&mut self, target: u32) {
        self.records[target as usize] = SentRecord::default();
        self.lost.remove(&target);
        if let Some(counters) = &self.counters {
            counters.reset(target);
        }
    }

    /// Notes that the last probe to `target` is final at `final_ns`, not before those of earlier calls.
    pub fn close_at(&mut self, final_ns: u64, target: u32) {
        self.ending.push_back((final_ns, target));
    }

    /// When the next target ends.
    pub fn next_end_ns(&self) -> Option<u64> {
        self.ending.front().map(|(final_ns, _)| *final_ns)
    }

    /// The next target that has ended at `now_ns`.
    pub fn next_end(&mut self, now_ns: u64) -> Option<u32> {
        let is_due = |(final_ns, _): &mut (u64, u32)| *final_ns <= now_ns;
        self.ending.pop_front_if(is_due).map(|(_, target)| target)
    }

    /// Counts `count` more probes to `target` as lost.
    pub fn lose(&mut self, target: u32, count: u64) {
        if count > 0 {
            *self.lost.entry(target).or_default() += count;
        }
    }

    pub fn set_overdue(&mut self, probes: u64) {
        self.overdue = probes;
    }

    pub fn overdue(&self) -> u64 {
        self.overdue
    }

    pub fn end(&mut self) {
        self.is_over = true;
    }

    fn answers(&self, target: u32) -> CountedAnswers {
        let counters = self.counters.as_ref();
        counters.map_or_else(CountedAnswers::default, |counters| counters.answers(target))
    }

    /// `has_ended`: its probes without an answer are lost.
    pub fn counts(&self, target: u32, has_ended: bool) -> ProbeCounts {
        let record = self.records[target as usize];
        let answers = self.answers(target);
        let mut counts = ProbeCounts {
            sent: record.sent.into(),
            received: answers.received,
            lost: self.lost.get(&target).copied().unwrap_or(0),
            late: answers.late,
            duplicate: answers.duplicate,
            corrupt: answers.corrupt,
            errors: answers.errors,
            local_drops: record.local_drops.into(),
        };
        if has_ended || self.is_over {
            counts.lost += counts.pending();
        }
        counts
    }

    /// The histogram of a target; empty if there are none.
    pub fn histogram(&self, target: u32) -> Vec<u32> {
        let counters = self.counters.as_ref();
        counters.map_or_else(Vec::new, |counters| counters.histogram(target))
    }

    pub fn error(&self, target: u32) -> Option<IcmpErrorKind> {
        self.counters.as_ref()?.error(target)
    }

    pub fn rtt(&self, target: u32) -> Option<RttStatistics> {
        let answers = self.answers(target);
        let mut record = TargetRecord::default();
        record.set_answers(&answers);
        record.rtt(answers.last_ns as f32)
    }
}
