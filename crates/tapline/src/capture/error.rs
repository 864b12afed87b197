//! Why a capture cannot be opened, or why it failed.

use std::error::Error;
use std::fmt;
use std::io;

use bpf::socket_filter::CountingFilterError;
use bpf::{AttachedXdpProgram, LoadError, XdpAttachError, XdpMode, XdpProgramError};
use filter::{FilterError, LinkType};
use netlink::NetlinkError;
use ring::{
    BpfRingError, BpfRingSetupStep, RingOpenError, RingSetupError, SetupStep, XdpOpenError,
    XdpSetupError, XdpSetupStep,
};

use super::account::summary::{CaptureSummary, Ended};
use super::plan::error::PlanError;
use super::plan::mode::ModeError;
use crate::hwtstamp::StampError;
use crate::steering::SteeringError;
use netlink::NamespaceError;

/// Why a capture cannot be opened, or why it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// No interface was given.
    #[error("no interface to capture from")]
    NoLink,
    /// A namespace has no interface of this name.
    #[error("there is no interface {link}")]
    NoSuchInterface {
        /// Its name, after the namespace's.
        link: String,
    },
    /// An interface was given twice: each packet would count twice.
    #[error("interface {link} is named twice")]
    LinkTwice {
        /// Its name.
        link: String,
    },
    /// The interface that a running capture is to add is captured already.
    #[error("{link} is already captured")]
    AlreadyCaptured {
        /// Its name.
        link: String,
    },
    /// The network namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The filter is invalid for the link type of an interface.
    #[error("filter for {link} is invalid")]
    Filter {
        /// Name of the interface.
        link: String,
        /// Its link type.
        link_type: LinkType,
        /// What is wrong, and where in the text.
        #[source]
        error: FilterError,
    },
    /// Another interface got the name while the capture was being opened.
    #[error("interface {link} was replaced by another")]
    LinkReplaced {
        /// Its name.
        link: String,
    },
    /// The interface is down.
    #[error("interface {link} is down")]
    LinkDown {
        /// Its name.
        link: String,
    },
    /// The capture has several rings, or not one of a packet socket.
    #[error("the filter of this capture cannot be replaced")]
    FixedFilter,
    /// The mode does not support an option.
    #[error(transparent)]
    Mode(#[from] ModeError),
    /// A packet ring cannot be opened.
    #[error(transparent)]
    Ring(#[from] RingOpenError),
    /// An AF_XDP ring cannot be opened.
    #[error(transparent)]
    Xdp(#[from] XdpOpenError),
    /// Another AF_XDP socket is bound to a queue of the interface, and an XDP program is attached.
    #[error(
        "cannot receive from queue {queue} of {link}, which another AF_XDP socket has: {holder}{}",
        holder.removal(link)
    )]
    QueueTaken {
        /// Name of the interface.
        link: String,
        /// The queue.
        queue: u32,
        /// The attached program.
        holder: Box<AttachedXdpProgram>,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The XDP program that takes packets from the driver cannot be loaded or attached.
    #[error("cannot take packets from {link}")]
    Steer {
        /// Name of the interface.
        link: String,
        /// What the kernel refused.
        #[source]
        error: Box<XdpProgramError>,
    },
    /// The kernel cannot sample.
    #[error("cannot sample packets of {link}")]
    Sampling {
        /// Name of the interface.
        link: String,
        /// What the kernel refused.
        #[source]
        error: CountingFilterError,
    },
    /// The kernel cannot select the packets of a direction that was set while the capture ran.
    #[error("cannot select the direction of packets of {link}")]
    Direction {
        /// Name of the interface.
        link: String,
        /// What the kernel refused.
        #[source]
        error: CountingFilterError,
    },
    /// The kernel cannot select the packets of sockets.
    #[error("cannot select the packets of the command's sockets on {link}")]
    SocketPorts {
        /// Name of the interface.
        link: String,
        /// What the kernel refused.
        #[source]
        error: CountingFilterError,
    },
    /// The filter is too long for the kernel, which cannot sample what only the reader accepts.
    #[error("cannot sample packets of {link} with a filter that is too long for the kernel")]
    SamplingSplit {
        /// Name of the interface.
        link: String,
    },
    /// The reader's end of memory that an XDP program fills cannot be opened.
    #[error(transparent)]
    Buffer(#[from] BpfRingError),
    /// The XDP program that copies packets cannot be loaded or attached.
    #[error("cannot copy packets of {link}")]
    Copy {
        /// Name of the interface.
        link: String,
        /// What the kernel refused.
        #[source]
        error: XdpProgramError,
    },
    /// The link-layer header of an interface has no cooked form.
    #[error("packets of {link} cannot get a cooked header")]
    Cooked {
        /// Its name.
        link: String,
    },
    /// This process may not run on the CPU, or there is no such CPU.
    #[error("no reader can run on CPU {cpu}")]
    Cpu {
        /// Its number.
        cpu: usize,
    },
    /// A queue that is to be read does not exist.
    #[error("{link} has no receive queue {queue} (it has {count}, the first is 0)")]
    NoQueue {
        /// Name of the interface.
        link: String,
        /// Number of the queue.
        queue: u32,
        /// Number of queues.
        count: u32,
    },
    /// Several readers do not support an option.
    #[error("{reason}")]
    Readers {
        /// Which option several readers do not support.
        reason: &'static str,
    },
    /// The interface does not stamp packets in hardware.
    #[error(transparent)]
    HardwareTimestamps(Box<StampError>),
    /// A setting of an interface's device cannot be made.
    #[error(transparent)]
    Steering(Box<SteeringError>),
    /// The interface cannot be queried.
    #[error(transparent)]
    Link(#[from] NetlinkError),
    /// epoll, eventfd or pipe is not available.
    #[error("cannot wait for packets")]
    Wait {
        /// The kernel's answer.
        source: io::Error,
    },
    /// A ring holds what no kernel writes. The packets concerned count as lost by the reader, and the capture
    /// can continue.
    #[error("a ring is malformed")]
    Malformed,
    /// The capture ran and failed: the consumer failed, e.g. because the disk is full, or waiting for packets
    /// did. The summary has the account up to then.
    #[error(transparent)]
    Run(Box<FailedCapture>),
}

/// What kind of problem a [`CaptureError`] is, for an exit status and advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// An option is invalid, or two options contradict each other.
    InvalidOptions,
    /// A privilege is missing.
    MissingPrivilege {
        /// The capability; `None` if the text of the error names it, or if several are missing.
        capability: Option<&'static str>,
    },
    /// The interface does not exist.
    NoSuchInterface,
    /// The interface is down.
    InterfaceDown,
    /// The kernel has no memory for a ring of this size.
    NoMemoryForRing,
    /// The kernel has no memory for a ring that holds the packets of such a stall.
    NoMemoryForStall,
    /// The driver has no hardware time stamps.
    NoHardwareTimestamps,
    /// The option requires a newer kernel: Linux 4.20.
    OldKernel,
    /// The kernel or the interface does not support AF_XDP or the XDP program.
    NoXdp,
    /// The driver does not support native XDP. Generic XDP may work.
    NoNativeXdp,
    /// The verifier refused the XDP program: the filter is too long, or the kernel is too old.
    XdpProgramRefused,
    /// The filter is too long to sample in the kernel.
    FilterTooLongToSample,
    /// Not supported by this kernel or interface; the error's text says what.
    Unsupported,
    /// Any other problem.
    Other,
}

impl CaptureError {
    /// The kind of the problem.
    pub fn kind(&self) -> CaptureErrorKind {
        use CaptureErrorKind as Kind;
        match self {
            Self::Mode(_)
            | Self::NoLink
            | Self::LinkTwice { .. }
            | Self::AlreadyCaptured { .. }
            | Self::Filter { .. }
            | Self::Cpu { .. }
            | Self::NoQueue { .. }
            | Self::Readers { .. }
            | Self::Ring(RingOpenError::Option(_))
            | Self::Xdp(XdpOpenError::Option(_))
            | Self::Buffer(BpfRingError::SnaplenZero) => Kind::InvalidOptions,
            Self::LinkDown { .. } => Kind::InterfaceDown,
            Self::NoSuchInterface { .. } => Kind::NoSuchInterface,
            Self::Ring(RingOpenError::Setup(error)) => ring_kind(error),
            Self::Xdp(XdpOpenError::Setup(error)) => xdp_ring_kind(error),
            Self::Xdp(_) => Kind::NoXdp,
            Self::Buffer(BpfRingError::Setup { step, source, .. }) => match (step, errno(source)) {
                (_, libc::EPERM | libc::EACCES) => Kind::MISSING_PRIVILEGE,
                (BpfRingSetupStep::Interface, libc::ENODEV) => Kind::NoSuchInterface,
                _ => Kind::Other,
            },
            Self::Ring(_) | Self::Buffer(_) | Self::Cooked { .. } => Kind::Unsupported,
            Self::Steer { error, .. } => xdp_program_kind(error),
            Self::Copy { error, .. } => xdp_program_kind(error),
            Self::Sampling { error, .. }
            | Self::Direction { error, .. }
            | Self::SocketPorts { error, .. } => sampling_kind(error),
            Self::SamplingSplit { .. } => Kind::FilterTooLongToSample,
            Self::HardwareTimestamps(error) => stamping_kind(error),
            Self::Steering(error) => steering_kind(error),
            Self::Link(error) if error.errno() == Some(libc::ENODEV) => Kind::NoSuchInterface,
            Self::Link(NetlinkError {
                cause: netlink::Cause::Namespace(error),
                ..
            })
            | Self::Namespace(error)
                if errno(&error.source) == libc::EPERM =>
            {
                Kind::MissingPrivilege {
                    capability: Some("CAP_SYS_ADMIN"),
                }
            }
            _ => Kind::Other,
        }
    }

    /// Name of the interface that could not be opened, if the error is about one.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::LinkTwice { link }
            | Self::AlreadyCaptured { link }
            | Self::NoSuchInterface { link }
            | Self::Filter { link, .. }
            | Self::LinkReplaced { link }
            | Self::Cooked { link }
            | Self::LinkDown { link }
            | Self::QueueTaken { link, .. }
            | Self::Steer { link, .. }
            | Self::Sampling { link, .. }
            | Self::Direction { link, .. }
            | Self::SocketPorts { link, .. }
            | Self::SamplingSplit { link }
            | Self::Copy { link, .. }
            | Self::Ring(
                RingOpenError::Setup(RingSetupError { link, .. })
                | RingOpenError::LinkLayer { link, .. }
                | RingOpenError::Busy { link },
            )
            | Self::Xdp(
                XdpOpenError::Setup(XdpSetupError { link, .. })
                | XdpOpenError::NoSuchQueue { link, .. }
                | XdpOpenError::MultiBuffer { link, .. }
                | XdpOpenError::LinkLayer { link, .. },
            )
            | Self::Buffer(
                BpfRingError::Setup { link, .. } | BpfRingError::LinkLayer { link, .. },
            ) => Some(link),
            _ => None,
        }
    }

    /// The summary of a capture that ran and failed.
    pub fn summary(&self) -> Option<&CaptureSummary> {
        match self {
            Self::Run(failed) => Some(&failed.summary),
            _ => None,
        }
    }

    /// The summary of a capture that ran and failed, or the error.
    ///
    /// # Errors
    /// The capture has not run.
    pub fn into_summary(self) -> Result<CaptureSummary, Self> {
        match self {
            Self::Run(failed) => Ok(failed.summary),
            error => Err(error),
        }
    }
}

