//! The counting filter on packet sockets, where packets have a direction, an interface and VLAN tags.

use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};

use crate::support::{in_own_namespace, ip, libpcap, options};
use abi::bpf::SockFilter;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tapline_bpf::socket_filter::{CountingFilter, Direction, TranslateOptions};

/// Opens a packet socket on `link` whose filter is attached before any packet can arrive.
fn capture(link: &str, attach: impl FnOnce(&OwnedFd)) -> OwnedFd {
    let socket = abi::socket::packet_socket().unwrap();
    attach(&socket);
    let ifindex = abi::socket::link_index(socket.as_fd(), link).unwrap();
    abi::socket::bind_link(socket.as_fd(), ifindex).unwrap();
    socket
}

fn received(socket: &OwnedFd) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut frame = [0; 2048];
    loop {
        match recv(socket, &mut frame[..], RecvFlags::empty()) {
            Ok((bytes, _)) => frames.push(frame[..bytes].to_vec()),
            Err(Errno::AGAIN) => return frames,
            Err(error) => panic!("recv: {error}"),
        }
    }
}

fn with_counting(filter: &CountingFilter) -> impl FnOnce(&OwnedFd) {
    |socket| abi::socket::attach_program(socket.as_fd(), filter.as_fd()).unwrap()
}

#[test]
fn the_direction_is_kept_out_of_the_count() {
    if !in_own_namespace() {
        return;
    }
    ip("link set lo up");
    let filter = libpcap("udp");
    let both = CountingFilter::load(&filter, &options(64)).unwrap();
    let snaplen = 64.try_into().unwrap();
    let outgoing = TranslateOptions {
        snaplen,
        direction: Direction::Outgoing,
        sampling: None,
    };
    let outgoing = CountingFilter::load(&filter, &outgoing).unwrap();
    let incoming = TranslateOptions {
        snaplen,
        direction: Direction::Incoming,
        sampling: None,
    };
    let incoming = CountingFilter::load(&filter, &incoming).unwrap();
    let both_socket = capture("lo", with_counting(&both));
    let _incoming_socket = capture("lo", with_counting(&incoming));
    let outgoing_socket = capture("lo", with_counting(&outgoing));

    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..20 {
        sender
            .send_to(&[7; 100], receiver.local_addr().unwrap())
            .unwrap();
        receiver.recv(&mut [0; 200]).unwrap();
    }
    // Loopback shows each datagram twice: as it leaves and as it comes in.
    assert_eq!(both.counts().unwrap().accepted, 40);
    assert_eq!(outgoing.counts().unwrap().offered, 20);
    assert_eq!(outgoing.counts().unwrap().accepted, 20);
    assert_eq!(incoming.counts().unwrap().offered, 20);
    let frames = received(&outgoing_socket);
    assert_eq!(frames.len(), 20);
    assert!(
        frames.iter().all(|frame| frame.len() == 64),
        "cut at the snaplen"
    );
    assert_eq!(received(&both_socket).len(), 40);
}

/// A filter that accepts packets with the given value of one property.
fn property_is(property: u32, value: u32) -> Vec<SockFilter> {
    vec![
        SockFilter {
            code: 0x20,
            jt: 0,
            jf: 0,
            k: 0xffff_f000 + property,
        },
        SockFilter {
            code: 0x15,
            jt: 0,
            jf: 1,
            k: value,
        },
        SockFilter {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: u32::MAX,
        },
        SockFilter {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: 0,
        },
    ]
}

