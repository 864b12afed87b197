//! Interfaces without an Ethernet header, created with the tun driver.

use std::io::Write;

use crate::support::{BACKENDS, collect, open_on, options, tun};
use lab::Host;
use tapline_ring::{PacketRing, RingOpenError, RingOptions};
use wire::metadata::{Direction, Reception};

#[test]
fn packets_without_a_link_layer_are_received_from_their_ip_header_on() {
    for version in BACKENDS {
        for (hatype, link_type) in [(None, 101), (Some(519), 101)] {
            let host = Host::new("alone");
            let mut tunnel = tun::open(&host, c"tun0", libc::IFF_TUN, hatype);
            let mut rings = [20, 100].map(|snaplen| {
                open_on(
                    &host,
                    "tun0",
                    &RingOptions {
                        snaplen,
                        ..options(version)
                    },
                )
            });
            let [from, to] = [[198, 18, 0, 1], [198, 18, 0, 2]].map(std::net::Ipv4Addr::from);
            let packet = wire::build::Frame::raw()
                .ipv4(from, to)
                .udp(9, 9)
                .payload(b"hello");
            tunnel.write_all(&packet).unwrap();
            for (ring, kept) in rings.iter_mut().zip([20, packet.len()]) {
                assert_eq!(
                    (ring.interface().link_type, ring.interface().loopback),
                    (link_type, false)
                );
                let seen = collect(ring, 1).remove(0);
                assert_eq!(seen.bytes, packet[..kept]);
                assert_eq!(seen.original_len as usize, packet.len());
                assert_eq!(
                    (seen.direction, seen.reception),
                    (Direction::In, Some(Reception::Unicast))
                );
            }
        }
    }
}

#[test]
fn a_link_layer_without_a_capture_file_type_is_refused() {
    for version in BACKENDS {
        let host = Host::new("alone");
        // ARPHRD_TUNNEL: IPIP tunnel.
        let _tunnel = tun::open(&host, c"tun0", libc::IFF_TUN, Some(768));
        match host.run(|| PacketRing::open("tun0", &options(version))) {
            Err(RingOpenError::LinkLayer { link, hatype }) => {
                assert_eq!((link.as_str(), hatype), ("tun0", 768));
            }
            other => panic!("{other:?}"),
        }
    }
}
