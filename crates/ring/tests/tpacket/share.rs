//! Rings that share an interface and are replaced together, compared with the frames sent.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{
    BACKENDS, BROADCAST, bytes_of, collect, frame, options, read, send, until_accepted,
};
use lab::generator::{pin_to_cpu, send_frames};
use lab::{Host, Net};
use tapline_ring::{
    DeliveryMode, DirectionFilter, FanoutMode, PacketRing, PreparedShare, RingOpenError,
    RingOptions, RingShare, SetupStep, ShareOptions, TpacketVersion,
};

const FRAME_BYTES: usize = 100;
/// Position of the sequence number in a frame.
const NUMBER: std::ops::Range<usize> = 20..28;

fn open(
    host: &Host,
    rings: usize,
    mode: FanoutMode,
    options: &RingOptions,
) -> (RingShare, Vec<PacketRing>) {
    let name = host.interface().name.to_string();
    let share = ShareOptions {
        rings,
        mode,
        direction: options.direction,
    };
    let opened = host.run(|| {
        let share = RingShare::open(&name, share)?;
        let rings: Result<Vec<_>, _> = (0..rings).map(|n| share.open_ring(n, options)).collect();
        Ok((share, rings?))
    });
    opened.unwrap_or_else(|error: RingOpenError| panic!("{error}: {error:?}"))
}

fn prepare_all(
    host: &Host,
    share: &RingShare,
    rings: usize,
    options: &RingOptions,
) -> Result<Vec<PreparedShare>, RingOpenError> {
    host.run(|| (0..rings).map(|n| share.prepare(n, options)).collect())
}

fn take_over_all(
    host: &Host,
    share: &RingShare,
    rings: usize,
    options: &RingOptions,
) -> Result<Vec<PacketRing>, RingOpenError> {
    let prepared = prepare_all(host, share, rings, options)?;
    prepared.into_iter().map(PreparedShare::take_over).collect()
}

fn drain(ring: &mut PacketRing, mut take: impl FnMut(&[u8])) {
    while !ring.is_at_end().unwrap() {
        read(ring, |batch| {
            batch.packets().for_each(|packet| take(packet.bytes));
            true
        });
    }
}

/// Replaces all rings while they are read.
fn replace(
    host: &Host,
    share: &RingShare,
    rings: &mut [PacketRing],
    options: &RingOptions,
    mut take: impl FnMut(&[u8]),
) {
    let count = rings.len();
    let next = thread::scope(|scope| {
        let next = scope.spawn(|| take_over_all(host, share, count, options));
        while !next.is_finished() {
            thread::yield_now();
            for ring in &mut *rings {
                while let Some(mut batch) = ring.next_batch() {
                    batch.packets().for_each(|packet| take(packet.bytes));
                }
            }
        }
        next.join().unwrap()
    });
    let next = next.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    assert!(!share.free_dropped());
    for (ring, next) in rings.iter_mut().zip(next) {
        drain(ring, &mut take);
        let before = std::mem::replace(ring, next);
        ring.follow(before);
    }
    // Sometimes the next rings do it.
    if options.snaplen.is_multiple_of(2) {
        assert!(host.run(|| share.free_dropped()));
    }
}

/// Sets a flag when dropped, also on panic.
struct SetAtEnd<'f>(&'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends frames that have the numbers `cpu`, `cpu` + 2, ... from CPU `cpu` until it is enough. Returns how many.
fn send_numbers(host: &Host, cpu: usize, is_enough: &AtomicBool) -> u64 {
    host.run(|| {
        pin_to_cpu(cpu).unwrap();
        let numbers = (cpu as u64..).step_by(2);
        let frames = numbers.take_while(|_| !is_enough.load(Ordering::Relaxed));
        let frames = frames.map(|number| {
            let mut frame = frame(BROADCAST, FRAME_BYTES);
            frame[NUMBER].copy_from_slice(&number.to_be_bytes());
            frame
        });
        send_frames(host.interface().index, frames).unwrap()
    })
}

