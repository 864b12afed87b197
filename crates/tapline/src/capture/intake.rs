//! Opening an interface in drop mode for short packets: memory that a program fills.

use std::fmt;
use std::sync::Arc;

use bpf::{Intake, IntakeCounts, IntakeOptions, RedirectError, XdpLink};
use ring::{Link, RingBuffer, TimestampSource};
use rustix::thread::{CapabilitySet, capabilities};

use super::attach::Attached;
use super::buffers::Buffers;
use super::change::ChangeError;
use super::error::CaptureError;
use super::gate::Gate;
use super::line::Line;
use super::mode::SHORT_SNAPLEN;
use super::options::Options;
use super::selection::Selection;
use super::source::Source;
use super::take_over::TakenOver;

/// Why drop mode with a short snaplen takes AF_XDP sockets, at several times the cost, instead of memory
/// that the program fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FallBack {
    /// This process has not the privilege (`CAP_PERFMON`) for a tracepoint.
    Privilege,
    /// The kernel has not what the program asks for, which is Linux 5.18's.
    Kernel,
    /// The verifier refuses the program, e.g. for a processor that reads whole words at whole words' places only.
    Verifier,
    /// The driver hands packets on without NAPI (tun and tap), so that the program would not know when to
    /// wake the reader.
    Driver,
    /// The program needs the order in which x86-64 shows its stores.
    Processor,
}

impl fmt::Display for FallBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Privilege => "needs CAP_PERFMON",
            Self::Kernel => "needs Linux 5.18",
            Self::Verifier => "is refused by the verifier",
            Self::Driver => "its driver has no NAPI",
            Self::Processor => "needs x86-64",
        })
    }
}

/// Whether `options` ask for what the program can do.
pub(super) fn suits(options: &Options) -> bool {
    options.backend.is_none()
        && options.snaplen <= SHORT_SNAPLEN
        && options.timestamps != TimestampSource::Reader
        && options.busy_poll.is_none()
}

/// Opens the memory of every CPU, and attaches the program last, when all is ready; or says why AF_XDP is to
/// be taken. `kind` is what software made the interface, if one did.
pub(super) fn open(
    link: &str,
    kind: Option<&str>,
    selection: &Arc<Selection>,
    options: &Options,
) -> Result<Result<Attached, FallBack>, CaptureError> {
    if !Intake::SUPPORTED {
        return Ok(Err(FallBack::Processor));
    }
    if kind == Some("tun") {
        return Ok(Err(FallBack::Driver));
    }
    let refused = |error| CaptureError::Steer {
        link: link.to_owned(),
        error: Box::new(error),
    };
    let load = |options: &IntakeOptions<'_>| Intake::load(options);
    let intake = match with_filter(selection, options, load) {
        Ok(intake) => intake,
        Err(error) => match fall_back(&error) {
            Some(reason) => return Ok(Err(reason)),
            None => return Err(refused(error)),
        },
    };
    let buffers = buffers(link, &intake, options)?;
    selection.check(buffers.link())?;
    let attached = intake.attach(buffers.link().index, options.xdp);
    let attached = attached.map_err(refused)?;
    let intake = Arc::new(intake);
    // Without a second handle, for want of descriptors, there is no change while it runs.
    let line = attached.try_clone().ok().map(|xdp| IntakeLine {
        xdp,
        intake: intake.clone(),
        link: buffers.link().clone(),
        selection: selection.clone(),
        options: options.clone(),
    });
    Ok(Ok(Attached {
        sources: buffers.into_sources(),
        gate: Gate::Taken(Some(attached), intake, IntakeCounts::default()),
        exact: None,
        line: line.map(|line| Line::Intake(Box::new(line))),
        place: selection.place(),
        fall_back: None,
    }))
}

