//! Rings over AF_XDP with the program that feeds them.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use lab::Host;
use lab::bpf::{Redirect, RedirectCounts, RedirectOptions, XdpLink, XdpPlace};
use tapline_ring::{XdpOpenError, XdpOptions, XdpRing};

use super::DEADLINE;

pub const PLACES: [XdpPlace; 2] = [XdpPlace::Native, XdpPlace::Generic];

/// A program on the host's first interface, and a ring for each of the first queues, which keep it
/// there.
#[derive(Debug)]
pub struct Steered {
    pub rings: Vec<XdpRing>,
    pub redirect: Redirect,
}

/// How the rings and the program are to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub place: XdpPlace,
    pub rings: u32,
    pub stamp: bool,
    pub ring: XdpOptions,
}

impl Wanted {
    /// One ring of `chunks` chunks, and a program in `place` that stamps.
    pub fn new(place: XdpPlace, chunks: usize) -> Self {
        Self {
            place,
            rings: 1,
            stamp: true,
            ring: XdpOptions {
                buffer_bytes: chunks * 2048,
                ..XdpOptions::default()
            },
        }
    }
}

#[track_caller]
pub fn open(host: &Host, options: &XdpOptions) -> XdpRing {
    let link = host.interface().name.to_string();
    let ring = host.run(|| XdpRing::open(&link, options));
    ring.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Opens a ring on a queue that another has just left: the kernel frees it a little later, without
/// an event to wait for, so the processor is offered between two tries.
#[track_caller]
pub fn open_freed(host: &Host, options: &XdpOptions) -> XdpRing {
    let link = host.interface().name.to_string();
    let deadline = Instant::now() + DEADLINE;
    loop {
        match host.run(|| XdpRing::open(&link, options)) {
            Ok(ring) => return ring,
            Err(XdpOpenError::Setup(error))
                if error.source.raw_os_error() == Some(libc::EBUSY)
                    && Instant::now() < deadline => {}
            Err(error) => panic!("{error}: {error:?}"),
        }
        std::thread::yield_now();
    }
}

#[track_caller]
pub fn attach(host: &Host, redirect: &Redirect, place: XdpPlace) -> XdpLink {
    let link = host.run(|| redirect.attach(host.interface().index.0, place));
    link.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// A descriptor of `link` of its own.
pub fn duplicate(link: &XdpLink) -> OwnedFd {
    link.as_fd().try_clone_to_owned().unwrap()
}

#[track_caller]
pub fn steer(host: &Host, wanted: &Wanted) -> Steered {
    let ring = |queue| XdpOptions {
        queue,
        ..wanted.ring.clone()
    };
    let mut rings: Vec<_> = (0..wanted.rings)
        .map(|queue| open_freed(host, &ring(queue)))
        .collect();
    let options = RedirectOptions {
        multi_buffer: rings.iter().all(XdpRing::takes_multi_buffer),
        stamp: wanted.stamp,
        ..RedirectOptions::new(64)
    };
    let redirect = Redirect::load(&options).unwrap_or_else(|error| panic!("{error}: {error:?}"));
    for ring in &rings {
        redirect.insert(ring.queue(), ring.as_fd()).unwrap();
    }
    let link = attach(host, &redirect, wanted.place);
    for ring in &mut rings {
        ring.keep(duplicate(&link));
    }
    Steered { rings, redirect }
}

impl Steered {
    pub fn ring(&mut self) -> &mut XdpRing {
        &mut self.rings[0]
    }

    #[track_caller]
    pub fn counts(&self) -> RedirectCounts {
        self.redirect.counts().unwrap()
    }
}
