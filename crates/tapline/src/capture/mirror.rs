//! Opening an interface whose packets are copied by an XDP program, and go on into the stack.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bpf::{Mirror, MirrorBuffers, MirrorError, MirrorOptions};
use ring::{DirectionFilter, Link, RingBuffer, TimestampSource};

use super::attach::Attached;
use super::buffers::Buffers;
use super::change::ChangeError;
use super::error::CaptureError;
use super::filter::Filter;
use super::gate::Gate;
use super::line::Line;
use super::options::Options;
use super::selection::Selection;
use super::source::Source;
use super::take_over::TakenOver;

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
    let (mirror, maps) = load(selection, options).map_err(refused)?;
    let buffers = buffers(link, &maps, options)?;
    selection.check(buffers.link())?;
    let attached = mirror.attach(buffers.link().index, options.xdp);
    let attached = attached.map_err(refused)?;
    let mirror = Arc::new(mirror);
    let line = MirrorLine {
        mirror: mirror.clone(),
        maps,
        link: buffers.link().clone(),
        options: options.clone(),
    };
    Ok(Attached {
        sources: buffers.into_sources(),
        gate: Gate::Mirrored(mirror, Some(attached)),
        exact: None,
        line: Some(Line::Mirror(Box::new(line))),
        place: selection.place(),
        fall_back: None,
    })
}

fn load(selection: &Selection, options: &Options) -> Result<(Mirror, MirrorBuffers), MirrorError> {
    let buffer_bytes = cpu_bytes(options.buffer_bytes, Mirror::cpu_count()?);
    selection.load(MirrorError::Map, |select| {
        Mirror::load(&MirrorOptions {
            buffer_bytes,
            select,
            sampling: options.sampling,
            ..MirrorOptions::new(options.snaplen)
        })
    })
}

/// What one of `cpus` gets of memory for all.
fn cpu_bytes(buffer_bytes: usize, cpus: usize) -> u32 {
    let bytes = (buffer_bytes / cpus).min(MOST_BYTES).next_power_of_two();
    (bytes as u32).max(LEAST_BYTES)
}

/// The reader's end of `maps`.
fn buffers(link: &str, maps: &MirrorBuffers, options: &Options) -> Result<Buffers, CaptureError> {
    let maps = maps.iter().map(|(_, map)| map);
    Buffers::open(link, options, maps, RingBuffer::open)
}

/// Makes other buffers for the program, one set after the other.
pub(super) struct MirrorLine {
    mirror: Arc<Mirror>,
    /// The newest.
    maps: MirrorBuffers,
    link: Link,
    options: Options,
}

/// Buffers that are ready to take over.
pub(super) struct NextMirror<'l> {
    line: &'l mut MirrorLine,
    maps: MirrorBuffers,
    sources: Vec<Source>,
}

impl MirrorLine {
    pub fn prepare(&mut self, buffer_bytes: usize) -> Result<NextMirror<'_>, CaptureError> {
        let bytes = cpu_bytes(buffer_bytes, self.maps.iter().len());
        let maps = self.maps.another(bytes);
        let maps = maps.map_err(|error| CaptureError::Copy {
            link: self.link.name.clone(),
            error,
        })?;
        let buffers = buffers(&self.link.name, &maps, &self.options)?.of(&self.link)?;
        Ok(NextMirror {
            maps,
            sources: buffers.into_sources(),
            line: self,
        })
    }

    pub fn link(&self) -> &str {
        &self.link.name
    }
}

impl NextMirror<'_> {
    pub fn take_over(self) -> Result<TakenOver, ChangeError> {
        let Self {
            line,
            maps,
            sources,
        } = self;
        let handed_over = line.mirror.exchange(&maps);
        handed_over.map_err(|source| ChangeError::HandOver {
            link: line.link.name.clone(),
            source,
        })?;
        line.maps = maps;
        Ok(TakenOver {
            sources,
            intake: None,
        })
    }
}
