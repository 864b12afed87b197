//! Terms with `any` on packets inside tunnels, beside the plain words of pcap-filter(7) that find the same.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::build::{Extension, Frame};
use wire::protocol::{ethertype, ip};
use wire::{Ipv6Fields, MacAddress};

use crate::harness::Flow;

/// One frame, and two filters with one verdict on it.
pub struct Pair {
    pub name: &'static str,
    pub frame: Vec<u8>,
    pub plain: &'static str,
    pub any: &'static str,
}

const OUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];

/// A full segment from a web server, which each tunnel carries.
pub fn segment() -> Vec<u8> {
    let ends: [Ipv4Addr; 2] = [[178, 79, 150, 233].into(), [198, 18, 0, 1].into()];
    Flow::new(ip::TCP, ends, [80, 40_000]).frame(1400)
}

fn ethernet() -> Frame {
    let [near, far] = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
    Frame::ethernet(near, far)
}

pub fn in_vxlan(outer: Frame) -> Vec<u8> {
    let udp = outer.ipv4(OUTER[0], OUTER[1]).udp(40_000, 4789);
    udp.payload(&[&[8, 0, 0, 0, 0, 0, 7, 0], &segment()[..]].concat())
}

pub fn vxlan() -> Vec<u8> {
    in_vxlan(ethernet())
}

/// Frames with each header. GRE and extension headers have no plain word: the plain filter reads the fields at their
/// offsets in this frame, which is less than a word would do.
pub fn pairs() -> Vec<Pair> {
    let segment = segment();
    let packet = &segment[14..];
    let pair = |name, frame: &[u8], plain, any| Pair {
        name,
        frame: frame.to_vec(),
        plain,
        any,
    };
    let tagged = ethernet().vlan(7).payload(ethertype::IPV4, packet);
    let labelled = [&[0, 1, 1, 64], packet].concat();
    let labelled = ethernet().payload(ethertype::MPLS, &labelled);
    let gre = [&[0, 0, 8, 0], packet].concat();
    let gre = (ethernet().ipv4(OUTER[0], OUTER[1])).payload(ip::GRE, &gre);
    let ends: [Ipv6Addr; 2] = [1, 2].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last));
    let fields = Ipv6Fields::new(ends[0], ends[1]);
    let options = [Extension::HopByHop(&[1, 4, 0, 0, 0, 0])];
    let extended = (ethernet().ipv6_with(fields, &options))
        .udp(40_000, 53)
        .payload(&[0; 1000]);
    let vxlan = vxlan();
    let both = in_vxlan(ethernet().vlan(7));
    vec![
        pair(
            "VXLAN, accepted",
            &vxlan,
            "vxlan and port 80",
            "any port 80",
        ),
        pair(
            "VXLAN, rejected",
            &vxlan,
            "vxlan and port 5555",
            "any port 5555",
        ),
        pair(
            "VXLAN, host",
            &vxlan,
            "vxlan and host 10.9.9.9",
            "any host 10.9.9.9",
        ),
        pair("VXLAN, protocol", &vxlan, "vxlan and udp", "inner udp"),
        pair(
            "VLAN and VXLAN",
            &both,
            "vlan and vxlan and port 80",
            "any port 80",
        ),
        pair("VLAN", &tagged, "vlan and port 80", "any port 80"),
        pair("MPLS", &labelled, "mpls and port 80", "any port 80"),
        pair(
            "GRE",
            &gre,
            "ip[9] = 47 and ip[22:2] = 0x800 and ip[33] = 6 and ip[44:2] = 80",
            "any port 80",
        ),
        pair(
            "hop-by-hop options",
            &extended,
            "ip6[6] = 0 and ip6[40] = 17 and ip6[50:2] = 53",
            "any port 53",
        ),
    ]
}
