//! AF_XDP rings with the program that feeds them.

use std::os::fd::{AsFd, OwnedFd};

use lab::Host;
use lab::bpf::{RxMetadata, XdpAttachMode, XdpCounters, XdpLink, XskProgram, XskProgramOptions};
use tapline_ring::{XdpOpenError, XdpRing, XdpRingOptions};

pub const PLACES: [XdpAttachMode; 2] = [XdpAttachMode::Native, XdpAttachMode::Generic];

/// A program on the host's first interface, and rings for its first queues. The rings keep the program attached.
#[derive(Debug)]
pub struct XskRings {
    pub rings: Vec<XdpRing>,
    pub redirect: XskProgram,
}

/// Options of the rings and the program.
#[derive(Clone, Debug)]
pub struct RingSetup {
    pub place: XdpAttachMode,
    pub rings: u32,
    pub stamp: bool,
    /// What to ask the interface's device; its index is filled in.
    pub metadata: Option<RxMetadata>,
    pub ring: XdpRingOptions,
}

impl RingSetup {
    /// One ring of `chunks` chunks, and a program in mode `place` with time stamps.
    pub fn new(place: XdpAttachMode, chunks: usize) -> Self {
        Self {
            place,
            rings: 1,
            stamp: true,
            metadata: None,
            ring: XdpRingOptions {
                buffer_bytes: chunks * 2048,
                ..XdpRingOptions::default()
            },
        }
    }
}

#[track_caller]
pub fn open(host: &Host, options: &XdpRingOptions) -> XdpRing {
    let link = host.interface().name.to_string();
    let ring = host.run(|| XdpRing::open(&link, options));
    ring.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Opens a ring on a queue that another ring has just released. The kernel frees the queue with a delay.
#[track_caller]
pub fn open_freed(host: &Host, options: &XdpRingOptions) -> XdpRing {
    let link = host.interface().name.to_string();
    lab::wait::until_ok(|| match host.run(|| XdpRing::open(&link, options)) {
        Err(XdpOpenError::Setup(error)) if error.source.raw_os_error() == Some(libc::EBUSY) => {
            Err(error)
        }
        opened => Ok(opened.unwrap_or_else(|error| panic!("{error}: {error:?}"))),
    })
}

#[track_caller]
pub fn attach(host: &Host, redirect: &XskProgram, place: XdpAttachMode) -> XdpLink {
    let link = host.run(|| XdpLink::attach(redirect.program(), host.interface().index.0, place));
    link.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Duplicates the descriptor of `link`.
pub fn duplicate(link: &XdpLink) -> OwnedFd {
    link.as_fd().try_clone_to_owned().unwrap()
}

#[track_caller]
pub fn steer(host: &Host, wanted: &RingSetup) -> XskRings {
    let ring = |queue| XdpRingOptions {
        queue,
        ..wanted.ring.clone()
    };
    let mut rings: Vec<_> = (0..wanted.rings)
        .map(|queue| open_freed(host, &ring(queue)))
        .collect();
    let options = XskProgramOptions {
        multi_buffer: rings.iter().all(XdpRing::takes_multi_buffer),
        stamp: wanted.stamp,
        metadata: wanted.metadata.map(|metadata| RxMetadata {
            ifindex: host.interface().index.0,
            ..metadata
        }),
        ..XskProgramOptions::new(64)
    };
    // A program for one device is loaded in the namespace of the device.
    let redirect = host.run(|| XskProgram::load(&options));
    let redirect = redirect.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    for ring in &rings {
        redirect.insert(ring.queue(), ring.as_fd()).unwrap();
    }
    let link = attach(host, &redirect, wanted.place);
    for ring in &mut rings {
        ring.keep(duplicate(&link));
    }
    XskRings { rings, redirect }
}

impl XskRings {
    pub fn ring(&mut self) -> &mut XdpRing {
        &mut self.rings[0]
    }

    #[track_caller]
    pub fn counters(&self) -> XdpCounters {
        self.redirect.counters().unwrap()
    }
}
