//! What a run follows of its interface: whether it is there and up, its MTU and MAC address, and whether it becomes an uplink.

use std::io;

use probe::{COOKIE_BYTES, Prober};
use rustix::io::Errno;

use super::super::link_monitor::MAX_UPLINK_PPS;
use super::super::routing::{is_in_vrf, is_up};
use super::super::setup::most_payload;
use super::XdpEngine;
use crate::ping::event::PingEvent;

impl XdpEngine {
    /// Reads what the kernel has notified of.
    pub(super) fn read_notifications(&mut self, now_ns: u64) {
        let guard = &mut self.link.guard;
        let changes = self.hops.read_changes(|route| {
            if let Some(guard) = guard {
                guard.note_route(route);
            }
        });
        if !changes.has_changed {
            return;
        }
        self.pass.is_due = true;
        if let Some(guard) = guard {
            if changes.has_others_changed {
                guard.note_others();
            }
            if changes.is_lost {
                guard.note_overrun();
            }
        }
        self.link.is_unread |= changes.has_link_changed || changes.is_lost;
        if changes.has_link_been_down {
            self.link.outage.note_down(now_ns);
        }
    }

    /// Reads the interface again if it may have changed. Requests have its MAC address from now on, and those that do not fit into
    /// its MTU are refused: an AF_XDP socket would send them.
    ///
    /// # Errors
    /// ENODEV if it was removed.
    pub(super) fn follow_link(&mut self, now_ns: u64) -> io::Result<()> {
        if !self.link.is_unread {
            return Ok(());
        }
        let link = match self.link.netlink.link(self.link.index) {
            Ok(link) => link,
            Err(error) if error.is_absence() => return Err(Errno::NODEV.into()),
            // A later round reads it.
            Err(_) => return Ok(()),
        };
        self.link.is_unread = false;
        self.hops.set_in_vrf(is_in_vrf(&link));
        let payload_bytes = COOKIE_BYTES + self.prober.filler().len();
        let fits = |is_ipv6| payload_bytes <= most_payload(is_ipv6, &link);
        self.link.fits = [false, true].map(fits);
        if let Some(mac) = link.mac().filter(|mac| *mac != self.link.mac) {
            self.echo.set_mac(mac.0)?;
            if let Some(frames) = &mut self.frames {
                frames.set_mac(mac);
            }
            self.link.mac = mac;
        }
        if self.link.outage.set_up(is_up(&link), now_ns) {
            // Without the usual pause: the routes are looked up as soon as they are back.
            self.pass.not_before_ns = now_ns;
        }
        Ok(())
    }

    /// Whether probes wait for the interface or their routes. Asks the kernel whether the interface is up, and in a sweep whether
    /// routes are left, once for each `now_ns`.
    pub(super) fn waits_for_link(&mut self, now_ns: u64) -> bool {
        if self.link.checked_ns != now_ns {
            self.link.checked_ns = now_ns;
            self.read_notifications(now_ns);
            self.link.is_unread = true;
            // If it is gone, the next round ends the run.
            if self.follow_link(now_ns).is_err() {
                return true;
            }
            self.follow_lost_route(now_ns);
        }
        let outage = &self.link.outage;
        outage.is_held() || outage.is_recovering(now_ns)
    }

    /// Lets a sweep wait if the route to the latest target that it has reached is gone: an address or a gateway of the interface may
    /// be about to be replaced. It goes on once routes lead to some of its targets.
    fn follow_lost_route(&mut self, now_ns: u64) {
        let Some(target) = self.latest_reached else {
            return;
        };
        let targets = self.prober.targets();
        let address = targets.address(target);
        let source = address.and_then(|address| self.hops.source(targets, target, address));
        if source.is_none() {
            // The next loss is noticed after another target is reached.
            self.latest_reached = None;
            self.link.outage.note_down(now_ns);
            self.pass.is_due = true;
        }
    }

    /// Limits the rate once the interface has become an uplink.
    pub(super) fn follow_uplinks(
        &mut self,
        now_ns: u64,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let link = &mut self.link;
        let Some(guard) = &mut link.guard else {
            return;
        };
        let found = guard.find_uplink(&mut link.netlink, &[link.index], now_ns);
        if found.is_none() {
            return;
        }
        self.link.guard = None;
        self.prober.limit_rate(MAX_UPLINK_PPS);
        self.rate.limit_by_uplink();
        let pps = MAX_UPLINK_PPS;
        observe(PingEvent::UplinkLimit { pps }, &self.prober);
    }
}
