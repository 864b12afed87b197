//! Notifications of the kernel about everything that a route lookup depends on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abi::clock::monotonic_ns;
use netlink::codec::{Message, messages};
use netlink::transport::{KernelSocket, Transport, Wait};
use netlink::{Addr, Link, NetlinkError, Nexthop, Object, Route, Rule};

/// Notifications that are read in one call; the socket stays readable if there are more.
const MAX_READ: usize = 1024;
/// Length of the longest notification that is read. A longer one counts as lost.
const BUFFER_BYTES: usize = 32 * 1024;

/// Listing all routes takes at most this part of the time, and is not repeated within a second.
const LISTING_PART: u64 = 10;
const MIN_LISTING_PAUSE_NS: u64 = 1_000_000_000;

/// How long the routes are not listed again, after a listing that began at `start_ns` on the monotonic clock.
pub(crate) fn listing_pause_ns(start_ns: u64) -> u64 {
    let took_ns = monotonic_ns().saturating_sub(start_ns);
    MIN_LISTING_PAUSE_NS.max(LISTING_PART * took_ns)
}

/// What a notification says.
#[derive(Debug)]
pub(crate) enum RouteNotification {
    /// A route was added or changed.
    Route(Box<Route>),
    /// A route was removed.
    Removed(Box<Route>),
    /// An interface was added, removed or changed.
    Link(Option<Box<Link>>),
    /// Nexthop objects.
    Nexthop,
    /// Addresses or rules.
    Other,
    /// Notifications were lost: what has changed is in the kernel's tables only.
    Overrun,
}

/// The notifications.
#[derive(Debug)]
pub(crate) struct RouteWatch {
    socket: KernelSocket,
    buffer: Vec<u8>,
}

impl RouteWatch {
    /// The kernel removes routes without a notification when an address or an interface goes away, so these count too.
    pub fn open() -> Result<Self, NetlinkError> {
        let groups = [Route::GROUPS, Rule::GROUPS, Addr::GROUPS, Link::GROUPS].concat();
        let all = [&groups[..], Nexthop::GROUPS].concat();
        // A kernel before Linux 5.3 has no nexthop objects.
        let socket = KernelSocket::listen(&all).or_else(|error| match error.errno() {
            Some(libc::EINVAL) => KernelSocket::listen(&groups),
            _ => Err(error),
        })?;
        Ok(Self {
            socket,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Passes on the notifications since the last call.
    pub fn read(&mut self, mut note: impl FnMut(RouteNotification)) {
        for _ in 0..MAX_READ {
            let bytes = match self.socket.receive(&mut self.buffer, Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    note(RouteNotification::Overrun);
                    continue;
                }
                Ok(bytes) => bytes,
            };
            let Some(datagram) = self.buffer.get(..bytes) else {
                note(RouteNotification::Overrun);
                continue;
            };
            for message in messages(datagram) {
                let Ok(message) = message else {
                    note(RouteNotification::Overrun);
                    break;
                };
                note(RouteNotification::of(message));
            }
        }
    }
}

impl RouteNotification {
    fn of(message: Message<'_>) -> Self {
        let is = |types: netlink::MessageTypes| [types.new, types.del].contains(&message.kind);
        if is(Route::MESSAGES) {
            return match Route::decode(message.body) {
                Ok(Some(route)) if message.kind == Route::MESSAGES.new => {
                    Self::Route(Box::new(route))
                }
                Ok(Some(route)) => Self::Removed(Box::new(route)),
                // Of another family.
                Ok(None) => Self::Other,
                Err(_) => Self::Overrun,
            };
        }
        if is(Link::MESSAGES) {
            let link = Link::decode(message.body).ok().flatten();
            return Self::Link(link.map(Box::new));
        }
        if is(Nexthop::MESSAGES) {
            return Self::Nexthop;
        }
        Self::Other
    }
}

/// Readable when there are notifications.
impl AsFd for RouteWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }
}
