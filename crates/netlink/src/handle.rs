//! The handle on the configuration of a namespace, and how it asks.

use std::os::fd::{AsFd, BorrowedFd};

use abi::namespace::NetNamespace;

use crate::codec::{Malformed, Message, Request};
use crate::error::{Action, Cause, NetlinkError, Subject};
pub use crate::listing::Listing;
use crate::socket::Socket;
use crate::transport::Transport;

/// The network configuration of one namespace.
///
/// Holds one socket; a request costs two system calls, and a list one more for each 32 KiB.
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
    /// Room for the next request.
    pub(crate) scratch: Request,
}

impl Netlink {
    /// Opens a handle on the namespace of the calling thread.
    ///
    /// # Errors
    /// [`Cause::System`] with the step that failed, e.g. ENOPROTOOPT before Linux 4.20.
    pub fn open() -> Result<Self, NetlinkError> {
        let socket =
            Socket::open(None).map_err(NetlinkError::about(Action::Open, Subject::Socket))?;
        Ok(Self::around(socket))
    }

    /// A handle that speaks with the kernel behind `transport`: one that stands in, or one that is
    /// listened to.
    pub fn over(transport: impl Transport + 'static) -> Self {
        Self::around(Socket::over(Box::new(transport)))
    }

    fn around(socket: Socket) -> Self {
        Self {
            socket,
            scratch: Request::default(),
        }
    }

    /// Opens a handle on `namespace`; the calling thread stays where it is.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Cause::Namespace`].
    /// # Privileges
    /// `CAP_SYS_ADMIN`, to enter the namespace.
    pub fn open_in(namespace: &NetNamespace) -> Result<Self, NetlinkError> {
        let about = NetlinkError::about(Action::Open, Subject::Socket);
        namespace
            .run(Self::open)
            .map_err(|error| about(Cause::Namespace(error)))?
    }

    /// As [`Socket::list`].
    pub(crate) fn list_all<T>(
        &mut self,
        mut request: Request,
        parse: impl Fn(Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Listing<T>, Cause> {
        self.socket.list(&mut request, |message, items| {
            items.extend(parse(message)?);
            Ok(())
        })
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }
}
