//! Compares every filter that libpcap's test suite has a program for with that program.

use crate::corpus::listed::Listed;
use crate::corpus::lists::random;
use crate::corpus::names::Table;
use crate::corpus::packets::{Packet, all_packets};
use crate::corpus::{entries, options_of, text};
use tapline_filter::classic::{Ancillary, ClassicProgram};
use tapline_filter::{FilterOptions, compile};

/// Maximum length of a program relative to libpcap's optimized one, in percent.
const MOST_LENGTH_PERCENT: usize = 110;

/// Compiles all expressions of the entry; asserts that the programs are equal.
fn program_of(
    entry: &serde_json::Value,
    options: &FilterOptions,
) -> Result<ClassicProgram, String> {
    let mut first: Option<ClassicProgram> = None;
    for expression in entry["expressions"].as_array().unwrap() {
        let expression = expression.as_str().unwrap();
        let program = compile(expression, options, &Table)
            .map_err(|error| format!("{expression}: {error}"))?;
        match &first {
            Some(first) if *first != program => {
                return Err(format!(
                    "{expression}: another program\n{}\n{}",
                    first.listing(),
                    program.listing()
                ));
            }
            Some(_) => {}
            None => first = Some(program),
        }
    }
    first.ok_or_else(|| "no expressions".into())
}

#[test]
fn every_filter_compiles_and_is_short() {
    let (mut ours, mut theirs) = (0, 0);
    let mut failures = Vec::new();
    for entry in entries("accept.json") {
        let Some(listing) = entry["program"].as_str() else {
            continue;
        };
        match program_of(&entry, &options_of(&entry)) {
            Ok(program) => {
                let (mine, listed) = (program.instructions().len(), Listed::parse(listing).len());
                if mine > listed {
                    println!("{}: {mine}, {listed}", text(&entry, "name"));
                }
                ours += mine;
                theirs += listed;
            }
            Err(error) => failures.push(format!("{}: {error}", text(&entry, "name"))),
        }
    }
    println!("{ours} instructions, libpcap {theirs}");
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(ours * 100 <= theirs * MOST_LENGTH_PERCENT);
}

/// The packet, its prefixes, and the packet with some bytes changed.
fn variants(packet: &Packet, seed: &mut u64) -> Vec<Packet> {
    let mut variants = vec![packet.clone()];
    for _ in 0..4 {
        let mut variant = packet.clone();
        let keep = random(seed) as usize % (packet.bytes.len().min(120) + 1);
        variant.bytes.truncate(keep);
        variants.push(variant);
        let mut variant = packet.clone();
        for _ in 0..3 {
            let at = random(seed) as usize % packet.bytes.len().clamp(1, 64);
            if let Some(byte) = variant.bytes.get_mut(at) {
                *byte = random(seed) as u8;
            }
        }
        variants.push(variant);
    }
    variants
}

#[test]
fn every_program_agrees_with_the_listed_one() {
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let packets: Vec<Packet> = all_packets()
        .iter()
        .flat_map(|packet| variants(packet, &mut seed))
        .collect();
    println!("{} packets", packets.len());
    assert!(packets.len() > 10_000);
    let tagged = Ancillary {
        vlan_tag: Some(10),
        packet_type: Some(4),
        ..Ancillary::default()
    };
    let other = Ancillary {
        packet_type: Some(0),
        ..Ancillary::default()
    };
    let mut failures = Vec::new();
    let mut runs = 0u64;
    for entry in entries("accept.json") {
        let (Some(listing), options) = (entry["program"].as_str(), options_of(&entry)) else {
            continue;
        };
        let Ok(program) = program_of(&entry, &options) else {
            continue;
        };
        let listed = Listed::parse(listing);
        let (mut differ, mut last) = (0, String::new());
        for packet in &packets {
            // Packets of other link types serve as random bytes.
            if packet.link != options.link.number() && !random(&mut seed).is_multiple_of(8) {
                continue;
            }
            for ancillary in [&tagged, &other] {
                let Some(theirs) = listed.run(&packet.bytes, packet.original_len, ancillary) else {
                    continue;
                };
                runs += 1;
                let ours = program.run_with(&packet.bytes, packet.original_len, ancillary);
                if ours != theirs {
                    differ += 1;
                    last = format!("ours {ours}, listed {theirs}, {:02x?}", packet.bytes);
                    last.truncate(300);
                }
            }
        }
        if differ > 0 {
            failures.push(format!(
                "{}: {differ} {last}\n{}",
                text(&entry, "name"),
                program.listing()
            ));
        }
    }
    println!("{runs} runs");
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}
