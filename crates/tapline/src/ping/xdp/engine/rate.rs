//! The rate that a run reaches, and what it waits for.

use probe::Forecast;
use probe::targets::Targets;

use crate::ping::options::PingOptions;
use crate::ping::summary::{PingRate, RateLimit};

/// A part of the time that explains a lower rate.
const SHARE: f64 = 0.1;

/// Measures a run. Times are nanoseconds of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateMeter {
    asked_pps: Option<f64>,
    /// Probes that are due together.
    group: u32,
    has_prefix_rate: bool,
    has_uplink_limit: bool,
    first_ns: Option<u64>,
    last_ns: u64,
    taken: u64,
    /// Time up to the latest probe in which nothing was done, or neighbours, answers or the interface were waited for.
    waited: WaitTimes,
    /// The same since then.
    recent: WaitTimes,
    left_ns: Option<u64>,
    idle: IdleReason,
}

/// Why no probe is sent after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdleReason {
    /// The next probe is not due.
    Schedule,
    Neighbours,
    /// No more probes in flight can be tracked.
    Flight,
    /// The interface is down.
    Interface,
}

/// Nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct WaitTimes {
    idle: u64,
    neighbours: u64,
    flight: u64,
    interface: u64,
}

impl RateMeter {
    /// For a run that begins with `targets`. What they ask for is known if all are probed in the same way.
    pub fn new(options: &PingOptions, targets: &Targets, forecast: &Forecast) -> Self {
        let interval_s = options.interval.as_secs_f64();
        let by_interval = f64::from(targets.len()) / interval_s;
        let by_rate = options.rate_pps.map(f64::from);
        let pps = by_rate.map_or(by_interval, |rate| rate.min(by_interval));
        let is_uniform = !targets.has_settings() && options.resolve_every.is_none();
        Self {
            asked_pps: (is_uniform && pps.is_finite()).then_some(pps),
            group: forecast.group,
            has_prefix_rate: options.prefix_pps.is_some(),
            has_uplink_limit: false,
            first_ns: None,
            last_ns: 0,
            taken: 0,
            waited: WaitTimes::default(),
            recent: WaitTimes::default(),
            left_ns: None,
            idle: IdleReason::Schedule,
        }
    }

    /// Targets have changed: the rate that they ask for is not known any more.
    pub fn changed(&mut self) {
        self.asked_pps = None;
    }

    /// The rate is that of an uplink from now on.
    pub fn limit_by_uplink(&mut self) {
        self.has_uplink_limit = true;
    }

    /// A probe is taken from the schedule.
    #[inline]
    pub fn took(&mut self, now_ns: u64) {
        self.first_ns.get_or_insert(now_ns);
        self.last_ns = now_ns;
        self.taken += 1;
        let recent = std::mem::take(&mut self.recent);
        if self.taken > 1 {
            self.waited.idle += recent.idle;
            self.waited.neighbours += recent.neighbours;
            self.waited.flight += recent.flight;
            self.waited.interface += recent.interface;
        }
    }

    /// Probes that were taken earlier have waited in vain: nothing else has waited for them.
    pub fn gave_up(&mut self, probes: usize) {
        self.taken += probes as u64;
    }

    /// A round begins.
    pub fn enter(&mut self, now_ns: u64) {
        let Some(left_ns) = self.left_ns.take() else {
            return;
        };
        let away_ns = now_ns.saturating_sub(left_ns);
        self.recent.idle += away_ns;
        match self.idle {
            IdleReason::Schedule => {}
            IdleReason::Neighbours => self.recent.neighbours += away_ns,
            IdleReason::Flight => self.recent.flight += away_ns,
            IdleReason::Interface => self.recent.interface += away_ns,
        }
    }

    /// A round ends.
    pub fn leave(&mut self, now_ns: u64, idle: IdleReason) {
        self.left_ns = Some(now_ns);
        self.idle = idle;
    }

    /// The interface took nothing for so long.
    pub fn refused(&mut self, for_ns: u64) {
        self.recent.interface += for_ns;
    }

