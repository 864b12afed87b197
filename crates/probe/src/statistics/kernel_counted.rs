//! The statistics of targets whose answers are counted by a program in the kernel.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::OnceLock;

use super::answers::{CountedAnswers, IcmpErrorKind};
use super::histogram::Histogram;
use super::target::{ProbeCounts, RttStatistics, TargetRecord};

/// The answers of each target, as counted in the kernel.
pub trait AnswerCounters: fmt::Debug + Send + Sync {
    /// The answers of `target` so far.
    fn answers(&self, target: u32) -> CountedAnswers;

    /// The histogram of their round trips, in the buckets of [`Prober::buckets`](crate::Prober::buckets): 216, or none.
    fn histogram(&self, target: u32) -> Vec<u32>;

    /// The round trips of all targets: the count of each bucket of [`Histogram`].
    fn round_trips(&self) -> Vec<u64>;

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

/// What was sent to each target.
#[derive(Debug)]
enum SentRecords {
    /// With one probe to each: whether it was sent ([`SENT`]), or not sent ([`DROPPED`]).
    Single(Vec<u8>),
    Several(Vec<SentRecord>),
}

const SENT: u8 = 1;
const DROPPED: u8 = 2;

impl SentRecords {
    fn resize(&mut self, targets: u32) {
        let targets = targets as usize;
        match self {
            Self::Single(records) => records.resize(targets, 0),
            Self::Several(records) => records.resize(targets, SentRecord::default()),
        }
    }

    fn get(&self, target: u32) -> SentRecord {
        match self {
            Self::Single(records) => {
                let record = records[target as usize];
                SentRecord {
                    sent: u32::from(record & SENT != 0),
                    local_drops: u32::from(record & DROPPED != 0),
                }
            }
            Self::Several(records) => records[target as usize],
        }
    }

    fn reset(&mut self, target: u32) {
        match self {
            Self::Single(records) => records[target as usize] = 0,
            Self::Several(records) => records[target as usize] = SentRecord::default(),
        }
    }

    fn len(&self) -> u32 {
        let targets = match self {
            Self::Single(records) => records.len(),
            Self::Several(records) => records.len(),
        };
        targets as u32
    }
}

/// The targets, by their index.
#[derive(Debug)]
pub(crate) struct KernelCountedTargets {
    records: SentRecords,
    counters: Option<Box<dyn AnswerCounters>>,
    /// Targets that there is room for.
    room: u32,
    /// Probes that are lost of targets that have ended or changed.
    lost: HashMap<u32, u64>,
    /// Targets that end, and when their last probe is final; the earliest first.
    ending: VecDeque<(u64, u32)>,
    /// Probes of all targets that have timed out without being counted as lost, once somebody has asked for their number.
    overdue: OnceLock<u64>,
    /// The round trips of all targets, once somebody has asked for them.
    histogram: OnceLock<Histogram>,
    /// Whether probes without an answer are lost.
    is_over: bool,
}

impl KernelCountedTargets {
    /// Bytes per target; `is_single`: with one probe to each.
    pub const fn bytes(is_single: bool) -> u64 {
        if is_single {
            size_of::<u8>() as u64
        } else {
            size_of::<SentRecord>() as u64
        }
    }

    /// For `targets` targets, and others that are added, up to `room`; `is_single`: with one probe to each.
    pub fn new(targets: u32, room: u32, is_single: bool) -> Self {
        let records = if is_single {
            SentRecords::Single(vec![0; targets as usize])
        } else {
            SentRecords::Several(vec![SentRecord::default(); targets as usize])
        };
        Self {
            records,
            counters: None,
            room: room.max(targets),
            lost: HashMap::new(),
            ending: VecDeque::new(),
            overdue: OnceLock::new(),
            histogram: OnceLock::new(),
            is_over: false,
        }
    }

    pub fn read_from(&mut self, counters: Box<dyn AnswerCounters>) {
        self.counters = Some(counters);
    }

    #[inline]
    pub fn sent(&mut self, target: u32) {
        match &mut self.records {
            SentRecords::Single(records) => records[target as usize] |= SENT,
            SentRecords::Several(records) => records[target as usize].sent += 1,
        }
    }

    pub fn not_sent(&mut self, target: u32) {
        match &mut self.records {
            SentRecords::Single(records) => records[target as usize] |= DROPPED,
            SentRecords::Several(records) => records[target as usize].local_drops += 1,
        }
    }

    pub fn room(&self) -> u32 {
        self.room
    }

    /// Makes room for `targets` targets.
    pub fn grow(&mut self, targets: u32) {
        self.records.resize(targets);
    }

    /// Forgets a target, for another one.
    pub fn reset(&mut self, target: u32) {
        self.records.reset(target);
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

    /// Forgets the number of overdue probes; with `has_round_trips` also the round trips. They are read again when somebody asks.
    pub fn forget_sums(&mut self, has_round_trips: bool) {
        self.overdue = OnceLock::new();
        if has_round_trips {
            self.histogram = OnceLock::new();
        }
    }

    /// The overdue probes, which `count` counts if they are not known.
    pub fn overdue(&self, count: impl FnOnce() -> u64) -> u64 {
        *self.overdue.get_or_init(count)
    }

    /// The round trips of all targets. The first call after [`forget_sums`](Self::forget_sums) reads all counters.
    pub fn histogram_of_all(&self) -> &Histogram {
        self.histogram.get_or_init(|| {
            let mut all = CountedAnswers {
                min_ns: u64::MAX,
                ..CountedAnswers::default()
            };
            let Some(counters) = &self.counters else {
                return Histogram::default();
            };
            for target in 0..self.records.len() {
                let answers = counters.answers(target);
                all.received += answers.received;
                all.sum_ns += answers.sum_ns;
                all.squares += answers.squares;
                all.max_ns = all.max_ns.max(answers.max_ns);
                if answers.received > 0 {
                    all.min_ns = all.min_ns.min(answers.min_ns);
                }
            }
            Histogram::from_answers(&counters.round_trips(), &all)
        })
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
        let record = self.records.get(target);
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
