//! The counters of the programs, read into the statistics.

use bpf::EchoTotals;
use probe::{CountedAnswers, NetworkError, OtherCounts};

use super::{LAST_ANSWERS_NS, XdpEngine};

impl XdpEngine {
    /// Whether as many replies have arrived as were asked for, or an error.
    pub(super) fn has_enough(&self) -> bool {
        self.max_replies.is_some_and(|most| {
            let totals = self.echo.totals();
            totals.received >= most || totals.errors > 0
        })
    }

    /// When to look for these again.
    pub(super) fn next_count_ns(&self, now_ns: u64) -> u64 {
        let is_answer_due = now_ns <= self.last_sent_ns.saturating_add(self.timeout_ns);
        if self.max_replies.is_none() || !is_answer_due || self.are_all_answered() {
            return u64::MAX;
        }
        now_ns + LAST_ANSWERS_NS
    }

    /// Whether each probe that was sent has its first answer.
    pub(super) fn are_all_answered(&self) -> bool {
        let totals = self.echo.totals();
        totals.received + totals.late + totals.errors >= self.prober.probes_sent()
    }

    /// Copies the counters of all targets together, and the ICMP errors. Those of each target are read when somebody asks for them.
    pub(super) fn read_totals(&mut self, is_end: bool) {
        let totals = self.echo.totals();
        let all = CountedAnswers {
            received: totals.received,
            late: totals.late,
            duplicate: totals.duplicate,
            corrupt: totals.corrupt,
            errors: totals.errors,
            ..CountedAnswers::default()
        };
        self.prober.set_total(&all, is_end);
        let mut others = OtherCounts::default();
        others.wrong_source = totals.wrong_source;
        others.forged = totals.forged;
        others.cut_short = totals.cut_short;
        others.foreign = totals.foreign;
        others.stale = totals.stale;
        others.notices = totals.notices;
        self.prober.set_other_counts(others);
        self.read_errors(&totals);
    }

    /// The same at the end. The counters do not change after that.
    pub(super) fn read_all(&mut self) {
        if self.is_over {
            return;
        }
        self.echo.detach();
        self.read_totals(true);
    }

    /// Copies the ICMP errors by router, type and code, if there may be others than before.
    fn read_errors(&mut self, totals: &EchoTotals) {
        // The program counts each error in the table, and then as one of these.
        let seen = totals.errors + totals.duplicate + totals.stale;
        if seen == self.errors_seen {
            return;
        }
        self.errors_seen = seen;
        let prober = &mut self.prober;
        prober.reset_errors(totals.other_errors);
        // Without the table, the counters of the targets still say how many errors there were.
        let _ = self.echo.errors(|error, count| {
            let error = NetworkError {
                router: error.router,
                kind: error.kind,
                code: error.code,
            };
            prober.add_error(error, count);
        });
    }
}
