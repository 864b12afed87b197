//! The handle on the configuration of a namespace, and how it asks.

use std::os::fd::{AsFd, BorrowedFd};

use abi::namespace::NetNamespace;

use crate::codec::{Malformed, Message, Request};
use crate::error::{Action, Cause, NetlinkError, Object};
use crate::socket::{Consistency, Socket};

/// How often a list is asked for again when it changed under way.
const ATTEMPTS: usize = 4;

/// The network configuration of one namespace.
///
/// Holds one socket; a request costs three system calls or, for a list, two for each 32 KiB.
/// `Send`, not to be shared: a request needs the handle for itself.
///
/// # Privileges
/// None to open, list and get; `CAP_NET_ADMIN` in the user namespace that owns the network namespace
/// to add, set and remove.
/// # Source
/// rtnetlink(7); Documentation/userspace-api/netlink/intro.rst.
#[derive(Debug)]
pub struct Netlink {
    pub(crate) socket: Socket,
}

/// All objects of a kind, as far as the kernel could tell.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listing<T> {
    /// The objects, in the kernel's order.
    pub items: Vec<T>,
    /// Objects came or went while the list was made, each of the four times it was asked for: it may
    /// lack some or have some twice.
    pub interrupted: bool,
}

impl Netlink {
    /// Opens a handle on the namespace of the calling thread.
    ///
    /// # Errors
    /// [`Cause::System`] with the step that failed, e.g. ENOPROTOOPT before Linux 4.20.
    pub fn open() -> Result<Self, NetlinkError> {
        let socket = Socket::open().map_err(NetlinkError::about(Action::Open, Object::Socket))?;
        Ok(Self { socket })
    }

    /// Opens a handle on `namespace`; the calling thread stays where it is.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Cause::Namespace`].
    /// # Privileges
    /// `CAP_SYS_ADMIN`, to enter the namespace.
    pub fn open_in(namespace: &NetNamespace) -> Result<Self, NetlinkError> {
        let about = NetlinkError::about(Action::Open, Object::Socket);
        namespace
            .run(Self::open)
            .map_err(|error| about(Cause::Namespace(error)))?
    }

    /// Makes a change; the answer is an acknowledgement only.
    pub(crate) fn tell(&mut self, request: Request) -> Result<(), Cause> {
        self.socket.exchange(request, |_| Ok(())).map(|_| ())
    }

    /// Asks for one object, or makes one that the kernel echoes.
    pub(crate) fn ask<T>(
        &mut self,
        request: Request,
        parse: impl Fn(Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<T, Cause> {
        let mut answer = None;
        self.socket.exchange(request, |message| {
            answer = parse(message)?.or(answer.take());
            Ok(())
        })?;
        answer.ok_or(Cause::Unanswered)
    }

    /// Asks for all objects of a kind, again if they changed under way.
    pub(crate) fn list<T>(
        &mut self,
        request: &Request,
        parse: impl Fn(Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Listing<T>, Cause> {
        let mut items = Vec::new();
        for _ in 0..ATTEMPTS {
            items.clear();
            let consistency = self.socket.exchange(request.clone(), |message| {
                items.extend(parse(message)?);
                Ok(())
            })?;
            if consistency == Consistency::Whole {
                return Ok(Listing {
                    items,
                    interrupted: false,
                });
            }
        }
        Ok(Listing {
            items,
            interrupted: true,
        })
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
