//! The statistics of all targets and of the run.

use super::answers::CountedAnswers;
use super::histogram::{COARSE, Histogram};
use super::target::{ProbeCounts, RttStatistics, TargetRecord};
use super::window::{ProbeEnd, ProbeWindow};
use crate::probe::Slot;

/// Whether an answer is the first to its probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerOrder {
    First,
    /// The probe was settled before.
    Repeated,
    /// The probe has left the window.
    Unknown,
}

/// The statistics of each target, by its position in the order of the run, and their totals.
#[derive(Debug)]
pub(crate) struct RunStatistics {
    records: Vec<TargetRecord>,
    window: ProbeWindow,
    /// Counts of [`COARSE`] buckets, one row per target; empty without histograms per target.
    histograms: Vec<u32>,
    has_histograms: bool,
    pub total: ProbeCounts,
    pub histogram: Histogram,
}

/// Rounds that the window holds: those in flight, one being sent, and one for the ends.
fn window_rounds(flight: u32) -> u32 {
    flight + 2
}

impl RunStatistics {
    /// Bytes per target with at most `flight` probes in flight.
    pub fn bytes_per_target(flight: u32, histograms: bool) -> u64 {
        let histogram = if histograms {
            size_of::<[u32; COARSE.len()]>()
        } else {
            0
        };
        let window = ProbeWindow::row_bytes(window_rounds(flight));
        (size_of::<TargetRecord>() + window + histogram) as u64
    }

    /// Number of latest probes per target whose state is kept if at most `flight` are in flight.
    pub fn rounds_of(flight: u32) -> u32 {
        ProbeWindow::new(0, window_rounds(flight)).rounds()
    }

    pub fn new(targets: u32, flight: u32, histograms: bool) -> Self {
        let rows = if histograms { targets as usize } else { 0 };
        Self {
            records: vec![TargetRecord::default(); targets as usize],
            window: ProbeWindow::new(targets, window_rounds(flight)),
            histograms: vec![0; rows * COARSE.len()],
            has_histograms: histograms,
            total: ProbeCounts::default(),
            histogram: Histogram::default(),
        }
    }

    /// Makes room for `targets` targets.
    pub fn grow(&mut self, targets: u32) {
        let rows = if self.has_histograms {
            targets as usize
        } else {
            0
        };
        self.records
            .resize(targets as usize, TargetRecord::default());
        self.window.grow(targets);
        self.histograms.resize(rows * COARSE.len(), 0);
    }

    /// Forgets the target at `position`, for another one. The totals keep it.
    pub fn reset(&mut self, position: u32) {
        *self.record(position) = TargetRecord::default();
        self.window.reset(position);
        let row = position as usize * COARSE.len();
        if let Some(row) = self.histograms.get_mut(row..row + COARSE.len()) {
            row.fill(0);
        }
    }

    /// Number of latest probes per target whose state is kept.
    pub fn rounds(&self) -> u32 {
        self.window.rounds()
    }

    /// Maximum rounds in flight without reusing the bits of a probe.
    pub fn flight(&self) -> u32 {
        self.window.rounds() - 1
    }

    #[inline]
    pub fn sent(&mut self, slot: Slot) {
        self.window.clear(slot.position, slot.round);
        self.record(slot.position).sent += 1;
        self.total.sent += 1;
    }

    pub fn not_sent(&mut self, slot: Slot) {
        self.window.clear(slot.position, slot.round);
        self.window.settle(slot.position, slot.round);
        self.record(slot.position).local_drops += 1;
        self.total.local_drops += 1;
    }

    /// Settles a probe that is withdrawn before it was sent.
    pub fn withdraw(&mut self, slot: Slot) {
        self.window.settle(slot.position, slot.round);
        self.window.mark_answered(slot.position, slot.round);
    }

    /// Ends a probe at its timeout. `is_skipped`: its target is not probed in this round.
    #[inline]
    pub fn end(&mut self, slot: Slot, is_skipped: bool) -> ProbeEnd {
        let end = self.window.end(slot.position, slot.round, is_skipped);
        match end {
            ProbeEnd::Settled => {}
            ProbeEnd::Unproven => self.error(slot.position, false),
            ProbeEnd::Lost => {
                self.record(slot.position).lost += 1;
                self.total.lost += 1;
            }
        }
        end
    }

