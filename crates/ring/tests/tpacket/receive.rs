//! Packet data and metadata from a ring, compared with the frames that were sent.

use std::net::UdpSocket;
use std::time::{Duration, SystemTime};

use crate::support::{
    BACKENDS, BROADCAST, GROUP, STRANGER, Seen, bytes_of, collect, end_frame, frame, open, open_on,
    options, read, send, send_and_end, until_end, wait,
};
use lab::{Host, Net};
use tapline_ring::{
    DeliveryMode, DirectionFilter, PacketRing, RingFilter, RingOptions, TimestampSource,
    TpacketVersion,
};
use wire::metadata::{Checksum, Direction, Reception};

fn realtime_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap().as_nanos()).unwrap()
}

/// Frames of all relevant lengths on a link with an MTU of 1500 bytes.
fn frames() -> Vec<Vec<u8>> {
    let lengths = [14, 15, 59, 60, 61, 127, 128, 1000, 1513, 1514];
    lengths.map(|bytes| frame(BROADCAST, bytes)).to_vec()
}

/// A veth device stamps nothing in hardware: the kernel does, and the ring says so.
#[test]
fn each_packet_says_who_stamped_it() {
    for version in BACKENDS {
        for (timestamps, made_by) in [
            (TimestampSource::Kernel, TimestampSource::Kernel),
            (TimestampSource::Driver, TimestampSource::Driver),
            (TimestampSource::Hardware, TimestampSource::Kernel),
        ] {
            let [left, right] = Net::new().pair();
            let stamped = RingOptions {
                timestamps,
                ..options(version)
            };
            let mut ring = open(&right, &stamped);
            let before_ns = realtime_ns();
            send_and_end(&left, &frames());
            let seen = until_end(&mut ring);
            assert_eq!(seen.len(), frames().len());
            for packet in seen {
                assert_eq!(packet.timestamp_source, made_by, "{version:?}");
                assert!((before_ns..=realtime_ns()).contains(&packet.timestamp_ns));
            }
        }
    }
}

#[test]
fn packets_are_the_frames_that_were_sent() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut near = open(&left, &options(version));
        let mut far = open(&right, &options(version));
        let frames = frames();
        let before_ns = realtime_ns();
        send_and_end(&left, &frames);
        let after_ns = realtime_ns();

        let out = until_end(&mut near);
        let seen = until_end(&mut far);
        let expected = |direction, reception, link| {
            let packets = frames.iter().map(|frame| Seen {
                bytes: frame.clone(),
                original_len: frame.len() as u32,
                timestamp_ns: 0,
                timestamp_source: TimestampSource::Kernel,
                direction,
                reception,
                checksum: Checksum::Unknown,
                link,
            });
            packets.collect::<Vec<_>>()
        };
        for (seen, expected) in [
            (
                out,
                expected(Direction::Out, None, left.interface().index.0),
            ),
            (
                seen,
                expected(
                    Direction::In,
                    Some(Reception::Broadcast),
                    right.interface().index.0,
                ),
            ),
        ] {
            let times: Vec<u64> = seen.iter().map(|packet| packet.timestamp_ns).collect();
            assert!(times.is_sorted());
            assert!(times[0] >= before_ns, "{version:?}");
            // A received frame may be stamped after the call that sent it has returned.
            assert!(*times.last().unwrap() <= realtime_ns());
            assert!(times[0] <= after_ns || seen[0].direction == Direction::In);
            let untimed = seen.into_iter().map(|packet| Seen {
                timestamp_ns: 0,
                ..packet
            });
            assert_eq!(untimed.collect::<Vec<_>>(), expected, "{version:?}");
        }
    }
}

#[test]
fn how_a_packet_was_addressed_is_reported() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &options(version));
        let own = right.interface().mac.0;
        let frames = [own, BROADCAST, GROUP, STRANGER].map(|to| frame(to, 60));
        send_and_end(&left, &frames);
        let seen = until_end(&mut ring);
        let receptions: Vec<_> = seen.iter().map(|packet| packet.reception).collect();
        let expected = [
            Reception::Unicast,
            Reception::Broadcast,
            Reception::Multicast,
            Reception::Promiscuous,
        ];
        assert_eq!(receptions, expected.map(Some));
        assert!(seen.iter().all(|packet| packet.direction == Direction::In));
    }
}

