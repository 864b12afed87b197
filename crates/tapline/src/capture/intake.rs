//! Opening an interface in drop mode for short packets: memory that a program fills.

use std::io;

use bpf::{FilterMaps, Intake, IntakeOptions, RedirectError};
use filter::ebpf::Fragment;
use ring::{BufferOptions, RingBuffer, TimestampSource};

use super::attach::Attached;
use super::error::CaptureError;
use super::filter::FilterPlace;
use super::gate::Gate;
use super::mode::SHORT_SNAPLEN;
use super::options::Options;
use super::source::Source;
use super::steer::{SETS, fragment, select};
use super::wanted::Wanted;

/// Opens the memory of every CPU, and attaches the program last, when all is ready; `None` where it does
/// not suit `options`, or this process may not.
pub(super) fn open(
    link: &str,
    wanted: &Wanted,
    options: &Options,
) -> Result<Option<Attached>, CaptureError> {
    let suits = Intake::SUPPORTED
        && options.backend.is_none()
        && options.snaplen <= SHORT_SNAPLEN
        && options.timestamps != TimestampSource::Reader;
    if !suits {
        return Ok(None);
    }
    let filter = match wanted {
        Wanted::Everything | Wanted::Program(_) => None,
        Wanted::Filter(link_type, filter) => Some((*link_type, &**filter)),
    };
    let code = filter
        .map(|(_, filter)| fragment(link, filter))
        .transpose()?;
    let refused = |error| CaptureError::Steer {
        link: link.to_owned(),
        error: Box::new(error),
    };
    let intake = match load(code.as_ref(), options) {
        Err(error) if needs_more(&error) => return Ok(None),
        answer => answer.map_err(refused)?,
    };
    let buffer_options = BufferOptions {
        promiscuous: options.promiscuous,
        snaplen: options.snaplen,
    };
    let buffers: Result<Vec<RingBuffer>, _> = (intake.places())
        .map(|place| RingBuffer::open_slots(link, &place, &buffer_options))
        .collect();
    let buffers = buffers?;
    let opened = buffers[0].link();
    if filter.is_some_and(|(link_type, _)| opened.link_type != link_type) {
        let link = link.to_owned();
        return Err(CaptureError::LinkReplaced { link });
    }
    let attached = intake.attach(opened.index, options.xdp).map_err(refused)?;
    let source = |buffer| Source::Buffer(Box::new(buffer));
    Ok(Some(Attached {
        sources: buffers.into_iter().map(source).collect(),
        gate: Gate::Taken(Some(attached), intake),
        exact: None,
        line: None,
        place: filter.map(|_| FilterPlace::Kernel),
    }))
}

/// Whether the kernel refused what AF_XDP does not ask for: a tracepoint, and new helpers.
fn needs_more(error: &RedirectError) -> bool {
    use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};
    let source = match error {
        RedirectError::Map(error) => &error.source,
        RedirectError::Load(bpf::LoadError::Refused { source, .. }) => source,
        _ => return false,
    };
    matches!(source.kind(), InvalidInput | NotFound | PermissionDenied)
}

fn load(code: Option<&Fragment>, options: &Options) -> Result<Intake, RedirectError> {
    let maps = code.map(|code| FilterMaps::create(SETS, code)).transpose();
    let maps = maps.map_err(RedirectError::Map)?;
    let select = match (code, &maps) {
        (Some(code), Some(maps)) => select(code, maps),
        _ => Vec::new(),
    };
    Intake::load(&IntakeOptions {
        buffer_bytes: options.buffer_bytes,
        select: &select,
        sampling: options.sampling,
        others: options.others,
        ..IntakeOptions::new(options.snaplen)
    })
}
