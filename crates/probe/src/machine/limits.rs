//! What limits beside the rate add to a run.

use super::gate::{PREFIX_PLACES, place};
use super::plan::{Forecast, Plan};
use super::schedule::MAX_DEFERRED;
use crate::targets::Targets;

impl Forecast {
    /// Adds what the limits of `plan` for prefixes and for neighbours take from a run over `targets`, of which
    /// `on_link` are hosts on the link: at most, as when none of these is there.
    ///
    /// Goes over all targets where there is a limit for prefixes. Without an end nothing is added.
    #[must_use]
    pub fn with_limits(mut self, plan: &Plan, targets: &Targets, on_link: u32) -> Self {
        let Some(rounds) = self.rounds else {
            return self;
        };
        let pace = plan.neighbours;
        let neighbours = Limit {
            each_ns: pace.time_ns / u64::from(pace.most).max(1),
            at_once: pace.most.into(),
        };
        self.limits_ns = neighbours.adds(&self, on_link.into());
        if let Some(rate) = plan.prefix_pps {
            let prefix = Limit {
                each_ns: 1_000_000_000 / u64::from(rate).max(1),
                at_once: 1,
            };
            let (all, most) = crowds(targets);
            let added_ns = prefix.adds(&self, most);
            self.limits_ns = self.limits_ns.saturating_add(added_ns);
            let waiting = all.saturating_mul(rounds.into());
            self.is_certain = added_ns == 0 || waiting <= MAX_DEFERRED as u64;
        }
        self
    }
}

/// So many probes at once, and then one after each time.
struct Limit {
    each_ns: u64,
    at_once: u64,
}

impl Limit {
    /// How long after the end of all sending the last of `targets` may go that share the limit.
    ///
    /// The k-th of their probes is due by the end of its round, and goes so long after it as those behind it
    /// take: the last goes when the first have been waited for since the end of round one, or those of the last
    /// round since its end, whichever is later.
    fn adds(&self, forecast: &Forecast, targets: u64) -> u64 {
        let rounds = u64::from(forecast.rounds.unwrap_or(0));
        let take_ns = |probes: u64| {
            let waiting = probes.saturating_sub(self.at_once);
            self.each_ns.saturating_mul(waiting)
        };
        let from_first = take_ns(targets.saturating_mul(rounds)).saturating_add(forecast.round_ns);
        let sending_ns = forecast.sending_ns().unwrap_or(u64::MAX);
        take_ns(targets).max(from_first.saturating_sub(sending_ns))
    }
}

/// How many targets have the limit of a prefix to share with others, and the most that share one.
fn crowds(targets: &Targets) -> (u64, u64) {
    let mut crowds = vec![0_u32; PREFIX_PLACES];
    for target in 0..targets.len() {
        crowds[place(targets.address(target))] += 1;
    }
    let crowded = crowds.iter().filter(|count| **count > 1);
    let all = crowded.map(|count| u64::from(*count)).sum();
    let most = crowds.into_iter().max().unwrap_or(0);
    (all, most.into())
}