    /// Settles the answered probe of `slot`, one of `issued` to its target.
    #[inline]
    pub fn settle(&mut self, slot: Slot, issued: u32) -> AnswerOrder {
        self.note(slot, issued, ProbeWindow::settle)
    }

    /// Notes an unproven error. An answer before the timeout disproves it.
    pub fn note_unproven(&mut self, slot: Slot, issued: u32) -> AnswerOrder {
        self.note(slot, issued, ProbeWindow::note_unproven)
    }

    #[inline]
    fn note(
        &mut self,
        slot: Slot,
        issued: u32,
        note: impl FnOnce(&mut ProbeWindow, u32, u32) -> bool,
    ) -> AnswerOrder {
        if issued - slot.round > self.window.rounds() {
            AnswerOrder::Unknown
        } else if note(&mut self.window, slot.position, slot.round) {
            AnswerOrder::First
        } else {
            AnswerOrder::Repeated
        }
    }

    /// Whether a later probe than that of `slot` was answered before.
    #[inline]
    pub fn is_overtaken(&mut self, slot: Slot) -> bool {
        self.window.is_overtaken(slot.position, slot.round)
    }

    /// Counts a first answer in time. `was_lost` reverts the loss that was counted for the probe.
    #[inline]
    pub fn received(&mut self, slot: Slot, rtt_ns: Option<u64>, was_lost: bool) {
        self.revert_loss(slot.position, was_lost);
        let position = slot.position;
        self.window.mark_answered(position, slot.round);
        self.record(position).received += 1;
        if let Some(rtt_ns) = rtt_ns {
            let last_ns = self.window.swap_last(position, rtt_ns as f32);
            self.record(position).time(rtt_ns, last_ns);
            self.histogram.record(rtt_ns);
            let row = position as usize * COARSE.len();
            if let Some(count) = self.histograms.get_mut(row + COARSE.index(rtt_ns)) {
                *count = count.saturating_add(1);
            }
        }
        self.total.received += 1;
    }

    pub fn late(&mut self, position: u32, was_lost: bool) {
        self.revert_loss(position, was_lost);
        self.record(position).late += 1;
        self.total.late += 1;
    }

    pub fn error(&mut self, position: u32, was_lost: bool) {
        self.revert_loss(position, was_lost);
        self.record(position).errors += 1;
        self.total.errors += 1;
    }

    pub fn duplicate(&mut self, position: u32) {
        // A host that answers endlessly must not overflow the counter.
        let count = &mut self.record(position).duplicate;
        *count = count.saturating_add(1);
        self.total.duplicate += 1;
    }

    pub fn corrupt(&mut self, position: u32) {
        let count = &mut self.record(position).corrupt;
        *count = count.saturating_add(1);
        self.total.corrupt += 1;
    }

    /// Sets the totals of what was counted in the kernel.
    pub fn set_total(&mut self, answers: &CountedAnswers) {
        self.total = ProbeCounts {
            received: answers.received,
            late: answers.late,
            duplicate: answers.duplicate,
            corrupt: answers.corrupt,
            errors: answers.errors,
            ..self.total
        };
    }

    pub fn counts(&self, position: u32) -> ProbeCounts {
        ProbeCounts::of(&self.records[position as usize])
    }

    pub fn rtt(&self, position: u32) -> Option<RttStatistics> {
        self.records[position as usize].rtt(self.window.last_ns(position))
    }

    /// The histogram of a target; empty if there are none.
    pub fn row(&self, position: u32) -> &[u32] {
        let first = position as usize * COARSE.len();
        let row = self.histograms.get(first..first + COARSE.len());
        row.unwrap_or_default()
    }

    pub fn longest_outage(&self, position: u32, open: impl Iterator<Item = u32>) -> u32 {
        self.window.longest_outage(position, open)
    }

    #[inline]
    fn revert_loss(&mut self, position: u32, was_lost: bool) {
        if was_lost {
            self.record(position).lost -= 1;
            self.total.lost -= 1;
        }
    }

    #[inline]
    fn record(&mut self, position: u32) -> &mut TargetRecord {
        &mut self.records[position as usize]
    }
}
