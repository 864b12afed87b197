//! Detects that the interface of a run becomes an uplink.

use abi::clock::monotonic_ns;
use netlink::{IfIndex, Link, Netlink, NetlinkError, Route};

use super::routes::{RouteChanges, listing_pause_ns};
use crate::send::Uplinks;

/// Rate up to which an uplink may be used without consent, probes per second.
pub(super) const MAX_UPLINK_PPS: u32 = 10_000;

/// Watches for routes that make an interface an uplink. A run has no guard if the user has consented or the rate is already limited.
#[derive(Debug)]
pub(super) struct UplinkGuard {
    uplinks: Uplinks,
    /// A route has made another interface an uplink.
    has_new: bool,
    /// The stacking of interfaces may have changed.
    has_others: bool,
    /// Notifications were lost.
    is_lost: bool,
    /// Until this time of the run, only new routes are checked.
    not_before_ns: u64,
}

impl UplinkGuard {
    /// `uplinks` were listed after notifications began.
    pub fn new(uplinks: Uplinks) -> Self {
        Self {
            uplinks,
            has_new: false,
            has_others: false,
            is_lost: false,
            not_before_ns: 0,
        }
    }

    /// Notes a route that was added or changed.
    pub fn note_route(&mut self, route: &Route) {
        self.has_new |= self.uplinks.add(route);
    }

    /// Notes other changes.
    pub fn note(&mut self, changes: RouteChanges) {
        self.has_others |= changes.has_others_changed;
        self.is_lost |= changes.is_lost;
    }

    /// Checks whether `link` has become an uplink, if that may have changed. New routes are checked immediately, other changes
    /// at most once a second.
    pub fn is_uplink(&mut self, netlink: &mut Netlink, link: IfIndex, now_ns: u64) -> bool {
        let is_due = self.has_new || (self.is_waiting() && now_ns >= self.not_before_ns);
        if !is_due {
            return false;
        }
        let start_ns = monotonic_ns();
        let found = self.look(netlink, link, now_ns);
        self.not_before_ns = now_ns + listing_pause_ns(start_ns);
        // If a request failed, check again later.
        let found = found.unwrap_or_else(|_| {
            self.has_others = true;
            false
        });
        self.has_new = false;
        found
    }

    fn look(
        &mut self,
        netlink: &mut Netlink,
        link: IfIndex,
        now_ns: u64,
    ) -> Result<bool, NetlinkError> {
        if now_ns >= self.not_before_ns {
            self.has_others = false;
            if self.is_lost {
                self.uplinks = Uplinks::list(netlink)?;
                self.is_lost = false;
            }
        }
        self.uplinks.resolve(netlink)?;
        self.uplinks.include(netlink, &Link::at(link))
    }

    fn is_waiting(&self) -> bool {
        self.has_others || self.is_lost
    }

    /// When to check again if nothing else changes.
    pub fn next_ns(&self) -> u64 {
        if self.is_waiting() {
            self.not_before_ns
        } else {
            u64::MAX
        }
    }
}
