//! What carries messages to a kernel and its answers back: the kernel itself, or what stands in.

mod fake;
mod fault;
mod kernel;
mod record;

pub use fake::{FakeKernel, FakeSocket, Kept};
pub use fault::{Fault, Faulty};
pub use kernel::KernelSocket;
pub(crate) use kernel::Protocols;
pub use record::{Player, Recorder, Spoken, Tape};

use std::os::fd::BorrowedFd;
use std::{fmt, io};

use abi::namespace::{NamespaceError, NetNamespace};

/// Carries messages to a kernel, and its answers and notifications back.
///
/// An implementation is one socket: answers come in the order of the requests, and a request has been
/// carried out when `send` returns.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Gives the kernel one datagram of messages.
    ///
    /// # Errors
    /// Those of sendto(2).
    fn send(&mut self, messages: &[u8]) -> io::Result<()>;

    /// Takes the kernel's next datagram into `buffer` and returns its length in bytes; when that is
    /// more than `buffer` has, the end of the datagram is lost.
    ///
    /// # Errors
    /// Those of recv(2): `WouldBlock` when there is none and `wait` says so, `TimedOut` or `WouldBlock`
    /// when an answer does not come, ENOBUFS when datagrams were lost.
    fn receive(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<usize>;

    /// How many unread acknowledgements fit; one more would be lost.
    fn reply_capacity(&self) -> usize;

    /// A descriptor that is readable when there is a datagram.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// The namespace of the kernel, where links may be made without a message; `None` for what stands in, which
    /// takes messages for all.
    ///
    /// # Errors
    /// [`NamespaceError`] when it cannot be found.
    fn namespace(&self) -> Option<Result<NetNamespace, NamespaceError>> {
        None
    }
}

/// Whether to wait for a datagram that is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// For as long as the kernel may take to answer.
    Answer,
    /// Not at all.
    No,
}
