//! Lines of the packets of the tcpdump test suite, many of them malformed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tapline::file::model::{LinkType, Packet};
use tapline::file::read::Reader;

use super::super::options::{Dump, DumpForm};
use super::{LineOptions, json_of, lines_of, options};

pub fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/corpus/captures");
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 250);
    files
}

/// Calls `check` with every packet that can be read.
pub fn each_packet(mut check: impl FnMut(&Packet<'_>, LinkType)) {
    for file in files() {
        let Ok(mut reader) = Reader::open(&file) else {
            continue;
        };
        while let Ok(Some(packet)) = reader.next_packet() {
            let interface = packet.interface as usize;
            let bytes = packet.bytes.to_vec();
            let copy = Packet {
                timestamp_ns: packet.timestamp_ns,
                original_len: packet.original_len,
                ..Packet::new(0, &bytes)
            };
            check(&copy, reader.interfaces()[interface].link_type);
        }
    }
}

/// Every form of a line is printable ASCII. Only dumps have further lines, which start with a tab.
pub fn assert_harmless(packet: &Packet<'_>, link_type: LinkType) {
    for form in [DumpForm::Hex, DumpForm::HexAscii, DumpForm::Ascii] {
        for (verbosity, link) in [(0, true), (2, false)] {
            let options = LineOptions {
                link_header: link,
                verbosity,
                dump: Some(Dump { form, link }),
                ..options()
            };
            let text = lines_of(&[*packet], link_type, "eth0", options);
            let mut lines = text.strip_suffix('\n').expect("a line").split('\n');
            let is_harmless = |line: &str| line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            let line = lines.next().unwrap_or_default();
            assert!(is_harmless(line), "{line:?}");
            // A name of DNS may take four characters for each of its 255 bytes, in each of 64 records.
            assert!(line.len() <= 1 << 20, "{}", line.len());
            for line in lines {
                let line = line.strip_prefix('\t').expect("a tab");
                assert!(is_harmless(line), "{line:?}");
            }
        }
    }
}

#[test]
fn every_packet_of_the_corpus_is_printed_harmlessly() {
    let mut count = 0;
    each_packet(|packet, link_type| {
        assert_harmless(packet, link_type);
        json_of(packet, link_type, "eth0");
        count += 1;
    });
    assert!(count > 4000, "{count}");
}

/// Each packet with some bytes replaced.
#[test]
fn damaged_packets_are_printed_harmlessly() {
    let mut bytes = Vec::new();
    // Any numbers do, the same ones each time: a linear congruential generator.
    let mut noise = 1_u64;
    each_packet(|packet, link_type| {
        bytes.clear();
        bytes.extend_from_slice(&packet.bytes[..packet.bytes.len().min(400)]);
        for _ in 0..4 {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if let Some(byte) = bytes.get_mut(14 + (noise >> 40) as usize % 300) {
                *byte = (noise >> 32) as u8;
            }
        }
        let damaged = Packet {
            bytes: &bytes,
            ..*packet
        };
        assert_harmless(&damaged, link_type);
    });
}

/// tcpdump's dump of Ethernet frames: the lines that start with a tab.
#[test]
fn dumps_are_tcpdumps() {
    for (flag, form, link) in [
        ("-x", DumpForm::Hex, false),
        ("-X", DumpForm::HexAscii, false),
        ("-XX", DumpForm::HexAscii, true),
    ] {
        for name in [
            "icmpv6.pcap",
            "ipv4_tcp_http_xml.pcap",
            "vrrp.pcap",
            "dns_tcp_8053.pcap",
        ] {
            let file = files()
                .into_iter()
                .find(|file| file.ends_with(name))
                .unwrap();
            let mut command = Command::new("tcpdump");
            command.args(["-nn", "-t", flag, "-r"]).arg(&file);
            let output = command.stdin(Stdio::null()).output().expect("tcpdump runs");
            let theirs = String::from_utf8(output.stdout).unwrap();
            let is_dump = |line: &&str| line.starts_with("\t0x");
            let theirs: Vec<_> = theirs.lines().filter(is_dump).map(str::trim_end).collect();
            let mut reader = Reader::open(&file).unwrap();
            let mut ours = String::new();
            while let Some(packet) = reader.next_packet().unwrap() {
                let dump = Some(Dump { form, link });
                let options = LineOptions { dump, ..options() };
                ours += &lines_of(&[packet], LinkType::ETHERNET, "eth0", options);
            }
            let ours: Vec<_> = ours.lines().filter(is_dump).map(str::trim_end).collect();
            assert!(ours.len() > 3);
            assert_eq!(ours, theirs, "{flag} {name}");
        }
    }
}
