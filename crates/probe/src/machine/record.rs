//! The statistics of all targets, and of the run.

use std::ops::Range;

use super::buckets::COARSE;
use super::histogram::Histogram;
use super::plan::Forecast;
use super::probe::Probe;
use super::tally::{Counts, Rtt, Tally};
use super::window::Window;

/// How an answer relates to the probe it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// It is the first.
    Yes,
    /// The probe had been settled.
    No,
    /// The probe is out of the window.
    Unknown,
}

/// Statistics, and what they need to be right.
#[derive(Debug)]
pub(super) struct Records {
    tallies: Box<[Tally]>,
    window: Window,
    /// Counts of [`COARSE`] buckets, one row a target; empty when not wanted.
    histograms: Box<[u32]>,
    pub total: Counts,
    pub histogram: Histogram,
}

impl Records {
    pub fn new(forecast: &Forecast, histograms: bool) -> Self {
        let targets = forecast.targets as usize;
        let rows = if histograms { targets } else { 0 };
        Self {
            tallies: vec![Tally::default(); targets].into_boxed_slice(),
            // One round in the making, and one for the ends of the others.
            window: Window::new(forecast.targets, forecast.flight() + 2),
            histograms: vec![0; rows * COARSE.len()].into_boxed_slice(),
            total: Counts::default(),
            histogram: Histogram::default(),
        }
    }

    /// Rounds that may be in flight without one taking the place of another.
    pub fn flight(&self) -> u32 {
        self.window.rounds() - 1
    }

    pub fn sent(&mut self, probe: Probe) {
        self.window.clear(probe.target, probe.round);
        self.tally(probe.target).sent += 1;
        self.total.sent += 1;
    }

    pub fn dropped(&mut self, probe: Probe) {
        self.window.clear(probe.target, probe.round);
        self.window.settle(probe.target, probe.round);
        self.tally(probe.target).local_drops += 1;
        self.total.local_drops += 1;
    }

    /// Takes care that `probe`, which never went, is not waited for.
    pub fn take_back_unsent(&mut self, probe: Probe) {
        self.window.settle(probe.target, probe.round);
        self.window.answer(probe.target, probe.round);
    }

    /// Ends a probe whose time is over; whether it is lost.
    pub fn end(&mut self, probe: Probe) -> bool {
        let is_lost = !self.window.is_settled(probe.target, probe.round);
        self.window.end(probe.target, probe.round);
        if is_lost {
            self.tally(probe.target).lost += 1;
            self.total.lost += 1;
        }
        is_lost
    }

    /// Settles `probe`, one of `issued` to its target, because it was answered.
    pub fn answer(&mut self, probe: Probe, issued: u32) -> First {
        if issued - probe.round > self.window.rounds() {
            return First::Unknown;
        }
        if self.window.settle(probe.target, probe.round) {
            First::Yes
        } else {
            First::No
        }
    }

    /// Whether a later probe than `probe` was the last to be answered in time.
    pub fn is_overtaken(&mut self, probe: Probe) -> bool {
        self.window.is_overtaken(probe.target, probe.round)
    }

    /// Counts a first answer in time. `had_ended` takes back the loss that had been counted.
    pub fn received(&mut self, probe: Probe, rtt_ns: Option<u64>, had_ended: bool) {
        self.take_back(probe.target, had_ended);
        let target = probe.target;
        self.window.answer(target, probe.round);
        self.tally(target).received += 1;
        if let Some(rtt_ns) = rtt_ns {
            let last_ns = self.window.swap_last(target, rtt_ns as f32);
            self.tally(target).time(rtt_ns, last_ns);
            self.histogram.record(rtt_ns);
            let row = target as usize * COARSE.len();
            if let Some(count) = self.histograms.get_mut(row + COARSE.index(rtt_ns)) {
                *count = count.saturating_add(1);
            }
        }
        self.total.received += 1;
    }

    pub fn late(&mut self, target: u32, had_ended: bool) {
        self.take_back(target, had_ended);
        self.tally(target).late += 1;
        self.total.late += 1;
    }

    pub fn error(&mut self, target: u32, had_ended: bool) {
        self.take_back(target, had_ended);
        self.tally(target).errors += 1;
        self.total.errors += 1;
    }

    pub fn duplicate(&mut self, target: u32) {
        // Whoever answers without end is not to bring the run down.
        let count = &mut self.tally(target).duplicate;
        *count = count.saturating_add(1);
        self.total.duplicate += 1;
    }

    pub fn corrupt(&mut self, target: u32) {
        let count = &mut self.tally(target).corrupt;
        *count = count.saturating_add(1);
        self.total.corrupt += 1;
    }

    pub fn counts(&self, target: u32) -> Counts {
        Counts::of(&self.tallies[target as usize])
    }

    pub fn rtt(&self, target: u32) -> Option<Rtt> {
        self.tallies[target as usize].rtt(self.window.last_ns(target))
    }

    pub fn quantile(&self, target: u32, quantile: f64) -> Option<u64> {
        let row = target as usize * COARSE.len();
        let row = self.histograms.get(row..row + COARSE.len())?;
        let counts = || row.iter().map(|count| u64::from(*count));
        COARSE.quantile(counts(), counts().sum(), quantile)
    }

    pub fn longest_outage(&self, target: u32, open: Range<u32>) -> u32 {
        self.window.longest_outage(target, open)
    }

    fn take_back(&mut self, target: u32, had_ended: bool) {
        if had_ended {
            self.tally(target).lost -= 1;
            self.total.lost -= 1;
        }
    }

    fn tally(&mut self, target: u32) -> &mut Tally {
        &mut self.tallies[target as usize]
    }
}
