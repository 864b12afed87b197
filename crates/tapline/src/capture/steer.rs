//! Opening an interface in drop mode: its sockets, and the program that sends packets to them.

use std::os::fd::AsFd;

use abi::clock::monotonic_ns;
use bpf::{FilterMaps, Insn, Intake, Mirror, Redirect, RedirectError, RedirectOptions};
use filter::ebpf::{Fragment, prologue};
use filter::{At, Filter};
use ring::{TimestampSource, XdpOpenError, XdpOptions, XdpRing, XdpStep};
use rustix::event::{Timespec, poll};
use rustix::io::Errno;

use super::attach::Attached;
use super::error::CaptureError;
use super::filter::FilterPlace;
use super::gate::Gate;
use super::options::Options;
use super::source::Source;
use super::wanted::Wanted;

/// Name of the maps with a filter's sets.
pub(super) const SETS: &str = "tapline_filter";

/// How long a queue may be taken by a socket that is being closed. It was measured to take some
/// milliseconds, and longer with much packet memory.
const FREED_NS: u64 = 500_000_000;

/// Time between two tries to have a queue.
const TRY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// Opens a ring for every queue of `link`, and attaches the program last, when all is ready.
pub(super) fn open(
    link: &str,
    wanted: &Wanted,
    options: &Options,
) -> Result<Attached, CaptureError> {
    let steer = |error| CaptureError::Steer {
        link: link.to_owned(),
        error: Box::new(error),
    };
    let rings = rings(link, options)?;
    let filter = match wanted {
        Wanted::Everything | Wanted::Program(_) => None,
        Wanted::Filter(link_type, _) if rings[0].link().link_type != *link_type => {
            let link = link.to_owned();
            return Err(CaptureError::LinkReplaced { link });
        }
        Wanted::Filter(_, filter) => Some(&**filter),
    };
    let code = filter.map(|filter| fragment(link, filter)).transpose()?;
    let redirect = load(&rings, code.as_ref(), options).map_err(steer)?;
    for ring in &rings {
        let inserted = redirect.insert(ring.queue(), ring.as_fd());
        inserted.map_err(steer)?;
    }
    let attached = redirect.attach(rings[0].link().index, options.xdp);
    let attached = attached.map_err(steer)?;
    Ok(Attached {
        sources: rings
            .into_iter()
            .map(|ring| Source::Xdp(Box::new(ring)))
            .collect(),
        gate: Gate::Steered(redirect, Some(attached)),
        exact: None,
        line: None,
        place: filter.map(|_| FilterPlace::Kernel),
    })
}

/// A ring for each queue; the memory is shared out among them.
fn rings(link: &str, options: &Options) -> Result<Vec<XdpRing>, XdpOpenError> {
    let queues = XdpRing::queue_count(link)?.max(1);
    let of = |queue| XdpOptions {
        queue,
        promiscuous: options.promiscuous,
        snaplen: options.snaplen,
        buffer_bytes: options.buffer_bytes / queues as usize,
        ..XdpOptions::default()
    };
    let until_ns = monotonic_ns().saturating_add(FREED_NS);
    (0..queues)
        .map(|queue| open_freed(link, &of(queue), until_ns))
        .collect()
}

/// The kernel frees a queue a little after its socket was closed and has no event for that, so it is
/// asked again until `until_ns`.
fn open_freed(link: &str, options: &XdpOptions, until_ns: u64) -> Result<XdpRing, XdpOpenError> {
    loop {
        match XdpRing::open(link, options) {
            Err(error) if is_taken(&error) && monotonic_ns() < until_ns => {
                // A signal makes the pause shorter, nothing else can happen to it.
                let _ = poll(&mut [], Some(&TRY));
            }
            answer => return answer,
        }
    }
}

fn is_taken(error: &XdpOpenError) -> bool {
    matches!(error, XdpOpenError::Setup(error) if error.step == XdpStep::Bind
        && Errno::from_io_error(&error.source) == Some(Errno::BUSY))
}

/// The code of a filter for packets of `link`.
pub(super) fn fragment(link: &str, filter: &Filter) -> Result<Fragment, CaptureError> {
    filter.ebpf().map_err(|error| CaptureError::Filter {
        link: link.to_owned(),
        link_type: filter.options().link,
        error,
    })
}

fn load(
    rings: &[XdpRing],
    code: Option<&Fragment>,
    options: &Options,
) -> Result<Redirect, RedirectError> {
    let maps = code.map(|code| FilterMaps::create(SETS, code)).transpose();
    let maps = maps.map_err(RedirectError::Map)?;
    let select = match (code, &maps) {
        (Some(code), Some(maps)) => select(code, maps),
        _ => Vec::new(),
    };
    Redirect::load(&RedirectOptions {
        multi_buffer: rings.iter().all(XdpRing::takes_multi_buffer),
        stamp: options.timestamps != TimestampSource::Reader,
        select: &select,
        sampling: options.sampling,
        others: options.others,
        ..RedirectOptions::new(rings.len() as u32)
    })
}

/// The filter in front of a program: what it accepts is taken.
pub(super) fn select<'m>(code: &Fragment, maps: &'m FilterMaps) -> Vec<Insn<'m>> {
    const _: () = assert!(Fragment::ACCEPT.0 == Redirect::TAKE.0);
    const _: () = assert!(Fragment::REJECT.0 == Redirect::OTHERS.0);
    const _: () = assert!(Fragment::ACCEPT.0 == Mirror::TAKE.0);
    const _: () = assert!(Fragment::REJECT.0 == Mirror::OTHERS.0);
    const _: () = assert!(Fragment::ACCEPT.0 == Intake::TAKE.0);
    const _: () = assert!(Fragment::REJECT.0 == Intake::OTHERS.0);
    // At XDP a prologue needs no labels.
    let mut select = prologue(At::Xdp, code.direct_bytes, [Redirect::TAKE; 2]);
    let resolved = maps.resolve(&code.code);
    select.extend(resolved.expect("the maps are those of this code"));
    select
}