#[test]
fn replaced_rings_lend_their_last_blocks_before_the_timers_of_the_blocks_expire() {
    const FRAMES: u64 = 20;
    let [left, right] = Net::new().pair();
    let patient = RingOptions {
        delivery: DeliveryMode::Batch {
            min_bytes: 64 << 10,
            timeout: Duration::from_mins(1),
        },
        ..options(TpacketVersion::V3)
    };
    let (share, mut rings) = open(&right, 2, FanoutMode::Random, &patient);
    let frames = vec![frame(BROADCAST, FRAME_BYTES); FRAMES as usize];
    send(&left, &frames);
    until_accepted(&mut rings, FRAMES);
    assert!(rings.iter_mut().all(|ring| ring.next_batch().is_none()));
    let next = take_over_all(&right, &share, 2, &patient).unwrap();
    let mut packets = 0;
    for ring in &mut rings {
        packets += ring.next_batch().map_or(0, |batch| batch.len());
        assert!(ring.is_at_end().unwrap());
    }
    assert_eq!(packets as u64, FRAMES);
    drop(next);
}

#[test]
fn each_frame_comes_once_however_often_all_rings_are_replaced() {
    const TIMES: usize = 50;
    const RINGS: usize = 3;
    let [left, right] = Net::new().pair();
    let of = |version, buffer_bytes, snaplen| RingOptions {
        snaplen,
        buffer_bytes,
        delivery: DeliveryMode::Batch {
            min_bytes: 64 << 10,
            timeout: Duration::from_millis(2),
        },
        ..options(version)
    };
    let geometries = [
        of(TpacketVersion::V3, 32 << 20, 100),
        of(TpacketVersion::V2, 32 << 20, 100),
        of(TpacketVersion::V3, 40 << 20, 99),
    ];
    let (share, mut rings) = open(&right, RINGS, FanoutMode::Random, &geometries[0]);
    let (mut seen, is_enough) = (Vec::new(), AtomicBool::new(false));
    let mut take = |bytes: &[u8]| seen.push(u64::from_be_bytes(bytes[NUMBER].try_into().unwrap()));
    let sent: u64 = thread::scope(|scope| {
        let end = SetAtEnd(&is_enough);
        let senders = [0, 1].map(|cpu| {
            let (left, is_enough) = (&left, &is_enough);
            scope.spawn(move || send_numbers(left, cpu, is_enough))
        });
        for options in geometries.iter().cycle().skip(1).take(TIMES) {
            replace(&right, &share, &mut rings, options, &mut take);
        }
        drop(end);
        senders.map(|sender| sender.join().unwrap()).iter().sum()
    });
    for ring in &mut rings {
        ring.stop().unwrap();
        drain(ring, &mut take);
        assert_eq!(ring.counters().dropped, 0);
        assert!(ring.counters().delivered > sent / 6, "{sent} {ring:?}");
    }
    let delivered: u64 = rings.iter().map(|ring| ring.counters().delivered).sum();
    assert_eq!(delivered, sent);
    assert_eq!(seen.len() as u64, sent);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len() as u64, sent);
    assert!(sent > 10 * TIMES as u64, "{sent}");
}

/// A frame of IPv4 or IPv6 between two hosts, both ways.
fn flow(is_ipv6: bool, tags: &[u16], transport: u8, port: u16) -> [Vec<u8>; 2] {
    [[(1, port), (2, 53)], [(2, 53), (1, port)]].map(|ends| {
        let mut frame = [BROADCAST, [2, 0, 0, 0, 9, 9]].concat();
        for tag in tags {
            frame.extend(tag.to_be_bytes());
            frame.extend([0, 5]);
        }
        if is_ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, transport, 64]);
            for (host, _) in ends {
                frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
            }
        } else {
            // An option of four bytes comes before the ports.
            frame.extend([0x08, 0x00, 0x46, 0, 0, 32, 0, 0, 0, 0, 64, transport, 0, 0]);
            for (host, _) in ends {
                frame.extend([10, 0, 0, host]);
            }
            frame.extend([1, 1, 1, 0]);
        }
        for (_, port) in ends {
            frame.extend(port.to_be_bytes());
        }
        frame.extend([0; 4]);
        frame
    })
}

/// The ring that got each frame; all get one after another.
fn rings_of(rings: &mut [PacketRing], frames: usize) -> BTreeMap<Vec<u8>, Vec<usize>> {
    let mut seen: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    until_accepted(rings, frames as u64);
    for (number, ring) in rings.iter_mut().enumerate() {
        drain(ring, |bytes| {
            seen.entry(bytes.to_vec()).or_default().push(number);
        });
    }
    seen
}

