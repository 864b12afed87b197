//! Helpers for this crate's tests: rings on test hosts, frames, and received packets.

pub mod ring_buffers;
pub mod slot_rings;
pub mod tun;
pub mod xdp_reader;
pub mod xsk_rings;

use std::fmt::Debug;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use lab::Host;
use lab::generator::{pin_to_cpu, send_frames};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline_ring::{
    Batch, DeliveryMode, PacketRing, RingCounters, RingOptions, RingPacket, TimestampSource,
    TpacketVersion, XdpRing,
};
use wire::metadata::{Checksum, Direction, Reception};

pub const BACKENDS: [TpacketVersion; 2] = [TpacketVersion::V2, TpacketVersion::V3];

/// Time limit for any step of a test.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// An EtherType for local experiments (IEEE 802), which no stack processes.
pub const PRIVATE: [u8; 2] = [0x88, 0xb5];

pub const BROADCAST: [u8; 6] = [0xff; 6];
pub const GROUP: [u8; 6] = [0x01, 0x00, 0x5e, 0x00, 0x00, 0x05];
pub const STRANGER: [u8; 6] = [2, 0, 0, 0, 9, 9];

/// Common interface of all ring types.
pub trait Ring: AsFd + Debug {
    fn next_batch(&mut self) -> Option<Batch<'_>>;
    fn refresh(&mut self) -> io::Result<()>;
    fn counters(&self) -> &RingCounters;
}

macro_rules! ring {
    ($kind:ty) => {
        impl Ring for $kind {
            fn next_batch(&mut self) -> Option<Batch<'_>> {
                <$kind>::next_batch(self)
            }
            fn refresh(&mut self) -> io::Result<()> {
                <$kind>::refresh(self)
            }
            fn counters(&self) -> &RingCounters {
                <$kind>::counters(self)
            }
        }
    };
}
ring!(PacketRing);
ring!(XdpRing);

/// A ring with room for 256 packets at any rate. V3 delivers a block with at least one packet once a millisecond.
pub fn options(version: TpacketVersion) -> RingOptions {
    RingOptions {
        version: Some(version),
        snaplen: 1800,
        buffer_bytes: 1 << 20,
        delivery: DeliveryMode::Batch {
            min_bytes: 4096,
            timeout: Duration::from_millis(1),
        },
        ..RingOptions::default()
    }
}

#[track_caller]
pub fn set_mtu(hosts: &[Host], mtu: u32) {
    for host in hosts {
        host.ip(&format!("link set {} mtu {mtu}", host.interface().name));
    }
}

/// Opens a ring on the host's first interface.
#[track_caller]
pub fn open(host: &Host, options: &RingOptions) -> PacketRing {
    open_on(host, &host.interface().name.to_string(), options)
}

#[track_caller]
pub fn open_on(host: &Host, link: &str, options: &RingOptions) -> PacketRing {
    let ring = host.run(|| PacketRing::open(link, options));
    ring.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// An Ethernet frame of `bytes` bytes to `destination`. Each payload byte encodes its position.
pub fn frame(destination: [u8; 6], bytes: usize) -> Vec<u8> {
    let header = [&destination[..], &[2, 0, 0, 0, 0, 7], &PRIVATE].concat();
    let payload = (header.len()..bytes).map(|place| (place % 251) as u8);
    header.iter().copied().chain(payload).collect()
}

/// A frame of `bytes` bytes with `tags` inserted.
pub fn tagged(tags: &[[u16; 2]], bytes: usize) -> Vec<u8> {
    let plain = frame(BROADCAST, bytes - 4 * tags.len());
    let tags = tags
        .as_flattened()
        .iter()
        .flat_map(|word| word.to_be_bytes());
    let (addresses, rest) = plain.split_at(12);
    addresses
        .iter()
        .copied()
        .chain(tags)
        .chain(rest.iter().copied())
        .collect()
}

pub const VLAN: u16 = 0x8100;
const SERVICE: u16 = 0x88a8;

/// Tag combinations: none, 802.1Q with all bits of its fields in use, 802.1ad, the lowest and the highest VLAN, an
/// all-zero priority tag, two tags of one kind, of both kinds, and three.
pub fn tags() -> Vec<Vec<[u16; 2]>> {
    vec![
        vec![],
        vec![[VLAN, 0xffff]],
        vec![[SERVICE, 7]],
        vec![[VLAN, 1]],
        vec![[VLAN, 0x0fff]],
        vec![[VLAN, 0xe000]],
        vec![[VLAN, 0x0000]],
        vec![[SERVICE, 0x0000]],
        vec![[VLAN, 7], [VLAN, 8]],
        vec![[SERVICE, 7], [VLAN, 8]],
        vec![[VLAN, 0], [SERVICE, 0]],
        vec![[SERVICE, 7], [SERVICE, 8], [VLAN, 9]],
    ]
}

/// Frames with each combination of tags, short and long.
pub fn tagged_frames() -> Vec<Vec<u8>> {
    let lengths = [64, 100, 1514];
    let of = |tags: Vec<[u16; 2]>| lengths.map(|bytes| tagged(&tags, bytes));
    tags().into_iter().flat_map(of).collect()
}

/// The last frame of a test; [`until_end`] stops at it.
pub fn end_frame() -> Vec<u8> {
    let mut end = frame(BROADCAST, 60);
    end[14..].fill(0xee);
    end
}

/// Sends `frames` in order through the host's first interface, from one CPU: another CPU would use another queue.
#[track_caller]
pub fn send<F: AsRef<[u8]> + Send + Sync>(host: &Host, frames: &[F]) {
    let sent = host.run(|| {
        pin_to_cpu(0).unwrap();
        send_frames(host.interface().index, frames).unwrap()
    });
    assert_eq!(sent, frames.len() as u64);
}

/// Sends `frames`, then the [`end_frame`].
#[track_caller]
pub fn send_and_end(host: &Host, frames: &[Vec<u8>]) {
    send(host, &[frames, &[end_frame()]].concat());
}

/// A packet that outlives its batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub bytes: Vec<u8>,
    pub original_len: u32,
    pub timestamp_ns: u64,
    pub timestamp_source: TimestampSource,
    pub direction: Direction,
    pub reception: Option<Reception>,
    pub checksum: Checksum,
    pub link: u32,
}

