//! Rings that share an interface (fanout), compared with the number of frames that arrived.

use std::time::Duration;

use crate::support::{
    BACKENDS, BROADCAST, bytes_of, collect, frame, open, options, read, send, until_accepted,
};
use lab::generator::{Generator, GeneratorOptions, udp_frame};
use lab::kernel::LIVE_FRAMES;
use lab::skip::without;
use lab::{Host, Net};
use tapline_ring::{
    DeliveryMode, DirectionFilter, Fanout, FanoutMode, PacketRing, RingOpenError, RingOptions,
    SetupStep, TpacketVersion,
};

fn member(version: TpacketVersion, mode: FanoutMode) -> RingOptions {
    RingOptions {
        fanout: Some(Fanout {
            group: Some(7),
            mode,
        }),
        // Room for all that is sent here.
        snaplen: 100,
        buffer_bytes: 8 << 20,
        ..options(version)
    }
}

fn deliver(left: &Host, right: &Host, count: u64) {
    let options = GeneratorOptions::new(left.interface().index, udp_frame(80));
    let mut generator = left.run(|| Generator::new(options));
    right.run(|| generator.attach_peer(right.interface().index));
    assert_eq!(left.run(|| generator.deliver(count, None)).delivered, count);
}

/// Number of packets that the ring accepted.
fn accepted(ring: &mut PacketRing) -> u64 {
    ring.refresh().unwrap();
    assert_eq!(ring.counters().dropped, 0);
    ring.counters().accepted
}

#[test]
fn two_rings_share_every_packet() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for version in BACKENDS {
        for mode in [
            FanoutMode::RoundRobin,
            FanoutMode::Random,
            FanoutMode::Hash,
            FanoutMode::Cpu,
            FanoutMode::Queue,
        ] {
            let [left, right] = Net::new().pair();
            let mut rings = [(); 2].map(|()| open(&right, &member(version, mode)));
            deliver(&left, &right, 10_000);
            until_accepted(&mut rings, 10_000);
            let shares = [0, 1].map(|number| rings[number].counters().accepted);
            match mode {
                FanoutMode::RoundRobin => assert_eq!(shares, [5000, 5000]),
                // All are of one flow, and the interface has one queue.
                FanoutMode::Hash | FanoutMode::Queue => assert!(shares.contains(&0), "{shares:?}"),
                FanoutMode::Random => assert!(shares[0] > 4000 && shares[1] > 4000),
                FanoutMode::Cpu => {}
            }
            for (ring, share) in rings.iter_mut().zip(shares) {
                let mut packets = 0;
                while packets < share {
                    read(ring, |batch| {
                        packets += batch.packets().count() as u64;
                        true
                    });
                }
                assert_eq!(ring.counters().delivered, share);
            }
        }
    }
}

#[test]
fn a_direction_holds_in_a_group_too() {
    for version in BACKENDS {
        for direction in [
            DirectionFilter::In,
            DirectionFilter::Out,
            DirectionFilter::Both,
        ] {
            let [left, right] = Net::new().pair();
            let options = RingOptions {
                direction,
                ..member(version, FanoutMode::RoundRobin)
            };
            let mut ring = open(&left, &options);
            let [sent, answered] = [90, 91].map(|bytes| frame(BROADCAST, bytes));
            send(&left, std::slice::from_ref(&sent));
            send(&right, std::slice::from_ref(&answered));
            let expected = match direction {
                DirectionFilter::In => vec![answered],
                DirectionFilter::Out => vec![sent],
                DirectionFilter::Both => vec![sent, answered],
            };
            let mut seen = bytes_of(collect(&mut ring, expected.len()));
            seen.sort_by_key(Vec::len);
            assert_eq!(seen, expected, "{version:?} {direction:?}");
            assert_eq!(accepted(&mut ring), expected.len() as u64);
        }
    }
}

#[test]
fn a_new_group_is_shared_by_its_number_with_nobody_else() {
    if without(&LIVE_FRAMES) {
        return;
    }
    let [left, right] = Net::new().pair();
    let in_group = |group| RingOptions {
        fanout: Some(Fanout {
            group,
            mode: FanoutMode::RoundRobin,
        }),
        ..member(TpacketVersion::V2, FanoutMode::RoundRobin)
    };
    let first = open(&right, &in_group(None));
    let alone = open(&right, &in_group(None));
    let number = first.fanout_group().unwrap();
    assert_ne!(number, alone.fanout_group().unwrap());
    let second = open(&right, &in_group(Some(number)));
    assert_eq!(second.fanout_group().unwrap(), number);
    let mut rings = [first, second, alone];
    deliver(&left, &right, 1000);
    until_accepted(&mut rings, 2000);
    assert_eq!(rings.map(|ring| ring.counters().accepted), [500, 500, 1000]);
}

#[test]
fn a_group_has_one_mode() {
    let [left, _right] = Net::new().pair();
    let first = member(TpacketVersion::V3, FanoutMode::Hash);
    let _ring = open(&left, &first);
    let second = member(TpacketVersion::V3, FanoutMode::Cpu);
    let name = left.interface().name.to_string();
    match left.run(|| PacketRing::open(&name, &second)) {
        Err(RingOpenError::Setup(error)) => assert_eq!(error.step, SetupStep::Fanout),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_member_that_leaves_gives_its_share_to_the_others() {
    let [left, right] = Net::new().pair();
    let options = RingOptions {
        delivery: DeliveryMode::Batch {
            min_bytes: 1,
            timeout: Duration::from_millis(1),
        },
        ..member(TpacketVersion::V3, FanoutMode::RoundRobin)
    };
    let mut stays = open(&right, &options);
    drop(open(&right, &options));
    let frames = [60, 61, 62, 63].map(|bytes| frame(BROADCAST, bytes));
    send(&left, &frames);
    assert_eq!(bytes_of(collect(&mut stays, 4)), frames);
}
