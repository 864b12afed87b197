//! Packets that the kernel handles in one piece (GSO, GRO) count as on the wire.
//!
//! The reference is the other end, where an XDP program makes the veth deliver each packet separately.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::thread;

use crate::support::count::{DEADLINE, open, options, tagged, traffic, until, with};
use bpf::{Helper, Insn, Program, ProgramKind, Reg, TcHook, TcLink};
use lab::generator::udp_frame;
use lab::{Host, Net};
use netlink::Gro;
use tapline::count::{
    Count, CountDirection, CountHook, CountLayer, CountTotals, IngressHook, Traffic, XdpAttachMode,
};

const STREAM_BYTES: usize = 3_000_001;
const FILTERS: [&str; 2] = ["tcp port 7300 or udp port 7300", "ip6"];

fn count(host: &Host, direction: CountDirection, ingress: IngressHook, layer: CountLayer) -> Count {
    let options = with!(options(host, direction, &FILTERS); ingress: ingress, layer: layer);
    open(host, options)
}

/// Sends a stream of bytes from `left` to `right` at `ip`, and waits until the connection is closed.
fn stream(left: &Host, right: &Host, ip: IpAddr) {
    let to = SocketAddr::new(ip, 7300);
    let listener = right.run(|| TcpListener::bind(to).unwrap());
    // So little is under way that the queue of the veth, which holds 256 packets, never overflows.
    let window: i32 = 64 << 10;
    abi::socket::set_option(listener.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &window).unwrap();
    let mut sender = left.run(|| TcpStream::connect_timeout(&to, DEADLINE).unwrap());
    let (mut receiver, _) = listener.accept().unwrap();
    receiver.set_read_timeout(Some(DEADLINE)).unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = vec![0; STREAM_BYTES];
        receiver.read_exact(&mut bytes).unwrap();
    });
    sender.write_all(&vec![7; STREAM_BYTES]).unwrap();
    reader.join().unwrap();
}

fn tallies(snapshot: &CountTotals) -> Vec<Traffic> {
    snapshot.classes.iter().map(|class| class.traffic).collect()
}

/// Waits until the counts of both ends are equal in every class, because packets may be in flight.
#[track_caller]
fn agree(one: &mut Count, other: &mut Count) -> Vec<Traffic> {
    let snapshot = until(one, |snapshot| {
        let there = tallies(&other.read().unwrap());
        tallies(snapshot) == there && there[0].packets > 0
    });
    tallies(&snapshot)
}

#[test]
fn a_tcp_stream_counts_as_wire_packets_at_the_sender() {
    for layer in [CountLayer::Ethernet, CountLayer::Wire] {
        for version in [4, 6] {
            let [left, right] = Net::new().pair();
            let ip = match version {
                4 => right.interface().v4.into(),
                _ => right.interface().v6.into(),
            };
            let mut sent = count(&left, CountDirection::Out, IngressHook::Auto, layer);
            let mut arrived = count(&right, CountDirection::In, IngressHook::Auto, layer);
            let hooks: Vec<_> = arrived.points().map(|place| place.hook).collect();
            assert_eq!(hooks, [CountHook::XdpNative]);
            stream(&left, &right, ip);
            let [tcp, ip6] = agree(&mut sent, &mut arrived)[..] else {
                panic!("two classes")
            };
            assert!(tcp.bytes > STREAM_BYTES as u64);
            assert!(tcp.packets > STREAM_BYTES as u64 / 1500);
            assert_eq!(ip6.packets >= tcp.packets, version == 6);
        }
    }
}

#[test]
fn gro_packets_count_as_received_packets() {
    let [left, right] = Net::new().pair();
    right.set_gro(Gro::On);
    // A veth that hands over super-packets whole: the sender's own figures are the truth, which the
    // other test compares with the wire.
    let mut sent = count(
        &left,
        CountDirection::Out,
        IngressHook::Auto,
        CountLayer::Ethernet,
    );
    let mut arrived = count(
        &right,
        CountDirection::In,
        IngressHook::Tc,
        CountLayer::Ethernet,
    );
    let before = right.counters().rx_packets;
    stream(&left, &right, right.interface().v4.into());
    let [tcp, _] = agree(&mut sent, &mut arrived)[..] else {
        panic!("two classes")
    };
    let handled = right.counters().rx_packets - before;
    assert!(
        tcp.packets > 2 * handled,
        "{tcp:?}, the kernel handled {handled}"
    );
}

/// Sends `bytes` in one call as datagrams of 1400 bytes plus a remainder.
fn send_segmented(left: &Host, to: SocketAddr, bytes: usize) {
    const SOL_UDP: i32 = 17;
    const UDP_SEGMENT: i32 = 103;
    left.run(|| {
        let socket = UdpSocket::bind((left.interface().v4, 0)).unwrap();
        abi::socket::set_option(socket.as_fd(), SOL_UDP, UDP_SEGMENT, &1400).unwrap();
        assert_eq!(socket.send_to(&vec![1; bytes], to).unwrap(), bytes);
    });
}

