//! Opening an interface in drop mode for short packets: memory that a program fills.

use std::fmt;
use std::io;

use bpf::{Intake, IntakeOptions, RedirectError};
use ring::{RingBuffer, TimestampSource};

use super::attach::Attached;
use super::buffers::Buffers;
use super::error::CaptureError;
use super::gate::Gate;
use super::mode::SHORT_SNAPLEN;
use super::options::Options;
use super::selection::Selection;

/// Why drop mode with a short snaplen takes AF_XDP sockets, at several times the cost, instead of memory
/// that the program fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FallBack {
    /// This process has not the privilege (`CAP_PERFMON`) for a tracepoint.
    Privilege,
    /// The kernel refuses the program for another reason: it needs Linux 5.18.
    Kernel,
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
    selection: &Selection,
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
    let intake = match load(selection, options) {
        Ok(intake) => intake,
        Err(error) => match fall_back(&error) {
            Some(reason) => return Ok(Err(reason)),
            None => return Err(refused(error)),
        },
    };
    let open = |link: &str, place, options: &_| RingBuffer::open_slots(link, &place, options);
    let buffers = Buffers::open(link, selection, options, intake.places(), open)?;
    let attached = intake.attach(buffers.link().index, options.xdp);
    let attached = attached.map_err(refused)?;
    Ok(Ok(Attached {
        sources: buffers.into_sources(),
        gate: Gate::Taken(Some(attached), intake),
        exact: None,
        place: selection.place(),
        fall_back: None,
    }))
}

/// Why, if the kernel refused what AF_XDP does not ask for: a tracepoint, and new helpers.
fn fall_back(error: &RedirectError) -> Option<FallBack> {
    use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};
    let source = match error {
        RedirectError::Map(error) => &error.source,
        RedirectError::Load(bpf::LoadError::Refused { source, .. }) => source,
        _ => return None,
    };
    match source.kind() {
        PermissionDenied => Some(FallBack::Privilege),
        InvalidInput | NotFound => Some(FallBack::Kernel),
        _ => None,
    }
}

fn load(selection: &Selection, options: &Options) -> Result<Intake, RedirectError> {
    selection.load(RedirectError::Map, |select| {
        Intake::load(&IntakeOptions {
            buffer_bytes: options.buffer_bytes,
            select,
            sampling: options.sampling,
            others: options.others,
            ..IntakeOptions::new(options.snaplen)
        })
    })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::wanted::Wanted;
    use super::*;

    #[test]
    fn a_driver_without_napi_is_left_to_sockets() {
        let selection = Selection::of("tap0", &Wanted::Everything).unwrap();
        let opened = open("tap0", Some("tun"), &selection, &Options::default()).unwrap();
        assert_eq!(opened.err(), Some(FallBack::Driver));
    }
}
