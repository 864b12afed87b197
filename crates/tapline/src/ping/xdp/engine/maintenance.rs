//! What a run follows besides its probes: changes of the targets, of routes and of neighbours.

use probe::Prober;

use super::super::routing::{HopUpdate, REFRESH_NS, set_targets};
use super::XdpEngine;
use crate::ping::event::{PingEvent, TargetChange};
use crate::uplink::UplinkGuard;

/// Targets whose hops are written in one call after routes have changed, and between two looks at how many routes that took.
const TARGETS_AT_ONCE: u32 = 4096;
const TARGETS_BETWEEN: u32 = 32;
/// Routes that are looked up in one call, but for the last of these.
const LOOKUPS_AT_ONCE: u64 = 32;
/// Minimum time between two passes over the targets: a router may have new routes all the time.
const PASS_NS: u64 = 1_000_000_000;

impl XdpEngine {
    /// Makes the requested changes of the targets, and reports targets that have ended.
    pub(super) fn change_targets(
        &mut self,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        self.prober.end_targets(now_ns);
        while let Some(target) = self.prober.next_ended() {
            observe(PingEvent::Ended { target }, &self.prober);
        }
        let changed = &mut self.changed;
        let mut note = |event, prober: &Prober| {
            if let PingEvent::TargetChange {
                target,
                change:
                    TargetChange::Added | TargetChange::Address { .. } | TargetChange::Removed { .. },
            } = event
            {
                changed.push(target);
            }
            observe(event, prober);
        };
        self.changes.apply(&mut self.prober, &mut note);
        self.changed.extend(self.changes.resettled());
        if !self.changed.is_empty() {
            self.rate.changed();
        }
        let targets = self.prober.targets();
        for target in self.changed.drain(..) {
            let numbers = target..target + 1;
            set_targets(&mut self.echo, &mut self.hops, targets, numbers);
        }
    }

    /// Ticks, and changes of routes and neighbours. Returns when there is more to do.
    pub(super) fn keep_up(
        &mut self,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> u64 {
        let requeued = self.prober.requeued();
        self.follow_routes(now_ns);
        let has_resumed = self.prober.requeued() > requeued;
        let resumed_ns = if has_resumed { now_ns } else { u64::MAX };
        // While the interface is down, nobody would answer.
        let is_paused = self.link.outage.pauses_neighbours(now_ns);
        let has_unconfirmed = self.hops.has_unconfirmed() && !is_paused;
        if now_ns >= self.next_refresh_ns && has_unconfirmed {
            self.hops.refresh();
            self.next_refresh_ns = now_ns + REFRESH_NS;
        }
        if now_ns >= self.next_tick_ns {
            self.read_totals(false);
            observe(PingEvent::Tick { overruns: None }, &self.prober);
            let tick_ns = self.tick_ns.unwrap_or(u64::MAX).max(1);
            self.next_tick_ns = now_ns.saturating_add(tick_ns);
        }
        let refresh_ns = if has_unconfirmed && self.hops.has_unconfirmed() {
            self.next_refresh_ns
        } else {
            u64::MAX
        };
        let pass_ns = if self.has_frozen_hops() {
            u64::MAX
        } else {
            self.pass.next_ns(self.prober.targets().len())
        };
        let neighbours_ns = self.hops.next_ns(is_paused);
        let guard = self.link.guard.as_ref();
        let uplink_ns = guard.map_or(u64::MAX, UplinkGuard::next_ns);
        let overdue_ns = self.next_overdue_ns();
        [
            self.next_tick_ns,
            refresh_ns,
            neighbours_ns,
            uplink_ns,
            overdue_ns,
            resumed_ns,
        ]
        .into_iter()
        .fold(pass_ns, u64::min)
    }

    /// Whether targets keep their hops although routes may have changed: those of a sweep while its interface is down.
    fn has_frozen_hops(&self) -> bool {
        self.link.outage.is_held() && self.link.outage.is_down()
    }

    /// Writes the hops of some targets after routes have changed. A pass over all of them takes many calls.
    fn follow_routes(&mut self, now_ns: u64) {
        if self.has_frozen_hops() {
            return;
        }
        let count = self.prober.targets().len();
        if self.pass.next >= count {
            if !self.pass.is_due || now_ns < self.pass.not_before_ns {
                return;
            }
            let again_ns = self.hops.forget_routes(now_ns);
            self.pass = HopUpdate {
                next: 0,
                is_due: again_ns.is_some(),
                not_before_ns: again_ns.unwrap_or(0).max(now_ns + PASS_NS),
            };
        }
        let most_lookups = self.hops.lookups() + LOOKUPS_AT_ONCE;
        let end = self.pass.next.saturating_add(TARGETS_AT_ONCE).min(count);
        while self.pass.next < end && self.hops.lookups() < most_lookups {
            let next = self.pass.next.saturating_add(TARGETS_BETWEEN).min(end);
            let numbers = self.pass.next..next;
            let targets = self.prober.targets();
            set_targets(&mut self.echo, &mut self.hops, targets, numbers);
            self.pass.next = next;
        }
        if self.pass.next < count {
            return;
        }
        if !self.pass.is_due {
            // A new gateway is resolved during the wait. Changes of routes do not make the wait longer than a minute.
            let waits_for_gateway = self.link.outage.lacks_gateway() && self.hops.lacks_gateway();
            let reaches_some = !self.hops.is_empty() && !waits_for_gateway;
            self.link.outage.routes_known(reaches_some, now_ns);
        }
        if !self.link.outage.is_down() {
            self.resume_routeless();
        }
    }
}
