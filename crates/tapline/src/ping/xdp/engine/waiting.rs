//! Probes that wait for their neighbours, and go on.

use netlink::MacAddress;
use probe::{Probe, Prober, SendFailure};

use super::XdpEngine;
use crate::ping::event::PingEvent;

impl XdpEngine {
    /// Follows the neighbours, and lets the probes go on that wait for them.
    pub(super) fn follow_neighbours(
        &mut self,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let (echo, answers) = (&mut self.echo, &mut self.answers);
        self.hops.follow(
            now_ns,
            |hop, mac, source| echo.set_hop(hop, mac.0, source),
            |neighbour, answer| answers.push((neighbour, answer)),
        );
        let mut answers = std::mem::take(&mut self.answers);
        for (neighbour, answer) in answers.drain(..) {
            for probe in self.waiting.take(neighbour) {
                if self.prober.resume(probe, now_ns) {
                    self.go_on(probe, answer, now_ns, observe);
                }
            }
        }
        self.answers = answers;
    }

    /// Sends a probe that has waited, or reports that it cannot be sent.
    fn go_on(
        &mut self,
        probe: Probe,
        answer: Result<MacAddress, i32>,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let Some(address) = self.prober.targets().address(probe.target) else {
            let error = libc::EHOSTUNREACH;
            return self.refuse(probe, SendFailure::Refused, error, now_ns, observe);
        };
        let mac = match answer {
            Ok(mac) => mac,
            Err(error) => return self.refuse(probe, SendFailure::Refused, error, now_ns, observe),
        };
        let hop = self.echo.hop_of(probe.target);
        if !hop.is_some_and(|hop| self.hops.is_own(hop)) {
            let targets = self.prober.targets();
            let Some(source) = self.hops.source(targets, probe.target, address) else {
                // The route has changed meanwhile.
                let error = libc::ENETUNREACH;
                return self.refuse(probe, SendFailure::Refused, error, now_ns, observe);
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
        }
        let due = &mut self.due[usize::from(address.is_ipv6())];
        due.push((probe.target, probe.number()));
    }
}
