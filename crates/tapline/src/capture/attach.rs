//! Opening a ring with its filter: all of it in the kernel, or as much as the kernel holds.

use std::num::NonZeroU32;
use std::sync::Arc;

use abi::bpf::SockFilter;
use bpf::socket_filter::{self, CountingFilter, CountingFilterError};
use filter::classic::Program;
use ring::{DirectionFilter, OpenError, SetupError, Step};
use rustix::io::Errno;

use super::backend::Backend;
use super::error::CaptureError;
use super::exact::Exact;
use super::filter::FilterPlace;
use super::gate::Gate;
use super::holding;
use super::intake::{self, FallBack};
use super::line::{Line, PacketLine};
use super::mirror;
use super::mode::Mode;
use super::options::Options;
use super::selection::Selection;
use super::source::Source;
use super::steer;
use super::wanted::Wanted;

/// The rings of an interface with their filter.
pub(super) struct Attached {
    /// At least one.
    pub sources: Vec<Source>,
    pub gate: Gate,
    /// What is left for the reader of the only ring to decide.
    pub exact: Option<Exact>,
    /// `None` without a filter.
    pub place: Option<FilterPlace>,
    /// Why it does not do with less, if it could.
    pub fall_back: Option<FallBack>,
    /// Opens what is to follow the rings.
    pub line: Option<Line>,
}

impl Attached {
    /// `kind` is what software made the interface, if one did.
    pub fn open(
        link: &str,
        kind: Option<&str>,
        wanted: Wanted,
        options: &Options,
    ) -> Result<Self, CaptureError> {
        if options.mode == Mode::Drop {
            let selection = Arc::new(Selection::of(link, &wanted)?);
            return Self::taking(link, kind, &selection, options);
        }
        if options.backend == Some(Backend::XdpRingbuf) {
            return mirror::open(link, &Selection::of(link, &wanted)?, options);
        }
        match wanted {
            // Only a program samples.
            Wanted::Everything if options.sampling.is_some() => {
                let everything = Program::keep(options.snaplen);
                Ok(Self {
                    place: None,
                    ..Self::with_program(link, &everything, options)?
                })
            }
            Wanted::Everything => {
                let (ring, line) =
                    PacketLine::open(link, ring_options(options, ring::Filter::All))?;
                Ok(Self {
                    sources: vec![Source::Packet(ring)],
                    gate: Gate::Open,
                    exact: None,
                    place: None,
                    fall_back: None,
                    line,
                })
            }
            Wanted::Program(program) => Self::with_program(link, &program, options),
            Wanted::Filter(link_type, filter) => {
                let attached = Self::with_filter(link, *filter, options)?;
                if attached.sources[0].link().link_type != link_type {
                    let link = link.to_owned();
                    return Err(CaptureError::LinkReplaced { link });
                }
                Ok(attached)
            }
        }
    }

    /// In drop mode.
    fn taking(
        link: &str,
        kind: Option<&str>,
        selection: &Arc<Selection>,
        options: &Options,
    ) -> Result<Self, CaptureError> {
        let reason = if intake::suits(options) {
            match intake::open(link, kind, selection, options)? {
                Ok(attached) => return Ok(attached),
                Err(reason) => Some(reason),
            }
        } else {
            None
        };
        Ok(Self {
            fall_back: reason,
            ..steer::open(link, selection, options)?
        })
    }

    fn with_program(
        link: &str,
        program: &Program,
        options: &Options,
    ) -> Result<Self, CaptureError> {
        let (filter, gate) = prepare(link, program, options)?;
        let (ring, line) = PacketLine::open(link, ring_options(options, filter))?;
        Ok(Self {
            sources: vec![Source::Packet(ring)],
            gate,
            exact: None,
            place: Some(FilterPlace::Kernel),
            fall_back: None,
            line,
        })
    }

    /// The kernel has two limits: the instructions of a classic program, and the memory that a
    /// socket's options may take (`net.core.optmem_max`).
    fn with_filter(
        link: &str,
        filter: filter::Filter,
        options: &Options,
    ) -> Result<Self, CaptureError> {
        if let Ok(program) = filter.classic() {
            match Self::with_program(link, &program, options) {
                Err(CaptureError::Ring(OpenError::Setup(error))) if is_too_large(&error) => {}
                attached => return attached,
            }
        }
        if options.sampling.is_some() {
            let link = link.to_owned();
            return Err(CaptureError::SamplingSplit { link });
        }
        let whole = Options {
            snaplen: ring::DEFAULT_SNAPLEN.max(options.snaplen),
            ..options.clone()
        };
        let attached = Self::with_program(link, &filter.coarse(), &whole)?;
        Ok(Self {
            exact: Some(Exact::new(filter, options.snaplen)),
            place: Some(FilterPlace::Split),
            ..attached
        })
    }
}

/// `sk_filter_charge`, net/core/filter.c, answers ENOMEM.
fn is_too_large(error: &SetupError) -> bool {
    error.step == Step::Filter && Errno::from_io_error(&error.source) == Some(Errno::NOMEM)
}

fn ring_options(options: &Options, filter: ring::Filter) -> ring::Options {
    let mut ring = ring::Options {
        backend: options.backend.and_then(Backend::packet),
        promiscuous: options.promiscuous,
        direction: options.direction,
        snaplen: options.snaplen,
        buffer_bytes: options.buffer_bytes,
        stall: options.stall,
        timestamps: options.timestamps,
        filter,
        ..ring::Options::default()
    };
    holding::share(&mut ring, options.delivery);
    ring
}

/// The filter in the form the ring attaches, and how its refusals are counted.
///
/// Without the privilege for eBPF, or for a program that eBPF cannot express, the classic program
/// itself does the work and its refusals stay unknown; it cannot sample.
fn prepare(
    link: &str,
    program: &Program,
    options: &Options,
) -> Result<(ring::Filter, Gate), CaptureError> {
    let classic = sock_filter(program);
    match counting(&classic, options) {
        Ok(counted) => Ok(counted),
        Err(error) if options.sampling.is_some() => {
            let link = link.to_owned();
            Err(CaptureError::Sampling { link, error })
        }
        Err(error) => {
            let gate = Gate::Uncounted(Arc::new(error));
            Ok((ring::Filter::Classic(classic), gate))
        }
    }
}

fn counting(
    classic: &[SockFilter],
    options: &Options,
) -> Result<(ring::Filter, Gate), CountingFilterError> {
    let direction = match options.direction {
        DirectionFilter::Out => socket_filter::Direction::Outgoing,
        // Older kernels hand a group of rings what goes out, whatever its members say.
        DirectionFilter::In => socket_filter::Direction::Incoming,
        DirectionFilter::Both => socket_filter::Direction::Both,
    };
    // A ring refuses a snaplen of 0 itself.
    let snaplen = NonZeroU32::new(options.snaplen).unwrap_or(NonZeroU32::MIN);
    let counting_options = socket_filter::Options {
        snaplen,
        direction,
        sampling: options.sampling,
    };
    let filter = CountingFilter::load(classic, &counting_options)?;
    let descriptor = filter.descriptor()?;
    Ok((ring::Filter::Program(descriptor), Gate::Counted(filter)))
}

/// The program as a socket takes it.
pub(crate) fn sock_filter(program: &Program) -> Vec<SockFilter> {
    let plain = |i: &filter::classic::Instruction| SockFilter {
        code: i.code,
        jt: i.jt,
        jf: i.jf,
        k: i.k,
    };
    program.instructions().iter().map(plain).collect()
}
