//! What a capture does to the packets it sees, and what cannot be had with it.

use std::error::Error;
use std::fmt;

use bpf::Intake;
use ring::{DirectionFilter, TimestampSource};

use super::backend::Backend;
use super::filter::Filter;
use super::mirror::{self, MirrorLimit};
use super::options::Options;

/// The largest snaplen at which drop mode needs no AF_XDP socket, bytes.
pub const SHORT_SNAPLEN: u32 = Intake::MAX_SNAPLEN;

/// What a capture does to the packets it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// The stack sees them too.
    #[default]
    Mirror,
    /// It takes them away, in the driver: the stack sees only packets that the filter refuses, and
    /// those only if [`Options::others`] lets them pass.
    ///
    /// An XDP program with the whole filter steers packets to an AF_XDP socket for each receive queue.
    /// It sees packets that come in, and of those only the bytes: a VLAN tag that the interface takes
    /// off before is not seen.
    ///
    /// With a snaplen of [`SHORT_SNAPLEN`] at most the program itself copies what is kept into memory that
    /// the reader shares, at a fraction of the cost; this needs x86-64, Linux 5.18 and `CAP_PERFMON`, and
    /// packets that come within a microsecond or so may have one time stamp. [`Backend::Xdp`] asks for
    /// sockets all the same.
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

/// What was asked for cannot be had in the mode that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModeError {
    /// The backend belongs to the other mode.
    Backend {
        /// What was asked for.
        backend: Backend,
        /// In which mode.
        mode: Mode,
    },
    /// XDP sees packets come in, not go out.
    Outgoing,
    /// The steering program stamps the time by the kernel's clock.
    HardwareTime,
    /// A classic program runs at a socket; XDP takes expressions.
    ClassicProgram,
    /// Only the reader of an AF_XDP socket runs the driver.
    BusyPoll,
    /// The backend that copies packets cannot do it.
    Mirror(MirrorLimit),
}

impl ModeError {
    /// Whether the mode, and not the question, has to change for this to be had.
    pub fn is_unsupported(&self) -> bool {
        use MirrorLimit::{Direction, Snaplen};
        !matches!(
            self,
            Self::Backend { .. } | Self::BusyPoll | Self::Mirror(Direction | Snaplen { .. })
        )
    }
}

impl fmt::Display for ModeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend { backend, mode } => {
                let (backend, mode) = (backend.name(), mode.name());
                write!(f, "backend {backend} is not for {mode} mode")
            }
            Self::Outgoing => f.write_str("drop mode takes packets that come in, not those sent"),
            Self::HardwareTime => f.write_str("drop mode has no time stamps of the hardware"),
            Self::ClassicProgram => {
                f.write_str("drop mode takes a filter expression, not a classic program")
            }
            Self::BusyPoll => f.write_str("busy polling is for AF_XDP, in drop mode"),
            Self::Mirror(limit) => limit.fmt(f),
        }
    }
}

impl Error for ModeError {}

/// Refuses what contradicts the mode.
pub(super) fn check(options: &Options) -> Result<(), ModeError> {
    let mode = options.mode;
    if let Some(backend) = options.backend
        && (backend == Backend::Xdp) != (mode == Mode::Drop)
    {
        return Err(ModeError::Backend { backend, mode });
    }
    if options.busy_poll.is_some() && mode != Mode::Drop {
        return Err(ModeError::BusyPoll);
    }
    if options.backend == Some(Backend::XdpRingbuf) {
        return mirror::check(options).map_err(ModeError::Mirror);
    }
    if mode == Mode::Mirror {
        return Ok(());
    }
    if options.direction == DirectionFilter::Out {
        return Err(ModeError::Outgoing);
    }
    if options.timestamps == TimestampSource::Hardware {
        return Err(ModeError::HardwareTime);
    }
    if let Some(Filter::Program(_)) = options.filter {
        return Err(ModeError::ClassicProgram);
    }
    Ok(())
}
