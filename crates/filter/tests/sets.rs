//! Compares lists that become sets with their classic programs, which have no sets.

use crate::corpus::lists::{ethernet4, ethernet6, joined, random};
use crate::corpus::names::Table;
use crate::corpus::packets::{Packet, all_packets};
use crate::corpus::{entries, options_of};
use tapline_filter::classic::Ancillary;
use tapline_filter::{Filter, FilterErrorReason, FilterOptions, LinkType, NoNames};

/// Asserts that interpreter and classic program agree on all prefixes of `packets`.
fn assert_alike(filter: &Filter, text: &str, packets: &[Vec<u8>]) -> (u32, u32) {
    let (program, coarse) = (filter.classic().unwrap(), filter.coarse());
    assert!(coarse.instructions().len() <= program.instructions().len());
    let ancillary = Ancillary {
        packet_type: Some(0),
        ..Ancillary::default()
    };
    let (mut accepted, mut refused) = (0, 0);
    for packet in packets {
        for end in 0..=packet.len().min(90) {
            let (bytes, length) = (&packet[..end], packet.len() as u32);
            let walked = filter.run(bytes, length, &ancillary);
            let run = program.run_with(bytes, length, &ancillary);
            assert_eq!(walked, run, "{text}: {bytes:02x?}\n{}", program.listing());
            let is_through = coarse.run_with(bytes, length, &ancillary) != 0;
            assert!(
                run == 0 || is_through,
                "{text}: {bytes:02x?}\n{}",
                coarse.listing()
            );
            *(if run == 0 {
                &mut refused
            } else {
                &mut accepted
            }) += 1;
        }
    }
    (accepted, refused)
}

#[test]
fn lists_of_ipv4_hosts_nets_and_ports() {
    let mut seed = 7;
    let mut texts = Vec::new();
    let hosts: Vec<u32> = (0..120)
        .map(|_| 0x0a00_0000 | random(&mut seed) as u32 & 0xfff)
        .collect();
    let address = |host: u32| std::net::Ipv4Addr::from(host);
    let host = |host: &u32| format!("host {}", address(*host));
    texts.push(joined(hosts.iter().map(host)));
    texts.push(format!("not ({})", joined(hosts.iter().map(host))));
    texts.push(joined(hosts.iter().map(|host| {
        format!(
            "src host {} or dst net 10.0.{}.0/24",
            address(*host),
            host & 15
        )
    })));
    texts.push(joined(hosts.iter().enumerate().map(|(at, host)| {
        let bits = 20 + at as u32 % 13;
        let net = host & (u32::MAX << (32 - bits));
        format!("ip src net {}/{bits}", address(net))
    })));
    texts.push(joined((0..40u32).map(|at| format!("tcp port {}", at * 3))));
    texts.push(joined(
        (0..40u32).map(|at| format!("portrange {}-{}", at * 5, at * 5 + at % 4)),
    ));
    texts.push(joined((0..30u32).map(|at| {
        format!(
            "(src host {} and tcp port {at})",
            address(hosts[at as usize])
        )
    })));
    let list = joined(hosts.iter().map(host));
    texts.push(format!(
        "(src host {}) or ({list} and ip[60] = 1) or tcp src port 80",
        address(hosts[0])
    ));
    texts.push(format!("({list}) and tcp dst portrange 0-200"));
    texts.push(format!(
        "not (udp or (not ({list}) and ip[60] != 1) or tcp dst port 80)"
    ));
    let mut packets = Vec::new();
    for _ in 0..400 {
        let pick = |seed: &mut u64| match random(seed) % 3 {
            0 => random(seed) as u32,
            1 => 0x0a00_0000 | random(seed) as u32 & 0xfff,
            _ => hosts[random(seed) as usize % hosts.len()],
        };
        let ports = (
            random(&mut seed) as u16 & 0xff,
            random(&mut seed) as u16 & 0x1ff,
        );
        packets.push(ethernet4(pick(&mut seed), pick(&mut seed), ports));
    }
    for text in &texts {
        let filter = Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap();
        // Pairs that must match together do not become a set.
        assert!(
            !filter.sets().is_empty() || text.contains(" and tcp port "),
            "{text}"
        );
        let (accepted, refused) = assert_alike(&filter, text, &packets);
        assert!(accepted > 0 && refused > 0, "{text}: {accepted}, {refused}");
    }
}

#[test]
fn lists_of_ipv6_hosts_and_nets() {
    let mut seed = 11;
    let address = |host: u128| std::net::Ipv6Addr::from(host);
    let hosts: Vec<u128> = (0..90u128)
        .map(|_| {
            let low = u128::from(random(&mut seed) & 0x3_0000_0007);
            0x2001_0db8_u128 << 96 | u128::from(random(&mut seed) & 1) << 64 | low
        })
        .collect();
    let host = |host: &u128| format!("host {}", address(*host));
    let texts = [
        joined(hosts.iter().map(host)),
        format!("not ({})", joined(hosts.iter().map(host))),
        joined(hosts.iter().enumerate().map(|(at, host)| {
            let bits = [32, 48, 64, 100, 128][at % 5];
            let host = host ^ (at as u128) << 98;
            format!(
                "src net {}/{bits}",
                address(host & u128::MAX << (128 - bits))
            )
        })),
        joined((0..50u128).map(|at| format!("dst host {}", address(at << 96 | 1)))),
    ];
    let mut packets = Vec::new();
    for _ in 0..300 {
        let pick = |seed: &mut u64| match random(seed) % 4 {
            0 => hosts[random(seed) as usize % hosts.len()] ^ 1 << 33,
            1 => u128::from(random(seed) % 60) << 96 | 1,
            2 => hosts[random(seed) as usize % hosts.len()] ^ u128::from(random(seed) & 0x7f) << 98,
            _ => hosts[random(seed) as usize % hosts.len()],
        };
        packets.push(ethernet6(pick(&mut seed), pick(&mut seed)));
    }
    for text in &texts {
        let filter = Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap();
        assert!(!filter.sets().is_empty(), "{text}");
        let (accepted, refused) = assert_alike(&filter, text, &packets);
        assert!(accepted > 0 && refused > 0, "{text}: {accepted}, {refused}");
    }
}

#[test]
fn interpreter_and_classic_program_agree_on_the_corpus() {
    let packets = all_packets();
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let mut filters = 0;
    for entry in entries("accept.json") {
        let options = options_of(&entry);
        let Some(text) = entry["expressions"][0].as_str() else {
            continue;
        };
        let filter = match Filter::new(text, &options, &Table) {
            Ok(filter) => filter,
            Err(error) => {
                assert_eq!(error.reason, FilterErrorReason::RejectsAll, "{text}");
                continue;
            }
        };
        let is_wanted = |packet: &Packet, seed: &mut u64| {
            let one_in = if packet.link == options.link.number() {
                16
            } else {
                1024
            };
            random(seed).is_multiple_of(one_in)
        };
        let some: Vec<Vec<u8>> = packets
            .iter()
            .filter(|packet| is_wanted(packet, &mut seed))
            .map(|packet| packet.bytes.clone())
            .collect();
        assert_alike(&filter, text, &some);
        filters += 1;
    }
    assert!(filters > 200);
}
