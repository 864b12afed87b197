//! Rings that replace each other while frames arrive, compared with the number of frames sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{
    BACKENDS, BROADCAST, Seen, bytes_of, collect, frame, options, read, send, until_accepted,
};
use lab::generator::{pin_to_cpu, send_frames};
use lab::{Host, Net};
use tapline_ring::{
    DeliveryMode, DirectionFilter, HandoverGroup, PacketRing, PreparedRing, RingOpenError,
    RingOptions, SetupStep, TpacketVersion,
};

const FRAME_BYTES: usize = 100;
/// Position of the sequence number in a frame.
const NUMBER: std::ops::Range<usize> = 20..28;

fn relay(host: &Host, options: &RingOptions) -> (PacketRing, HandoverGroup) {
    let name = host.interface().name.to_string();
    let opened = host.run(|| HandoverGroup::open(&name, options));
    opened.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Sets a flag when dropped, also on panic.
struct SetAtEnd<'f>(&'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Drains `ring` and replaces it by its successor.
fn hand_over(
    host: &Host,
    relay: &mut HandoverGroup,
    ring: &mut PacketRing,
    options: &RingOptions,
    mut take: impl FnMut(&[u8]),
) {
    let next = thread::scope(|scope| {
        let relay = &mut *relay;
        let prepared =
            scope.spawn(|| host.run(|| relay.prepare(options).and_then(PreparedRing::take_over)));
        while !prepared.is_finished() {
            thread::yield_now();
            while let Some(mut batch) = ring.next_batch() {
                batch.packets().for_each(|packet| take(packet.bytes));
            }
        }
        prepared.join().unwrap()
    });
    let next = next.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    assert!(relay.is_busy());
    while !ring.is_at_end().unwrap() {
        read(ring, |batch| {
            batch.packets().for_each(|packet| take(packet.bytes));
            true
        });
    }
    let before = std::mem::replace(ring, next);
    ring.follow(before);
    assert!(!relay.is_busy());
}

/// Rings of both versions with several sizes and block timeouts.
fn geometries() -> Vec<RingOptions> {
    let of = |version, buffer_bytes, timeout_ms| RingOptions {
        snaplen: FRAME_BYTES as u32,
        buffer_bytes,
        delivery: DeliveryMode::Batch {
            min_bytes: 64 << 10,
            timeout: Duration::from_millis(timeout_ms),
        },
        ..options(version)
    };
    vec![
        of(TpacketVersion::V3, 64 << 20, 10),
        of(TpacketVersion::V3, 80 << 20, 2),
        of(TpacketVersion::V2, 64 << 20, 1),
        of(TpacketVersion::V3, 96 << 20, 30),
        of(TpacketVersion::V2, 80 << 20, 1),
    ]
}

#[test]
fn each_frame_comes_once_and_in_order_however_often_rings_take_over() {
    const TIMES: usize = 50;
    let [left, right] = Net::new().pair();
    let geometries = geometries();
    let (mut ring, mut relay) = relay(&right, &geometries[0]);
    let (mut seen, is_enough) = (Vec::new(), AtomicBool::new(false));
    let mut take = |bytes: &[u8]| seen.push(u64::from_be_bytes(bytes[NUMBER].try_into().unwrap()));
    let sent = thread::scope(|scope| {
        let end = SetAtEnd(&is_enough);
        let sender = scope.spawn(|| {
            left.run(|| {
                // Frames of one CPU arrive in order.
                pin_to_cpu(0).unwrap();
                let numbers = (0_u64..).take_while(|_| !is_enough.load(Ordering::Relaxed));
                let frames = numbers.map(|number| {
                    let mut frame = frame(BROADCAST, FRAME_BYTES);
                    frame[NUMBER].copy_from_slice(&number.to_be_bytes());
                    frame
                });
                send_frames(left.interface().index, frames).unwrap()
            })
        });
        let mut times = 0;
        for options in geometries.iter().cycle().skip(1).take(TIMES) {
            // Each has had packets before it is replaced.
            read(&mut ring, |batch| {
                batch.packets().for_each(|packet| take(packet.bytes));
                true
            });
            hand_over(&right, &mut relay, &mut ring, options, &mut take);
            assert_eq!(Some(ring.version()), options.version);
            times += 1;
        }
        assert_eq!(times, TIMES);
        drop(end);
        sender.join().unwrap()
    });
    // A frame is in its ring when it has been sent.
    ring.stop().unwrap();
    while !ring.is_at_end().unwrap() {
        read(&mut ring, |batch| {
            batch.packets().for_each(|packet| take(packet.bytes));
            true
        });
    }
    let account = ring.counters();
    assert_eq!((account.accepted, account.dropped), (sent, 0));
    assert_eq!(account.delivered, sent);
    assert!(seen.iter().copied().eq(0..sent), "{} seen", seen.len());
    assert!(sent > 10 * TIMES as u64, "{sent}");
}

#[test]
fn a_direction_holds_in_a_relay_too() {
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
            let (mut ring, mut relay) = relay(&left, &options);
            let [sent, answered] = [90, 91].map(|bytes| frame(BROADCAST, bytes));
            let expected = match direction {
                DirectionFilter::In => vec![answered.clone()],
                DirectionFilter::Out => vec![sent.clone()],
                DirectionFilter::Both => vec![sent.clone(), answered.clone()],
            };
            for _ in 0..2 {
                send(&left, std::slice::from_ref(&sent));
                send(&right, std::slice::from_ref(&answered));
                let mut seen = bytes_of(collect(&mut ring, expected.len()));
                seen.sort_by_key(Vec::len);
                assert_eq!(seen, expected, "{version:?} {direction:?}");
                hand_over(&left, &mut relay, &mut ring, &options, |_| {
                    panic!("nothing is left")
                });
            }
        }
    }
}