impl CaptureErrorKind {
    const MISSING_PRIVILEGE: Self = Self::MissingPrivilege { capability: None };
}

fn ring_kind(error: &RingSetupError) -> CaptureErrorKind {
    use CaptureErrorKind as Kind;
    match (error.step, errno(&error.source)) {
        (_, libc::EPERM | libc::EACCES) => Kind::MissingPrivilege {
            capability: Some("CAP_NET_RAW"),
        },
        (SetupStep::Interface, libc::ENODEV) => Kind::NoSuchInterface,
        (SetupStep::Bind, libc::ENETDOWN) => Kind::InterfaceDown,
        (SetupStep::Ring, libc::ENOMEM) => Kind::NoMemoryForRing,
        (SetupStep::StallRing, libc::ENOMEM) => Kind::NoMemoryForStall,
        (SetupStep::Timestamps, libc::EOPNOTSUPP | libc::ERANGE | libc::ENOTTY) => {
            Kind::NoHardwareTimestamps
        }
        (SetupStep::Direction | SetupStep::Version, libc::ENOPROTOOPT | libc::EINVAL) => {
            Kind::OldKernel
        }
        _ => Kind::Other,
    }
}

fn xdp_ring_kind(error: &XdpSetupError) -> CaptureErrorKind {
    use CaptureErrorKind as Kind;
    match (error.step, errno(&error.source)) {
        (_, libc::EPERM | libc::EACCES) | (XdpSetupStep::Memory, libc::ENOBUFS) => {
            Kind::MISSING_PRIVILEGE
        }
        (XdpSetupStep::Interface, libc::ENODEV) => Kind::NoSuchInterface,
        (XdpSetupStep::Socket, libc::EAFNOSUPPORT) | (XdpSetupStep::Bind, libc::EOPNOTSUPP) => {
            Kind::NoXdp
        }
        _ => Kind::Other,
    }
}

