//! Answers that are counted by a program in the kernel.

use crate::classification::OtherCounts;
use crate::plan::{PlanError, ProbePlan, SweepPosition};
use crate::prober::Prober;
use crate::statistics::{
    AnswerCounters, CountedAnswers, IcmpErrorKind, KernelCountedTargets, NetworkError, ProbeCounts,
};
use crate::targets::Targets;

/// A run whose answers are counted in the kernel. Which probe an answer belongs to is not known here. So a target has at
/// most as many probes in flight as have not timed out, and its other probes without an answer are lost. After
/// [`Prober::end_all`] every probe without an answer is lost.
impl Prober {
    /// Memory for a target whose answers are counted in the kernel; `is_single`: with one probe to each.
    pub const fn bytes_with_kernel_counters(is_single: bool) -> u64 {
        KernelCountedTargets::bytes(is_single)
    }

    /// As [`Prober::new`], for a run whose answers are counted in the kernel, where there is room for `room` targets: each
    /// target takes 8 bytes here, or 1 with one probe to each. Call [`Prober::read_from`] next.
    ///
    /// # Errors
    /// [`PlanError`] names the value that is out of its range.
    pub fn with_kernel_counters(
        plan: &ProbePlan,
        targets: Targets,
        room: u32,
    ) -> Result<Self, PlanError> {
        let is_single = plan.rounds == Some(1);
        let kernel_counted = KernelCountedTargets::new(targets.len(), room, is_single);
        Self::with_statistics(plan, targets, Some(kernel_counted))
    }

    /// Sets who has counted the answers of each target.
    pub fn read_from(&mut self, counters: Box<dyn AnswerCounters>) {
        if let Some(kernel_counted) = &mut self.kernel_counted {
            kernel_counted.read_from(counters);
        }
    }

    /// As [`Prober::expire`], for one probe to each target: calls `ended` for each target whose probe has ended, answered or
    /// not. It ends after twice the timeout; later answers are stale.
    pub fn expire_single(&mut self, now_ns: u64, mut ended: impl FnMut(u32, &Self)) {
        while let Some(end) = self.expiry.take(now_ns) {
            self.end_before(end, &mut ended);
        }
    }

    /// Ends targets with a number of probes of their own, which are final twice the timeout after the last one.
    pub fn end_targets(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        while let Some(target) = (self.kernel_counted.as_mut()).and_then(|all| all.next_end(now_ns))
        {
            self.close(target);
            self.ended.push_back(target);
        }
    }

    /// The slot up to which timeouts run. With several probes to each target, one that is held does not stop the time of
    /// those behind it: an absent neighbour would fill the flight of all others. If it is sent after its timeout, it counts as
    /// lost until its answer arrives.
    #[inline]
    pub(crate) fn timed_end(&self) -> u64 {
        if self.kernel_counted.is_some() && !self.schedule.is_single() {
            self.schedule.passed_end()
        } else {
            self.schedule.issued_end()
        }
    }

    /// When something of a target is final that ends or changes.
    pub fn next_final_ns(&self) -> Option<u64> {
        let ending = self.kernel_counted.as_ref()?.next_end_ns();
        let changing = self.pending_changes.front().map(|waiting| waiting.final_ns);
        ending.into_iter().chain(changing).min()
    }

    /// Counts the probes to `target` without an answer as lost: none is in flight any more.
    pub(crate) fn close(&mut self, target: u32) {
        let pending = self.counts_without_overdue(target).pending();
        self.statistics.total.lost += pending;
        if let Some(kernel_counted) = &mut self.kernel_counted {
            kernel_counted.lose(target, pending);
        }
    }

    fn counts_without_overdue(&self, target: u32) -> ProbeCounts {
        let kernel_counted = self.kernel_counted.as_ref();
        let counts = kernel_counted.map(|all| all.counts(target, self.has_ended(target)));
        counts.unwrap_or_default()
    }

    /// The counters of a target, with the probes lost that must have timed out.
    pub(crate) fn counts_with_overdue(&self, target: u32) -> ProbeCounts {
        let mut counts = self.counts_without_overdue(target);
        counts.lost += self.overdue(target, &counts);
        counts
    }