    /// The result.
    pub fn rate(&self) -> PingRate {
        let first_ns = self.first_ns.unwrap_or(self.last_ns);
        let span_ns = (self.last_ns - first_ns) as f64;
        // The last probes, which are due together, have their time too.
        let last_ns = self
            .asked_pps
            .map_or(0.0, |pps| f64::from(self.group) * 1e9 / pps);
        let whole_ns = span_ns + last_ns;
        let reached = self.taken as f64 * 1e9 / whole_ns;
        let rate = PingRate {
            asked_pps: self.asked_pps,
            reached_pps: (self.first_ns.is_some() && whole_ns > 0.0).then_some(reached),
            limit: None,
        };
        let limit = match self.limit(span_ns) {
            // As fast as possible is no rate that could be compared.
            limit @ Some(RateLimit::InFlight | RateLimit::Uplink) if self.asked_pps.is_none() => {
                limit
            }
            limit => limit.filter(|_| !rate.is_reached()),
        };
        PingRate { limit, ..rate }
    }

    fn limit(&self, span_ns: f64) -> Option<RateLimit> {
        let is_much = |ns: u64| ns as f64 > SHARE * span_ns;
        if self.has_uplink_limit {
            Some(RateLimit::Uplink)
        } else if is_much(self.waited.neighbours) {
            Some(RateLimit::Neighbours)
        } else if is_much(self.waited.flight) {
            Some(RateLimit::InFlight)
        } else if is_much(self.waited.interface) {
            Some(RateLimit::Interface)
        } else if !is_much(self.waited.idle) {
            Some(RateLimit::Cpu)
        } else {
            self.has_prefix_rate.then_some(RateLimit::PrefixRate)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::targets::{NoResolver, TargetsBuilder};
    use probe::{ProbePlan, RunKey};

    const SECOND: u64 = 1_000_000_000;

    /// A run as fast as possible to one target, whose rounds are followed by a second of `idle`.
    fn limit(idle: IdleReason) -> Option<RateLimit> {
        let options = PingOptions {
            interval: std::time::Duration::ZERO,
            rate_pps: None,
            ..PingOptions::default()
        };
        let mut builder = TargetsBuilder::default();
        builder.add("10.0.0.1", &mut NoResolver).expect("a target");
        let targets = builder.build().expect("not too many");
        let forecast = ProbePlan::new(1, RunKey([1, 2])).forecast(1);
        let mut meter = RateMeter::new(&options, &targets, &forecast.expect("in range"));
        for now_ns in [0, 1, 2, 3].map(|round| round * SECOND) {
            meter.enter(now_ns);
            meter.took(now_ns);
            meter.leave(now_ns, idle);
        }
        let rate = meter.rate();
        assert_eq!(rate.asked_pps, None);
        assert!((rate.reached_pps.expect("some") - 4.0 / 3.0).abs() < 0.01);
        rate.limit
    }

    /// Two targets every 200 ms. Nobody answers for one of them, which is known after three seconds.
    #[test]
    fn probes_that_wait_in_vain_do_not_lower_the_rate() {
        let options = PingOptions {
            interval: std::time::Duration::from_millis(200),
            ..PingOptions::default()
        };
        let mut builder = TargetsBuilder::default();
        let added = builder.add_list("10.0.0.1 10.0.0.2", &mut NoResolver);
        added.expect("targets");
        let targets = builder.build().expect("not too many");
        let forecast = ProbePlan::new(1, RunKey([1, 2])).forecast(2);
        let mut meter = RateMeter::new(&options, &targets, &forecast.expect("in range"));
        for now_ns in [0, 1, 2].map(|round| round * SECOND / 5) {
            meter.took(now_ns);
        }
        assert!(!meter.rate().is_reached(), "half of them are missing");
        meter.gave_up(3);
        let rate = meter.rate();
        assert!(rate.is_reached() && rate.limit.is_none(), "{rate:?}");
    }

    #[test]
    fn a_run_as_fast_as_possible_says_that_probes_in_flight_limit_it() {
        assert_eq!(limit(IdleReason::Flight), Some(RateLimit::InFlight));
        assert_eq!(limit(IdleReason::Schedule), None);
    }
}