impl From<RingPacket<'_>> for Seen {
    fn from(packet: RingPacket<'_>) -> Self {
        Self {
            bytes: packet.bytes.to_vec(),
            original_len: packet.original_len,
            timestamp_ns: packet.timestamp_ns,
            timestamp_source: packet.timestamp_source,
            direction: packet.direction,
            reception: packet.reception,
            checksum: packet.checksum,
            link: packet.link,
        }
    }
}

/// Waits until the ring is readable.
#[track_caller]
pub fn wait(ring: &impl Ring) {
    assert!(poll_until(ring, Instant::now() + DEADLINE), "no work came");
}

/// Waits until the ring polls readable or failed; returns `false` after the time limit.
#[track_caller]
fn poll_until(ring: &impl Ring, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).unwrap();
    let mut descriptors = [PollFd::from_borrowed_fd(ring.as_fd(), PollFlags::IN)];
    poll(&mut descriptors, Some(&timeout)).unwrap() == 1
}

/// Passes every batch to `take` until it returns that it is done.
#[track_caller]
pub fn read(ring: &mut impl Ring, mut take: impl FnMut(&mut Batch<'_>) -> bool) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        while let Some(mut batch) = ring.next_batch() {
            if take(&mut batch) {
                return;
            }
        }
        if !poll_until(ring, deadline) {
            ring.refresh().unwrap();
            panic!("not all came: {ring:?}");
        }
    }
}

/// Receives the next `count` packets.
#[track_caller]
pub fn collect(ring: &mut impl Ring, count: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    read(ring, |batch| {
        seen.extend(batch.packets().map(Seen::from));
        seen.len() >= count
    });
    assert_eq!(seen.len(), count);
    seen
}

/// Receives the packets before the [`end_frame`]. The snap length must exceed that frame's 60 bytes.
#[track_caller]
pub fn until_end(ring: &mut impl Ring) -> Vec<Seen> {
    let end = end_frame();
    let mut seen: Vec<Seen> = Vec::new();
    read(ring, |batch| {
        seen.extend(batch.packets().map(Seen::from));
        seen.last().is_some_and(|last| last.bytes == end)
    });
    seen.pop();
    seen
}

/// Checks that the packets are these frames, truncated to `snaplen` bytes.
#[track_caller]
pub fn assert_cut(seen: &[Seen], frames: &[Vec<u8>], snaplen: usize) {
    assert_eq!(seen.len(), frames.len());
    for (packet, frame) in seen.iter().zip(frames) {
        assert_eq!(packet.bytes, frame[..frame.len().min(snaplen)]);
        assert_eq!(packet.original_len as usize, frame.len());
    }
}

pub fn bytes_of(seen: Vec<Seen>) -> Vec<Vec<u8>> {
    seen.into_iter().map(|packet| packet.bytes).collect()
}

/// Waits until the rings have accounted for all `count` packets.
#[track_caller]
pub fn until_accepted(rings: &mut [impl Ring], count: u64) {
    let accepted = lab::wait::until_ok(|| {
        for ring in &mut *rings {
            ring.refresh().unwrap();
        }
        let accepted = rings
            .iter()
            .map(|ring| ring.counters().accepted)
            .sum::<u64>();
        (accepted >= count)
            .then_some(accepted)
            .ok_or_else(|| format!("{accepted} of {count} packets"))
    });
    assert_eq!(accepted, count);
}
