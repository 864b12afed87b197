//! Probes that are due, on their way out.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use probe::{Probe, Prober, SendFailure};
use rustix::io::Errno;

use super::super::af_xdp::RequestAddresses;
use super::super::routing::NextHopState;
use super::XdpEngine;
use crate::ping::event::PingEvent;
use crate::wait::wait;

/// How long the driver may take no frame before a probe counts as refused here.
const MAX_FULL_NS: u64 = 200_000_000;
/// How long it may take none in all while it sends what is due together: meanwhile, nothing else is done.
const MAX_STALLED_NS: u64 = 1_000_000_000;
/// Time between two questions to the kernel whether an interface is up that takes no frame.
const CHECK_NS: u64 = 10_000_000;
/// Pause while the driver has no room.
const FULL_PAUSE: Duration = Duration::from_micros(50);

impl XdpEngine {
    /// Takes a probe that is due: it is sent with the next ones, waits for its neighbour, or is refused.
    pub(super) fn take(
        &mut self,
        probe: Probe,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let address = self.prober.targets().address(probe.target);
        let address = address.ok_or(libc::EHOSTUNREACH);
        let address = match address.and_then(|address| self.check_frame(address)) {
            Ok(address) => address,
            Err(error) => {
                self.rate.took(now_ns);
                return self.refuse(probe, SendFailure::Refused, error, now_ns, observe);
            }
        };
        let is_ipv6 = usize::from(address.is_ipv6());
        // Mostly there are none, and even then a look for one would compute a hash.
        let known = if self.resolved.is_empty() {
            None
        } else {
            self.resolved.remove(&probe)
        };
        // One that is lent was of an earlier probe.
        let hop = self.echo.hop_of(probe.target);
        let targets = self.prober.targets();
        match self.hops.state(hop, targets, probe.target, address) {
            NextHopState::Resolved => {}
            NextHopState::Unresolved(neighbour) => {
                // The route may have changed meanwhile, and with it the neighbour.
                let known = known.filter(|(known, _)| *known == neighbour);
                if !known.is_some_and(|(_, mac)| self.lend_hop(probe, address, mac, observe)) {
                    return self.wait_for_neighbour(probe, neighbour, now_ns, observe);
                }
            }
            // The interface may be down, or the routes gone, also again. A sweep asks the kernel, other runs rely on notifications.
            NextHopState::Unreachable(libc::ENETUNREACH)
                if (self.is_single && self.waits_for_link(now_ns))
                    || self.link.outage.is_recovering(now_ns) =>
            {
                return self.wait_for_link(probe, now_ns, observe);
            }
            // The gateway has failed to answer. Probes that are refused meanwhile would stay so.
            NextHopState::Unreachable(libc::EHOSTUNREACH | libc::ENOBUFS)
                if self.lacks_gateway() =>
            {
                self.link.outage.note_lost_gateway(now_ns);
                return self.put_back(probe);
            }
            NextHopState::Unreachable(error) => {
                self.rate.took(now_ns);
                return self.refuse(probe, SendFailure::Refused, error, now_ns, observe);
            }
        }
        if self.is_single {
            self.latest_reached = Some(probe.target);
        }
        self.rate.took(now_ns);
        self.due[is_ipv6].push((probe.target, probe.number()));
    }

    /// The address, if requests to its family can be sent, or else the error.
    #[inline]
    fn check_frame(&self, address: IpAddr) -> Result<IpAddr, i32> {
        let is_ipv6 = usize::from(address.is_ipv6());
        if !self.families[is_ipv6] {
            Err(libc::EAFNOSUPPORT)
        } else if !self.link.fits[is_ipv6] {
            Err(libc::EMSGSIZE)
        } else {
            Ok(address)
        }
    }

    /// Issues a probe again once the interface is up.
    fn put_back(&mut self, probe: Probe) {
        self.prober.hold(probe);
        self.prober.requeue(probe);
    }

    /// Lets a probe wait until its sweep goes on, or for its route.
    fn wait_for_link(
        &mut self,
        probe: Probe,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        if self.link.outage.is_held() {
            self.put_back(probe);
        } else {
            self.wait_for_route(probe, now_ns, observe);
        }
    }

    /// Reports that a probe is not sent, with an error of the kernel.
    pub(super) fn refuse(
        &mut self,
        probe: Probe,
        why: SendFailure,
        error: i32,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let error = io::Error::from_raw_os_error(error);
        self.prober.not_sent(probe, why, now_ns);
        self.local_drops.count(&error);
        observe(PingEvent::NotSent { probe, error }, &self.prober);
    }

    /// Sends the probes that are due.
    pub(super) fn flush_all(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) {
        for is_ipv6 in [false, true] {
            self.flush(is_ipv6, observe);
        }
        self.hops.take_back();
    }

