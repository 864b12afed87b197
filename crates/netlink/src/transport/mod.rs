//! Transports: netlink sockets, recordings, injected faults, and a fake kernel for tests.

mod fake;
mod fault;
mod kernel;
mod record;

pub use fake::{CascadeEffect, Existing, FakeKernel, FakeSocket, Reference, StorableObject};
pub use fault::{Fault, Faulty};
pub use kernel::KernelSocket;
pub(crate) use kernel::Protocols;
pub use record::{RecordedDatagram, Recorder, Recording, Replay};

use std::os::fd::BorrowedFd;
use std::{fmt, io};

use abi::namespace::{NamespaceError, NetNamespace};

/// Carries messages to a kernel, and its replies and notifications back.
///
/// An implementation behaves like one socket: replies arrive in the order of the requests, and a request has been
/// carried out when `send` returns.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Sends one datagram of messages.
    ///
    /// # Errors
    /// Those of sendto(2).
    fn send(&mut self, messages: &[u8]) -> io::Result<()>;

    /// Receives the next datagram into `buffer` and returns its length in bytes. If that exceeds `buffer`, the
    /// rest of the datagram is lost.
    ///
    /// # Errors
    /// Those of recv(2): `WouldBlock` with [`Wait::No`] if none is available, `TimedOut` or `WouldBlock` if a reply
    /// does not arrive, ENOBUFS if datagrams were lost.
    fn receive(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<usize>;

    /// Maximum number of unread acknowledgements. Further ones are lost.
    fn reply_capacity(&self) -> usize;

    /// A descriptor that is readable when a datagram is available.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// The network namespace, for links that are created by a driver. `None` for a fake kernel, which creates
    /// all links by messages.
    ///
    /// # Errors
    /// [`NamespaceError`] if it cannot be determined.
    fn namespace(&self) -> Option<Result<NetNamespace, NamespaceError>> {
        None
    }
}

/// Whether to wait for a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As long as the kernel may take to reply.
    Answer,
    /// Not at all.
    No,
}
