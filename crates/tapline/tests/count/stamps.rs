//! Stamped packets are counted by stream at every hook, and on an interface without Ethernet headers. The stamps are
//! written here.

use std::net::UdpSocket;

use abi::tun::{TunFile, TunLayer, TunOptions};
use lab::generator::{send_frames, udp_frame};
use lab::{Host, Net, wait};
use tapline::count::{
    Count, CountDirection, CountOptions, IngressHook, StreamFigures, XdpAttachMode,
};

use crate::support::count::{open, tagged, with};

/// A stamp: the magic number, the stream, the number in the stream and a time.
fn stamp(stream: u16, sequence: u32) -> [u8; 18] {
    let mut stamp = [0; 18];
    stamp[..4].copy_from_slice(&[0xd5, 0xb1, 0x7a, 0x9e]);
    stamp[4..6].copy_from_slice(&stream.to_be_bytes());
    stamp[6..10].copy_from_slice(&sequence.to_be_bytes());
    let now = std::time::UNIX_EPOCH.elapsed().unwrap();
    stamp[10..].copy_from_slice(&(now.as_nanos() as u64).to_be_bytes());
    stamp
}

/// A datagram over IPv4 that ends with a stamp; of odd length, so that the stamp is at an odd place.
fn stamped(stream: u16, sequence: u32) -> Vec<u8> {
    let mut frame = udp_frame(61);
    let at = frame.len() - 18;
    frame[at..].copy_from_slice(&stamp(stream, sequence));
    frame
}

/// The numbers of 100 packets: 10 is missing, 30 comes behind 33, and 40 comes twice.
fn numbers() -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..100)
        .filter(|number| ![10, 30].contains(number))
        .collect();
    let place =
        |numbers: &[u32], wanted| numbers.iter().position(|&number| number == wanted).unwrap();
    let behind = place(&numbers, 33) + 1;
    numbers.insert(behind, 30);
    let twice = place(&numbers, 40);
    numbers.insert(twice, 40);
    numbers
}

/// Waits until the streams have received 99 packets each and a copy; then compares what else is known of them.
#[track_caller]
fn assert_streams(count: &Count, streams: &[u16]) {
    let figures = wait::until_ok(|| {
        let figures = count.streams().unwrap().streams;
        let has_all = |stream: &StreamFigures| (stream.received, stream.duplicated) == (99, 1);
        if figures.len() == streams.len() && figures.iter().all(has_all) {
            return Ok(figures);
        }
        Err(figures)
    });
    for (figures, stream) in figures.iter().zip(streams) {
        let order = (figures.reordered, figures.reordered_distance);
        assert_eq!((figures.stream, figures.lost, order), (*stream, 1, (1, 3)));
        let ends = (figures.first_sequence, figures.last_sequence);
        assert_eq!((ends, figures.late), ((0, 99), 0));
        assert_eq!(figures.delays.count(), 99);
    }
}

/// Counts streams on the interface called `name`.
#[track_caller]
fn count(host: &Host, name: &str, direction: CountDirection, ingress: IngressHook) -> Count {
    let options = with!(
        CountOptions::default();
        interfaces: vec![name.to_owned()],
        direction: direction,
        ingress: ingress,
        streams: true,
    );
    open(host, options)
}

#[test]
fn stamps_are_found_at_every_hook() {
    let xdp = |mode| (CountDirection::In, IngressHook::Xdp(mode));
    let cases = [
        xdp(XdpAttachMode::Native),
        xdp(XdpAttachMode::Generic),
        (CountDirection::In, IngressHook::Tc),
        (CountDirection::Out, IngressHook::Auto),
    ];
    for (direction, ingress) in cases {
        count_streams(direction, ingress);
    }
}

/// Counts the streams of a host that sends or receives them, with and without VLAN tags.
pub fn count_streams(direction: CountDirection, ingress: IngressHook) {
    let [left, right] = Net::new().pair();
    let host = if direction == CountDirection::Out {
        &left
    } else {
        &right
    };
    let name = host.interface().name.to_string();
    let count = count(host, &name, direction, ingress);
    let frames: Vec<_> = numbers()
        .into_iter()
        .flat_map(|number| {
            [
                stamped(1, number),
                tagged(0x8100, 7, &stamped(2, number)),
                tagged(0x88a8, 9, &tagged(0x8100, 8, &stamped(3, number))),
                udp_frame(60),
            ]
        })
        .collect();
    left.run(|| send_frames(left.interface().index, &frames))
        .unwrap();
    assert_streams(&count, &[1, 2, 3]);
}

/// A tun interface, up and with an address; and its file, which also has to exist.
fn tun(host: &Host) -> TunFile {
    let mut name = [0; libc::IFNAMSIZ];
    name[..4].copy_from_slice(b"tun0");
    let options = TunOptions {
        name,
        layer: TunLayer::Ip,
        packet_information: false,
        offload_header: false,
        multi_queue: false,
    };
    let file = host.run(|| {
        let file = TunFile::open().unwrap();
        file.make(&options).unwrap();
        file
    });
    for line in [
        "address add 192.0.2.1/24 dev tun0",
        "link set tun0 addrgenmode none",
        "link set tun0 up",
    ] {
        let _ = host.ip(line);
    }
    file
}

#[test]
fn stamps_are_found_without_ethernet_headers() {
    let host = Host::new("host");
    let file = tun(&host);
    for ingress in [
        IngressHook::Auto,
        IngressHook::Xdp(XdpAttachMode::Generic),
        IngressHook::Tc,
    ] {
        let count = count(&host, "tun0", CountDirection::In, ingress);
        for number in numbers() {
            for packet in [&stamped(1, number)[14..], &udp_frame(60)[14..]] {
                assert_eq!(rustix::io::write(&file, packet), Ok(packet.len()));
            }
        }
        assert_streams(&count, &[1]);
    }
    let count = count(&host, "tun0", CountDirection::Out, IngressHook::Auto);
    let socket = host.run(|| UdpSocket::bind("192.0.2.1:0").unwrap());
    for number in numbers() {
        let payload = [&[7; 5][..], &stamp(1, number)].concat();
        socket.send_to(&payload, "192.0.2.2:9").unwrap();
    }
    assert_streams(&count, &[1]);
}
