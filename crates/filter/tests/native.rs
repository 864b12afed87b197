//! Compares native code with the interpreter, on whole packets and on their prefixes.
#![cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
))]

use crate::corpus::lists::{ethernet4, ethernet6, joined, random};
use crate::corpus::names::Table;
use crate::corpus::packets::{Packet, all_packets, folder, packets_of};
use crate::corpus::{entries, options_of, text};
use std::net::{Ipv4Addr, Ipv6Addr};
use tapline_filter::classic::Ancillary;
use tapline_filter::native;
use tapline_filter::{Filter, FilterErrorReason, FilterOptions, LinkType, NoNames};

/// Combinations of packet metadata.
fn ancillaries() -> [Ancillary; 3] {
    let all = Ancillary {
        packet_type: Some(4),
        interface_index: Some(3),
        queue: Some(1),
        vlan_tag: Some(10),
    };
    let some = Ancillary {
        packet_type: Some(0),
        ..Ancillary::default()
    };
    [Ancillary::default(), some, all]
}

/// Asserts equal verdicts for all prefixes of `packets`, one by one and in batches; returns how
/// many were accepted and rejected.
fn assert_alike(filter: &Filter, text: &str, packets: &[Vec<u8>]) -> (usize, usize) {
    let program = filter.native().unwrap();
    let beginnings = packets.iter().flat_map(|packet| {
        let ends = (0..packet.len().min(100)).chain([packet.len()]);
        ends.map(|end| (&packet[..end], packet.len() as u32))
    });
    let beginnings: Vec<_> = beginnings.collect();
    let mut expected = Vec::with_capacity(beginnings.len());
    for (bytes, length) in &beginnings {
        for ancillary in ancillaries() {
            let walked = filter.run(bytes, *length, &ancillary);
            let ran = program.run_with(bytes, *length, &ancillary);
            assert_eq!(ran, walked, "{text}: {bytes:02x?} {ancillary:?}");
        }
        let walked = filter.run(bytes, *length, &Ancillary::default());
        assert_eq!(program.run(bytes, *length), walked, "{text}: {bytes:02x?}");
        expected.push(walked);
    }
    let batch: Vec<_> = beginnings
        .iter()
        .map(|(bytes, length)| native::NativePacket::new(bytes, *length))
        .collect();
    let mut verdicts = vec![u32::MAX; batch.len()];
    program.run_batch(&batch, &mut verdicts);
    assert_eq!(verdicts, expected, "{text}");
    let accepted = expected.iter().filter(|verdict| **verdict != 0).count();
    (accepted, expected.len() - accepted)
}

#[test]
fn native_code_agrees_with_the_interpreter_on_the_corpus() {
    let packets = all_packets();
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let (mut filters, mut accepted, mut refused) = (0, 0, 0);
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
                512
            };
            random(seed).is_multiple_of(one_in)
        };
        let some: Vec<Vec<u8>> = packets
            .iter()
            .filter(|packet| is_wanted(packet, &mut seed))
            .map(|packet| packet.bytes.clone())
            .collect();
        let counts = assert_alike(&filter, text, &some);
        accepted += counts.0;
        refused += counts.1;
        filters += 1;
    }
    assert!(filters > 200 && accepted > 10_000 && refused > 10_000);
}

#[test]
fn every_filter_returns_the_listed_values() {
    for entry in entries("apply.json") {
        let expression = text(&entry, "expression");
        let packets = packets_of(&folder("filters/captures").join(text(&entry, "capture")));
        let link = LinkType::from_number(packets[0].link).unwrap();
        let mut options = FilterOptions::new(link);
        options.snaplen = match packets[0].snaplen {
            0 => 262_144,
            snaplen => snaplen,
        };
        options.chain_headers = 110;
        let filter = Filter::new(expression, &options, &Table).unwrap();
        let program = filter.native().unwrap();
        for (packet, expected) in packets.iter().zip(entry["results"].as_array().unwrap()) {
            let verdict = program.run(&packet.bytes, packet.original_len);
            assert_eq!(
                u64::from(verdict),
                expected.as_u64().unwrap(),
                "{expression}"
            );
        }
        let some: Vec<_> = packets
            .iter()
            .take(20)
            .map(|packet| packet.bytes.clone())
            .collect();
        assert_alike(&filter, expression, &some);
    }
}