    /// Of the probes to `target` that are in flight by `counts`, those that must have timed out.
    fn overdue(&self, target: u32, counts: &ProbeCounts) -> u64 {
        let pending = counts.pending();
        if pending == 0 || self.schedule.is_single() {
            return 0;
        }
        let issued = self.schedule.rounds_issued(target);
        let position = self.schedule.position_of(target);
        let expired = self.schedule.rounds_before(self.expired_slots, position);
        pending.saturating_sub(issued.saturating_sub(expired).into())
    }

    /// Number of targets whose losses and round trips are summed while the run lasts. Of more, the round trips are summed at the
    /// end, and only as many losses are counted as must be among all of them.
    pub const MAX_LIVE_TARGETS: u32 = 65_536;

    /// The probes that must have timed out, of all targets.
    pub(crate) fn overdue_of_all(&self) -> u64 {
        self.count_overdue(self.targets.len() > Self::MAX_LIVE_TARGETS)
    }

    fn count_overdue(&self, has_many_targets: bool) -> u64 {
        if self.schedule.is_single() {
            return 0;
        }
        if has_many_targets {
            let in_flight = self.timed_end().saturating_sub(self.expired_slots);
            return self.statistics.total.pending().saturating_sub(in_flight);
        }
        let overdue = |target| self.overdue(target, &self.counts_without_overdue(target));
        (0..self.targets.len()).map(overdue).sum()
    }

    /// Ends the run, with the probes in flight lost. Calls `ended` for the targets that
    /// [`expire_single`](Self::expire_single) has not reported, if there is one probe to each.
    pub fn end_all(&mut self, mut ended: impl FnMut(u32, &Self)) {
        if self.schedule.is_single() {
            self.end_before(self.schedule.issued_end(), &mut ended);
        }
        if let Some(kernel_counted) = &mut self.kernel_counted {
            kernel_counted.end();
            self.statistics.total.lost += self.statistics.total.pending();
        }
    }

    fn end_before(&mut self, end: u64, ended: &mut impl FnMut(u32, &Self)) {
        while self.expired_slots < end.min(self.sent_end) {
            let slot = self.schedule.slot_at(self.expired_slots);
            let target = self.schedule.probe_in(slot).target;
            self.statistics.total.lost += self.counts(target).pending();
            self.expired_slots += 1;
            ended(target, self);
        }
    }

    /// Whether the only probe to a target has ended.
    pub(crate) fn has_ended(&self, target: u32) -> bool {
        let position = u64::from(self.schedule.position_of(target));
        self.schedule.is_single() && position < self.expired_slots
    }

    /// The ICMP error that was the answer to the only probe to `target`. `None` with other answers, without one, and if there are
    /// several probes to each target: [`Prober::errors`] has the errors of all.
    pub fn answered_by_error(&self, target: u32) -> Option<IcmpErrorKind> {
        self.kernel_counted.as_ref()?.error(target)
    }

    /// Where a later run to the same targets continues, if there is one probe to each.
    pub fn position(&self) -> SweepPosition {
        SweepPosition {
            key: self.cookies.key(),
            ended: self.expired_slots,
        }
    }

    /// Number of probes that were sent to all targets. Unlike [`Prober::total`] it reads no counters of the kernel.
    #[inline]
    pub fn probes_sent(&self) -> u64 {
        self.statistics.total.sent
    }

    /// Whether all probes were sent or withdrawn.
    pub fn has_sent_all(&self) -> bool {
        self.schedule.is_over() && self.unreported == 0
    }

    /// Sets the counters of all targets together. Round trips and losses of the targets are read when somebody asks for them; the
    /// round trips of more than [`MAX_LIVE_TARGETS`](Self::MAX_LIVE_TARGETS) only if this is the end (`is_end`).
    pub fn set_total(&mut self, answers: &CountedAnswers, is_end: bool) {
        self.statistics.set_total(answers);
        let is_summed = is_end || self.targets.len() <= Self::MAX_LIVE_TARGETS;
        if let Some(kernel_counted) = &mut self.kernel_counted {
            kernel_counted.forget_sums(is_summed);
        }
    }