fn xdp_program_kind(error: &XdpProgramError) -> CaptureErrorKind {
    use CaptureErrorKind as Kind;
    match error {
        XdpProgramError::Snaplen { .. } => Kind::InvalidOptions,
        XdpProgramError::Map(error) => match errno(&error.source) {
            libc::EPERM | libc::EACCES => Kind::MISSING_PRIVILEGE,
            libc::EINVAL | libc::ENOSYS => Kind::NoXdp,
            _ => Kind::Other,
        },
        XdpProgramError::Load(error) => load_kind(error),
        XdpProgramError::Attach(error) => attach_kind(error),
        _ => Kind::Other,
    }
}

fn load_kind(error: &LoadError) -> CaptureErrorKind {
    use CaptureErrorKind as Kind;
    match error {
        LoadError::Refused { source, .. } if errno(source) == libc::EPERM => {
            Kind::MISSING_PRIVILEGE
        }
        LoadError::Refused { .. } if error.is_privilege() => Kind::MissingPrivilege {
            capability: Some("CAP_PERFMON"),
        },
        LoadError::Refused { .. } => Kind::XdpProgramRefused,
        _ => Kind::Other,
    }
}

fn attach_kind(error: &XdpAttachError) -> CaptureErrorKind {
    use CaptureErrorKind as Kind;
    match errno(&error.source) {
        libc::EPERM | libc::EACCES => Kind::MISSING_PRIVILEGE,
        // The text says which MTU works.
        _ if error.mtu.as_ref().is_some_and(|mtu| mtu.is_certain) => Kind::Unsupported,
        libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE if error.mode == XdpMode::Native => {
            Kind::NoNativeXdp
        }
        libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE => Kind::NoXdp,
        _ => Kind::Other,
    }
}

