//! Notifications of the kernel that routes may have changed. What has changed is read from its tables.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink::transport::{KernelSocket, Transport, Wait};
use netlink::{Addr, Link, NetlinkError, Nexthop, Object, Route, Rule};

/// Notifications that are read in one call; the socket stays readable if there are more.
const MAX_READ: usize = 1024;

/// The notifications of everything that a route lookup depends on.
#[derive(Debug)]
pub(super) struct RouteWatch(KernelSocket);

impl RouteWatch {
    /// The kernel removes routes without a notification when an address or an interface goes away, so these count too.
    pub fn open() -> Result<Self, NetlinkError> {
        let groups = [
            Route::GROUPS,
            Rule::GROUPS,
            Nexthop::GROUPS,
            Addr::GROUPS,
            Link::GROUPS,
        ];
        KernelSocket::listen(&groups.concat()).map(Self)
    }

    /// Whether there have been notifications since the last call, also if some were lost.
    pub fn has_changed(&mut self) -> bool {
        let mut has_changed = false;
        for _ in 0..MAX_READ {
            // The rest of a longer one is not needed.
            match self.0.receive(&mut [0; 64], Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                _ => has_changed = true,
            }
        }
        has_changed
    }
}

/// Readable when there are notifications.
impl AsFd for RouteWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.descriptor()
    }
}
