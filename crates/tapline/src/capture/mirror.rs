//! Opening an interface whose packets are copied by an XDP program, and go on into the stack.

use std::error::Error;
use std::fmt;

use bpf::{Mirror, MirrorError, MirrorOptions};
use ring::{DirectionFilter, RingBuffer, TimestampSource};

use super::attach::Attached;
use super::buffers::Buffers;
use super::error::CaptureError;
use super::filter::Filter;
use super::gate::Gate;
use super::options::Options;
use super::selection::Selection;

/// The least a CPU's buffer has, bytes: what a driver brings in one go finds room, and it is a
/// multiple of the size of a page everywhere.
const LEAST_BYTES: u32 = 1 << 16;

/// The most, bytes.
const MOST_BYTES: usize = 1 << 30;

/// Why XDP cannot mirror what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MirrorLimit {
    /// It sees packets come in, not go out.
    Direction,
    /// The program stamps the time by the kernel's clock.
    HardwareTime,
    /// A classic program runs at a socket; XDP takes expressions.
    ClassicProgram,
    /// More is to be kept of a packet than the program copies.
    Snaplen {
        /// What was asked for.
        snaplen: u32,
    },
}

impl fmt::Display for MirrorLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("backend xdp-ringbuf ")?;
        match self {
            Self::Direction => f.write_str("sees packets that come in only (use --direction in)"),
            Self::HardwareTime => f.write_str("has no time stamps of the hardware"),
            Self::ClassicProgram => f.write_str("takes a filter expression, not a classic program"),
            Self::Snaplen { snaplen } => write!(
                f,
                "copies {} bytes of a packet at most, not {snaplen} (use -s)",
                Mirror::MAX_SNAPLEN
            ),
        }
    }
}

impl Error for MirrorLimit {}

/// Refuses what the program cannot do.
pub(super) fn check(options: &Options) -> Result<(), MirrorLimit> {
    if options.direction != DirectionFilter::In {
        return Err(MirrorLimit::Direction);
    }
    if options.timestamps == TimestampSource::Hardware {
        return Err(MirrorLimit::HardwareTime);
    }
    if let Some(Filter::Program(_)) = options.filter {
        return Err(MirrorLimit::ClassicProgram);
    }
    let snaplen = options.snaplen;
    if snaplen > Mirror::MAX_SNAPLEN {
        return Err(MirrorLimit::Snaplen { snaplen });
    }
    Ok(())
}

/// Opens a buffer for every CPU, and attaches the program last, when all is ready.
pub(super) fn open(
    link: &str,
    selection: &Selection,
    options: &Options,
) -> Result<Attached, CaptureError> {
    let refused = |error| CaptureError::Copy {
        link: link.to_owned(),
        error,
    };
    let mirror = load(selection, options).map_err(refused)?;
    let maps = mirror.buffers().map(|(_, map)| map);
    let buffers = Buffers::open(link, selection, options, maps, RingBuffer::open)?;
    let attached = mirror.attach(buffers.link().index, options.xdp);
    let attached = attached.map_err(refused)?;
    Ok(Attached {
        sources: buffers.into_sources(),
        gate: Gate::Mirrored(mirror, Some(attached)),
        exact: None,
        place: selection.place(),
        fall_back: None,
    })
}

fn load(selection: &Selection, options: &Options) -> Result<Mirror, MirrorError> {
    let bytes = options.buffer_bytes / Mirror::cpu_count()?;
    let buffer_bytes = bytes.min(MOST_BYTES).next_power_of_two() as u32;
    selection.load(MirrorError::Map, |select| {
        Mirror::load(&MirrorOptions {
            buffer_bytes: buffer_bytes.max(LEAST_BYTES),
            select,
            sampling: options.sampling,
            ..MirrorOptions::new(options.snaplen)
        })
    })
}
