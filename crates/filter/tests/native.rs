//! Native code beside the walked graph, on whole packets and on their beginnings.
#![cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
))]

mod corpus;

use corpus::names::Table;
use corpus::packets::{Packet, all_packets, folder, packets_of};
use corpus::{entries, options_of, text};
use std::net::{Ipv4Addr, Ipv6Addr};
use tapline_filter::classic::Ancillary;
use tapline_filter::native;
use tapline_filter::{Filter, LinkType, NoNames, Options, Reason};

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// What may be known beside a packet.
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

/// Asserts one verdict for all beginnings of `packets`, asked one by one and together; gives how many
/// were accepted and refused.
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
        .map(|(bytes, length)| native::Packet::new(bytes, *length))
        .collect();
    let mut verdicts = vec![u32::MAX; batch.len()];
    program.run_batch(&batch, &mut verdicts);
    assert_eq!(verdicts, expected, "{text}");
    let accepted = expected.iter().filter(|verdict| **verdict != 0).count();
    (accepted, expected.len() - accepted)
}

#[test]
fn every_filter_of_the_corpus_runs_as_it_is_walked() {
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
                assert_eq!(error.reason, Reason::RejectsAll, "{text}");
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
fn every_filter_gives_the_values_listed() {
    for entry in entries("apply.json") {
        let expression = text(&entry, "expression");
        let packets = packets_of(&folder("filters/captures").join(text(&entry, "capture")));
        let link = LinkType::from_number(packets[0].link).unwrap();
        let mut options = Options::new(link);
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
