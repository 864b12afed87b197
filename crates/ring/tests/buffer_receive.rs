//! Packets of mirroring ring buffers against the bytes that were sent, and against what the stack sees.

use crate::support;
use crate::support::mirrored::{Mirrored, mirror};
use crate::support::steered::PLACES;
use crate::support::{
    BROADCAST, DEADLINE, GROUP, STRANGER, Seen, assert_cut, bytes_of, collect, frame, send,
    send_and_end, tagged_frames, until_end,
};
use lab::bpf::{Map, RingBufferProgram, RingBufferProgramOptions, XdpAttachMode, XdpLink};
use lab::{Host, Net};
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use tapline_ring::{
    BpfRing, BpfRingError, BpfRingOptions, BpfRingSetupStep, TimestampSource, TpacketVersion,
};
use wire::metadata::{Checksum, Direction, Reception};

fn set_mtu(hosts: &[Host], mtu: u32) {
    for host in hosts {
        let mut command = host.command("ip");
        let name = host.interface().name.to_string();
        let status = command.args(["link", "set", &name, "mtu", &mtu.to_string()]);
        assert!(status.status().unwrap().success());
    }
}

#[track_caller]
fn assert_account(mirrored: &mut Mirrored, sent: u64) {
    let counts = mirrored.counters();
    assert_eq!((counts.delivered, counts.lost), (sent, 0));
    let buffer = mirrored.first();
    buffer.refresh();
    let account = *buffer.counters();
    assert_eq!((account.accepted, account.delivered), (sent, sent));
    assert_eq!((account.dropped, account.unreadable), (0, 0));
}

#[test]
fn packets_are_what_was_sent_with_their_tags() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut mirrored = mirror(&right, place, &RingBufferProgramOptions::new(2000));
        let frames = [
            tagged_frames(),
            vec![frame(BROADCAST, 14), frame(STRANGER, 61)],
        ]
        .concat();
        send_and_end(&left, &frames);
        let seen = until_end(mirrored.first());
        assert_cut(&seen, &frames, 2000);
        assert_account(&mut mirrored, frames.len() as u64 + 1);
    }
}

#[test]
fn what_is_known_of_a_packet_is_told() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut mirrored = mirror(&right, place, &RingBufferProgramOptions::new(96));
        let own = right.interface().mac.0;
        let before_ns = abi::clock::realtime_ns();
        let to = [own, BROADCAST, GROUP, STRANGER];
        send_and_end(&left, &to.map(|to| frame(to, 60)));
        let seen = until_end(mirrored.first());
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

#[test]
fn a_packet_is_cut_to_the_snaplen() {
    for snaplen in [1, 14, 60, 96, 1513, 1514] {
        let [left, right] = Net::new().pair();
        let mut mirrored = mirror(
            &right,
            XdpAttachMode::Native,
            &RingBufferProgramOptions::new(snaplen),
        );
        let frames = tagged_frames();
        send(&left, &frames);
        let seen = collect(mirrored.first(), frames.len());
        assert_cut(&seen, &frames, snaplen as usize);
    }
}

/// Frames that take one buffer of 4096 bytes, exactly one, two, three and many, mixed with small ones.
#[test]
fn the_beginnings_of_packets_of_several_buffers_are_copied() {
    for (place, snaplen) in PLACES.into_iter().flat_map(|p| [(p, 96), (p, 16_384)]) {
        let hosts = Net::new().pair();
        set_mtu(&hosts, 65_535);
        let [left, right] = &hosts;
        let mut mirrored = mirror(right, place, &RingBufferProgramOptions::new(snaplen));
        let lengths = [60, 3839, 3840, 3841, 7680, 7681, 9014, 1514, 65_000, 14];
        let frames = lengths.map(|bytes| frame(BROADCAST, bytes));
        for _ in 0..20 {
            send(left, &frames);
            let seen = collect(mirrored.first(), frames.len());
            assert_cut(&seen, &frames, snaplen as usize);
        }
        assert_account(&mut mirrored, 20 * frames.len() as u64);
    }
}

