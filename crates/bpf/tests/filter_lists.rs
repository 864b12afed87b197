//! Lists as XDP and tc programs: lists that become maps, lists that are compared entry by entry, and lists with long
//! jumps. Compares the kernel's test run with the interpreter.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::filters::Loaded;
use crate::filters::corpus::lists::{ethernet4, ethernet6, joined, random};
use tapline_filter::FilterTarget;

const PLACES: [FilterTarget; 2] = [FilterTarget::Xdp, FilterTarget::TcIngress];

/// Runs the filter at both hooks on prefixes of all packets. It must accept some and reject some.
fn assert_alike(name: &str, expression: &str, packets: &[Vec<u8>]) {
    for at in PLACES {
        let loaded = Loaded::of(expression, at);
        let mut accepted = 0;
        for packet in packets {
            let lengths = [packet.len(), 37, 30, 54];
            accepted += loaded.assert_alike(name, packet, &lengths);
        }
        assert!(
            accepted > 0 && accepted < packets.len() * 2,
            "{name}: {accepted}"
        );
    }
}

/// Packets to, from and near `hosts`.
fn packets4(hosts: &[u32]) -> Vec<Vec<u8>> {
    let mut seed = 5;
    let pick = |seed: &mut u64| match random(seed) % 4 {
        0 => hosts[random(seed) as usize % hosts.len()],
        _ => random(seed) as u32,
    };
    (0..300)
        .map(|_| {
            let (source, port) = (random(&mut seed) as u16 & 0x7ff, random(&mut seed) as u16);
            ethernet4(pick(&mut seed), pick(&mut seed), (source, port & 0x3ff))
        })
        .collect()
}

fn hosts4(count: u32) -> Vec<u32> {
    let mut seed = 7;
    (0..count).map(|_| random(&mut seed) as u32).collect()
}

#[test]
fn ten_thousand_hosts() {
    let hosts = hosts4(10_000);
    let host = |host: &u32| format!("host {}", Ipv4Addr::from(*host));
    let list = joined(hosts.iter().map(host));
    assert_alike("hosts", &list, &packets4(&hosts));
    assert_alike(
        "no hosts",
        &format!("ip and not ({list})"),
        &packets4(&hosts),
    );
}

#[test]
fn nets_of_many_lengths() {
    let hosts = hosts4(2000);
    let net = |(at, host): (usize, &u32)| {
        let bits = 12 + at as u32 % 21;
        let net = host & (u32::MAX << (32 - bits));
        format!("src net {}/{bits}", Ipv4Addr::from(net))
    };
    let list = joined(hosts.iter().enumerate().map(net));
    assert_alike("nets", &list, &packets4(&hosts));
}

#[test]
fn ports_and_ranges_of_ports() {
    let hosts = hosts4(10);
    let few = joined((0..20).map(|at| format!("tcp port {}", at * 20)));
    assert_alike("few ports", &few, &packets4(&hosts));
    let many = joined((0..300).map(|at| format!("tcp src port {}", at * 5)));
    assert_alike("many ports", &many, &packets4(&hosts));
    let range = |at| format!("src portrange {}-{}", at * 7, at * 7 + at % 4);
    assert_alike("few ranges", &joined((0..40).map(range)), &packets4(&hosts));
    assert_alike(
        "many ranges",
        &joined((0..280).map(range)),
        &packets4(&hosts),
    );
}

#[test]
fn ipv6_hosts_and_nets() {
    let mut seed = 11;
    let hosts: Vec<u128> = (0..3000)
        .map(|_| {
            let low = u128::from(random(&mut seed) & 0xff_0000_00ff);
            0x2001_0db8_u128 << 96 | u128::from(random(&mut seed) & 3) << 64 | low
        })
        .collect();
    let mut packets = Vec::new();
    for _ in 0..300 {
        let pick = |seed: &mut u64| {
            let host = hosts[random(seed) as usize % hosts.len()];
            host ^ u128::from(random(seed) % 3) << 50
        };
        packets.push(ethernet6(pick(&mut seed), pick(&mut seed)));
    }
    let host = |host: &u128| format!("dst host {}", Ipv6Addr::from(*host));
    assert_alike("hosts", &joined(hosts.iter().map(host)), &packets);
    let net = |(at, host): (usize, &u128)| {
        let bits = [96, 100, 112, 120, 128][at % 5];
        let net = host & u128::MAX << (128 - bits);
        format!("src net {}/{bits}", Ipv6Addr::from(net))
    };
    let nets = hosts.iter().skip(2).step_by(5).enumerate().map(net);
    assert_alike("nets", &joined(nets), &packets);
}

#[test]
fn a_list_of_pairs_whose_jumps_go_far() {
    let hosts = hosts4(4000);
    let pair = |(at, host): (usize, &u32)| {
        let host = Ipv4Addr::from(*host);
        format!("(src host {host} and tcp dst port {})", at % 1024)
    };
    let list = joined(hosts.iter().enumerate().map(pair));
    let mut packets = packets4(&hosts);
    let match_of = |at: usize| ethernet4(hosts[at], 1, (1, at as u16 % 1024));
    packets.extend([0, 1, 1999, 3999].map(match_of));
    assert_alike("pairs", &list, &packets);
}

#[test]
fn a_list_that_no_set_can_hold() {
    let term = |at: u32| match at % 3 {
        0 => format!("ether[{}:2] & 0xf0ff = {}", at % 60, 1 + (at & 0xf0ff)),
        1 => format!(
            "(ether[{}] = {} and ether[{}:2] > {})",
            at % 59,
            1 + at % 251,
            at % 53,
            999 + at
        ),
        _ => format!(
            "(ether[{}:4] = {at} and ether[{}:4] = {})",
            at % 43,
            at % 41,
            at / 2
        ),
    };
    for count in [200, 1000, 8000] {
        let list = joined((0..count).map(term));
        assert_alike("bytes", &list, &packets4(&hosts4(3)));
    }
}
