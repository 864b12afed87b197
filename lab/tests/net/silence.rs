//! Idle test hosts send no packets. Compared with a packet socket in the host's namespace, and the kernel's counters.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use abi::packet::ETH_P_ALL;
use netlink::{Addr, IfName, Link, Prefix, Veth};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket};
use tapline_lab::{Host, Net};

/// Longer than the first repetition of multicast reports and router solicitations.
const WINDOW: Timespec = Timespec {
    tv_sec: 3,
    tv_nsec: 0,
};

/// A packet socket that receives from every interface that the host has or will have.
fn observer(host: &Host) -> OwnedFd {
    let protocol = std::num::NonZeroU32::new(ETH_P_ALL.to_be().into()).map(Protocol::from_raw);
    let opened = host.run(|| socket(AddressFamily::PACKET, SocketType::RAW, protocol));
    opened.expect("a packet socket")
}

/// A socket that gives up in the end, so that a lost packet is a failure and not a wait.
fn receiver(host: &Host, place: SocketAddr) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind(place)).expect("a free port");
    let deadline = Some(Duration::from_secs(10));
    socket.set_read_timeout(deadline).expect("a deadline");
    socket
}

/// Whether a packet is there within the window.
fn sees_a_packet(observers: &[OwnedFd; 2]) -> bool {
    let mut descriptors = observers
        .each_ref()
        .map(|fd| PollFd::new(fd, PollFlags::IN));
    poll(&mut descriptors, Some(&WINDOW)).expect("waiting for packets") != 0
}

fn next_packet(observer: &OwnedFd) -> Vec<u8> {
    let mut bytes = [0; 2048];
    let (_, length) = recv(observer, &mut bytes, RecvFlags::empty()).expect("a packet");
    bytes[..length].to_vec()
}

#[test]
fn a_pair_is_silent_from_its_first_moment() {
    let net = Net::new();
    let [mut left, mut right] = ["left", "right"].map(Host::new);
    let observers = [observer(&left), observer(&right)];
    net.join(&mut left, &mut right);
    assert!(
        !sees_a_packet(&observers),
        "{:02x?}",
        observers.each_ref().map(next_packet)
    );
    assert_eq!(
        (left.counters().tx_packets, right.counters().tx_packets),
        (0, 0)
    );
}

#[test]
fn a_link_made_without_the_lab_is_not_silent() {
    let [left, right] = ["left", "right"].map(Host::new);
    let observers = [observer(&left), observer(&right)];
    let end = |name| Link::named(IfName::new(name).expect("a name"));
    let mut netlink = left.netlink();
    let link = netlink
        .create(&end("one").kind(Veth::to(end("two"))))
        .expect("a veth pair");
    for index in [link.ifindex(), link.lower.expect("a peer")] {
        netlink.set(&Link::at(index).up(true)).expect("it is up");
    }
    let prefix = Prefix::new(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1), 64);
    let address = Addr::on(link.ifindex(), prefix).nodad(true);
    netlink.add(&address).expect("an address");
    assert!(
        sees_a_packet(&observers),
        "the observer would see multicast reports"
    );
}

#[test]
fn a_pair_carries_exactly_what_is_sent() {
    let [left, right] = Net::new().pair();
    let (here, there) = (left.interface(), right.interface());
    let ways: [(SocketAddr, SocketAddr); 2] = [
        ((here.v4, 0).into(), (there.v4, 7000).into()),
        ((here.v6, 0).into(), (there.v6, 7000).into()),
    ];
    for (round, (source, target)) in ways.into_iter().enumerate() {
        let receiver = receiver(&right, target);
        let sender = left
            .run(|| UdpSocket::bind(source))
            .expect("a socket on the left");
        for _ in 0..100 {
            sender.send_to(b"known", target).expect("sent");
        }
        let mut bytes = [0; 16];
        for _ in 0..100 {
            let (length, from) = receiver.recv_from(&mut bytes).expect("received");
            assert_eq!((&bytes[..length], from.ip()), (&b"known"[..], source.ip()));
        }
        let sent = 100 * (round as u64 + 1);
        let (left, right) = (left.counters(), right.counters());
        assert_eq!((left.tx_packets, left.rx_packets), (sent, 0));
        assert_eq!((right.rx_packets, right.tx_packets), (sent, 0));
    }
    // Ethernet, IP and UDP headers and 5 bytes of payload.
    assert_eq!(
        right.counters().rx_bytes,
        100 * (14 + 20 + 8 + 5) + 100 * (14 + 40 + 8 + 5)
    );
    assert_ne!(here.v4, Ipv4Addr::UNSPECIFIED);
}

#[test]
fn two_links_between_hosts_have_networks_of_their_own() {
    let net = Net::new();
    let [mut left, mut right] = net.pair();
    net.join(&mut left, &mut right);
    let [first, second] = left.interfaces() else {
        panic!("two interfaces")
    };
    assert_ne!(
        (first.v4, first.v6, first.mac),
        (second.v4, second.v6, second.mac)
    );
    let target = SocketAddr::from((right.interfaces()[1].v4, 7000));
    let receiver = receiver(&right, target);
    let sender = left
        .run(|| UdpSocket::bind((second.v4, 0)))
        .expect("a socket on the left");
    sender.send_to(b"second", target).expect("sent");
    assert_eq!(receiver.recv(&mut [0; 16]).expect("received"), 6);
    assert_eq!(left.counters().tx_packets, 0);
}

/// The kernel puts an IPv6 address in force a little after it has taken it.
#[test]
fn addresses_are_in_force_as_soon_as_the_hosts_are_joined() {
    for _ in 0..50 {
        let [left, right] = Net::new().pair();
        for (here, there) in [(&left, &right), (&right, &left)] {
            let target = SocketAddr::from((there.interface().v6, 7000));
            let receiver = receiver(there, target);
            let sender = here.run(|| UdpSocket::bind("[::]:0")).expect("a free port");
            sender.send_to(b"first", target).expect("sent");
            assert_eq!(receiver.recv(&mut [0; 16]).expect("received"), 5);
        }
    }
}
