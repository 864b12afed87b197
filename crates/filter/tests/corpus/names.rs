use std::net::{IpAddr, Ipv4Addr};
use tapline_filter::{NameResolver, Transport};

/// The names of libpcap's test suite, case-insensitive.
pub struct Table;

impl NameResolver for Table {
    fn host(&self, name: &str) -> Vec<IpAddr> {
        let name = name.to_ascii_lowercase();
        let mut addresses = Vec::new();
        let four = [
            "192.168.241.3",
            "192.168.242.4",
            "192.168.243.1",
            "192.168.244.2",
        ];
        let two = [
            "fd00:a1b2:c3d4:0:a0b0:c0d0:e0f0:1278",
            "fd00:a1b2:c3d4:0:a0b0:c0d0:e0f0:3456",
        ];
        if name.ends_with(".host123.libpcap.test") {
            if name.contains("-ipv4") {
                addresses.push("10.20.30.40");
            }
            if name.contains("-ipv6") {
                addresses.push("fd00:a1b2:c3d4:0:1020:3040:5060:7080");
            }
        }
        if name.ends_with(".host357.libpcap.test") {
            if name.contains("-ipv4x4") {
                addresses.extend(four);
            }
            if name.contains("-ipv6x2") {
                addresses.extend(two);
            }
        }
        addresses.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn network(&self, name: &str) -> Option<Ipv4Addr> {
        let name = name.to_ascii_lowercase();
        let dashed = name.strip_prefix("net-")?.strip_suffix(".libpcap.test")?;
        dashed.replace('-', ".").parse().ok()
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        let name = name.to_ascii_lowercase();
        match name.strip_prefix("eth-")?.split_once('.')?.1 {
            "host123.libpcap.test" => Some([0xaa, 0, 4, 0, 0x14, 0x0e]),
            "host357.libpcap.test" => Some([0xaa, 0, 4, 0, 1, 8]),
            _ => None,
        }
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        match (name, transport) {
            ("smtp", Transport::Tcp) => Some(25),
            ("domain", Transport::Tcp | Transport::Udp) => Some(53),
            ("bootps", Transport::Udp) => Some(67),
            ("bootpc", Transport::Udp) => Some(68),
            _ => None,
        }
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        match name {
            "tcp" => Some(6),
            "udp" => Some(17),
            _ => None,
        }
    }
}
