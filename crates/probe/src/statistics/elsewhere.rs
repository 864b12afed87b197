//! The statistics of targets whose answers are counted elsewhere, such as by a program in the kernel.

use std::fmt;

use super::answers::CountedAnswers;
use super::target::{ProbeCounts, RttStatistics, TargetRecord};

/// The answers of each target, as counted elsewhere.
pub trait AnswerCounters: fmt::Debug + Send + Sync {
    /// Those of `target` so far.
    fn answers(&self, target: u32) -> CountedAnswers;
}

/// Probes that were sent to a target, and those that were not: all that is kept here.
#[derive(Clone, Copy, Debug, Default)]
struct SentRecord {
    sent: u32,
    local_drops: u32,
}

/// The targets, by their index.
#[derive(Debug)]
pub(crate) struct TargetsElsewhere {
    records: Vec<SentRecord>,
    counters: Option<Box<dyn AnswerCounters>>,
    /// Whether probes without an answer are lost.
    is_over: bool,
}

impl TargetsElsewhere {
    /// Bytes per target.
    pub const BYTES: u64 = size_of::<SentRecord>() as u64;

    pub fn new(targets: u32) -> Self {
        Self {
            records: vec![SentRecord::default(); targets as usize],
            counters: None,
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
            lost: 0,
            late: answers.late,
            duplicate: answers.duplicate,
            corrupt: answers.corrupt,
            errors: answers.errors,
            local_drops: record.local_drops.into(),
        };
        if has_ended || self.is_over {
            counts.lost = counts.pending();
        }
        counts
    }

    pub fn rtt(&self, target: u32) -> Option<RttStatistics> {
        let answers = self.answers(target);
        let mut record = TargetRecord::default();
        record.set_answers(&answers);
        record.rtt(answers.last_ns as f32)
    }
}
