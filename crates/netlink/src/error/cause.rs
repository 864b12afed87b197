use std::io;

use crate::codec::{Malformed, Refusal};
use crate::object::Unfit;

/// The system call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// socket(2).
    Socket,
    /// bind(2).
    Bind,
    /// setsockopt(2).
    Option,
    /// sendto(2).
    Send,
    /// recvfrom(2); `TimedOut` when the kernel owed an answer for too long.
    Receive,
    /// ioctl(2), `SIOCETHTOOL`.
    Ioctl,
}

/// What stood in the way.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The kernel read the request and refused it.
    Refused(Refusal),
    /// A system call failed.
    System {
        /// Which.
        step: Step,
        /// What it said.
        source: io::Error,
    },
    /// The answer could not be read.
    Malformed(Malformed),
    /// The kernel said yes and gave no object.
    Unanswered,
    /// There is no such object.
    Absent,
    /// The request cannot be said.
    Unfit(Unfit),
    /// The namespace was not reached.
    Namespace(abi::namespace::NamespaceError),
}

impl Cause {
    /// Whether it says that datagrams were lost for want of room in the socket.
    pub(crate) fn is_overrun(&self) -> bool {
        let overrun = rustix::io::Errno::NOBUFS.raw_os_error();
        matches!(self, Self::System { source, .. } if source.raw_os_error() == Some(overrun))
    }

    /// The same for another item of a batch: the failure of a system call, and else that there is no answer.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::System { step, source } => Self::System {
                step: *step,
                source: match source.raw_os_error() {
                    Some(number) => io::Error::from_raw_os_error(number),
                    None => source.kind().into(),
                },
            },
            _ => Self::Unanswered,
        }
    }

    pub(crate) fn system(step: Step) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::System {
            step,
            source: errno.into(),
        }
    }
}

impl From<Malformed> for Cause {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}