#[test]
fn nothing_changes_while_the_ring_before_is_there_or_a_successor_is_given_up() {
    let [left, right] = Net::new().pair();
    let options = options(TpacketVersion::V3);
    let (mut first, mut relay) = relay(&right, &options);
    let frames = [60, 61, 62, 63].map(|bytes| frame(BROADCAST, bytes));
    right.run(|| drop(relay.prepare(&options).unwrap()));
    send(&left, &frames[..1]);
    assert_eq!(bytes_of(collect(&mut first, 1)), frames[..1]);

    let too_much = RingOptions {
        buffer_bytes: usize::MAX,
        ..RingOptions::default()
    };
    let refused = right.run(|| relay.prepare(&too_much).map(drop));
    assert!(matches!(refused, Err(RingOpenError::Option(_))));
    send(&left, &frames[1..2]);
    assert_eq!(bytes_of(collect(&mut first, 1)), frames[1..2]);

    let next = right.run(|| relay.prepare(&options).and_then(PreparedRing::take_over));
    let mut next = next.unwrap();
    send(&left, &frames[2..3]);
    let refused = right.run(|| relay.prepare(&options).map(drop));
    assert!(matches!(refused, Err(RingOpenError::Busy { .. })));
    assert!(first.is_at_end().unwrap());
    next.follow(first);
    send(&left, &frames[3..]);
    assert_eq!(bytes_of(collect(&mut next, 2)), frames[2..]);
    assert!(next.is_at_end().unwrap());
    assert_eq!(
        (next.counters().accepted, next.counters().waiting()),
        (4, 0)
    );
}

#[test]
fn a_replaced_ring_lends_its_last_block_before_the_timer_of_the_block_expires() {
    let [left, right] = Net::new().pair();
    let patient = || RingOptions {
        delivery: DeliveryMode::Batch {
            min_bytes: 4096,
            timeout: Duration::from_mins(1),
        },
        ..options(TpacketVersion::V3)
    };
    let (mut ring, mut relay) = relay(&right, &patient());
    let frames = [60, 61, 62].map(|bytes| frame(BROADCAST, bytes));
    let successors = [patient(), patient(), options(TpacketVersion::V2)];
    for (number, (frame, options)) in (1..).zip(frames.iter().zip(successors)) {
        send(&left, std::slice::from_ref(frame));
        until_accepted(std::slice::from_mut(&mut ring), number);
        assert!(ring.next_batch().is_none());
        let next = right.run(|| relay.prepare(&options).and_then(PreparedRing::take_over));
        assert_eq!(bytes_of(lent(&mut ring)), std::slice::from_ref(frame));
        assert!(ring.is_at_end().unwrap());
        let before = std::mem::replace(&mut ring, next.unwrap());
        ring.follow(before);
    }
    assert_eq!(ring.counters().delivered, 3);
}

/// The packets that a ring lends without waiting.
fn lent(ring: &mut PacketRing) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(mut batch) = ring.next_batch() {
        seen.extend(batch.packets().map(Seen::from));
    }
    seen
}

/// For example, an interface of the same name on another host.
#[test]
fn a_successor_belongs_to_the_interface_of_the_first_ring() {
    let [_left, right] = Net::new().pair();
    let options = options(TpacketVersion::V2);
    let (_ring, mut relay) = relay(&right, &options);
    let elsewhere = Net::new();
    let [other, _peer] = elsewhere.pair();
    match other.run(|| relay.prepare(&options).map(drop)) {
        Err(RingOpenError::Setup(error)) => assert_eq!(error.step, SetupStep::Interface),
        answer => panic!("{answer:?}"),
    }
}