#[test]
fn both_directions_of_a_flow_are_in_one_ring_and_flows_in_all() {
    const RINGS: usize = 4;
    const PORTS: u16 = 64;
    for (is_ipv6, tags, transport) in [
        (false, &[][..], 17),
        (false, &[0x8100], 6),
        (false, &[0x88a8, 0x8100], 132),
        (true, &[], 6),
        (true, &[0x88a8, 0x8100], 17),
    ] {
        let [left, right] = Net::new().pair();
        let options = RingOptions {
            direction: DirectionFilter::Both,
            ..options(TpacketVersion::V2)
        };
        let (_share, mut rings) = open(&right, RINGS, FanoutMode::Hash, &options);
        let mut shares = [0; RINGS];
        for port in 0..PORTS {
            let [there, back] = flow(is_ipv6, tags, transport, 1000 + port);
            send(&left, &[there.clone(), back.clone()]);
            send(&right, std::slice::from_ref(&there));
            let seen = rings_of(&mut rings, 3 * (usize::from(port) + 1));
            let all: Vec<usize> = seen.values().flatten().copied().collect();
            assert_eq!(all.len(), 3);
            assert!(all.iter().all(|&one| one == all[0]), "{seen:?}");
            shares[all[0]] += 1;
        }
        assert!(shares.iter().all(|&share| share > 4), "{shares:?} {tags:?}");
    }
}

/// A load beyond the end of a packet would end the program with a member that gets none.
#[test]
fn a_packet_that_is_cut_short_is_in_a_ring_too() {
    let [left, right] = Net::new().pair();
    let options = options(TpacketVersion::V2);
    let (share, rings) = open(&right, 2, FanoutMode::Hash, &options);
    let mut next = take_over_all(&right, &share, 2, &options).unwrap();
    drop(rings);
    let mut frames = Vec::new();
    for is_ipv6 in [false, true] {
        for tags in [&[][..], &[0x88a8, 0x8100]] {
            let [whole, _] = flow(is_ipv6, tags, 17, 7);
            // The kernel drops a tagged packet of fewer than six bytes (`skb_vlan_untag`, net/core/skbuff.c).
            let least = if tags.is_empty() { 14 } else { 20 };
            frames.extend((least..=whole.len()).map(|bytes| whole[..bytes].to_vec()));
        }
    }
    // A header longer than the packet, and a fragment.
    for (position, byte) in [(14, 0x4f), (20, 0x20)] {
        let [mut frame, _] = flow(false, &[], 17, 7);
        frame[position] = byte;
        frames.push(frame);
    }
    send(&left, &frames);
    let seen = rings_of(&mut next, frames.len());
    let count: usize = seen.values().map(Vec::len).sum();
    assert_eq!(count, frames.len());
    let accepted: u64 = next.iter().map(|ring| ring.counters().accepted).sum();
    assert_eq!(accepted, frames.len() as u64);
}

#[test]
fn a_direction_holds_in_a_share_too() {
    for version in BACKENDS {
        for direction in [
            DirectionFilter::In,
            DirectionFilter::Out,
            DirectionFilter::Both,
        ] {
            let [left, right] = Net::new().pair();
            let options = RingOptions {
                direction,
                ..options(version)
            };
            // The interface has one queue, whose packets are those of the first ring.
            let (share, mut rings) = open(&left, 2, FanoutMode::Queue, &options);
            let [sent, answered] = [90, 91].map(|bytes| frame(BROADCAST, bytes));
            let expected = match direction {
                DirectionFilter::In => vec![answered.clone()],
                DirectionFilter::Out => vec![sent.clone()],
                DirectionFilter::Both => vec![sent.clone(), answered.clone()],
            };
            for _ in 0..3 {
                send(&left, std::slice::from_ref(&sent));
                send(&right, std::slice::from_ref(&answered));
                let mut seen = bytes_of(collect(&mut rings[0], expected.len()));
                seen.sort_by_key(Vec::len);
                assert_eq!(seen, expected, "{version:?} {direction:?}");
                replace(&left, &share, &mut rings, &options, |_| {
                    panic!("nothing is left")
                });
            }
        }
    }
}

