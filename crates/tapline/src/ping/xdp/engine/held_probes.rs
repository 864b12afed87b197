//! Probes that wait for their neighbours, and go on.

use std::net::IpAddr;

use netlink::MacAddress;
use probe::{Probe, Prober, SendFailure};

use super::super::hops::NextHopState;
use super::super::waiting_probes::MAX_WAITING;
use super::XdpEngine;
use crate::ping::event::PingEvent;

impl XdpEngine {
    /// Whether so many probes wait that no other one is taken.
    pub(super) fn has_full_queue(&self) -> bool {
        self.waiting.len() + self.prober.requeued() >= MAX_WAITING
    }

    /// Follows the neighbours, and lets the probes go on that wait for them: the schedule issues them again, as fast as the
    /// limits permit.
    pub(super) fn follow_neighbours(
        &mut self,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let (echo, answers) = (&mut self.echo, &mut self.answers);
        let is_held = self.link.outage.is_held();
        self.hops.follow(
            now_ns,
            is_held,
            |hop, mac, source| echo.set_hop(hop, mac.0, source),
            |neighbour, answer| answers.push((neighbour, answer)),
        );
        let mut answers = std::mem::take(&mut self.answers);
        for (neighbour, answer) in answers.drain(..) {
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
                    Err(_) if self.has_other_way(probe, neighbour) => self.prober.requeue(probe),
                    Err(error) => {
                        if self.prober.resume(probe, now_ns) {
                            self.rate.took(now_ns);
                            self.refuse(probe, SendFailure::Refused, error, now_ns, observe);
                        }
                    }
                }
            }
        }
        self.answers = answers;
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
        self.waiting.clear();
        self.resolved.clear();
    }
}
