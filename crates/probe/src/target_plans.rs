//! Targets that are probed differently from the others.

use crate::cookie::COOKIE_BYTES;
use crate::plan::{PlanError, ProbePlan};
use crate::settings::TargetSettings;
use crate::targets::Targets;

/// How one target is probed.
#[derive(Clone, Debug, Default)]
struct TargetPlan {
    /// Its first round.
    first_round: u32,
    /// It is probed in each round that is a multiple of this after the first.
    every: u32,
    count: Option<u32>,
    timeout_ns: u64,
    payload_bytes: usize,
    /// Whether its end was noted.
    has_ended: bool,
    /// When the latest probes were sent, by round, if the payload has no room for that.
    sent_ns: Box<[u64]>,
}

/// How each target is probed. Empty if all are probed as the plan says, in full.
#[derive(Debug)]
pub(crate) struct TargetPlans {
    plans: Vec<TargetPlan>,
    round_ns: u64,
    timeout_ns: u64,
    payload_bytes: usize,
    /// The smallest payload that a target may have.
    min_payload_bytes: usize,
    /// Probes to one target whose send times are kept.
    rounds: u32,
}

impl TargetPlans {
    /// For targets that take part from the first round on. `rounds` limits the probes in flight to one of them, and
    /// `min_payload_bytes` the payload.
    pub fn new(
        plan: &ProbePlan,
        round_ns: u64,
        rounds: u32,
        min_payload_bytes: usize,
        targets: &Targets,
    ) -> Result<Self, PlanError> {
        let mut own = Self {
            plans: Vec::new(),
            round_ns,
            timeout_ns: plan.timeout_ns,
            payload_bytes: plan.payload_bytes,
            min_payload_bytes,
            rounds,
        };
        if plan.payload_bytes < COOKIE_BYTES || targets.has_settings() {
            for target in 0..targets.len() {
                let settings = targets.settings(targets.host(target));
                own.check(settings)?;
                let plan = own.plan(settings, 0);
                own.plans.push(plan);
            }
        }
        Ok(own)
    }

    /// Bytes for a target whose payload has no room for a cookie, with `rounds` probes in its window.
    pub fn short_bytes(rounds: u32) -> u64 {
        (size_of::<TargetPlan>() + rounds as usize * size_of::<u64>()) as u64
    }

    /// Whether a target may have these settings.
    pub fn check(&self, settings: TargetSettings) -> Result<(), PlanError> {
        let in_range = |what, value: Option<u64>, low: u64, high: u64| match value {
            Some(value) if !(low..=high).contains(&value) => Err(PlanError {
                what,
                value,
                low,
                high,
            }),
            _ => Ok(()),
        };
        let bytes = settings.payload_bytes.map(|bytes| bytes as u64);
        let [low, high] = [self.min_payload_bytes, self.payload_bytes].map(|bytes| bytes as u64);
        let most = u64::from(u32::MAX - 1);
        in_range("count of a target", settings.count.map(u64::from), 1, most)?;
        in_range("payload of a target (bytes)", bytes, low, high)?;
        in_range(
            "timeout of a target (ns)",
            settings.timeout_ns,
            1_000_000,
            self.timeout_ns,
        )
    }

    /// Sets how `target` of `targets` is probed from round `round` on.
    pub fn set(&mut self, target: u32, targets: u32, settings: TargetSettings, round: u32) {
        if self.plans.is_empty() && settings.is_default() {
            return;
        }
        let as_planned = self.plan(TargetSettings::default(), 0);
        self.plans.resize(targets as usize, as_planned);
        let mut plan = self.plan(settings, round);
        let of_target = &mut self.plans[target as usize];
        if plan.payload_bytes == of_target.payload_bytes {
            // Of probes in flight.
            std::mem::swap(&mut plan.sent_ns, &mut of_target.sent_ns);
        }
        *of_target = plan;
    }

    fn plan(&self, settings: TargetSettings, first_round: u32) -> TargetPlan {
        let payload_bytes = settings.payload_bytes.unwrap_or(self.payload_bytes);
        let every = settings.interval_ns.unwrap_or(0);
        let every = every.div_ceil(self.round_ns.max(1)).max(1);
        let is_short = payload_bytes < COOKIE_BYTES;
        TargetPlan {
            first_round,
            every: u32::try_from(every).unwrap_or(u32::MAX),
            count: settings.count,
            timeout_ns: settings.timeout_ns.unwrap_or(self.timeout_ns),
            payload_bytes,
            has_ended: false,
            sent_ns: vec![0; if is_short { self.rounds as usize } else { 0 }].into_boxed_slice(),
        }
    }

    /// Whether all targets are probed as the plan says, with whole cookies.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Whether `target` is probed in round `round`.
    #[inline]
    pub fn is_due(&self, target: u32, round: u32) -> bool {
        let Some(plan) = self.plans.get(target as usize) else {
            return true;
        };
        let Some(rounds) = round.checked_sub(plan.first_round) else {
            return false;
        };
        let is_left = plan.count.is_none_or(|count| rounds / plan.every < count);
        rounds.is_multiple_of(plan.every) && is_left
    }

    /// Whether `issued` rounds are all in which `target` is probed, and nobody has noted that. Notes it.
    pub fn end(&mut self, target: u32, issued: u32) -> bool {
        let Some(plan) = self.plans.get_mut(target as usize) else {
            return false;
        };
        let Some(count) = plan.count.filter(|_| !plan.has_ended) else {
            return false;
        };
        let rounds = u64::from(count - 1) * u64::from(plan.every);
        plan.has_ended = u64::from(issued) > u64::from(plan.first_round) + rounds;
        plan.has_ended
    }

    /// Whether `target` is probed a number of times of its own, whose end is not noted yet.
    #[inline]
    pub fn has_count(&self, target: u32) -> bool {
        let plan = self.plans.get(target as usize);
        plan.is_some_and(|plan| plan.count.is_some() && !plan.has_ended)
    }

    #[inline]
    pub fn timeout_ns(&self, target: u32) -> u64 {
        let plan = self.plans.get(target as usize);
        plan.map_or(self.timeout_ns, |plan| plan.timeout_ns)
    }

    #[inline]
    pub fn payload_bytes(&self, target: u32) -> usize {
        let plan = self.plans.get(target as usize);
        plan.map_or(self.payload_bytes, |plan| plan.payload_bytes)
    }

    /// Keeps the send time of a probe whose payload has no room for it.
    #[inline]
    pub fn sent(&mut self, target: u32, round: u32, now_ns: u64) {
        if let Some(plan) = self.plans.get_mut(target as usize)
            && let Some(at) = (round as usize).checked_rem(plan.sent_ns.len())
        {
            plan.sent_ns[at] = now_ns;
        }
    }

    /// The send time of one of the latest probes to a target with such a payload.
    pub fn sent_ns(&self, target: u32, round: u32) -> Option<u64> {
        let times = &self.plans.get(target as usize)?.sent_ns;
        let at = (round as usize).checked_rem(times.len())?;
        Some(times[at])
    }
}
