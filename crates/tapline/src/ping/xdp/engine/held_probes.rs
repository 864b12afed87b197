//! Probes that wait for their neighbours or routes, and go on.
//!
//! In a sweep, each probe waits until its neighbour is known: no other one follows it. In other runs, targets whose neighbours are
//! known must not wait for others. So if too many probes wait, those that have waited longest are refused, mostly those of absent
//! hosts.

use std::net::IpAddr;

use netlink::MacAddress;
use probe::{Probe, Prober, SendFailure};

use super::super::routing::NextHopState;
use super::XdpEngine;
use crate::ping::event::PingEvent;

/// Probes that wait at most, for their neighbours, their routes, or the rate after that: all hosts of a /16, or many probes of a
/// fast run. Each takes about 200 bytes.
const MAX_WAITING: usize = 65_536;
/// Maximum time that a probe waits for its route.
const MAX_ROUTE_WAIT_NS: u64 = 3_000_000_000;
/// Maximum time that a probe of a run with several to each target waits for its neighbour. If many hosts are absent, the others
/// have their turn within this time, and the kernel gives up one after three seconds (`mcast_solicit`, `retrans_time_ms`).
const MAX_NEIGHBOUR_WAIT_NS: u64 = 10_000_000_000;

impl XdpEngine {
    fn has_max_waiting(&self) -> bool {
        self.waiting.len() + self.routeless.len() + self.prober.requeued() >= MAX_WAITING
    }

    /// Whether so many probes wait that no other one is taken. In a run with several probes to each target only if that holds up
    /// none: no neighbour is known.
    pub(super) fn has_full_queue(&mut self) -> bool {
        self.has_max_waiting() && (self.is_single || !self.hops.has_resolved())
    }

    /// Lets a probe wait until it is known who answers for its neighbour.
    pub(super) fn wait_for_neighbour(
        &mut self,
        probe: Probe,
        neighbour: IpAddr,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        self.make_room(now_ns, observe);
        self.prober.hold(probe);
        if self.waiting.add(neighbour, probe, now_ns) {
            self.hops.request(neighbour);
        }
    }

    /// Lets a probe wait for its route, which may be back soon.
    pub(super) fn wait_for_route(
        &mut self,
        probe: Probe,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        self.make_room(now_ns, observe);
        self.prober.hold(probe);
        self.routeless.add(now_ns, probe);
    }

    /// Refuses a probe that has waited longest, if too many wait. A sweep takes no other one then.
    fn make_room(&mut self, now_ns: u64, observe: &mut impl FnMut(PingEvent, &Prober)) {
        if self.is_single || !self.has_max_waiting() {
            return;
        }
        if let Some(probe) = self.waiting.pop_since(now_ns) {
            self.refuse_held(probe, libc::EHOSTUNREACH, now_ns, observe);
        } else if let Some(probe) = self.routeless.pop_since(now_ns) {
            self.refuse_held(probe, self.routeless_error(), now_ns, observe);
        }
    }

    /// Refuses the probes that have waited too long.
    pub(super) fn refuse_overdue(
        &mut self,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let overdue_ns = now_ns.checked_sub(MAX_NEIGHBOUR_WAIT_NS);
        if let Some(since_ns) = overdue_ns.filter(|_| !self.is_single) {
            while let Some(probe) = self.waiting.pop_since(since_ns) {
                self.refuse_held(probe, libc::EHOSTUNREACH, now_ns, observe);
            }
        }
        let is_recovering = self.link.outage.is_recovering(now_ns);
        let since_ns = if is_recovering {
            now_ns.checked_sub(MAX_ROUTE_WAIT_NS)
        } else {
            Some(now_ns)
        };
        let Some(since_ns) = since_ns else { return };
        while let Some(probe) = self.routeless.pop_since(since_ns) {
            self.refuse_held(probe, self.routeless_error(), now_ns, observe);
        }
    }

    /// Why a probe without a route is not sent.
    fn routeless_error(&self) -> i32 {
        if self.link.outage.is_down() {
            libc::ENETDOWN
        } else {
            libc::ENETUNREACH
        }
    }

    /// When the next probe has waited too long.
    pub(super) fn next_overdue_ns(&self) -> u64 {
        let waiting = self.waiting.since_ns().filter(|_| !self.is_single);
        let waiting_ns = waiting.map_or(u64::MAX, |since_ns| since_ns + MAX_NEIGHBOUR_WAIT_NS);
        let routeless = self.routeless.since_ns();
        let routeless_ns = routeless.map_or(u64::MAX, |since_ns| {
            let end_ns = self.link.outage.recovery_end_ns();
            end_ns.min(since_ns + MAX_ROUTE_WAIT_NS)
        });
        waiting_ns.min(routeless_ns)
    }

