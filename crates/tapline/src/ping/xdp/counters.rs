//! The counters of the programs, in the terms of the prober.

use bpf::{EchoCounters, EchoTarget};
use probe::{AnswerCounters, CountedAnswers, IcmpErrorKind};

/// The counters of the programs, as the prober reads them.
#[derive(Debug)]
pub(super) struct Counters(pub EchoCounters);

impl AnswerCounters for Counters {
    fn answers(&self, target: u32) -> CountedAnswers {
        counted(&self.0.target(target))
    }

    fn histogram(&self, target: u32) -> Vec<u32> {
        let counts = self.0.histogram(target).into_iter();
        counts
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX))
            .collect()
    }

    fn round_trips(&self) -> Vec<u64> {
        self.0.round_trips()
    }

    fn error(&self, target: u32) -> Option<IcmpErrorKind> {
        let [kind, code] = self.0.target(target).error?;
        Some(IcmpErrorKind { kind, code })
    }

    fn reset(&self, target: u32) {
        self.0.reset(target);
    }
}

fn counted(answers: &EchoTarget) -> CountedAnswers {
    CountedAnswers {
        received: answers.received,
        late: answers.late,
        duplicate: answers.duplicate,
        corrupt: answers.corrupt,
        errors: answers.errors,
        sum_ns: answers.sum_ns.into(),
        squares: answers.squares,
        min_ns: answers.min_ns,
        max_ns: answers.max_ns,
        last_ns: answers.last_ns,
        jitter_16: answers.jitter_16,
    }
}
