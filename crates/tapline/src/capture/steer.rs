//! Opening an interface in drop mode: its sockets, and the program that sends packets to them.

use std::os::fd::AsFd;

use abi::clock::monotonic_ns;
use bpf::{Redirect, RedirectError, RedirectOptions, XdpHolder};
use netlink::Netlink;
use ring::{TimestampSource, XdpOpenError, XdpOptions, XdpRing, XdpSetupError, XdpStep};
use rustix::event::{Timespec, poll};
use rustix::io::Errno;

use super::attach::Attached;
use super::error::CaptureError;
use super::gate::Gate;
use super::options::Options;
use super::selection::Selection;
use super::source::Source;

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
    selection: &Selection,
    options: &Options,
) -> Result<Attached, CaptureError> {
    let steer = |error| CaptureError::Steer {
        link: link.to_owned(),
        error: Box::new(error),
    };
    let rings = rings(link, options)?;
    selection.check(rings[0].link())?;
    let redirect = load(&rings, selection, options).map_err(steer)?;
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
        place: selection.place(),
        fall_back: None,
    })
}

/// A ring for each queue; the memory is shared out among them.
fn rings(link: &str, options: &Options) -> Result<Vec<XdpRing>, CaptureError> {
    let queues = XdpRing::queue_count(link)?.max(1);
    let of = |queue| XdpOptions {
        queue,
        promiscuous: options.promiscuous,
        snaplen: options.snaplen,
        buffer_bytes: options.buffer_bytes / queues as usize,
        busy_poll: options.busy_poll,
        ..XdpOptions::default()
    };
    let until_ns = monotonic_ns().saturating_add(FREED_NS);
    (0..queues)
        .map(|queue| open_freed(link, &of(queue), until_ns))
        .collect()
}

/// The kernel frees a queue a little after its socket was closed and has no event for that, so it is
/// asked again until `until_ns`. Where a program is at the interface that is no use: it would not make
/// room for another.
fn open_freed(link: &str, options: &XdpOptions, until_ns: u64) -> Result<XdpRing, CaptureError> {
    loop {
        let error = match XdpRing::open(link, options) {
            Err(XdpOpenError::Setup(error)) if is_taken(&error) => error,
            answer => return Ok(answer?),
        };
        if let Some(holder) = holder(link) {
            let holder = Box::new(holder);
            return Err(CaptureError::QueueTaken { holder, error });
        }
        if monotonic_ns() >= until_ns {
            return Err(XdpOpenError::Setup(error).into());
        }
        // A signal makes the pause shorter, nothing else can happen to it.
        let _ = poll(&mut [], Some(&TRY));
    }
}

fn is_taken(error: &XdpSetupError) -> bool {
    error.step == XdpStep::Bind && Errno::from_io_error(&error.source) == Some(Errno::BUSY)
}

/// The XDP program on `link`, if there is one and the kernel tells.
fn holder(link: &str) -> Option<XdpHolder> {
    let link = Netlink::open().ok()?.link_named(link).ok()?;
    XdpHolder::of(link.ifindex().0).ok()?
}

fn load(
    rings: &[XdpRing],
    selection: &Selection,
    options: &Options,
) -> Result<Redirect, RedirectError> {
    selection.load(RedirectError::Map, |select| {
        Redirect::load(&RedirectOptions {
            multi_buffer: rings.iter().all(XdpRing::takes_multi_buffer),
            stamp: options.timestamps != TimestampSource::Reader,
            select,
            sampling: options.sampling,
            others: options.others,
            ..RedirectOptions::new(rings.len() as u32)
        })
    })
}