/// Why, if the kernel refused what AF_XDP does not ask for: a tracepoint, and new helpers and flags.
fn fall_back(error: &RedirectError) -> Option<FallBack> {
    let (source, log) = match error {
        RedirectError::Map(error) => (&error.source, ""),
        RedirectError::Load(bpf::LoadError::Refused { source, log, .. }) => (source, log.whole()),
        _ => return None,
    };
    match source.raw_os_error()? {
        libc::EPERM => Some(FallBack::Privilege),
        // The verifier's word for a wrong program, and for what it keeps from those without the privilege.
        libc::EACCES if !is_trusted() => Some(FallBack::Privilege),
        // Unknown flags are refused before the verifier begins, unknown helpers by it.
        libc::EINVAL if log.is_empty() || log.contains("func") => Some(FallBack::Kernel),
        libc::ENOENT => Some(FallBack::Kernel),
        // If it is for the filter, AF_XDP's program is refused as well.
        libc::EACCES | libc::EINVAL => Some(FallBack::Verifier),
        _ => None,
    }
}

/// Whether the verifier lets this thread's programs do all they may; it cannot be told is no.
fn is_trusted() -> bool {
    let trusted = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.intersects(trusted))
}

/// Has `load` load a program that begins with the filter.
fn with_filter(
    selection: &Selection,
    options: &Options,
    load: impl FnOnce(&IntakeOptions<'_>) -> Result<Intake, RedirectError>,
) -> Result<Intake, RedirectError> {
    selection.load(RedirectError::Map, |select| {
        load(&IntakeOptions {
            buffer_bytes: options.buffer_bytes,
            select,
            sampling: options.sampling,
            others: options.others,
            ..IntakeOptions::new(options.snaplen)
        })
    })
}

/// The reader's end of the memory that `intake` fills.
fn buffers(link: &str, intake: &Intake, options: &Options) -> Result<Buffers, CaptureError> {
    let open = |link: &str, place, options: &_| RingBuffer::open_slots(link, &place, options);
    Buffers::open(link, options, intake.places(), open)
}

/// Loads programs with other memory, one after the other, which take the place of the attached one.
pub(super) struct IntakeLine {
    /// Goes before the program at the end of a round.
    xdp: XdpLink,
    /// The newest.
    intake: Arc<Intake>,
    link: Link,
    selection: Arc<Selection>,
    options: Options,
}

/// A program with its memory that is ready to take over.
pub(super) struct NextIntake<'l> {
    line: &'l mut IntakeLine,
    intake: Intake,
    sources: Vec<Source>,
}

impl IntakeLine {
    pub fn prepare(&mut self, buffer_bytes: usize) -> Result<NextIntake<'_>, CaptureError> {
        self.options.buffer_bytes = buffer_bytes;
        let name = &self.link.name;
        let load = |options: &IntakeOptions<'_>| self.intake.successor(options);
        let intake = with_filter(&self.selection, &self.options, load);
        let intake = intake.map_err(|error| CaptureError::Steer {
            link: name.clone(),
            error: Box::new(error),
        })?;
        let buffers = buffers(name, &intake, &self.options)?.of(&self.link)?;
        Ok(NextIntake {
            intake,
            sources: buffers.into_sources(),
            line: self,
        })
    }

    pub fn link(&self) -> &str {
        &self.link.name
    }
}

impl NextIntake<'_> {
    pub fn take_over(self) -> Result<TakenOver, ChangeError> {
        let Self {
            line,
            intake,
            sources,
        } = self;
        let handed_over = intake.take_over(&mut line.xdp);
        handed_over.map_err(|source| ChangeError::HandOver {
            link: line.link.name.clone(),
            source,
        })?;
        line.intake = Arc::new(intake);
        Ok(TakenOver {
            sources,
            intake: Some(line.intake.clone()),
        })
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::wanted::Wanted;
    use super::*;

    #[test]
    fn a_driver_without_napi_is_left_to_sockets() {
        let selection = Arc::new(Selection::of("tap0", &Wanted::Everything).unwrap());
        let opened = open("tap0", Some("tun"), &selection, &Options::default()).unwrap();
        assert_eq!(opened.err(), Some(FallBack::Driver));
    }
}
