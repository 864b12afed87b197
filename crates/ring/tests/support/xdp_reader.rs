//! A reader of the packets that an XDP program passes on, by any of the methods.

use lab::Host;
use lab::bpf::{RingBufferProgramOptions, SlotProgramOptions, XdpAttachMode};
use tapline_ring::RingCounters;

use super::ring_buffers::{RingBuffers, mirror};
use super::slot_rings::{SlotRings, take};
use super::xsk_rings::{RingSetup, XskRings, steer};
use super::{Ring, Seen, collect, read, until_end};

/// A program on the host's first interface, with its reader's ring.
#[derive(Debug)]
pub enum XdpReader {
    Socket(XskRings),
    Buffer(RingBuffers),
    Slots(SlotRings),
}

/// Attaches a program in this mode with this snap length, and opens its reader.
pub type OpenMethod = fn(&Host, XdpAttachMode, u32) -> XdpReader;

/// Methods that deliver whole packets if the snap length permits.
pub const WHOLE_PACKET_METHODS: [OpenMethod; 2] = [socket, buffer];

pub fn socket(host: &Host, place: XdpAttachMode, snaplen: u32) -> XdpReader {
    let mut wanted = RingSetup::new(place, 512);
    wanted.ring.snaplen = snaplen;
    XdpReader::Socket(steer(host, &wanted))
}

pub fn buffer(host: &Host, place: XdpAttachMode, snaplen: u32) -> XdpReader {
    XdpReader::Buffer(mirror(host, place, &RingBufferProgramOptions::new(snaplen)))
}

pub fn slots(host: &Host, place: XdpAttachMode, snaplen: u32) -> XdpReader {
    XdpReader::Slots(take(host, place, &SlotProgramOptions::new(snaplen)))
}

impl XdpReader {
    #[track_caller]
    pub fn collect(&mut self, count: usize) -> Vec<Seen> {
        match self {
            Self::Socket(steered) => collect(steered.ring(), count),
            Self::Buffer(mirrored) => collect(mirrored.first(), count),
            Self::Slots(taken) => collect(taken.first(), count),
        }
    }

    #[track_caller]
    pub fn until_end(&mut self) -> Vec<Seen> {
        match self {
            Self::Socket(steered) => until_end(steered.ring()),
            Self::Buffer(mirrored) => until_end(mirrored.first()),
            Self::Slots(taken) => until_end(taken.first()),
        }
    }

    /// Receives the next `count` packets; iterates each batch partly, then again.
    #[track_caller]
    pub fn collect_twice(&mut self, count: usize) -> Vec<Seen> {
        match self {
            Self::Socket(steered) => collect_twice(steered.ring(), count),
            Self::Buffer(mirrored) => collect_twice(mirrored.first(), count),
            Self::Slots(taken) => collect_twice(taken.first(), count),
        }
    }

    /// Checks that all sent packets were delivered, by the counters of the program and the ring.
    #[track_caller]
    pub fn assert_account(&mut self, sent: u64) {
        let (counts, account): (_, RingCounters) = match self {
            Self::Socket(steered) => {
                steered.ring().refresh().unwrap();
                (steered.counters(), *steered.ring().counters())
            }
            Self::Buffer(mirrored) => {
                mirrored.first().refresh();
                (mirrored.counters(), *mirrored.first().counters())
            }
            Self::Slots(taken) => {
                taken.first().refresh();
                (taken.slot_program.counters(), *taken.first().counters())
            }
        };
        assert_eq!((counts.delivered, counts.lost), (sent, 0));
        assert_eq!((account.accepted, account.delivered), (sent, sent));
        assert_eq!((account.dropped, account.unreadable), (0, 0));
    }
}

#[track_caller]
fn collect_twice(ring: &mut impl Ring, count: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    read(ring, |batch| {
        let half = (batch.len() - 1) / 2;
        assert!(batch.packets().nth(half).is_some());
        let first: Vec<Seen> = batch.packets().map(Seen::from).collect();
        let second: Vec<Seen> = batch.packets().map(Seen::from).collect();
        assert_eq!(first, second);
        seen.extend(second);
        seen.len() == count
    });
    seen
}
