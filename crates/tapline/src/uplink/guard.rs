//! Detects that an interface of a job becomes an uplink.

use abi::clock::monotonic_ns;
use netlink::{IfIndex, Link, Netlink, NetlinkError, Route};

use super::uplinks::Uplinks;
use crate::route_watch::listing_pause_ns;

/// Decides from notifications whether an interface has become an uplink. A job has no guard if the user has consented.
///
/// Times are nanoseconds since any moment.
#[derive(Debug)]
pub(crate) struct UplinkGuard {
    uplinks: Uplinks,
    /// A route has made another interface an uplink.
    has_new: bool,
    /// The stacking of interfaces may have changed.
    has_others: bool,
    /// Notifications were lost.
    is_lost: bool,
    /// Until this time, only new routes are checked.
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

    /// Notes that interfaces or nexthop objects have changed.
    pub fn note_others(&mut self) {
        self.has_others = true;
    }

    /// Notes that notifications were lost.
    pub fn note_overrun(&mut self) {
        self.is_lost = true;
    }

    /// The first of `links` that has become an uplink, if that may have changed. New routes are checked immediately, other
    /// changes at most once a second.
    pub fn find_uplink(
        &mut self,
        netlink: &mut Netlink,
        links: &[IfIndex],
        now_ns: u64,
    ) -> Option<IfIndex> {
        let is_due = self.has_new || (self.is_waiting() && now_ns >= self.not_before_ns);
        if !is_due {
            return None;
        }
        let start_ns = monotonic_ns();
        let found = self.look(netlink, links, now_ns);
        self.not_before_ns = now_ns + listing_pause_ns(start_ns);
        // If a request failed, check again later.
        let found = found.unwrap_or_else(|_| {
            self.has_others = true;
            None
        });
        self.has_new = false;
        found
    }

    fn look(
        &mut self,
        netlink: &mut Netlink,
        links: &[IfIndex],
        now_ns: u64,
    ) -> Result<Option<IfIndex>, NetlinkError> {
        if now_ns >= self.not_before_ns {
            self.has_others = false;
            if self.is_lost {
                self.uplinks = Uplinks::list(netlink)?;
                self.is_lost = false;
            }
        }
        self.uplinks.resolve(netlink)?;
        for link in links {
            if self.uplinks.include(netlink, &Link::at(*link))? {
                return Ok(Some(*link));
            }
        }
        Ok(None)
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