    /// Sends the probes of a family that are due. Offers again what the driver does not take.
    fn flush(&mut self, is_ipv6: bool, observe: &mut impl FnMut(PingEvent, &Prober)) {
        let due = std::mem::take(&mut self.due[usize::from(is_ipv6)]);
        let mut rest = &due[..];
        let (mut full_since_ns, mut stalled_ns, mut next_check_ns) = (None, 0, 0);
        while !rest.is_empty() {
            let (taken, error) = match self.send(is_ipv6, rest) {
                Ok(taken) => (taken, None),
                Err(error) => (0, Some(error)),
            };
            let now_ns = self.now_ns();
            let (sent, left) = rest.split_at(taken.min(rest.len()));
            for probe in sent.iter().copied().map(probe) {
                self.prober.sent(probe, now_ns);
            }
            if taken > 0 {
                self.last_sent_ns = now_ns;
                full_since_ns = None;
            }
            rest = left;
            let Some(error) = error else { continue };
            let full_ns = now_ns - *full_since_ns.get_or_insert(now_ns);
            // AF_XDP has no error of its own for an interface without a carrier, and the notification of that may come a second
            // later (`linkwatch_schedule_work`, net/core/link_watch.c).
            let is_stalled = self.frames.is_some() && full_ns >= CHECK_NS;
            let may_be_down = is_down(&error) || is_stalled || self.link.outage.is_down();
            if may_be_down && now_ns >= next_check_ns {
                next_check_ns = now_ns + CHECK_NS;
                let waits = self.waits_for_link(now_ns);
                let outage = &self.link.outage;
                // A full queue alone is no reason to wait for a route.
                if waits && (is_down(&error) || outage.is_down() || outage.is_held()) {
                    self.cancel_frames();
                    // Also without other routes than before.
                    self.pass.is_due = true;
                    for probe in rest.iter().copied().map(probe) {
                        self.wait_for_link(probe, now_ns, observe);
                    }
                    break;
                }
            }
            // An interface that is down, or whose MTU has become too small, stays so for the next attempts.
            let is_too_long = error.raw_os_error() == Some(libc::EMSGSIZE);
            let stays_down = self.link.outage.is_down();
            let is_lasting = is_too_long || stays_down;
            if is_lasting || full_ns > MAX_FULL_NS || stalled_ns > MAX_STALLED_NS {
                self.cancel_frames();
                let error = match error.raw_os_error() {
                    // Each driver has another error for that.
                    _ if stays_down => libc::ENETDOWN,
                    // Of a full queue, by an AF_XDP socket.
                    Some(libc::EAGAIN) | None => libc::ENOBUFS,
                    Some(error) => error,
                };
                let why = if is_lasting {
                    SendFailure::Refused
                } else {
                    SendFailure::QueueFull
                };
                for probe in rest.iter().copied().map(probe) {
                    self.refuse(probe, why, error, now_ns, observe);
                }
                break;
            }
            // A signal only shortens the pause.
            let _ = wait(&mut [], FULL_PAUSE);
            let refused_ns = self.now_ns() - now_ns;
            stalled_ns += refused_ns;
            self.rate.refused(refused_ns);
        }
        let mut due = due;
        due.clear();
        self.due[usize::from(is_ipv6)] = due;
    }

    /// Gives up the frames that wait.
    fn cancel_frames(&mut self) {
        if let Some(frames) = &mut self.frames {
            frames.cancel();
        }
    }

    /// Sends the first of `probes`. Returns how many were taken, at least one.
    fn send(&mut self, is_ipv6: bool, probes: &[(u32, u32)]) -> io::Result<usize> {
        if let Some(frames) = &mut self.frames {
            let (prober, echo, hops) = (&self.prober, &self.echo, &self.hops);
            let probes = probes.iter().copied().map(probe);
            return frames.send(is_ipv6, probes, prober, self.start_ns, |target| {
                let (mac, source) = hops.addresses(echo.hop_of(target)?)?;
                Some(RequestAddresses {
                    mac,
                    source,
                    target: prober.targets().address(target)?,
                })
            });
        }
        let sent = self.echo.send(is_ipv6, probes)?;
        match (sent.sent, sent.errno) {
            (0, errno) if errno > 0 => Err(io::Error::from_raw_os_error(errno)),
            (0, _) => Err(Errno::NOBUFS.into()),
            (sent, _) => Ok(sent as usize),
        }
    }
}

/// Whether an error may be that of an interface that is down, or whose other end is.
fn is_down(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NETDOWN | Errno::NXIO | Errno::NODEV)
    )
}

fn probe((target, number): (u32, u32)) -> Probe {
    Probe {
        target,
        round: number - 1,
    }
}