fn ethernet(text: &str) -> Filter {
    Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap()
}

/// Lists of hosts and nets, dense and sparse: bitmaps, hash tables, range indexes, and
/// combinations.
#[test]
fn lists_of_ipv4_hosts_nets_and_ports() {
    let mut seed = 7;
    let mut hosts = Vec::new();
    for mask in [0x3f, 0xf_ffff, u32::MAX] {
        let near = |_| 0x0a00_0000 ^ random(&mut seed) as u32 & mask;
        hosts.push((0..150).map(near).collect::<Vec<u32>>());
    }
    // Adjacent ones, both ends of the number range, and thousands.
    hosts.push((0..40u32).map(|at| (at % 20).wrapping_sub(10)).collect());
    hosts.push((0..9000).map(|_| random(&mut seed) as u32).collect());
    let address = |host: u32| Ipv4Addr::from(host);
    let net = |(at, host): (usize, &u32)| {
        let bits = 8 + at as u32 % 25;
        let net = host & u32::MAX << (32 - bits);
        format!("src net {}/{bits}", address(net))
    };
    for hosts in &hosts {
        let texts = [
            joined(hosts.iter().map(|host| format!("host {}", address(*host)))),
            joined(hosts.iter().enumerate().map(net)),
            joined(hosts.iter().enumerate().map(|(at, host)| match at % 2 {
                0 => net((at, host)),
                _ => format!("src host {}", address(*host)),
            })),
        ];
        let mut packets = Vec::new();
        for _ in 0..60 {
            let host = hosts[random(&mut seed) as usize % hosts.len()];
            let near = host ^ 1 << (random(&mut seed) % 32);
            let far = random(&mut seed) as u32;
            packets.push(ethernet4(host, far, (1, 2)));
            packets.push(ethernet4(near, host, (1, 2)));
            packets.push(ethernet4(far, near, (1, 2)));
        }
        for text in &texts {
            let (accepted, refused) = assert_alike(&ethernet(text), text, &packets);
            assert!(accepted > 0 && refused > 0, "{accepted}, {refused}");
        }
    }
    let ports = [
        joined((0..40).map(|at| format!("tcp port {}", at * 3))),
        joined((0..40).map(|at| format!("portrange {}-{}", at * 1500, at * 1500 + at % 4))),
        joined((0..30).map(|at| format!("(src host 10.0.0.{at} and tcp port {at})"))),
        joined((0..7).map(|at| format!("tcp port {at} or udp src port {}", at + 40))),
    ];
    let packets: Vec<_> = (0..300u32)
        .map(|at| {
            ethernet4(
                0x0a00_0000 + at % 40,
                at,
                (at as u16 % 90, (at as u16).wrapping_mul(500)),
            )
        })
        .collect();
    for text in &ports {
        let (accepted, refused) = assert_alike(&ethernet(text), text, &packets);
        assert!(accepted > 0 && refused > 0, "{text}: {accepted}, {refused}");
    }
}

