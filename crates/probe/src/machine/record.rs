//! The statistics of all targets, and of the run.

use std::ops::Range;

use super::buckets::COARSE;
use super::histogram::Histogram;
use super::plan::Forecast;
use super::schedule::Seat;
use super::tally::{Counts, Rtt, Tally};
use super::window::{End, Window};

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

/// Statistics, and what they need to be right: of each target at its place in the order of the run.
#[derive(Debug)]
pub(super) struct Records {
    tallies: Box<[Tally]>,
    window: Window,
    /// Counts of [`COARSE`] buckets, one row a target; empty when not wanted.
    histograms: Box<[u32]>,
    pub total: Counts,
    pub histogram: Histogram,
}

/// Probes to a target that a window has to know: one round in the making, and one for the ends of the others.
fn known_rounds(forecast: &Forecast) -> u32 {
    forecast.flight() + 2
}

impl Records {
    /// Memory for these, bytes.
    pub fn bytes(forecast: &Forecast, histograms: bool) -> u64 {
        let histogram = if histograms {
            size_of::<[u32; COARSE.len()]>()
        } else {
            0
        };
        let each = size_of::<Tally>() + Window::row_bytes(known_rounds(forecast)) + histogram;
        each as u64 * u64::from(forecast.targets)
    }

    pub fn new(forecast: &Forecast, histograms: bool) -> Self {
        let targets = forecast.targets as usize;
        let rows = if histograms { targets } else { 0 };
        Self {
            tallies: vec![Tally::default(); targets].into_boxed_slice(),
            window: Window::new(forecast.targets, known_rounds(forecast)),
            histograms: vec![0; rows * COARSE.len()].into_boxed_slice(),
            total: Counts::default(),
            histogram: Histogram::default(),
        }
    }

    /// Rounds that may be in flight without one taking the place of another.
    pub fn flight(&self) -> u32 {
        self.window.rounds() - 1
    }

    #[inline]
    pub fn sent(&mut self, seat: Seat) {
        self.window.clear(seat.place, seat.round);
        self.tally(seat.place).sent += 1;
        self.total.sent += 1;
    }

    pub fn dropped(&mut self, seat: Seat) {
        self.window.clear(seat.place, seat.round);
        self.window.settle(seat.place, seat.round);
        self.tally(seat.place).local_drops += 1;
        self.total.local_drops += 1;
    }

    /// Takes care that the probe of `seat`, which never went, is not waited for.
    pub fn take_back_unsent(&mut self, seat: Seat) {
        self.window.settle(seat.place, seat.round);
        self.window.answer(seat.place, seat.round);
    }

    /// Ends a probe whose time is over; how.
    #[inline]
    pub fn end(&mut self, seat: Seat) -> End {
        let end = self.window.end(seat.place, seat.round);
        match end {
            End::Settled => {}
            End::Doubtful => self.error(seat.place, false),
            End::Lost => {
                self.tally(seat.place).lost += 1;
                self.total.lost += 1;
            }
        }
        end
    }

    /// Settles the probe of `seat`, one of `issued` to its target, because it was answered.
    #[inline]
    pub fn answer(&mut self, seat: Seat, issued: u32) -> First {
        self.first(seat, issued, Window::settle)
    }

    /// As [`Records::answer`], by an error in doubt: until the probe's time is up an answer disproves it.
    pub fn doubt(&mut self, seat: Seat, issued: u32) -> First {
        self.first(seat, issued, Window::doubt)
    }

    #[inline]
    fn first(
        &mut self,
        seat: Seat,
        issued: u32,
        note: impl FnOnce(&mut Window, u32, u32) -> bool,
    ) -> First {
        if issued - seat.round > self.window.rounds() {
            First::Unknown
        } else if note(&mut self.window, seat.place, seat.round) {
            First::Yes
        } else {
            First::No
        }
    }

    /// Whether a later probe than that of `seat` was the last to be answered in time.
    #[inline]
    pub fn is_overtaken(&mut self, seat: Seat) -> bool {
        self.window.is_overtaken(seat.place, seat.round)
    }

    /// Counts a first answer in time. `had_ended` takes back the loss that had been counted.
    #[inline]
    pub fn received(&mut self, seat: Seat, rtt_ns: Option<u64>, had_ended: bool) {
        self.take_back(seat.place, had_ended);
        let place = seat.place;
        self.window.answer(place, seat.round);
        self.tally(place).received += 1;
        if let Some(rtt_ns) = rtt_ns {
            let last_ns = self.window.swap_last(place, rtt_ns as f32);
            self.tally(place).time(rtt_ns, last_ns);
            self.histogram.record(rtt_ns);
            let row = place as usize * COARSE.len();
            if let Some(count) = self.histograms.get_mut(row + COARSE.index(rtt_ns)) {
                *count = count.saturating_add(1);
            }
        }
        self.total.received += 1;
    }

    pub fn late(&mut self, place: u32, had_ended: bool) {
        self.take_back(place, had_ended);
        self.tally(place).late += 1;
        self.total.late += 1;
    }

    pub fn error(&mut self, place: u32, had_ended: bool) {
        self.take_back(place, had_ended);
        self.tally(place).errors += 1;
        self.total.errors += 1;
    }

    pub fn duplicate(&mut self, place: u32) {
        // Whoever answers without end is not to bring the run down.
        let count = &mut self.tally(place).duplicate;
        *count = count.saturating_add(1);
        self.total.duplicate += 1;
    }

    pub fn corrupt(&mut self, place: u32) {
        let count = &mut self.tally(place).corrupt;
        *count = count.saturating_add(1);
        self.total.corrupt += 1;
    }

    pub fn counts(&self, place: u32) -> Counts {
        Counts::of(&self.tallies[place as usize])
    }

    pub fn rtt(&self, place: u32) -> Option<Rtt> {
        self.tallies[place as usize].rtt(self.window.last_ns(place))
    }

    pub fn buckets(&self, place: u32) -> impl Iterator<Item = (u64, u64, u64)> {
        let row = self.row(place).unwrap_or_default().iter().enumerate();
        row.filter(|(_, count)| **count > 0).map(|(index, count)| {
            let (low, high) = COARSE.bounds(index);
            (low, high, u64::from(*count))
        })
    }

    /// The buckets of a target, if there are any.
    fn row(&self, place: u32) -> Option<&[u32]> {
        let first = place as usize * COARSE.len();
        self.histograms.get(first..first + COARSE.len())
    }

    pub fn quantile(&self, place: u32, quantile: f64) -> Option<u64> {
        let row = self.row(place)?;
        let counts = || row.iter().map(|count| u64::from(*count));
        COARSE.quantile(counts(), counts().sum(), quantile)
    }

    pub fn longest_outage(&self, place: u32, open: Range<u32>) -> u32 {
        self.window.longest_outage(place, open)
    }

    #[inline]
    fn take_back(&mut self, place: u32, had_ended: bool) {
        if had_ended {
            self.tally(place).lost -= 1;
            self.total.lost -= 1;
        }
    }

    #[inline]
    fn tally(&mut self, place: u32) -> &mut Tally {
        &mut self.tallies[place as usize]
    }
}