    /// Lets the probes go on whose routes are back.
    pub(super) fn resume_routeless(&mut self) {
        for (since_ns, probe) in self.routeless.take() {
            if self.is_routeless(probe) {
                self.routeless.add(since_ns, probe);
            } else {
                self.prober.requeue(probe);
            }
        }
    }

    /// Whether no route leads to the target of a probe. One that was removed is skipped when it is issued again.
    fn is_routeless(&mut self, probe: Probe) -> bool {
        let (targets, hop) = (self.prober.targets(), self.echo.hop_of(probe.target));
        let Some(address) = targets.address(probe.target) else {
            return false;
        };
        let state = self.hops.state(hop, targets, probe.target, address);
        state == NextHopState::Unreachable(libc::ENETUNREACH)
    }

    /// Reports that a probe which has waited is not sent, unless it was withdrawn.
    fn refuse_held(
        &mut self,
        probe: Probe,
        error: i32,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        if self.prober.resume(probe, now_ns) {
            if self.is_single {
                // The others have waited, too.
                self.rate.took(now_ns);
            } else {
                self.rate.gave_up(1);
            }
            self.refuse(probe, SendFailure::Refused, error, now_ns, observe);
        }
    }

    /// Follows the neighbours, and lets the probes go on that wait for them: the schedule issues them again, as fast as the
    /// limits permit.
    pub(super) fn follow_neighbours(
        &mut self,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let (echo, answers) = (&mut self.echo, &mut self.answers);
        let is_held = self.link.outage.pauses_neighbours(now_ns);
        self.hops.follow(
            now_ns,
            self.notified[1],
            is_held,
            |hop, mac, source| echo.set_hop(hop, mac.0, source),
            |neighbour, answer| answers.push((neighbour, answer)),
        );
        let mut answers = std::mem::take(&mut self.answers);
        for (neighbour, answer) in answers.drain(..) {
            // It may be another neighbour's.
            let waits_for_gateway = self.link.outage.lacks_gateway();
            if waits_for_gateway && answer.is_ok() && !self.hops.lacks_gateway() {
                self.link.outage.note_gateway();
            }
            for probe in self.waiting.take(neighbour) {
                match answer {
                    Ok(mac) => {
                        let hop = self.echo.hop_of(probe.target);
                        if !hop.is_some_and(|hop| self.hops.is_own(hop)) {
                            // Those of probes that were withdrawn stay. One that is missing waits for its neighbour again.
                            if self.resolved.len() >= 2 * MAX_WAITING {
                                self.resolved.clear();
                            }
                            self.resolved.insert(probe, (neighbour, mac));
                        }
                        self.prober.requeue(probe);
                    }
                    // Nobody could answer.
                    Err(_) if is_held => self.prober.requeue(probe),
                    // The sweep waits as soon as it is issued again.
                    Err(_) if self.lacks_gateway() => self.prober.requeue(probe),
                    Err(_) if self.has_other_way(probe, neighbour) => self.prober.requeue(probe),
                    Err(error) => self.refuse_held(probe, error, now_ns, observe),
                }
            }
        }
        self.answers = answers;
    }

    /// Whether a sweep reaches its targets by gateways only, of which none is known. A probe to a single target is refused then.
    pub(super) fn lacks_gateway(&mut self) -> bool {
        let is_sweep = self.is_single && self.prober.targets().len() > 1;
        is_sweep && self.hops.lacks_gateway()
    }

    /// Whether a probe that has waited for `neighbour` leaves by another one: routes have changed.
    fn has_other_way(&mut self, probe: Probe, neighbour: IpAddr) -> bool {
        let (targets, hop) = (self.prober.targets(), self.echo.hop_of(probe.target));
        let Some(address) = targets.address(probe.target) else {
            return false;
        };
        match self.hops.state(hop, targets, probe.target, address) {
            NextHopState::Resolved => true,
            NextHopState::Unresolved(other) => other != neighbour,
            NextHopState::Unreachable(_) => false,
        }
    }

    /// Lends a hop to a target without one, whose probe has waited for its neighbour. False if no route leads there any more.
    pub(super) fn lend_hop(
        &mut self,
        probe: Probe,
        address: IpAddr,
        mac: MacAddress,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> bool {
        let targets = self.prober.targets();
        let Some(source) = self.hops.source(targets, probe.target, address) else {
            return false;
        };
        let mut hop = self.hops.lend(mac, source);
        if hop.is_none() {
            // Those that are lent are free again once their probes have left.
            self.flush_all(observe);
            hop = self.hops.lend(mac, source);
        }
        self.echo.set_target(probe.target, address, hop);
        if let Some(hop) = hop {
            self.echo.set_hop(hop, mac.0, source);
        }
        true
    }

    /// Forgets the probes that wait, which are withdrawn.
    pub(super) fn clear_waiting(&mut self) {
        if !self.is_single {
            self.rate.gave_up(self.waiting.len() + self.routeless.len());
        }
        self.waiting.clear();
        self.routeless.clear();
        self.resolved.clear();
    }
}