#[test]
fn lists_of_ipv6_hosts_and_nets() {
    let mut seed = 11;
    let address = |host: u128| Ipv6Addr::from(host);
    let hosts: Vec<u128> = (0..600)
        .map(|_| {
            let low = u128::from(random(&mut seed) & 0x3_0000_00ff);
            0x2001_0db8_u128 << 96 | u128::from(random(&mut seed) & 7) << 64 | low
        })
        .collect();
    let texts = [
        joined(hosts.iter().map(|host| format!("host {}", address(*host)))),
        joined(hosts.iter().enumerate().map(|(at, host)| {
            let bits = [32, 48, 64, 100, 128][at % 5];
            let net = host & u128::MAX << (128 - bits);
            format!("src net {}/{bits}", address(net))
        })),
        joined((0..50u128).map(|at| format!("dst host {}", address(at << 96 | 1)))),
    ];
    let mut packets = Vec::new();
    for at in 0..100u128 {
        let host = hosts[random(&mut seed) as usize % hosts.len()];
        let other = hosts[random(&mut seed) as usize % hosts.len()];
        packets.push(ethernet6(host ^ 1 << 33, at << 96 | 1));
        packets.push(ethernet6(at << 96 | 1, other));
        packets.push(ethernet6(host, other ^ 1));
    }
    for text in &texts {
        let (accepted, refused) = assert_alike(&ethernet(text), text, &packets);
        assert!(accepted > 0 && refused > 0, "{accepted}, {refused}");
    }
}

/// Sums that wrap, shifts by more than 31, divisions by possible zeros.
#[test]
fn arithmetic_has_32_bits() {
    let texts = [
        "ether[ether[0] + 0xfffffffe] = 3",
        "ether[ether[0:4]:2] > 5",
        "ip[ip[2:2] - 20] = 1 or tcp[ether[1] - 1:2] > 7",
        "1 << ether[0] = 1 or 0x80000000 >> ether[1] = 1",
        "ether[0] / ether[1] = 2 or ether[2] % ether[3] = 1",
        "ether[0] & ether[1] != 0 and -ether[2] > 5",
        "ether[0:4] * ether[4:4] > 0x10000000 and ether[1] ^ 5 >= ether[2] | 3",
        "len > 60 and len - ether[0] < 40",
        "not (tcp[13] & 7 != 0 and tcp[2:2] < 1024) or ip[8] = 64 and ip[9] = 6",
        "greater 10 and (ether[6] & 1 = 0 or ether[7:2] >= 0x8000) and not ether[9] = 4",
    ];
    let mut seed = 3;
    let packets: Vec<Vec<u8>> = (0..600)
        .map(|_| {
            let mut packet = ethernet4(random(&mut seed) as u32, 0, (1, 2));
            for byte in &mut packet[..12] {
                *byte =
                    random(&mut seed) as u8 & [0xff, 3, 0x3f, 0][random(&mut seed) as usize % 4];
            }
            if packet[11] < 2 {
                packet[..3].fill(0);
            }
            packet[14] = 0x40 | random(&mut seed) as u8 & 15;
            packet[17] = random(&mut seed) as u8;
            packet[47] = random(&mut seed) as u8;
            packet
        })
        .collect();
    for text in texts {
        let (accepted, refused) = assert_alike(&ethernet(text), text, &packets);
        assert!(accepted > 0 && refused > 0, "{text}: {accepted}, {refused}");
    }
}

#[test]
fn an_empty_batch_has_no_verdicts() {
    ethernet("tcp").native().unwrap().run_batch(&[], &mut []);
}

#[test]
fn the_listing_has_instructions_and_bytes() {
    let listing = ethernet("tcp port 80").native_listing().unwrap();
    assert!(listing.contains("ret") && listing.contains("\n0000: "));
    assert!(listing.lines().count() > 20, "{listing}");
}

#[test]
fn code_is_not_writable_and_is_shared_by_threads() {
    let program = ethernet("ip").native().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let permissions = maps.lines().map(|line| line.split(' ').nth(1).unwrap());
    let permissions: Vec<_> = permissions.collect();
    assert!(permissions.contains(&"r-xp"));
    let is_open = |permissions: &&str| permissions.contains('w') && permissions.contains('x');
    assert!(!permissions.iter().any(is_open), "{maps}");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(program.run(&[8; 60], 60), 0));
        }
    });
}