/// Sockets of the interface, as the kernel lists them.
fn sockets(host: &Host) -> usize {
    let list = host.run(|| std::fs::read_to_string("/proc/thread-self/net/packet"));
    let list = list.expect("the kernel's list of packet sockets");
    // sk RefCnt Type Proto Iface R Rmem User Inode
    let index = host.interface().index.0.to_string();
    let rows = list.lines().map(|line| line.split_whitespace().nth(4));
    rows.filter(|iface| *iface == Some(&index)).count()
}

/// Packet sockets with the memory of a ring, as ss(8) lists them.
fn rings_of_kernel(host: &Host) -> usize {
    host.output_of("ss -0 -e").matches("ring_rx(").count()
}

/// Of a ring that cannot be freed, e.g. for want of descriptors. Here the thread is in another network namespace.
#[test]
fn a_ring_that_cannot_be_freed_is_freed_later() {
    const RINGS: usize = 2;
    let [_left, right] = Net::new().pair();
    let elsewhere = Net::new();
    let [other, _peer] = elsewhere.pair();
    let options = options(TpacketVersion::V2);
    let (share, rings) = open(&right, RINGS, FanoutMode::Queue, &options);
    let next = take_over_all(&right, &share, RINGS, &options).unwrap();
    drop(rings);
    for _ in 0..3 {
        assert_eq!(rings_of_kernel(&right), 2 * RINGS);
        assert!(!other.run(|| share.free_dropped()));
    }
    assert!(right.run(|| share.free_dropped()));
    assert_eq!(rings_of_kernel(&right), RINGS);
    // It is not tried for ever.
    let _last = take_over_all(&right, &share, RINGS, &options).unwrap();
    drop(next);
    let tries = (0..1000).take_while(|_| !other.run(|| share.free_dropped()));
    assert!((1..1000).contains(&tries.count()));
    assert_eq!(rings_of_kernel(&right), 2 * RINGS);
}

#[test]
fn more_rings_than_can_be_replaced_are_refused_before_they_cost_a_socket() {
    let [_left, right] = Net::new().pair();
    let options = RingOptions {
        buffer_bytes: 64 << 10,
        ..options(TpacketVersion::V2)
    };
    let (share, _rings) = open(&right, 128, FanoutMode::Hash, &options);
    let before = sockets(&right);
    match right.run(|| share.prepare(0, &options).map(drop)) {
        Err(RingOpenError::Setup(error)) => {
            assert_eq!(error.step, SetupStep::Fanout);
            assert_eq!(error.source.raw_os_error(), Some(libc::ENOSPC));
        }
        answer => panic!("{answer:?}"),
    }
    assert_eq!(sockets(&right), before);
}

#[test]
fn nothing_changes_unless_all_rings_are_prepared_and_the_rings_before_are_gone() {
    let [left, right] = Net::new().pair();
    let options = options(TpacketVersion::V2);
    let (share, mut rings) = open(&right, 2, FanoutMode::Queue, &options);
    let frames = [60, 61, 62].map(|bytes| frame(BROADCAST, bytes));
    let one = right.run(|| share.prepare(0, &options)).unwrap();
    match one.take_over() {
        Err(RingOpenError::Setup(error)) => assert_eq!(error.step, SetupStep::Fanout),
        other => panic!("{other:?}"),
    }
    send(&left, &frames[..1]);
    assert_eq!(bytes_of(collect(&mut rings[0], 1)), frames[..1]);
    drop(prepare_all(&right, &share, 2, &options).unwrap());
    send(&left, &frames[1..2]);
    assert_eq!(bytes_of(collect(&mut rings[0], 1)), frames[1..2]);
    let mut next = take_over_all(&right, &share, 2, &options).unwrap();
    match right.run(|| share.prepare(1, &options)) {
        Err(RingOpenError::Busy { .. }) => {}
        other => panic!("{other:?}"),
    }
    drop(rings);
    send(&left, &frames[2..]);
    assert_eq!(bytes_of(collect(&mut next[0], 1)), frames[2..]);
    let elsewhere = Net::new();
    let [other, _peer] = elsewhere.pair();
    match other.run(|| share.prepare(0, &options).map(drop)) {
        Err(RingOpenError::Setup(error)) => assert_eq!(error.step, SetupStep::Interface),
        answer => panic!("{answer:?}"),
    }
}