#[test]
fn a_ring_tells_its_interface() {
    for version in BACKENDS {
        let [left, _right] = Net::new().pair();
        let ring = open(&left, &options(version));
        assert_eq!(ring.version(), version);
        assert!(ring.buffer_bytes() >= options(version).buffer_bytes);
        let link = ring.interface();
        assert_eq!(link.name, left.interface().name.to_string());
        assert_eq!(link.index, left.interface().index.0);
        assert_eq!((link.link_type, link.loopback), (1, false));
    }
}

#[test]
fn the_direction_asked_for_is_the_one_received() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let ring = |direction| {
            let options = RingOptions {
                direction,
                ..options(version)
            };
            open(&left, &options)
        };
        let mut both = ring(DirectionFilter::Both);
        let mut out = ring(DirectionFilter::Out);
        let mut inward = ring(DirectionFilter::In);
        let [sent, answered] = [100, 200].map(|bytes| frame(BROADCAST, bytes));
        send(&left, std::slice::from_ref(&sent));
        send(&right, std::slice::from_ref(&answered));

        assert_eq!(bytes_of(collect(&mut both, 2)).len(), 2);
        assert_eq!(bytes_of(collect(&mut out, 1)), [sent]);
        assert_eq!(bytes_of(collect(&mut inward, 1)), [answered]);
        for (ring, accepted) in [(&mut both, 2), (&mut out, 1), (&mut inward, 1)] {
            ring.refresh().unwrap();
            assert_eq!(ring.counters().accepted, accepted, "{version:?}");
        }
    }
}

#[test]
fn a_packet_on_the_loopback_is_seen_once() {
    for version in BACKENDS {
        for direction in [
            DirectionFilter::Both,
            DirectionFilter::In,
            DirectionFilter::Out,
        ] {
            let host = Host::new("alone");
            let options = RingOptions {
                direction,
                ..options(version)
            };
            let mut ring = open_on(&host, "lo", &options);
            assert!(ring.interface().loopback);
            assert_eq!(ring.interface().link_type, 1);
            host.run(|| {
                let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
                let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
                for number in 0..20 {
                    let to = receiver.local_addr().unwrap();
                    sender.send_to(&[number; 30], to).unwrap();
                    receiver.recv(&mut [0; 40]).unwrap();
                }
            });
            let seen = collect(&mut ring, 20);
            for (number, packet) in (0..).zip(seen) {
                assert_eq!(packet.bytes[42..], [number; 30]);
            }
            ring.refresh().unwrap();
            assert_eq!(ring.counters().accepted, 20, "{version:?} {direction:?}");
        }
    }
}

#[test]
fn walking_a_batch_again_gives_the_same_packets() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &options(version));
        send_and_end(&left, &frames());
        let mut seen = Vec::new();
        read(&mut ring, |batch| {
            let first: Vec<Seen> = batch.packets().map(Seen::from).collect();
            // One that is given up half way changes nothing.
            batch.packets().next();
            let second: Vec<Seen> = batch.packets().map(Seen::from).collect();
            assert_eq!(first, second);
            assert_eq!(first.len(), batch.len());
            assert!(!batch.is_empty());
            seen.extend(first);
            seen.last().is_some_and(|last| last.bytes == end_frame())
        });
        assert_eq!(seen.len(), frames().len() + 1);
        assert_eq!(ring.counters().delivered, seen.len() as u64);
        assert_eq!(ring.counters().unreadable, 0);
    }
}

#[test]
fn a_batch_that_nobody_walks_counts_as_delivered() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &options(version));
        send(&left, &frames());
        let mut packets = 0;
        read(&mut ring, |batch| {
            packets += batch.len();
            packets == frames().len()
        });
        assert_eq!(ring.counters().delivered, frames().len() as u64);
        assert!(ring.next_batch().is_none());
    }
}

