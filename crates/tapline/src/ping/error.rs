//! Errors of a ping run.

use std::fmt;
use std::io;
use std::net::IpAddr;

use bpf::{EchoProberError, LiveFramesError, XdpProgramError};
use netlink::NetlinkError;
use probe::PlanError;
use probe::targets::TargetError;
use ring::{RingOpenError, XdpSetupError};

use super::options::Backend;

/// The system call, or group of them, that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PingOperation {
    /// Allocate the statistics of the targets.
    Allocate {
        /// Their size.
        bytes: u64,
    },
    /// Open a socket.
    OpenSocket(Backend),
    /// Attach the filter on ICMP type and identifier.
    AttachFilter,
    /// Set a socket option.
    SetOption(&'static str),
    /// Bind to the source address.
    BindSource,
    /// Send a probe.
    Send,
    /// Wait for replies.
    Wait,
    /// Read random numbers.
    Random,
    /// Start the thread that looks up names.
    StartNameWatch,
}

impl fmt::Display for PingOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allocate { bytes } => {
                write!(
                    f,
                    "allocate {bytes} bytes for the statistics of the targets"
                )
            }
            Self::OpenSocket(backend) => write!(f, "open a {} socket", backend.name()),
            Self::AttachFilter => write!(f, "attach the reply filter"),
            Self::SetOption(name) => write!(f, "set the socket option {name}"),
            Self::BindSource => write!(f, "bind to the source address"),
            Self::Send => write!(f, "send a probe"),
            Self::Wait => write!(f, "wait for answers"),
            Self::Random => write!(f, "read random numbers"),
            Self::StartNameWatch => write!(f, "start the thread that looks up names"),
        }
    }
}

/// Why a run could not be opened or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PingError {
    /// A target is invalid or cannot be resolved.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// An option is out of range.
    #[error(transparent)]
    Options(#[from] PlanError),
    /// A system call failed.
    #[error("cannot {operation}")]
    Kernel {
        /// What failed.
        operation: PingOperation,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The run cannot use its interface ([`PingOptions::interface`](super::PingOptions::interface)).
    #[error("cannot bind to interface {link}")]
    Interface {
        /// Its name.
        link: String,
        /// Error of the kernel.
        source: io::Error,
    },
    /// Neither raw nor ping sockets are permitted: `CAP_NET_RAW` is missing, and the process group is not within
    /// `net.ipv4.ping_group_range`.
    #[error(
        "neither raw nor ping sockets are permitted (needs CAP_NET_RAW, or a group within net.ipv4.ping_group_range)"
    )]
    NotPermitted {
        /// Error of the kernel for ping sockets.
        source: io::Error,
    },
    /// A ring or XDP was requested without an interface, and no interface reaches a target.
    #[error("no interface reaches a target")]
    NoInterface,
    /// The ring could not be opened.
    #[error(transparent)]
    Ring(RingOpenError),
    /// The interface of [`Backend::Xdp`] was removed while the run used it.
    #[error("the interface was removed")]
    Removed,
    /// One probe to each target was to be sent by [`Backend::Xdp`], and for a minute its interface was down, did not reach the
    /// targets any more, or none of their gateways answered.
    #[error(
        "for a minute, the interface was down, no route led to the targets, or no gateway answered"
    )]
    LinkDown,
    /// A change of the targets was not accepted: the run is over (`BrokenPipe`), or too many changes wait (`WouldBlock`).
    #[error("cannot change the targets")]
    Control {
        /// What is wrong.
        source: io::Error,
    },
    /// [`Backend::Xdp`] could not be opened.
    #[error("cannot ping by XDP on {link}")]
    Xdp {
        /// The interface.
        link: String,
        /// Why.
        source: Box<EchoProberError>,
    },
    /// The AF_XDP socket for the requests of [`Backend::Xdp`] could not be opened.
    #[error(transparent)]
    Socket(Box<XdpSetupError>),
    /// [`Backend::Xdp`] does not support the run.
    #[error(transparent)]
    XdpRefused(XdpRefusal),
    /// The interface carries a route wider than 10.0.0.0/8 or fc00::/7, or is stacked with such an interface, and the rate is above
    /// 10 000 per second ([`PingOptions::allow_uplink`](super::PingOptions::allow_uplink)).
    #[error(
        "interface {link} is an uplink, with a route wider than 10.0.0.0/8 or fc00::/7, and the rate is above 10 000 per second"
    )]
    Uplink {
        /// Its name.
        link: String,
    },
    /// The links and routes of this host could not be listed.
    #[error(transparent)]
    Routes(Box<NetlinkError>),
}

