//! One filter in our engines: interpreter, native code, and the classic programs, which have no sets. They agree on whole
//! packets and on their prefixes.

use crate::corpus::lists::{ethernet4, ethernet6, joined, random};
use crate::corpus::names::Table;
use crate::corpus::packets::{Packet, all_packets, folder, packets_of};
use crate::corpus::{entries, options_of, text};
use std::net::{Ipv4Addr, Ipv6Addr};
use tapline_filter::classic::Ancillary;
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

/// The beginnings of packets, with the lengths of the whole ones.
fn beginnings(packets: &[Vec<u8>]) -> Vec<(&[u8], u32)> {
    let beginnings = packets.iter().flat_map(|packet| {
        let ends = (0..packet.len().min(100)).chain([packet.len()]);
        ends.map(|end| (&packet[..end], packet.len() as u32))
    });
    beginnings.collect()
}

/// Asserts equal verdicts for all prefixes of `packets`; returns how many were accepted and rejected.
pub fn assert_alike(filter: &Filter, text: &str, packets: &[Vec<u8>]) -> (usize, usize) {
    let coarse = filter.coarse();
    let classic = match filter.classic() {
        Ok(program) => {
            assert!(coarse.instructions().len() <= program.instructions().len());
            Some(program)
        }
        Err(error) => {
            let is_long = matches!(error.reason, FilterErrorReason::TooManyInstructions { .. });
            assert!(is_long, "{text}: {error}");
            None
        }
    };
    let beginnings = beginnings(packets);
    let mut accepted = 0;
    for (bytes, length) in &beginnings {
        for ancillary in ancillaries() {
            let walked = filter.run(bytes, *length, &ancillary);
            if let Some(program) = &classic {
                let run = program.run_with(bytes, *length, &ancillary);
                assert_eq!(run, walked, "{text}: {bytes:02x?}\n{}", program.listing());
            }
            let is_through = coarse.run_with(bytes, *length, &ancillary) != 0;
            let listing = coarse.listing();
            assert!(walked == 0 || is_through, "{text}: {bytes:02x?}\n{listing}");
        }
        accepted += usize::from(filter.run(bytes, *length, &Ancillary::default()) != 0);
    }
    #[cfg(all(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        target_endian = "little"
    ))]
    assert_native_alike(filter, text, &beginnings);
    (accepted, beginnings.len() - accepted)
}

/// Native code one by one and in batches.
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
))]
fn assert_native_alike(filter: &Filter, text: &str, beginnings: &[(&[u8], u32)]) {
    let program = filter.native().unwrap();
    let mut expected = Vec::with_capacity(beginnings.len());
    for (bytes, length) in beginnings {
        for ancillary in ancillaries() {
            let walked = filter.run(bytes, *length, &ancillary);
            let ran = program.run_with(bytes, *length, &ancillary);
            assert_eq!(ran, walked, "{text}: {bytes:02x?} {ancillary:?}");
        }
        let walked = filter.run(bytes, *length, &Ancillary::default());
        assert_eq!(program.run(bytes, *length), walked, "{text}: {bytes:02x?}");
        expected.push(walked);
    }
    let batch = beginnings.iter();
    let batch =
        batch.map(|(bytes, length)| tapline_filter::native::NativePacket::new(bytes, *length));
    let batch: Vec<_> = batch.collect();
    let mut verdicts = vec![u32::MAX; batch.len()];
    program.run_batch(&batch, &mut verdicts);
    assert_eq!(verdicts, expected, "{text}");
}

#[test]
fn engines_agree_on_the_corpus() {
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

/// Every filter for which libpcap's test suite has the values for the packets of a capture.
#[test]
fn every_filter_returns_the_listed_values() {
    for entry in entries("apply.json") {
        let expression = text(&entry, "expression");
        let packets = packets_of(&folder("filters/captures").join(text(&entry, "capture")));
        let link = LinkType::from_number(packets[0].link);
        let mut options = FilterOptions::new(link);
        options.snaplen = match packets[0].snaplen {
            0 => 262_144,
            snaplen => snaplen,
        };
        // One packet has a hundred headers.
        options.chain_headers = 110;
        let filter = Filter::new(expression, &options, &Table).expect(expression);
        let program = filter.classic().expect(expression);
        for (packet, expected) in packets.iter().zip(entry["results"].as_array().unwrap()) {
            let value = program.run(&packet.bytes, packet.original_len);
            let listing = program.listing();
            assert_eq!(
                u64::from(value),
                expected.as_u64().unwrap(),
                "{expression}\n{listing}"
            );
            let walked = filter.run(&packet.bytes, packet.original_len, &Ancillary::default());
            assert_eq!(walked, value, "{expression}");
            #[cfg(all(
                any(target_arch = "x86_64", target_arch = "aarch64"),
                target_endian = "little"
            ))]
            {
                let native = filter.native().unwrap();
                let ran = native.run(&packet.bytes, packet.original_len);
                assert_eq!(ran, value, "{expression}");
            }
        }
        let whole: Vec<_> = packets.iter().map(|packet| packet.bytes.clone()).collect();
        assert_alike(&filter, expression, &whole[..whole.len().min(20)]);
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
fn lists_that_become_sets() {
    let mut seed = 7;
    let mut texts = Vec::new();
    let hosts: Vec<u32> = (0..120)
        .map(|_| 0x0a00_0000 | random(&mut seed) as u32 & 0xfff)
        .collect();
    let address = |host: u32| Ipv4Addr::from(host);
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
        let filter = ethernet(text);
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
fn lists_of_ipv6_that_become_sets() {
    let mut seed = 11;
    let address = |host: u128| Ipv6Addr::from(host);
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
        let filter = ethernet(text);
        assert!(!filter.sets().is_empty(), "{text}");
        let (accepted, refused) = assert_alike(&filter, text, &packets);
        assert!(accepted > 0 && refused > 0, "{text}: {accepted}, {refused}");
    }
}