#[test]
fn a_bridge_floods_to_a_promiscuous_ring_only() {
    for version in BACKENDS {
        for promiscuous in [true, false] {
            let [left, right] = Net::new().pair();
            bridge(&right);
            let options = RingOptions {
                promiscuous,
                direction: DirectionFilter::In,
                ..options(version)
            };
            let mut ring = open_on(&right, "bridge", &options);
            send_and_end(&left, &[frame(STRANGER, 100), frame(GROUP, 200)]);
            let receptions: Vec<_> = until_end(&mut ring).iter().map(|p| p.reception).collect();
            let expected = [Reception::Promiscuous, Reception::Multicast].map(Some);
            assert_eq!(receptions, expected[usize::from(!promiscuous)..]);
        }
    }
}

/// Makes the host's interface a port of a bridge that sends no packets itself.
fn bridge(host: &Host) {
    let port = host.interface().name.to_string();
    for arguments in [
        "link add bridge type bridge mcast_snooping 0",
        "link set bridge arp off",
        "link set bridge up",
        &format!("link set {port} master bridge"),
    ] {
        host.ip(arguments);
    }
}

#[test]
fn closing_a_ring_ends_promiscuous_mode() {
    let [_left, right] = Net::new().pair();
    let is_promiscuous = || {
        let name = right.interface().name.to_string();
        let text = right.ip(&format!("-details link show {name}"));
        assert!(text.contains("promiscuity "), "{text}");
        text.contains("promiscuity 1")
    };
    for version in BACKENDS {
        assert!(!is_promiscuous());
        let ring = open(&right, &options(version));
        assert!(is_promiscuous());
        drop(ring);
        assert!(!is_promiscuous());
        let modest = RingOptions {
            promiscuous: false,
            ..options(version)
        };
        let _ring = open(&right, &modest);
        assert!(!is_promiscuous());
    }
}

#[test]
fn a_stopped_ring_keeps_what_it_has_and_takes_no_more() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        // The youngest ring is offered a packet first (`dev_add_pack`, net/core/dev.c).
        let mut witness = open(&right, &options(version));
        let mut ring = open(&right, &options(version));
        send(&left, &frames());
        collect(&mut witness, frames().len());
        ring.stop().unwrap();
        send_and_end(&left, &frames());
        assert_eq!(bytes_of(until_end(&mut witness)), frames());

        wait(&ring);
        assert_eq!(bytes_of(collect(&mut ring, frames().len())), frames());
        ring.refresh().unwrap();
        let account = *ring.counters();
        assert_eq!(account.accepted, frames().len() as u64);
        assert_eq!((account.waiting(), account.dropped), (0, 0));
        assert!(ring.next_batch().is_none());
    }
}

/// The bytes of the packets that a ring lends without waiting.
fn lent_at_once(ring: &mut PacketRing) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    while let Some(mut batch) = ring.next_batch() {
        seen.extend(batch.packets().map(|packet| packet.bytes.to_vec()));
    }
    seen
}

#[test]
fn a_finished_ring_lends_its_last_block_before_the_timer_of_the_block_expires() {
    let [left, right] = Net::new().pair();
    let patient = RingOptions {
        delivery: DeliveryMode::Batch {
            min_bytes: 4096,
            timeout: Duration::from_mins(1),
        },
        ..options(TpacketVersion::V3)
    };
    // The youngest ring is offered a packet first, as above.
    let mut witness = open(&right, &options(TpacketVersion::V3));
    let mut ring = open(&right, &patient);
    send(&left, &frames());
    collect(&mut witness, frames().len());
    // Some blocks are full.
    let mut seen = lent_at_once(&mut ring);
    assert!(seen.len() < frames().len());
    assert!(!ring.is_at_end().unwrap() && !ring.holds(1));
    assert!(ring.finish().unwrap());
    assert!(ring.holds(1));
    seen.extend(lent_at_once(&mut ring));
    assert_eq!(seen, frames());
    assert!(ring.is_at_end().unwrap() && !ring.holds(1));
    assert!(!ring.finish().unwrap());
    assert!(ring.set_filter(&RingFilter::All).is_err());
    // Neither version has to be finished if its packets are visible soon.
    for version in BACKENDS {
        assert!(!open(&right, &options(version)).finish().unwrap());
    }
}
