//! Numbers that expressions and packets share, so that filters match.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::random::Random;

const NETS4: [u32; 4] = [0x0a01_0200, 0x0a01_ff00, 0xc0a8_0100, 0xac10_0000];
const OTHERS4: [u32; 5] = [0xe000_0001, 0xe000_0005, 0xffff_ffff, 0, 0x7f00_0001];
const NETS6: [u128; 3] = [
    0x2001_0db8_0000_0000_0000_0000_0000_0000,
    0x2001_0db8_0001_0000_0000_0000_0000_0000,
    0xfe80_0000_0000_0000_0000_0000_0000_0000,
];
const OTHERS6: [u128; 3] = [0xff02 << 112 | 1, 0xff02 << 112 | 0x16, 1];
const PORTS: [u16; 12] = [20, 22, 53, 67, 80, 123, 443, 4789, 6081, 8080, 0, 65_535];
const MACS: [[u8; 6]; 6] = [
    [0xff; 6],
    [0x01, 0, 0x5e, 0, 0, 1],
    [0x33, 0x33, 0, 0, 0, 1],
    [0x01, 0x80, 0xc2, 0, 0, 0],
    [0x02, 0, 0, 0, 0, 1],
    [0x00, 0x00, 0x5e, 0, 1, 1],
];

/// EtherTypes with keywords in the filter language, and some others.
pub const ETHER_TYPES: [u16; 24] = [
    0x0800, 0x86dd, 0x0806, 0x8035, 0x8100, 0x88a8, 0x9100, 0x8847, 0x8863, 0x8864, 0x809b, 0x80f3,
    0x6003, 0x6004, 0x6007, 0x6001, 0x6002, 0x8137, 0x88cc, 0x9000, 0x8809, 0x6558, 0x22f0, 0x8848,
];
/// LLC service access points with keywords in the filter language, and some others.
pub const ACCESS_POINTS: [u8; 8] = [0xfe, 0x42, 0xe0, 0xf0, 0x06, 0xaa, 0xff, 0x04];
/// IP protocol numbers.
pub const PROTOCOLS: [u8; 18] = [
    6, 17, 132, 1, 58, 2, 9, 103, 112, 51, 50, 44, 0, 43, 60, 4, 41, 89,
];

/// An IPv4 address, usually one of a few hundred.
pub fn address4(random: &mut Random) -> Ipv4Addr {
    let number = match random.below(16) {
        0 => *random.pick(&OTHERS4),
        1 => random.number() as u32,
        _ => random.pick(&NETS4) | random.below(64),
    };
    Ipv4Addr::from(number)
}

/// An IPv6 address, usually one of a few hundred.
pub fn address6(random: &mut Random) -> Ipv6Addr {
    let number = match random.below(16) {
        0 => *random.pick(&OTHERS6),
        1 => u128::from(random.number()) << 64 | u128::from(random.number()),
        _ => random.pick(&NETS6) | u128::from(random.below(48)),
    };
    Ipv6Addr::from(number)
}

/// An Ethernet address, usually one of a few dozen.
pub fn mac(random: &mut Random) -> [u8; 6] {
    match random.below(3) {
        0 => *random.pick(&MACS),
        _ => [0x02, 0, 0, 0, 1, random.below(40) as u8],
    }
}

/// A port, usually one of about a hundred.
pub fn port(random: &mut Random) -> u16 {
    match random.below(8) {
        0..=3 => *random.pick(&PORTS),
        4 => random.number() as u16,
        _ => 1000 + random.below(96) as u16,
    }
}

/// A VLAN ID, MPLS label, PPPoE session ID or virtual network ID.
pub fn small(random: &mut Random) -> u32 {
    *random.pick(&[0, 1, 7, 10, 100, 4095])
}

/// A number for arithmetic expressions.
pub fn number(random: &mut Random) -> u32 {
    match random.below(8) {
        0 => *random.pick(&[0xff, 0xffff, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 0x1fff]),
        1 => random.number() as u32,
        2 => u32::from(*random.pick(&PROTOCOLS)),
        3 => u32::from(port(random)),
        4 => 1 << random.below(32),
        _ => random.below(24),
    }
}
