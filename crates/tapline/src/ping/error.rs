//! Why a run cannot begin.

use std::error::Error;
use std::fmt;
use std::io;

use netlink::NetlinkError;
use probe::PlanError;
use ring::OpenError;

use super::options::Backend;

/// What the kernel was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Open a socket.
    Socket(Backend),
    /// Attach the filter on type and identifier.
    Filter,
    /// Set an option of the socket.
    Option(&'static str),
    /// Send from the address that was asked for.
    Source,
    /// Send by the interface that was asked for.
    Link,
    /// Send a probe.
    Send,
    /// Wait for answers.
    Wait,
    /// Get random numbers.
    Random,
}

/// Why a run could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum PingError {
    /// The options are out of range.
    Plan(PlanError),
    /// The kernel refused.
    Setup {
        /// What was asked.
        step: Step,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Neither raw nor ping sockets are permitted: `CAP_NET_RAW` is missing, and the group of the
    /// process is not within `net.ipv4.ping_group_range`.
    NotPermitted {
        /// The kernel's answer for ping sockets.
        source: io::Error,
    },
    /// A ring was asked for and no interface, and none is known by which a target can be reached.
    NoLink,
    /// The ring could not be opened.
    Ring(OpenError),
    /// The links and routes of this host could not be listed.
    Routes(NetlinkError),
}

impl fmt::Display for PingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::Setup { step, .. } => match step {
                Step::Socket(backend) => write!(f, "cannot open a {} socket", backend.name()),
                Step::Filter => write!(f, "cannot attach the filter for answers"),
                Step::Option(name) => write!(f, "cannot set {name} of the socket"),
                Step::Source => write!(f, "cannot send from the address asked for"),
                Step::Link => write!(f, "cannot send by the interface asked for"),
                Step::Send => write!(f, "cannot send a probe"),
                Step::Wait => write!(f, "cannot wait for answers"),
                Step::Random => write!(f, "cannot get random numbers"),
            },
            Self::NotPermitted { .. } => write!(
                f,
                "neither raw nor ping sockets are permitted (needs CAP_NET_RAW, or a group within \
                 net.ipv4.ping_group_range)"
            ),
            Self::NoLink => write!(f, "no interface is found that a ring could receive from"),
            Self::Ring(error) => error.fmt(f),
            Self::Routes(error) => error.fmt(f),
        }
    }
}

impl Error for PingError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Plan(_) | Self::NoLink => None,
            Self::Ring(error) => error.source(),
            Self::Setup { source, .. } | Self::NotPermitted { source } => Some(source),
            Self::Routes(error) => error.source(),
        }
    }
}

impl From<PlanError> for PingError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<NetlinkError> for PingError {
    fn from(error: NetlinkError) -> Self {
        Self::Routes(error)
    }
}

/// Names the step that a call belongs to.
pub(super) fn at<E: Into<io::Error>>(step: Step) -> impl FnOnce(E) -> PingError {
    move |source| PingError::Setup {
        step,
        source: source.into(),
    }
}