#[test]
fn a_batch_can_be_walked_again_and_in_part() {
    let [left, right] = Net::new().pair();
    let mut mirrored = mirror(
        &right,
        XdpAttachMode::Native,
        &RingBufferProgramOptions::new(96),
    );
    let frames = [60, 1514, 61, 800, 500].map(|bytes| frame(BROADCAST, bytes));
    for _ in 0..3 {
        send(&left, &frames);
        let mut seen = Vec::new();
        support::read(mirrored.first(), |batch| {
            let half = (batch.len() - 1) / 2;
            assert!(batch.packets().nth(half).is_some());
            let first: Vec<Seen> = batch.packets().map(Seen::from).collect();
            let second: Vec<Seen> = batch.packets().map(Seen::from).collect();
            assert_eq!(first, second);
            seen.extend(second);
            seen.len() == frames.len()
        });
        assert_cut(&seen, &frames, 96);
    }
    assert_account(&mut mirrored, 3 * frames.len() as u64);
}

/// Every packet reaches the socket it is for, and a packet socket sees it byte for byte.
#[test]
fn the_stack_sees_every_packet_as_it_was() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut mirrored = mirror(&right, place, &RingBufferProgramOptions::new(96));
        let mut stack = support::open(&right, &support::options(TpacketVersion::V3));
        let frames = tagged_frames();
        send_and_end(&left, &frames);
        assert_eq!(bytes_of(until_end(&mut stack)), frames);
        assert_cut(&until_end(mirrored.first()), &frames, 96);

        let to = (right.interface().v4, 7001);
        let socket = right.run(|| UdpSocket::bind(to).unwrap());
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        let sender = left.run(|| UdpSocket::bind((left.interface().v4, 0)).unwrap());
        for number in 0..200_u32 {
            sender.send_to(&number.to_be_bytes(), to).unwrap();
            let mut bytes = [0; 9];
            let (length, _) = socket.recv_from(&mut bytes).unwrap();
            assert_eq!(bytes[..length], number.to_be_bytes());
        }
        assert!(mirrored.counters().delivered >= frames.len() as u64 + 201);
        assert_eq!(mirrored.counters().lost, 0);
    }
}

#[test]
fn what_is_in_a_buffer_can_be_read_when_the_program_is_gone() {
    let [left, right] = Net::new().pair();
    let Mirrored {
        mut buffers,
        mirror,
        link,
    } = mirror(
        &right,
        XdpAttachMode::Native,
        &RingBufferProgramOptions::new(96),
    );
    let again = || {
        right.run(|| {
            XdpLink::attach(
                mirror.program(),
                right.interface().index.0,
                XdpAttachMode::Native,
            )
        })
    };
    let refused = again().unwrap_err().to_string();
    assert!(
        refused.contains("(tapline_mirror) is attached already by process "),
        "{refused}"
    );
    send_and_end(&left, &[frame(BROADCAST, 60)]);
    drop(link);
    drop(again().unwrap());
    drop(mirror);
    assert_eq!(bytes_of(until_end(&mut buffers[0])), [frame(BROADCAST, 60)]);
}

#[test]
fn what_is_no_ring_buffer_is_refused() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let options = BpfRingOptions::default();
    let (mirror, buffers) = RingBufferProgram::load(&RingBufferProgramOptions::new(96)).unwrap();
    let array = Map::value("no_buffer", 4096).unwrap();
    for no_buffer in [mirror.program().as_fd(), array.as_fd()] {
        let refused = right.run(|| BpfRing::open(&name, no_buffer, &options).unwrap_err());
        assert_eq!(refused.to_string(), "cannot map the ring buffer of right0");
    }
    let (_, map) = buffers.iter().next().unwrap();
    match right.run(|| BpfRing::open("none", map, &options)) {
        Err(BpfRingError::Setup { step, source, .. }) => {
            assert_eq!(step, BpfRingSetupStep::Interface);
            assert_eq!(source.raw_os_error(), Some(libc::ENODEV));
        }
        other => panic!("{other:?}"),
    }
    let open = || right.run(|| BpfRing::open(&name, map, &options));
    let first = open().unwrap();
    match open() {
        Err(BpfRingError::Setup { step, source, .. }) => {
            assert_eq!(step, BpfRingSetupStep::Map);
            assert_eq!(source.kind(), ErrorKind::ResourceBusy);
        }
        other => panic!("{other:?}"),
    }
    drop(first);
    drop(open().unwrap());
    let zero = BpfRingOptions {
        snaplen: 0,
        ..options.clone()
    };
    let refused = right.run(|| BpfRing::open(&name, map, &zero).unwrap_err());
    assert!(matches!(refused, BpfRingError::SnaplenZero));
}
