//! Packets that an XDP program passes to a reader, compared with the bytes that were sent. Covers AF_XDP rings and,
//! where they behave the same, mirroring ring buffers and shared memory.

use crate::support;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::support::xdp_reader::{
    OpenMethod, WHOLE_PACKET_METHODS, XdpReader, buffer, slots, socket,
};
use crate::support::xsk_rings::{PLACES, RingSetup, steer};
use crate::support::{
    BROADCAST, GROUP, STRANGER, Seen, assert_cut, bytes_of, collect, frame, send, send_and_end,
    tagged_frames, wait,
};
use lab::Net;
use lab::bpf::XdpAttachMode;
use lab::kernel::{AF_XDP_FRAGMENTS, BUSY_POLLING, XDP_FRAGMENTS};
use lab::skip::without;
use tapline_ring::{TimestampSource, XdpRingOptions};
use wire::metadata::{Checksum, Direction, Reception};

#[test]
fn packets_are_what_was_sent_with_their_tags() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    for (place, way) in PLACES
        .into_iter()
        .flat_map(|place| WHOLE_PACKET_METHODS.map(|way| (place, way)))
    {
        let [left, right] = Net::new().pair();
        let mut handed = way(&right, place, 2000);
        let frames = [
            tagged_frames(),
            vec![frame(BROADCAST, 14), frame(STRANGER, 61)],
        ]
        .concat();
        send_and_end(&left, &frames);
        assert_cut(&handed.until_end(), &frames, 2000);
        handed.assert_account(frames.len() as u64 + 1);
    }
}

#[test]
fn what_is_known_of_a_packet_is_reported() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    for (place, way) in PLACES
        .into_iter()
        .flat_map(|place| WHOLE_PACKET_METHODS.map(|way| (place, way)))
    {
        let [left, right] = Net::new().pair();
        let mut handed = way(&right, place, 96);
        let own = right.interface().mac.0;
        let before_ns = abi::clock::realtime_ns();
        let to = [own, BROADCAST, GROUP, STRANGER];
        send_and_end(&left, &to.map(|to| frame(to, 60)));
        let seen = handed.until_end();
        let after_ns = abi::clock::realtime_ns();
        let receptions: Vec<_> = seen.iter().map(|packet| packet.reception).collect();
        let expected = [
            Reception::Unicast,
            Reception::Broadcast,
            Reception::Multicast,
            Reception::Promiscuous,
        ];
        assert_eq!(receptions, expected.map(Some));
        assert!(seen.is_sorted_by(|a, b| a.timestamp_ns < b.timestamp_ns));
        for packet in &seen {
            assert_eq!(packet.direction, Direction::In);
            assert_eq!(packet.checksum, Checksum::Unknown);
            assert_eq!(packet.link, right.interface().index.0);
            assert_eq!(packet.timestamp_source, TimestampSource::Kernel);
            // The offset of the two clocks is known to some 50 ns.
            let range = before_ns - 1000..=after_ns + 1000;
            assert!(range.contains(&packet.timestamp_ns));
        }
    }
}

/// The kernel's time stamp lies between two clock reads, before and after.
#[test]
fn time_stamps_lie_between_sending_and_reading() {
    for (place, stamp) in PLACES
        .into_iter()
        .flat_map(|place| [(place, true), (place, false)])
    {
        let [left, right] = Net::new().pair();
        let wanted = RingSetup {
            stamp,
            ..RingSetup::new(place, 256)
        };
        let mut steered = steer(&right, &wanted);
        let source = if stamp {
            TimestampSource::Kernel
        } else {
            TimestampSource::Reader
        };
        let mut last_ns = 0;
        for _ in 0..20 {
            let before_ns = abi::clock::realtime_ns();
            send(&left, &[frame(BROADCAST, 60), frame(BROADCAST, 61)]);
            wait(steered.ring());
            let oldest_ns = steered.ring().oldest_ns();
            assert_eq!(oldest_ns.is_some(), stamp);
            let seen = collect(steered.ring(), 2);
            let apart_ns = oldest_ns.map(|oldest_ns| oldest_ns.abs_diff(seen[0].timestamp_ns));
            assert!(apart_ns.is_none_or(|apart_ns| apart_ns < 1_000));
            let after_ns = abi::clock::realtime_ns();
            // Each run of the program reads the clock; a reader stamps a whole batch.
            assert!(!stamp || seen[0].timestamp_ns < seen[1].timestamp_ns);
            for packet in seen {
                assert_eq!(packet.timestamp_source, source);
                // The offset of the two clocks is known to some 50 ns.
                assert!(packet.timestamp_ns + 1_000 >= before_ns.max(last_ns));
                assert!(packet.timestamp_ns <= after_ns + 1_000);
                last_ns = packet.timestamp_ns;
            }
        }
        assert_eq!(steered.counters().unstamped, 0);
    }
}

#[test]
fn a_packet_is_cut_to_the_snaplen() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    for snaplen in [1, 14, 60, 96, 1513, 1514] {
        for way in WHOLE_PACKET_METHODS {
            let [left, right] = Net::new().pair();
            let mut handed = way(&right, XdpAttachMode::Native, snaplen);
            let frames = tagged_frames();
            send(&left, &frames);
            assert_cut(&handed.collect(frames.len()), &frames, snaplen as usize);
        }
    }
}