#[test]
fn properties_of_a_packet_are_those_of_the_classic_filter() {
    if !in_own_namespace() {
        return;
    }
    ip("link add name left type veth peer name right");
    for link in ["left", "right"] {
        ip(&format!("link set {link} addrgenmode none"));
        ip(&format!("link set {link} up"));
    }
    let ifindex = {
        let socket = abi::socket::packet_socket().unwrap();
        abi::socket::link_index(socket.as_fd(), "right").unwrap()
    };
    // Property, value that some of the frames have.
    let filters: Vec<Vec<SockFilter>> = [
        (0, 0x0800),
        (0, 0x8100),
        (0, 0x88a8),
        (4, 3),
        (4, 1),
        (4, 0),
        (8, ifindex),
        (20, 0),
        (24, 0),
        (24, 1),
        (32, 0),
        (44, 7),
        (44, 0x2008),
        (48, 0),
        (48, 1),
        (60, 0x8100),
        (60, 0x88a8),
        (60, 0),
    ]
    .map(|(property, value)| property_is(property, value))
    .into_iter()
    .chain([libpcap("ip"), libpcap("vlan"), network_and_link_bytes()])
    .collect();
    let sockets: Vec<_> = filters
        .iter()
        .map(|filter| {
            let classic = capture("right", |socket| {
                abi::bpf::attach_classic(socket.as_fd(), filter).unwrap();
            });
            let counting = CountingFilter::load(filter, &options(u32::MAX)).unwrap();
            (
                classic,
                capture("right", with_counting(&counting)),
                counting,
            )
        })
        .collect();

    let sender = capture("left", |socket| {
        abi::bpf::attach_classic(
            socket.as_fd(),
            &[SockFilter {
                code: 0x06,
                ..SockFilter::default()
            }],
        )
        .unwrap();
    });
    let snaplen = 64.try_into().unwrap();
    let direction = Direction::Outgoing;
    let [near, far] = ["left", "right"].map(|link| {
        let options = TranslateOptions {
            snaplen,
            direction,
            sampling: None,
        };
        let counting = CountingFilter::load(&libpcap(""), &options).unwrap();
        (capture(link, with_counting(&counting)), counting)
    });
    let frames = frames();
    for frame in &frames {
        assert_eq!(send(&sender, frame, SendFlags::empty()), Ok(frame.len()));
    }
    assert_eq!(near.1.counts().unwrap().offered, frames.len() as u64);
    assert_eq!(
        far.1.counts().unwrap().offered,
        0,
        "what comes in is not offered"
    );
    let mut differing = 0;
    for (filter, (classic, ours, counting)) in filters.iter().zip(&sockets) {
        let expected = received(classic);
        assert_eq!(received(ours), expected, "{filter:?}");
        let counts = counting.counts().unwrap();
        assert_eq!(counts.offered, frames.len() as u64, "{filter:?}");
        assert_eq!(counts.accepted, expected.len() as u64, "{filter:?}");
        differing += u32::from((1..frames.len()).contains(&expected.len()));
    }
    assert!(
        differing >= 9,
        "only {differing} filters tell the frames apart"
    );
}

/// Accepts IPv4 packets with a certain protocol, read relative to the network header, and a certain MAC address, read
/// relative to the link header.
fn network_and_link_bytes() -> Vec<SockFilter> {
    let load = |code, k| SockFilter {
        code,
        jt: 0,
        jf: 0,
        k,
    };
    let test = |k, jf| SockFilter {
        code: 0x15,
        jt: 0,
        jf,
        k,
    };
    vec![
        load(0x30, 0xfff0_0000 + 9),
        test(17, 3),
        load(0x30, 0xffe0_0000 + 11),
        test(2, 1),
        load(0x06, 1000),
        load(0x06, 0),
    ]
}

/// Untagged, tagged and double-tagged frames: to this host, to others and broadcast.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for destination in [[2, 0, 0, 0, 0, 9], [0xff; 6]] {
        for tags in [
            &[][..],
            &[0x81, 0, 0, 7],
            &[0x81, 0, 0x20, 8],
            &[0x88, 0xa8, 0, 7],
            &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8],
        ] {
            let mut frame = destination.to_vec();
            frame.extend([2, 0, 0, 0, 0, 2]);
            frame.extend(tags);
            frame.extend([
                8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
            ]);
            frame.resize(frame.len() + 26, 5);
            frames.push(frame);
        }
    }
    frames
}