fn sampling_kind(error: &CountingFilterError) -> CaptureErrorKind {
    let source = match error {
        CountingFilterError::Map(error) => Some(&error.source),
        CountingFilterError::Load(LoadError::Refused { source, .. }) => Some(source),
        _ => None,
    };
    match source.map(errno) {
        Some(libc::EPERM | libc::EACCES) => CaptureErrorKind::MISSING_PRIVILEGE,
        _ => CaptureErrorKind::Unsupported,
    }
}

fn stamping_kind(error: &StampError) -> CaptureErrorKind {
    use CaptureErrorKind as Kind;
    match error {
        StampError::Refused { .. } if error.needs_privilege() => Kind::MissingPrivilege {
            capability: Some("CAP_NET_ADMIN"),
        },
        _ if error.needs_privilege() => Kind::MISSING_PRIVILEGE,
        _ if error.is_unsupported() => Kind::NoHardwareTimestamps,
        _ => Kind::Other,
    }
}

fn steering_kind(error: &SteeringError) -> CaptureErrorKind {
    use CaptureErrorKind as Kind;
    match error {
        SteeringError::Link(error) if error.errno() == Some(libc::ENODEV) => Kind::NoSuchInterface,
        SteeringError::Link(_) if error.needs_privilege() => Kind::MissingPrivilege {
            capability: Some("CAP_NET_ADMIN"),
        },
        _ if error.needs_privilege() => Kind::MISSING_PRIVILEGE,
        _ if error.is_unsupported() => Kind::Unsupported,
        _ if error.is_usage() => Kind::InvalidOptions,
        _ => Kind::Other,
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

impl From<PlanError> for CaptureError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Filter {
                link,
                link_type,
                error,
            } => Self::Filter {
                link,
                link_type,
                error,
            },
            PlanError::LinkReplaced { link } => Self::LinkReplaced { link },
            PlanError::FewRings => Self::Readers {
                reason: "the interface has fewer rings than the capture has readers",
            },
            PlanError::Ring(error) => Self::Ring(error),
            PlanError::Link(error) => Self::Link(error),
        }
    }
}

/// The summary of a capture that failed; displayed, the reason.
#[derive(Debug)]
pub struct FailedCapture {
    /// The summary; [`ended`](CaptureSummary::ended) is the reason.
    pub summary: CaptureSummary,
}

impl fmt::Display for FailedCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.summary.ended {
            Ended::Consumer(error) => error.fmt(f),
            Ended::Wait(_) => f.write_str("cannot wait for packets"),
            _ => f.write_str("the capture failed"),
        }
    }
}

impl Error for FailedCapture {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.summary.ended {
            Ended::Consumer(error) => error.source(),
            Ended::Wait(error) => Some(error),
            _ => None,
        }
    }
}

/// The result of a capture that has run.
pub fn run_result(summary: CaptureSummary) -> Result<CaptureSummary, CaptureError> {
    if summary.ended.is_failure() {
        Err(CaptureError::Run(Box::new(FailedCapture { summary })))
    } else {
        Ok(summary)
    }
}
