//! The generator's counts and bytes, compared with the counters of the receiving interface (`ip -json`) and with a
//! packet socket.

use std::os::fd::{AsFd, OwnedFd};

use crate::witness::ip_json;
use netlink::Gro;
use rustix::net::{RecvFlags, recv};
use tapline_lab::generator::{Generator, GeneratorOptions, SEQUENCE_AT, send_frames, udp_frame};
use tapline_lab::{Host, Net};

/// A generator of frames from `left` to `right`, numbered.
fn unattached(left: &Host, bytes: usize) -> Generator {
    let mut options = GeneratorOptions::new(left.interface().index, udp_frame(bytes));
    options.sequence_at = Some(SEQUENCE_AT);
    left.run(|| Generator::new(options))
}

fn generator(left: &Host, right: &Host, bytes: usize) -> Generator {
    let mut generator = unattached(left, bytes);
    right.run(|| generator.attach_peer(right.interface().index));
    generator
}

/// Packets and bytes that a host received, says ip(8).
fn received(host: &Host) -> (u64, u64) {
    let name = host.interface().name.to_string();
    let shown = ip_json(host, &["link", "show", &name]);
    let rx = &shown[0]["stats64"]["rx"];
    (
        rx["packets"].as_u64().unwrap(),
        rx["bytes"].as_u64().unwrap(),
    )
}

#[test]
fn exactly_as_many_frames_arrive_as_asked_for() {
    let [left, right] = Net::new().pair();
    let mut total = (0, 0);
    for (count, bytes) in [(1, 60), (2, 64), (255, 124), (100_003, 128), (20_000, 1514)] {
        let mut generator = generator(&left, &right, bytes);
        let sent = left.run(|| generator.deliver(count, None));
        assert_eq!(sent.delivered, count);
        assert_eq!(sent.submitted, sent.delivered + sent.dropped);
        total = (total.0 + count, total.1 + count * bytes as u64);
        assert_eq!(received(&right), total, "{count} frames of {bytes} bytes");
    }
}

#[test]
fn a_paced_run_delivers_its_count() {
    let [left, right] = Net::new().pair();
    let mut generator = generator(&left, &right, 128);
    let mut total = 0;
    for (count, rate_pps) in [(50, 1000), (20_000, 100_000), (100_000, 1_000_000)] {
        let sent = left.run(|| generator.deliver(count, Some(rate_pps)));
        println!("at {rate_pps} pps: {sent:?}");
        total += count;
        assert_eq!(received(&right).0, total);
    }
}

#[test]
fn gro_makes_a_peer_ready_too() {
    let [left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    let mut generator = unattached(&left, 128);
    let sent = left.run(|| generator.deliver(10_000, None));
    assert_eq!(sent.delivered, 10_000);
    assert_eq!(received(&right).0, 10_000);
}

#[test]
fn frames_that_a_peer_does_not_take_are_not_counted_as_delivered() {
    let [left, right] = Net::new().pair();
    let mut generator = unattached(&left, 128);
    let sent = left.run(|| generator.send(100, None));
    assert_eq!((sent.submitted, sent.delivered, sent.dropped), (100, 0, 0));
    assert_eq!(received(&right).0, 0);
}

/// A packet socket on `host` that sees what arrives from now on.
fn socket(host: &Host) -> OwnedFd {
    host.run(|| {
        let socket = abi::socket::packet_socket().unwrap();
        abi::socket::bind_link(socket.as_fd(), host.interface().index.0).unwrap();
        socket
    })
}

fn next(socket: &OwnedFd) -> Option<Vec<u8>> {
    let mut frame = vec![0; 4096];
    let (bytes, _) = recv(socket, &mut frame[..], RecvFlags::empty()).ok()?;
    frame.truncate(bytes);
    Some(frame)
}

#[test]
fn frames_are_the_template_with_their_number() {
    let [left, right] = Net::new().pair();
    let socket = socket(&right);
    let mut generator = generator(&left, &right, 90);
    left.run(|| generator.deliver(40, None));
    let place = SEQUENCE_AT as usize;
    for number in 0u64..40 {
        let mut expected = udp_frame(90);
        expected[place..place + 8].copy_from_slice(&number.to_be_bytes());
        assert_eq!(next(&socket), Some(expected));
    }
    assert_eq!(next(&socket), None);
}

#[test]
fn given_frames_arrive_as_they_are() {
    let [left, right] = Net::new().pair();
    let socket = socket(&right);
    let header = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8];
    // An empty frame, a runt of a private EtherType, and one of full length.
    let frames: Vec<Vec<u8>> = [
        (&[0x88, 0xb5][..], 14),
        (&[0x88, 0xb5], 31),
        (&[8, 0], 1514),
    ]
    .into_iter()
    .map(|(kind, bytes)| {
        let mut frame = [&header[..], kind].concat();
        frame.resize(bytes, 7);
        frame
    })
    .collect();
    let sent = left.run(|| send_frames(left.interface().index, &frames).unwrap());
    assert_eq!(sent, 3);
    for frame in frames {
        assert_eq!(next(&socket), Some(frame));
    }
    let bytes = 14 + 31 + 1514;
    assert_eq!(received(&right), (3, bytes));
}

#[test]
#[should_panic(expected = "lab does not act in the network namespace of the test process")]
fn the_machine_is_refused() {
    let [left, _right] = Net::new().pair();
    Generator::new(GeneratorOptions::new(left.interface().index, udp_frame(60)));
}
