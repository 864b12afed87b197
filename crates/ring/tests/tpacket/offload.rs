//! Segmentation offload: TCP packets larger than the MTU through real sockets, compared with the bytes sent.

use crate::support;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::support::{BACKENDS, Seen, open, options, read};
use lab::{Host, Net};
use tapline_ring::{DEFAULT_SNAPLEN, PacketRing, RingOptions, TpacketVersion};
use wire::metadata::{Checksum, Direction};

const SENT: usize = 256 << 10;

/// Sends [`SENT`] bytes from `left` to `right` and closes the connection.
fn transfer(left: &Host, right: &Host) {
    let listener = right.run(|| TcpListener::bind((right.interface().v4, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    let mut sender = left.run(|| TcpStream::connect((right.interface().v4, port)).unwrap());
    let (mut receiver, _) = listener.accept().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || sender.write_all(&vec![7; SENT]).unwrap());
        let mut got = Vec::new();
        receiver.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), SENT);
    });
}

/// TCP payload bytes in a packet, computed from its headers.
fn payload(packet: &Seen) -> usize {
    let ip = &packet.bytes[14..];
    assert_eq!((ip[0], ip[9]), (0x45, 6), "IPv4 without options, TCP");
    packet.original_len as usize - 14 - 20 - usize::from(ip[32] >> 4) * 4
}

/// Receives packets with payload until all data has passed.
fn data(ring: &mut PacketRing, direction: Direction) -> Vec<Seen> {
    let (mut seen, mut bytes) = (Vec::new(), 0);
    read(ring, |batch| {
        for packet in batch.packets().map(Seen::from) {
            if packet.direction == direction && payload(&packet) > 0 {
                bytes += payload(&packet);
                seen.push(packet);
            }
        }
        bytes >= SENT
    });
    assert_eq!(bytes, SENT);
    seen
}

fn large(version: TpacketVersion) -> RingOptions {
    // 963 packets in V2, 512 blocks in V3.
    RingOptions {
        snaplen: DEFAULT_SNAPLEN,
        buffer_bytes: 64 << 20,
        ..options(version)
    }
}

#[test]
fn a_packet_that_the_driver_is_to_split_is_seen_whole_and_without_its_checksum() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut near = open(&left, &large(version));
        let mut far = open(&right, &large(version));
        transfer(&left, &right);
        let out = data(&mut near, Direction::Out);
        let inward = data(&mut far, Direction::In);
        for seen in [&out, &inward] {
            assert!(seen.iter().any(|packet| packet.original_len > 1514));
            assert!(
                seen.iter()
                    .all(|packet| packet.bytes.len() == packet.original_len as usize)
            );
            // A veth hands them over as they are: no wire asks for a checksum.
            assert!(
                seen.iter()
                    .all(|packet| packet.checksum == Checksum::NotReady)
            );
        }
        let bytes = |seen: Vec<Seen>| support::bytes_of(seen).concat();
        assert_eq!(bytes(out), bytes(inward));
        near.refresh().unwrap();
        assert_eq!(near.counters().dropped, 0);
    }
}

/// Without offload each packet has a checksum and fits the MTU.
#[test]
fn without_offload_packets_have_their_checksum() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        for host in [&left, &right] {
            let name = host.interface().name.to_string();
            let mut command = host.command("ethtool");
            command.args(["-K", &name, "tx", "off", "tso", "off", "gso", "off"]);
            assert!(command.output().unwrap().status.success());
        }
        let mut near = open(&left, &large(version));
        let mut far = open(&right, &large(version));
        transfer(&left, &right);
        for seen in [
            data(&mut near, Direction::Out),
            data(&mut far, Direction::In),
        ] {
            assert!(seen.iter().all(|packet| packet.original_len <= 1514));
            assert!(
                seen.iter()
                    .all(|packet| packet.checksum != Checksum::NotReady)
            );
        }
    }
}
