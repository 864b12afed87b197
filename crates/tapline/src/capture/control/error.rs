//! Why a running capture was not changed.

use std::io;

use ring::RingOpenError;

use super::super::error::CaptureError;
use super::super::plan::backend::Backend;
use super::super::plan::mode::{Mode, SHORT_SNAPLEN};

/// Why a capture was not changed. It continues as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Rings of this back end cannot be replaced. The kernel binds one packet memory to a queue, so the
    /// buffer of AF_XDP sockets is fixed (`xp_assign_dev`, net/xdp/xsk_buff_pool.c). That of other XDP programs is fixed
    /// while several readers read it. Before Linux 4.12
    /// packet rings cannot take over from each other: buffer and stall are fixed, and with TPACKET_V3 the
    /// delivery.
    #[error("{}", fixed_ring(*backend))]
    Fixed {
        /// The back end.
        backend: Backend,
    },
    /// With the BPF ring buffers of mirror mode, the snaplen can only become smaller than at the start, and larger again up
    /// to that.
    #[error(
        "the snaplen of {} can be at most {most} bytes while it is read (restart the capture, or use a packet ring)",
        Backend::XdpRingbuf.name()
    )]
    LongerSnaplen {
        /// The snaplen at the start.
        most: u32,
    },
    /// A capture in drop mode that began with a snaplen of at most [`SHORT_SNAPLEN`] uses shared memory. There the snaplen
    /// can be changed by a single reader, to another such snaplen.
    #[error(
        "the snaplen of shared memory in drop mode can be changed with one reader, to at most {SHORT_SNAPLEN} bytes \
         (begin with a longer snaplen, or use mirror mode)"
    )]
    FixedSnaplen,
    /// The interface is not captured.
    #[error("{link} is not captured")]
    NotCaptured {
        /// Name of the interface.
        link: String,
    },
    /// The last interface of a capture cannot be removed.
    #[error("{link} is the last interface (stop the capture)")]
    LastInterface {
        /// Name of the interface.
        link: String,
    },
    /// The capture takes this interface as soon as it comes up.
    #[error("{link} is captured when it comes up")]
    Awaited {
        /// Name of the interface.
        link: String,
    },
    /// An interface of a hotplug capture in another network namespace refused the change.
    #[error("in network namespace {namespace}")]
    Namespace {
        /// Name of the namespace.
        namespace: String,
        /// Why.
        #[source]
        error: Box<Self>,
    },
    /// The capture has had as many interfaces as it can have.
    #[error("the capture has had too many interfaces")]
    TooManyInterfaces,
    /// In the other mode the interface has packets of another link type.
    #[error("{link} has another link type in {} mode", mode.name())]
    OtherLinkType {
        /// Name of the interface.
        link: String,
        /// The mode.
        mode: Mode,
    },
    /// The direction can be narrowed only in a capture that began with both, and by a filter that the kernel runs
    /// as eBPF (`CAP_BPF`). A loopback interface has the received packets then.
    #[error(
        "the direction of {link} is fixed (begin in mirror mode, with both directions and CAP_BPF; packets of a loopback \
         are captured as received)"
    )]
    FixedDirection {
        /// Name of the interface.
        link: String,
    },
    /// The ring of an interface cannot be replaced: the options contradict each other, or the kernel refused.
    /// [`RingOpenError::Busy`]: the change before is not complete.
    #[error(transparent)]
    Ring(#[from] RingOpenError),
    /// Memory or an XDP program could not be created.
    #[error(transparent)]
    Memory(Box<CaptureError>),
    /// The XDP program of an interface could not be switched to the new memory.
    #[error(
        "cannot switch the XDP program of {link} to the new settings (the old ones stay in force; restart the capture with \
         the new ones)"
    )]
    HandOver {
        /// Name of the interface.
        link: String,
        /// The kernel's answer; ENOLINK: the interface is gone.
        source: io::Error,
    },
    /// The capture is over, or no thread could be started for changes.
    #[error("the capture is over")]
    Over,
}

fn fixed_ring(backend: Backend) -> String {
    match backend {
        Backend::Xdp => format!(
            "the buffer of an AF_XDP socket cannot be changed while it is read (begin with the buffer \
             that is needed, or with a snaplen of at most {SHORT_SNAPLEN})"
        ),
        Backend::XdpRingbuf => format!(
            "the buffer of {} cannot be changed while several readers read it (begin with the buffer that is needed)",
            backend.name()
        ),
        backend => format!(
            "a ring of {} cannot be changed while it is read (needs Linux 4.12)",
            backend.name()
        ),
    }
}

impl From<CaptureError> for ChangeError {
    fn from(error: CaptureError) -> Self {
        Self::Memory(Box::new(error))
    }
}
