//! Packets of a ring over AF_XDP against the bytes that were sent.

use crate::support;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::support::steered::{PLACES, Steered, Wanted, steer};
use crate::support::{
    BROADCAST, GROUP, STRANGER, Seen, assert_cut, bytes_of, collect, frame, send, send_and_end,
    tagged_frames, until_end,
};
use lab::bpf::XdpAttachMode;
use lab::{Host, Net};
use tapline_ring::{TimestampSource, XdpRingOptions};
use wire::metadata::{Checksum, Direction, Reception};

fn ip(host: &Host, arguments: &str) {
    let status = host.command("ip").args(arguments.split(' ')).status();
    assert!(status.unwrap().success());
}

fn set_mtu(hosts: &[Host], mtu: u32) {
    for host in hosts {
        ip(
            host,
            &format!("link set {} mtu {mtu}", host.interface().name),
        );
    }
}

#[track_caller]
fn assert_account(steered: &mut Steered, sent: u64) {
    let counts = steered.counters();
    assert_eq!((counts.delivered, counts.lost), (sent, 0));
    let ring = steered.ring();
    ring.refresh().unwrap();
    let account = *ring.counters();
    assert_eq!((account.accepted, account.delivered), (sent, sent));
    assert_eq!((account.dropped, account.unreadable), (0, 0));
}

#[test]
fn packets_are_what_was_sent_with_their_tags() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut steered = steer(&right, &Wanted::new(place, 256));
        let frames = [
            tagged_frames(),
            vec![frame(BROADCAST, 14), frame(STRANGER, 61)],
        ]
        .concat();
        send_and_end(&left, &frames);
        let seen = until_end(steered.ring());
        let lengths: Vec<usize> = seen
            .iter()
            .map(|packet| packet.original_len as usize)
            .collect();
        assert_eq!(lengths, frames.iter().map(Vec::len).collect::<Vec<_>>());
        assert_eq!(bytes_of(seen), frames);
        assert_account(&mut steered, frames.len() as u64 + 1);
    }
}

#[test]
fn what_is_known_of_a_packet_is_told() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut steered = steer(&right, &Wanted::new(place, 256));
        let own = right.interface().mac.0;
        send_and_end(
            &left,
            &[own, BROADCAST, GROUP, STRANGER].map(|to| frame(to, 60)),
        );
        let seen = until_end(steered.ring());
        let receptions: Vec<_> = seen.iter().map(|packet| packet.reception).collect();
        let expected = [
            Reception::Unicast,
            Reception::Broadcast,
            Reception::Multicast,
            Reception::Promiscuous,
        ];
        assert_eq!(receptions, expected.map(Some));
        for packet in &seen {
            assert_eq!(packet.direction, Direction::In);
            assert_eq!(packet.checksum, Checksum::Unknown);
            assert_eq!(packet.link, right.interface().index.0);
        }
    }
}

/// The kernel's clock is asked before and after: what it stamped lies between.
#[test]
fn time_stamps_lie_between_sending_and_reading() {
    for (place, stamp) in PLACES
        .into_iter()
        .flat_map(|place| [(place, true), (place, false)])
    {
        let [left, right] = Net::new().pair();
        let wanted = Wanted {
            stamp,
            ..Wanted::new(place, 256)
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
            let seen = collect(steered.ring(), 2);
            let after_ns = abi::clock::realtime_ns();
            // Each run of the program has a time of its own; a reader stamps a whole batch.
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
    for snaplen in [1, 14, 60, 96, 1513, 1514] {
        let [left, right] = Net::new().pair();
        let mut wanted = Wanted::new(XdpAttachMode::Native, 256);
        wanted.ring.snaplen = snaplen;
        let mut steered = steer(&right, &wanted);
        let frames = tagged_frames();
        send(&left, &frames);
        assert_cut(
            &collect(steered.ring(), frames.len()),
            &frames,
            snaplen as usize,
        );
    }
}

/// Frames that take one buffer of 4096 bytes, exactly one, two, three and many, mixed with small
/// ones; many times over, so that buffers and the memory in which they are joined are used again.
#[test]
fn packets_of_several_buffers_come_whole_or_cut() {
    for (place, snaplen) in PLACES
        .into_iter()
        .flat_map(|p| [(p, 262_144), (p, 5000), (p, 96)])
    {
        let hosts = Net::new().pair();
        set_mtu(&hosts, 65_535);
        let [left, right] = &hosts;
        let mut wanted = Wanted::new(place, 512);
        wanted.ring.snaplen = snaplen;
        let mut steered = steer(right, &wanted);
        assert!(steered.ring().takes_multi_buffer());
        let lengths = [60, 3839, 3840, 3841, 7680, 7681, 9014, 1514, 65_000, 14];
        let frames = lengths.map(|bytes| frame(BROADCAST, bytes));
        for _ in 0..20 {
            send(left, &frames);
            let seen = collect(steered.ring(), frames.len());
            assert_cut(&seen, &frames, snaplen as usize);
            assert!(
                seen.iter()
                    .all(|p| p.timestamp_source == TimestampSource::Kernel)
            );
        }
        assert_account(&mut steered, 20 * frames.len() as u64);
    }
}

/// What a socket hands to its interface in one piece may be longer than the MTU: it comes as it
/// passes the interface, and every byte is there.
#[test]
fn a_packet_that_the_driver_is_to_split_comes_with_every_byte() {
    const UDP_SEGMENT: i32 = 103;
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut steered = steer(&right, &Wanted::new(place, 512));
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
        assert_account(&mut steered, sent);
    }
}

#[test]
fn a_batch_can_be_walked_again_and_in_part() {
    let hosts = Net::new().pair();
    set_mtu(&hosts, 9000);
    let [left, right] = &hosts;
    let mut steered = steer(right, &Wanted::new(XdpAttachMode::Native, 512));
    let frames = [60, 9014, 61, 8000, 5000].map(|bytes| frame(BROADCAST, bytes));
    for _ in 0..3 {
        send(left, &frames);
        let mut seen = Vec::new();
        support::read(steered.ring(), |batch| {
            let half = (batch.len() - 1) / 2;
            assert!(batch.packets().nth(half).is_some());
            let first: Vec<Seen> = batch.packets().map(Seen::from).collect();
            let second: Vec<Seen> = batch.packets().map(Seen::from).collect();
            assert_eq!(first, second);
            seen.extend(second);
            seen.len() == frames.len()
        });
        assert_eq!(bytes_of(seen), frames);
    }
    assert_account(&mut steered, 3 * frames.len() as u64);
}

/// A reader that never sleeps runs the driver by itself.
#[test]
fn a_busy_reader_receives_without_waiting() {
    let [left, right] = Net::new().pair();
    let mut wanted = Wanted::new(XdpAttachMode::Native, 256);
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
    assert_account(&mut steered, 20);
}
