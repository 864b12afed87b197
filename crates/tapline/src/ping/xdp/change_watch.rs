//! Notifications of the kernel that routes or neighbours may have changed. What has changed is read from its tables.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink::transport::{KernelSocket, Transport, Wait};
use netlink::{Addr, Link, Neigh, NetlinkError, Nexthop, Object, Route, Rule};

/// Notifications that are read in one call; the socket stays readable if there are more.
const MAX_READ: usize = 1024;

/// The notifications of a kind.
#[derive(Debug)]
pub(super) struct ChangeWatch(KernelSocket);

impl ChangeWatch {
    /// Of everything that a route lookup depends on. The kernel removes routes without a notification when an address or
    /// an interface goes away.
    pub fn routes() -> Result<Self, NetlinkError> {
        let groups = [
            Route::GROUPS,
            Rule::GROUPS,
            Nexthop::GROUPS,
            Addr::GROUPS,
            Link::GROUPS,
        ];
        KernelSocket::listen(&groups.concat()).map(Self)
    }

    /// Of neighbours.
    pub fn neighbours() -> Result<Self, NetlinkError> {
        KernelSocket::listen(Neigh::GROUPS).map(Self)
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
impl AsFd for ChangeWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.descriptor()
    }
}
