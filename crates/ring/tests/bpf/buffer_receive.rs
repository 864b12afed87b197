//! Packets of mirroring ring buffers, compared with what the stack receives, and the lifecycle of a buffer.

use crate::support;
use crate::support::ring_buffers::{RingBuffers, mirror};
use crate::support::xsk_rings::PLACES;
use crate::support::{
    BROADCAST, DEADLINE, assert_cut, bytes_of, frame, send_and_end, tagged_frames, until_end,
};
use lab::Net;
use lab::bpf::{Map, RingBufferProgram, RingBufferProgramOptions, XdpAttachMode, XdpLink};
use lab::kernel::XDP_FRAGMENTS;
use lab::skip::without;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use tapline_ring::{BpfRing, BpfRingError, BpfRingOptions, BpfRingSetupStep, TpacketVersion};

/// Every packet reaches its socket, and a packet socket receives the same bytes.
#[test]
fn the_stack_sees_every_packet_as_it_was() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
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
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let RingBuffers {
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
    if without(&XDP_FRAGMENTS) {
        return;
    }
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
