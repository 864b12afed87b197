//! Watches the interfaces of a job that reads no notifications itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};

use netlink::{IfIndex, Link, Netlink, NetlinkError};

use super::guard::UplinkGuard;
use super::uplinks::Uplinks;
use crate::route_watch::{RouteNotification, RouteWatch};

/// Time between two checks. One that finds no notification takes a system call.
const CHECK_NS: u64 = 100_000_000;

/// Watches interfaces that must not become uplinks. The threads of a job share it: whichever comes first checks.
///
/// Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub(crate) struct UplinkWatch {
    next_check_ns: AtomicU64,
    watched: Mutex<Watched>,
}

#[derive(Debug)]
struct Watched {
    notifications: RouteWatch,
    netlink: Netlink,
    guard: UplinkGuard,
    links: Vec<IfIndex>,
    names: Vec<String>,
    /// The interface that has become an uplink.
    found: Option<String>,
}

/// The interfaces of a job before it begins.
#[derive(Debug)]
pub(crate) struct NewWatch {
    notifications: RouteWatch,
    uplinks: Uplinks,
    links: Vec<IfIndex>,
    names: Vec<String>,
}

impl UplinkWatch {
    /// Begins to note changes, and lists the uplinks of this host.
    pub fn begin(netlink: &mut Netlink) -> Result<NewWatch, NetlinkError> {
        // Before the list, so that no change is missed.
        let notifications = RouteWatch::open()?;
        Ok(NewWatch {
            notifications,
            uplinks: Uplinks::list(netlink)?,
            links: Vec::new(),
            names: Vec::new(),
        })
    }

    /// The name of an interface that has become an uplink, if this is known by now. Checks at most ten times a second.
    #[inline]
    pub fn check(&self, now_ns: u64) -> Option<String> {
        // Relaxed: no other memory depends on it. If two threads check at the same time, the lock lets one of them.
        if now_ns < self.next_check_ns.load(Ordering::Relaxed) {
            return None;
        }
        self.check_now(now_ns)
    }

    #[cold]
    fn check_now(&self, now_ns: u64) -> Option<String> {
        let mut watched = match self.watched.try_lock() {
            Ok(watched) => watched,
            Err(TryLockError::WouldBlock) => return None,
            // The thread that panicked has left nothing half done that matters here.
            Err(TryLockError::Poisoned(watched)) => watched.into_inner(),
        };
        let found = watched.check(now_ns);
        let next_ns = if found.is_some() {
            0
        } else {
            now_ns + CHECK_NS
        };
        self.next_check_ns.store(next_ns, Ordering::Relaxed);
        found
    }
}

impl NewWatch {
    /// Adds an interface. Returns whether it is an uplink.
    pub fn add(
        &mut self,
        netlink: &mut Netlink,
        link: &Link,
        name: &str,
    ) -> Result<bool, NetlinkError> {
        self.links.push(link.ifindex());
        self.names.push(name.to_owned());
        self.uplinks.include(netlink, link)
    }

    /// Watches the interfaces from now on.
    pub fn watch(self) -> Result<UplinkWatch, NetlinkError> {
        Ok(UplinkWatch {
            next_check_ns: AtomicU64::new(0),
            watched: Mutex::new(Watched {
                notifications: self.notifications,
                netlink: Netlink::open()?,
                guard: UplinkGuard::new(self.uplinks),
                links: self.links,
                names: self.names,
                found: None,
            }),
        })
    }
}

impl Watched {
    fn check(&mut self, now_ns: u64) -> Option<String> {
        if self.found.is_some() {
            return self.found.clone();
        }
        let guard = &mut self.guard;
        self.notifications.read(|notification| match notification {
            RouteNotification::Route(route) => guard.note_route(&route),
            RouteNotification::Link(_) | RouteNotification::Nexthop => guard.note_others(),
            RouteNotification::Overrun => guard.note_overrun(),
            RouteNotification::Removed(_) | RouteNotification::Other => {}
        });
        let found = guard.find_uplink(&mut self.netlink, &self.links, now_ns)?;
        let at = self.links.iter().position(|link| *link == found)?;
        self.found = self.names.get(at).cloned();
        self.found.clone()
    }
}