    /// Sets the counters that belong to no target. Those of probes that were not sent stay.
    pub fn set_other_counts(&mut self, counts: OtherCounts) {
        let unsent = self.other_counts.unsent;
        self.other_counts = OtherCounts { unsent, ..counts };
    }

    /// Forgets all ICMP errors but `others` beyond the kinds that are counted separately, so that they can be
    /// [added](Self::add_error) anew.
    pub fn reset_errors(&mut self, others: u64) {
        self.errors.reset(others);
    }

    /// Counts `count` errors.
    pub fn add_error(&mut self, error: NetworkError, count: u64) {
        self.errors.add(error, count);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::cookie::RunKey;
    use crate::prober::NextAction;
    use crate::statistics::Histogram;
    use crate::targets::{NoResolver, TargetsBuilder};

    /// Nobody answers.
    #[derive(Debug)]
    struct Silent;

    impl AnswerCounters for Silent {
        fn answers(&self, _: u32) -> CountedAnswers {
            CountedAnswers::default()
        }

        fn histogram(&self, _: u32) -> Vec<u32> {
            Vec::new()
        }

        fn round_trips(&self) -> Vec<u64> {
            Vec::new()
        }

        fn reset(&self, _: u32) {}
    }

    /// A prober of 20 targets in one prefix, and 20 in others, which sends all that is due at the start.
    fn sweep(first_probe: u64) -> (Prober, Vec<u32>) {
        let mut builder = TargetsBuilder::default();
        let words = (0..20).map(|number| format!("10.0.0.{number} 10.1.{number}.1"));
        let words = words.collect::<Vec<_>>().join(" ");
        builder.add_list(&words, &mut NoResolver).expect("targets");
        let plan = ProbePlan {
            rounds: Some(1),
            first_probe,
            interval_ns: 0,
            rate_pps: None,
            prefix_pps: Some(1),
            ..ProbePlan::new(7, RunKey([1, 2]))
        };
        let targets = builder.build().expect("not too many");
        let mut prober = Prober::with_kernel_counters(&plan, targets, 0).expect("a plan");
        prober.read_from(Box::new(Silent));
        let mut sent = Vec::new();
        while let NextAction::Send(probe) = prober.next(0) {
            prober.sent(probe, 0);
            sent.push(probe.target);
        }
        (prober, sent)
    }

    #[test]
    fn a_sweep_continues_with_the_first_probe_that_was_not_sent() {
        let (mut prober, sent) = sweep(0);
        assert_eq!(sent.len(), 21, "one of the prefix");
        prober.stop(0);
        let mut ended = Vec::new();
        prober.end_all(|target, prober| {
            let counts = prober.counts(target);
            assert_eq!((counts.sent, counts.lost, counts.pending()), (1, 1, 0));
            ended.push(target);
        });
        let total = prober.total();
        assert_eq!((total.sent, total.lost, total.pending()), (21, 21, 0));
        let position = prober.position();
        assert_eq!(position.ended, ended.len() as u64);
        assert!((1..21).contains(&ended.len()) && sent.starts_with(&ended));
        let (next, mut again) = sweep(position.ended);
        assert_eq!(next.position(), position);
        again.extend(&ended);
        again.sort_unstable();
        again.dedup();
        // All but those of the prefix, which has sent one in each run.
        assert!(again.len() >= 21, "{again:?}");
    }

    /// A probe that waits counts as not issued, and those behind it end after it.
    #[test]
    fn a_held_probe_is_sent_later_or_withdrawn() {
        let plan = ProbePlan {
            rounds: Some(1),
            interval_ns: 0,
            rate_pps: None,
            timeout_ns: 1_000_000,
            ..ProbePlan::new(7, RunKey([1, 2]))
        };
        let mut builder = TargetsBuilder::default();
        builder
            .add("10.0.0.1-10.0.0.3", &mut NoResolver)
            .expect("targets");
        let targets = builder.build().expect("not too many");
        let mut prober = Prober::with_kernel_counters(&plan, targets, 0).expect("a plan");
        prober.read_from(Box::new(Silent));
        let mut issued = Vec::new();
        while let NextAction::Send(probe) = prober.next(0) {
            issued.push(probe);
            match issued.len() {
                2 => prober.hold(probe),
                _ => prober.sent(probe, 0),
            }
        }
        assert_eq!(issued.len(), 3);
        assert!(!prober.has_sent_all());
        let mut ended = Vec::new();
        let mut expire = |prober: &mut Prober, now_ns| {
            prober.expire_single(now_ns, |target, _| ended.push(target));
            ended.clone()
        };
        assert_eq!(expire(&mut prober, 10_000_000), [issued[0].target]);
        assert_eq!(prober.position().ended, 1);
        assert!(prober.resume(issued[1], 10_000_000));
        assert!(!prober.resume(issued[1], 10_000_000), "only once");
        prober.sent(issued[1], 10_000_000);
        assert!(prober.has_sent_all());
        assert_eq!(expire(&mut prober, 10_000_001).len(), 1);
        assert_eq!(expire(&mut prober, 20_000_000).len(), 3);
        assert_eq!(prober.next(20_000_000), NextAction::Done);

        let (mut prober, _) = sweep(0);
        let NextAction::Send(probe) = prober.next(2_000_000_000) else {
            panic!("another probe of the prefix is due");
        };
        prober.hold(probe);
        let unsent = prober.other_counts().unsent;
        prober.stop(2_000_000_000);
        assert!(prober.other_counts().unsent > unsent);
        assert!(prober.has_sent_all());
        assert!(!prober.resume(probe, 2_000_000_000), "it was withdrawn");
    }

    /// Counters of targets that have received one answer each. Counts the reads.
    #[derive(Debug)]
    struct Answered(Arc<AtomicU64>);

    impl AnswerCounters for Answered {
        fn answers(&self, target: u32) -> CountedAnswers {
            self.0.fetch_add(1, Ordering::Relaxed);
            let rtt_ns = 10 * u64::from(target) + 10;
            CountedAnswers {
                received: 1,
                sum_ns: rtt_ns.into(),
                squares: u128::from(rtt_ns).pow(2),
                min_ns: rtt_ns,
                max_ns: rtt_ns,
                ..CountedAnswers::default()
            }
        }

        fn histogram(&self, _: u32) -> Vec<u32> {
            Vec::new()
        }

        /// Each nanosecond below 128 has a bucket.
        fn round_trips(&self) -> Vec<u64> {
            let mut counts = vec![0; 128];
            for rtt_ns in [10, 20, 30] {
                counts[rtt_ns] = 1;
            }
            counts
        }

        fn reset(&self, _: u32) {}
    }

    #[test]
    fn the_counters_of_targets_are_read_when_somebody_asks() {
        let plan = ProbePlan::new(7, RunKey([1, 2]));
        let mut builder = TargetsBuilder::default();
        builder
            .add("10.0.0.1-10.0.0.3", &mut NoResolver)
            .expect("targets");
        let targets = builder.build().expect("not too many");
        let mut prober = Prober::with_kernel_counters(&plan, targets, 0).expect("a plan");
        let reads = Arc::new(AtomicU64::new(0));
        prober.read_from(Box::new(Answered(reads.clone())));
        let reads = || reads.swap(0, Ordering::Relaxed);
        let all = CountedAnswers {
            received: 3,
            ..CountedAnswers::default()
        };
        for _ in 0..2 {
            prober.set_total(&all, false);
            assert_eq!((prober.probes_sent(), reads()), (0, 0));
            assert_eq!((prober.total().received, reads()), (3, 3));
            assert_eq!((prober.total().lost, reads()), (0, 0), "it is known");
            let histogram = prober.histogram();
            assert_eq!((histogram.count(), histogram.sum_ns()), (3, 60));
            assert_eq!(histogram.range_ns(), Some((10, 30)));
            assert_eq!((prober.histogram().count(), reads()), (3, 3));
        }
    }

    /// Far more rounds than fit into the flight. Compared with the rounds that the interval asks for.
    #[test]
    fn a_held_probe_does_not_stop_the_others() {
        const ROUNDS: u64 = 1000;
        let plan = ProbePlan {
            interval_ns: 1_000_000,
            rate_pps: None,
            timeout_ns: 10_000_000,
            ..ProbePlan::new(7, RunKey([1, 2]))
        };
        let mut builder = TargetsBuilder::default();
        builder
            .add("10.0.0.1-10.0.0.2", &mut NoResolver)
            .expect("targets");
        let targets = builder.build().expect("not too many");
        let mut prober = Prober::with_kernel_counters(&plan, targets, 0).expect("a plan");
        prober.read_from(Box::new(Silent));
        let mut held = Vec::new();
        for now_ns in (0..ROUNDS).map(|round| round * plan.interval_ns) {
            prober.expire(now_ns, |_| {});
            while let NextAction::Send(probe) = prober.next(now_ns) {
                if probe.target == 0 {
                    prober.hold(probe);
                    held.push(probe);
                } else {
                    prober.sent(probe, now_ns);
                }
            }
            assert!(!prober.has_full_flight());
        }
        let sent = prober.counts(1).sent;
        assert!((ROUNDS - 1..=ROUNDS).contains(&sent), "{sent}");
        assert_eq!(prober.counts(0).sent, 0);
        // They are known however long they have waited.
        let now_ns = ROUNDS * plan.interval_ns;
        for probe in held {
            assert!(prober.resume(probe, now_ns));
            prober.not_sent(probe, crate::prober::SendFailure::Refused, now_ns);
        }
        assert!((ROUNDS - 1..=ROUNDS).contains(&prober.counts(0).local_drops));
    }

    #[test]
    fn probes_that_have_timed_out_are_lost_while_the_run_lasts() {
        let plan = ProbePlan {
            interval_ns: 1_000_000,
            rate_pps: None,
            timeout_ns: 10_000_000,
            ..ProbePlan::new(7, RunKey([1, 2]))
        };
        let mut builder = TargetsBuilder::default();
        builder
            .add("10.0.0.1-10.0.0.2", &mut NoResolver)
            .expect("targets");
        let targets = builder.build().expect("not too many");
        let mut prober = Prober::with_kernel_counters(&plan, targets, 0).expect("a plan");
        prober.read_from(Box::new(Silent));
        for now_ns in (0..100_000_000).step_by(250_000) {
            prober.expire(now_ns, |_| {});
            while let NextAction::Send(probe) = prober.next(now_ns) {
                prober.sent(probe, now_ns);
            }
        }
        let counts = prober.counts(0);
        // Up to a 64th of the timeout later, and one that is due.
        assert!((88..=90).contains(&counts.lost), "{counts:?}");
        assert_eq!((counts.sent, counts.pending()), (100, 100 - counts.lost));
        assert_eq!(prober.probes_sent(), 200);
        let total = prober.total();
        assert_eq!(total.lost, counts.lost + prober.counts(1).lost);
        let of_many = prober.count_overdue(true);
        assert!((total.lost - 2..=total.lost).contains(&of_many));
        prober.end_all(|_, _| {});
        let total = prober.total();
        assert_eq!((total.sent, total.lost, total.pending()), (200, 200, 0));
        assert_eq!(prober.counts(0).lost, 100);
    }

    /// Compared with the histogram, which is updated round trip by round trip.
    #[test]
    fn sums_give_the_mean_and_the_deviation_of_the_list() {
        let times = [31_000_u64, 40_000, 52_000, 29_000, 4_000_000_000, 40_007];
        let mut answers = CountedAnswers {
            received: times.len() as u64,
            ..CountedAnswers::default()
        };
        let mut histogram = Histogram::default();
        for time in times {
            answers.sum_ns += u128::from(time);
            answers.squares += u128::from(time) * u128::from(time);
            histogram.record(time);
        }
        let (mean, squares) = answers.mean_and_squares();
        let deviation = (squares / times.len() as f64).sqrt();
        let expected = histogram.mean_and_stddev_ns().expect("not empty");
        assert!((mean / expected.0 - 1.0).abs() < 1e-9);
        assert!((deviation / expected.1 - 1.0).abs() < 1e-9);
        assert_eq!(CountedAnswers::default().mean_and_squares(), (0.0, 0.0));
    }
}