/// Why [`Backend::Xdp`] does not support a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XdpRefusal {
    /// An option needs the replies.
    #[error("the XDP back end does not support {what}")]
    Option {
        /// What it is about.
        what: &'static str,
    },
    /// The payload does not fit into a frame.
    #[error("the XDP back end sends payloads of {least} to {most} bytes")]
    Payload {
        /// The minimum: the cookie.
        least: usize,
        /// The maximum.
        most: usize,
    },
    /// The requests do not fit into the MTU of the interface.
    #[error("interface {link} has an MTU of {mtu} bytes: the payload may have {most}")]
    Mtu {
        /// Its name.
        link: String,
        /// Bytes.
        mtu: u32,
        /// Bytes of the longest payload for the targets.
        most: usize,
    },
    /// A target is an address of this host, and the interface reaches none of the others.
    #[error("XDP frames leave this host, and do not reach its own addresses")]
    OwnAddress,
    /// The zone of a target is another interface than that of the run.
    #[error("{address} is on interface {zone}, and a run by XDP has one interface, here {link}")]
    Zone {
        /// The address of the target.
        address: IpAddr,
        /// The name of its interface, or the index if there is none.
        zone: String,
        /// The interface of the run.
        link: String,
    },
    /// The interface has no MAC address.
    #[error("interface {link} has no MAC address, which XDP frames need")]
    NoMac {
        /// Its name.
        link: String,
    },
    /// It is a VLAN whose lower interface, by which requests leave, is in another network namespace.
    #[error("the lower interface of VLAN {link} is in another network namespace")]
    LowerNamespace {
        /// Name of the VLAN.
        link: String,
    },
    /// The interface is down or has no carrier, and reaches no target.
    #[error("interface {link} is down")]
    LinkDown {
        /// Its name.
        link: String,
    },
    /// The interface has no address of the family of the targets, and reaches none of them.
    #[error("interface {link} has no {family} address")]
    NoAddress {
        /// Its name.
        link: String,
        /// `IPv4` or `IPv6`.
        family: &'static str,
    },
    /// No target is reached by the interface.
    #[error("interface {link} reaches none of the targets")]
    OtherInterface {
        /// Its name.
        link: String,
    },
}

impl PingError {
    /// Whether a privilege for [`Backend::Xdp`] is missing.
    pub fn is_xdp_privilege(&self) -> bool {
        match self {
            Self::Xdp { source, .. } => super::xdp::is_privilege(source),
            Self::Socket(error) => error.source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Whether another XDP program, such as that of another run, is on the interface of [`Backend::Xdp`].
    pub fn is_xdp_occupied(&self) -> bool {
        let Self::Xdp { source, .. } = self else {
            return false;
        };
        match &**source {
            EchoProberError::Program(XdpProgramError::Attach(attach)) => matches!(
                attach.source.raw_os_error(),
                Some(libc::EBUSY | libc::EEXIST)
            ),
            _ => false,
        }
    }

    /// Whether the kernel is too old for [`Backend::Xdp`], or for the requested way of its requests.
    pub fn is_old_kernel(&self) -> bool {
        let Self::Xdp { source, .. } = self else {
            return false;
        };
        matches!(
            **source,
            EchoProberError::OldKernel(_) | EchoProberError::Frames(LiveFramesError::OldKernel(_))
        )
    }
}

impl From<NetlinkError> for PingError {
    fn from(error: NetlinkError) -> Self {
        Self::Routes(Box::new(error))
    }
}

/// Wraps an error of the kernel during `operation`.
pub(super) fn during<E: Into<io::Error>>(operation: PingOperation) -> impl FnOnce(E) -> PingError {
    move |source| PingError::Kernel {
        operation,
        source: source.into(),
    }
}