#[test]
fn gso_datagrams_count_with_their_headers() {
    let [left, right] = Net::new().pair();
    let mut sent = count(
        &left,
        CountDirection::Out,
        IngressHook::Auto,
        CountLayer::Wire,
    );
    let to = SocketAddr::new(right.interface().v4.into(), 7300);
    let _listener = right.run(|| UdpSocket::bind(to).unwrap());
    send_segmented(&left, to, 10 * 1400 + 5);
    let snapshot = until(&mut sent, |s| s.classes[0].traffic.packets >= 11);
    let all = Traffic {
        packets: 11,
        // Headers of 42 bytes; 24 more on the wire; the last datagram is filled up to 60 bytes.
        bytes: 10 * (1400 + 42 + 24) + 60 + 24,
    };
    assert_eq!(snapshot.classes[0].traffic, all);
}

/// A veth segments packets from its peer only for native XDP, which then counts as on the wire. Generic XDP counts what
/// the interface's statistics show.
#[test]
fn gso_datagrams_count_separately_except_in_generic_xdp() {
    for (ingress, hook, packets) in [
        (IngressHook::Auto, CountHook::XdpNative, 11),
        (IngressHook::Tc, CountHook::Tcx, 11),
        (
            IngressHook::Xdp(XdpAttachMode::Generic),
            CountHook::XdpGeneric,
            1,
        ),
    ] {
        let [left, right] = Net::new().pair();
        let mut sent = count(
            &left,
            CountDirection::Out,
            IngressHook::Auto,
            CountLayer::Ethernet,
        );
        let mut arrived = count(&right, CountDirection::In, ingress, CountLayer::Ethernet);
        let found: Vec<_> = arrived.points().map(|place| place.hook).collect();
        assert_eq!(found, [hook]);
        assert_eq!(hook.counts_super_packets_once(), packets == 1);
        let to = SocketAddr::new(right.interface().v4.into(), 7300);
        let _listener = right.run(|| UdpSocket::bind(to).unwrap());
        send_segmented(&left, to, 10 * 1400 + 5);
        let on_the_wire = traffic(11, 10 * (1400 + 42) + 5 + 42);
        let snapshot = until(&mut sent, |s| s.classes[0].traffic.packets >= 11);
        assert_eq!(snapshot.classes[0].traffic, on_the_wire);
        let snapshot = until(&mut arrived, |s| s.classes[0].traffic.packets >= packets);
        let once = traffic(1, 10 * 1400 + 5 + 42);
        let expected = if packets == 1 { once } else { on_the_wire };
        assert_eq!(snapshot.classes[0].traffic, expected, "{hook:?}");
    }
}

/// Forwards packets from the first interface of `host` to its second, like a bridge.
fn pass_on(host: &Host) -> TcLink {
    let [from, to] = [0, 1].map(|number| host.interfaces()[number].index.0);
    let code = [
        Insn::mov32(Reg::R1, to.cast_signed()),
        Insn::mov32(Reg::R2, 0),
        Insn::Call(Helper::Redirect),
        Insn::Exit,
    ];
    let program = Program::load(ProgramKind::Tc, "tapline_test", &code).unwrap();
    host.run(|| TcLink::attach(&program, from, TcHook::Ingress).unwrap())
}

#[test]
fn tags_in_metadata_count() {
    let net = Net::new();
    let [mut left, mut middle, mut right] = ["left", "middle", "right"].map(Host::new);
    net.join(&mut left, &mut middle);
    net.join(&mut middle, &mut right);
    let _link = pass_on(&middle);
    let filters = [
        "vlan 7 and udp",
        "udp port 9",
        "udp port 9 and not vlan",
        "vlan 7 and vlan 8",
    ];
    let of = |host: &Host, number: usize, direction| {
        with!(
            options(host, direction, &filters);
            interfaces: vec![host.interfaces()[number].name.to_string()],
        )
    };
    let mut counts = [
        open(&left, of(&left, 0, CountDirection::Out)),
        open(&middle, of(&middle, 0, CountDirection::In)),
        open(&middle, of(&middle, 1, CountDirection::Out)),
        open(&right, of(&right, 0, CountDirection::In)),
    ];
    let frame = udp_frame(100);
    let frames = [
        vec![frame.clone(); 5],
        vec![tagged(0x8100, 7, &frame); 7],
        vec![tagged(0x88a8, 7, &tagged(0x8100, 8, &frame)); 11],
    ];
    left.send(frames.concat());
    let expected = [
        traffic(7, 7 * 104),
        traffic(12, 5 * 100 + 7 * 104),
        traffic(5, 5 * 100),
        traffic(11, 11 * 108),
    ];
    for (number, count) in counts.iter_mut().enumerate() {
        let snapshot = until(count, |s| s.classes[3].traffic.packets == 11);
        assert_eq!(tallies(&snapshot), expected, "place {number}");
    }
}
