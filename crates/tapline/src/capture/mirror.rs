//! Opening an interface whose packets are copied by an XDP program, and go on into the stack.

use std::error::Error;
use std::fmt;

use bpf::{FilterMaps, Mirror, MirrorError, MirrorOptions};
use filter::ebpf::Fragment;
use ring::{BufferOptions, DirectionFilter, RingBuffer, TimestampSource};

use super::attach::Attached;
use super::error::CaptureError;
use super::filter::{Filter, FilterPlace};
use super::gate::Gate;
use super::options::Options;
use super::source::Source;
use super::steer::{SETS, fragment, select};
use super::wanted::Wanted;

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
    /// The program does not sample.
    Sampling,
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
            Self::Sampling => f.write_str("does not sample"),
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
    if options.sampling.is_some() {
        return Err(MirrorLimit::Sampling);
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
    wanted: &Wanted,
    options: &Options,
) -> Result<Attached, CaptureError> {
    let filter = match wanted {
        Wanted::Everything | Wanted::Program(_) => None,
        Wanted::Filter(link_type, filter) => Some((*link_type, &**filter)),
    };
    let code = filter
        .map(|(_, filter)| fragment(link, filter))
        .transpose()?;
    let refused = |error| CaptureError::Copy {
        link: link.to_owned(),
        error,
    };
    let mirror = load(code.as_ref(), options).map_err(refused)?;
    let buffer_options = BufferOptions {
        promiscuous: options.promiscuous,
        snaplen: options.snaplen,
    };
    let buffers: Result<Vec<RingBuffer>, _> = (mirror.buffers())
        .map(|(_, map)| RingBuffer::open(link, map, &buffer_options))
        .collect();
    let buffers = buffers?;
    let opened = buffers[0].link();
    if filter.is_some_and(|(link_type, _)| opened.link_type != link_type) {
        let link = link.to_owned();
        return Err(CaptureError::LinkReplaced { link });
    }
    let attached = mirror.attach(opened.index, options.xdp).map_err(refused)?;
    let source = |buffer| Source::Buffer(Box::new(buffer));
    Ok(Attached {
        sources: buffers.into_iter().map(source).collect(),
        gate: Gate::Mirrored(mirror, Some(attached)),
        exact: None,
        line: None,
        place: filter.map(|_| FilterPlace::Kernel),
    })
}

fn load(code: Option<&Fragment>, options: &Options) -> Result<Mirror, MirrorError> {
    let maps = code.map(|code| FilterMaps::create(SETS, code)).transpose();
    let maps = maps.map_err(MirrorError::Map)?;
    let select = match (code, &maps) {
        (Some(code), Some(maps)) => select(code, maps),
        _ => Vec::new(),
    };
    let bytes = options.buffer_bytes / Mirror::cpu_count()?;
    let buffer_bytes = bytes.min(MOST_BYTES).next_power_of_two() as u32;
    Mirror::load(&MirrorOptions {
        buffer_bytes: buffer_bytes.max(LEAST_BYTES),
        select: &select,
        ..MirrorOptions::new(options.snaplen)
    })
}
