//! Mirror mode and drop mode, and which options each supports.

use bpf::{RingBufferProgram, SlotProgram};

use super::backend::Backend;

/// The largest snaplen with which drop mode needs no AF_XDP socket, bytes.
pub const SHORT_SNAPLEN: u32 = SlotProgram::MAX_SNAPLEN;

/// Whether the stack still sees the captured packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// The stack sees them too.
    #[default]
    Mirror,
    /// An XDP program takes them from the driver. The stack sees only packets that the filter refuses, and
    /// those only if [`CaptureOptions::others`](super::options::CaptureOptions::others) passes them.
    ///
    /// The XDP program runs the whole filter and redirects packets to an AF_XDP socket per receive queue. It
    /// sees received packets only, and only their bytes: not a VLAN tag that the interface strips.
    ///
    /// With a snaplen of at most [`SHORT_SNAPLEN`] the program copies the packets into memory shared with
    /// the reader, at a fraction of the cost. Requires x86-64, Linux 5.18 and `CAP_PERFMON`. Up to eight
    /// packets that arrive within about a microsecond may share a time stamp. [`Backend::Xdp`] selects
    /// sockets instead.
    Drop,
}

impl Mode {
    /// Its name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Drop => "drop",
        }
    }
}

/// The selected mode does not support another option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModeError {
    /// The back end belongs to the other mode.
    #[error("backend {} is not for {} mode", backend.name(), mode.name())]
    Backend {
        /// The selected back end.
        backend: Backend,
        /// The selected mode.
        mode: Mode,
    },
    /// XDP sees received packets only.
    #[error("drop mode captures received packets only")]
    Outgoing,
    /// A classic program runs at a socket; XDP runs filter expressions.
    #[error("drop mode takes a filter expression, not a classic program")]
    ClassicProgram,
    /// XDP runs before the kernel knows a packet's socket.
    #[error("only packet rings select the packets of a command's sockets")]
    SocketPorts,
    /// Only the reader of an AF_XDP socket can run the driver.
    #[error("busy polling is for AF_XDP, in drop mode")]
    BusyPoll,
    /// The back end that copies packets does not support an option.
    #[error(transparent)]
    Mirror(MirrorLimit),
}

/// Why [`Backend::XdpRingbuf`] cannot mirror packets with these options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorLimit {
    /// XDP sees received packets only.
    #[error("backend xdp-ringbuf captures received packets only")]
    Direction,
    /// A classic program runs at a socket; XDP runs filter expressions.
    #[error("backend xdp-ringbuf takes a filter expression, not a classic program")]
    ClassicProgram,
    /// The snaplen exceeds what the program copies.
    #[error(
        "backend xdp-ringbuf copies {} bytes of a packet at most, not {snaplen}",
        RingBufferProgram::MAX_SNAPLEN
    )]
    Snaplen {
        /// The selected snaplen.
        snaplen: u32,
    },
}
