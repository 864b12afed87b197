//! Every filter for which libpcap's test suite has the values for the packets of a capture.

use crate::corpus::names::Table;
use crate::corpus::packets::{folder, packets_of};
use crate::corpus::{entries, text};
use tapline_filter::{FilterOptions, LinkType, compile};

#[test]
fn every_filter_returns_the_listed_values() {
    let mut failures = Vec::new();
    for entry in entries("apply.json") {
        let (name, expression) = (text(&entry, "name"), text(&entry, "expression"));
        let packets = packets_of(&folder("filters/captures").join(text(&entry, "capture")));
        let expected: Vec<u32> = entry["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_u64().unwrap() as u32)
            .collect();
        let Some(link) = LinkType::from_number(packets[0].link) else {
            failures.push(format!("{name}: link type {}", packets[0].link));
            continue;
        };
        let mut options = FilterOptions::new(link);
        options.snaplen = match packets[0].snaplen {
            0 => 262_144,
            snaplen => snaplen,
        };
        // One packet has a hundred headers.
        options.chain_headers = 110;
        match compile(expression, &options, &Table) {
            Err(error) => failures.push(format!("{name}: {expression}: {error}")),
            Ok(program) => {
                let values: Vec<u32> = packets
                    .iter()
                    .take(expected.len())
                    .map(|packet| program.run(&packet.bytes, packet.original_len))
                    .collect();
                if values != expected {
                    failures.push(format!(
                        "{name}: {expression}: {values:?}, not {expected:?}\n{}",
                        program.listing()
                    ));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}
