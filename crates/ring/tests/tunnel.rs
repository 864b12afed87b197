//! Interfaces whose packets do not begin with an Ethernet header, made with the tun driver.

mod support;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;

use lab::Host;
use support::{BACKENDS, collect, open_on, options};
use tapline_ring::{OpenError, Options, PacketRing};
use wire::metadata::{Direction, Reception};

/// `struct ifreq` with its `ifr_flags` member.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: i16,
    rest: [u8; 22],
}

/// An interface `tun0` of `hatype` on the host; what is written to the file is received by it.
fn tunnel(host: &Host, hatype: Option<i32>) -> File {
    let file = host.run(|| {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun");
        let file = device.expect("the tun driver");
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        let mut request = Request {
            name: [0; libc::IFNAMSIZ],
            flags,
            rest: [0; 22],
        };
        request.name[..4].copy_from_slice(b"tun0");
        // SAFETY: the request has the size and layout of `struct ifreq` and outlives the call.
        let made = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        assert_eq!(made, 0);
        if let Some(hatype) = hatype {
            // SAFETY: the argument is a plain number.
            let set = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETLINK, hatype) };
            assert_eq!(set, 0);
        }
        file
    });
    for arguments in ["link set tun0 addrgenmode none", "link set tun0 up"] {
        let words = arguments.split(' ');
        assert!(host.command("ip").args(words).status().unwrap().success());
    }
    file
}

#[test]
fn packets_without_a_link_layer_are_received_from_their_ip_header_on() {
    for backend in BACKENDS {
        for (hatype, link_type) in [(None, 101), (Some(519), 101)] {
            let host = Host::new("alone");
            let mut tunnel = tunnel(&host, hatype);
            let mut rings = [20, 100].map(|snaplen| {
                open_on(
                    &host,
                    "tun0",
                    &Options {
                        snaplen,
                        ..options(backend)
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
                    (ring.link().link_type, ring.link().loopback),
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
    for backend in BACKENDS {
        let host = Host::new("alone");
        // ARPHRD_TUNNEL: IPIP tunnel.
        let _tunnel = tunnel(&host, Some(768));
        match host.run(|| PacketRing::open("tun0", &options(backend))) {
            Err(OpenError::LinkLayer { link, hatype }) => {
                assert_eq!((link.as_str(), hatype), ("tun0", 768));
            }
            other => panic!("{other:?}"),
        }
    }
}