/// Frames of one buffer of 4096 bytes, exactly one, two, three and many, mixed with small ones. Repeated often, so that
/// buffers and the memory for joining them are reused.
#[test]
fn packets_of_several_buffers_come_whole_or_cut() {
    if without(&AF_XDP_FRAGMENTS) {
        return;
    }
    let mut ways: Vec<(OpenMethod, u32)> = vec![
        (socket, 262_144),
        (socket, 5000),
        (socket, 96),
        (buffer, 96),
        (buffer, 16_384),
    ];
    if cfg!(target_arch = "x86_64") {
        ways.push((slots, 96));
    }
    let in_places = |place| {
        ways.iter()
            .map(move |&(way, snaplen)| (place, way, snaplen))
    };
    for (place, way, snaplen) in PLACES.into_iter().flat_map(in_places) {
        let hosts = Net::new().pair();
        support::set_mtu(&hosts, 65_535);
        let [left, right] = &hosts;
        let mut handed = way(right, place, snaplen);
        let lengths = [60, 3839, 3840, 3841, 7680, 7681, 9014, 1514, 65_000, 14];
        let frames = lengths.map(|bytes| frame(BROADCAST, bytes));
        for _ in 0..20 {
            send(left, &frames);
            let seen = handed.collect(frames.len());
            assert_cut(&seen, &frames, snaplen as usize);
            let is_stamped = |packet: &Seen| packet.timestamp_source == TimestampSource::Kernel;
            assert!(seen.iter().all(is_stamped));
        }
        handed.assert_account(20 * frames.len() as u64);
        if let XdpReader::Socket(steered) = &mut handed {
            assert!(steered.ring().takes_multi_buffer());
        }
    }
}

/// A socket may pass more than one MTU to its interface at once. Such a packet arrives unsegmented and complete.
#[test]
fn a_packet_that_the_driver_is_to_split_comes_with_every_byte() {
    const UDP_SEGMENT: i32 = 103;
    if without(&AF_XDP_FRAGMENTS) {
        return;
    }
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut steered = steer(&right, &RingSetup::new(place, 512));
        let payload: Vec<u8> = (0..28_000_u32).map(|at| (at % 251) as u8).collect();
        left.run(|| {
            let socket = UdpSocket::bind((left.interface().v4, 0)).unwrap();
            abi::socket::set_option(socket.as_fd(), libc::SOL_UDP, UDP_SEGMENT, &1400).unwrap();
            let sent = socket.send_to(&payload, (right.interface().v4, 9)).unwrap();
            assert_eq!(sent, payload.len());
        });
        let mut seen = Vec::new();
        support::read(steered.ring(), |batch| {
            for packet in batch.packets() {
                assert_eq!(packet.bytes.len(), packet.original_len as usize);
                // The headers of Ethernet, IPv4 and UDP.
                seen.extend_from_slice(&packet.bytes[14 + 20 + 8..]);
            }
            seen.len() >= payload.len()
        });
        assert_eq!(seen, payload);
        let sent = steered.counters().delivered;
        XdpReader::Socket(steered).assert_account(sent);
    }
}

#[test]
fn a_batch_can_be_walked_again_and_in_part() {
    if without(&AF_XDP_FRAGMENTS) {
        return;
    }
    for (way, snaplen) in [(socket as OpenMethod, 262_144), (buffer, 96)] {
        let hosts = Net::new().pair();
        support::set_mtu(&hosts, 9000);
        let [left, right] = &hosts;
        let mut handed = way(right, XdpAttachMode::Native, snaplen);
        let frames = [60, 9014, 61, 8000, 5000].map(|bytes| frame(BROADCAST, bytes));
        for _ in 0..3 {
            send(left, &frames);
            let seen = handed.collect_twice(frames.len());
            assert_cut(&seen, &frames, snaplen as usize);
        }
        handed.assert_account(3 * frames.len() as u64);
    }
}

/// A reader that never sleeps drives the driver by busy polling.
#[test]
fn a_busy_reader_receives_without_waiting() {
    if without(&BUSY_POLLING) {
        return;
    }
    let [left, right] = Net::new().pair();
    let mut wanted = RingSetup::new(XdpAttachMode::Native, 256);
    wanted.ring = XdpRingOptions {
        busy_poll: Some(tapline_ring::BusyPoll::default()),
        ..wanted.ring
    };
    let mut steered = steer(&right, &wanted);
    let deadline = std::time::Instant::now() + support::DEADLINE;
    for bytes in 60..80 {
        send(&left, &[frame(BROADCAST, bytes)]);
        let seen = loop {
            assert!(std::time::Instant::now() < deadline, "no packet came");
            if let Some(mut batch) = steered.ring().next_batch() {
                break batch.packets().map(Seen::from).collect();
            }
        };
        assert_eq!(bytes_of(seen), [frame(BROADCAST, bytes)]);
    }
    XdpReader::Socket(steered).assert_account(20);
}
