//! `tapline read --anonymize`, beside tshark and openssl.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::process::Stdio;

use tapline::read::{AnonymizationKey, Anonymizer};

use crate::support::blocks::{Build, lines};
use crate::support::files::{capture, known_corpus};
use crate::support::run::{events, printed, run, run_with};
use crate::support::{assert_refused, text, tool};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Fields with addresses, those of quoted and tunnelled packets included.
const ADDRESSES: [&str; 12] = [
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "arp.src.proto_ipv4",
    "arp.dst.proto_ipv4",
    "icmpv6.nd.ns.target_address",
    "icmpv6.nd.na.target_address",
    "icmpv6.nd.rd.target_address",
    "icmpv6.mldr.mar.multicast_address",
    "igmp.maddr",
    "icmp.redir_gw",
];

/// 1: right, 0: wrong, 2: not verified.
const CHECKSUMS: [&str; 7] = [
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "igmp.checksum.status",
    "frame.protocols",
];

/// Link types of the corpus that are anonymized.
const LINK_TYPES: [u16; 5] = [1, 101, 113, 228, 229];

/// Packets as captured, of one link type.
struct Packets(u16, Vec<Vec<u8>>);

impl Packets {
    /// The packets of the corpus that were captured as a whole.
    fn of_corpus() -> Vec<Self> {
        let mut all: Vec<Self> = LINK_TYPES.map(|link| Self(link, Vec::new())).into();
        for file in known_corpus() {
            let Ok(mut read) = tapline::read(&file).open() else {
                continue;
            };
            let mut whole = Vec::new();
            // What is damaged ends the file.
            while let Ok(Some(packet)) = read.next() {
                if packet.len() == packet.captured_len() {
                    whole.push((packet.interface(), packet.data().to_vec()));
                }
            }
            for (interface, packet) in whole {
                let link_type = read.interfaces()[interface].link_type.0;
                let of_link = all.iter_mut().find(|packets| packets.0 == link_type);
                if let Some(packets) = of_link {
                    packets.1.push(packet);
                }
            }
        }
        all
    }

    fn write(&self, file: &str) {
        let link_type = u32::from(self.0);
        let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link_type];
        let mut bytes = header.map(u32::to_le_bytes).as_flattened().to_vec();
        for packet in &self.1 {
            let length = packet.len() as u32;
            let record = [1_700_000_000, 0, length, length].map(u32::to_le_bytes);
            bytes.extend(record.as_flattened());
            bytes.extend(packet);
        }
        std::fs::write(file, bytes).expect("written");
    }
}

/// The values of `fields`, each time they occur in a packet.
fn tshark(file: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let flags = "-n -2 -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE \
                 -o ip.defragment:FALSE -o ipv6.defragment:FALSE -o tcp.desegment_tcp_streams:FALSE";
    let fields = fields.join(" -e ");
    let line = format!("{flags} -T fields -E occurrence=a -r {file} -e {fields}");
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    tool("tshark", &line).lines().map(cells).collect()
}

/// Crypto-PAn by its description, with openssl as the cipher.
fn crypto_pan(addresses: &BTreeSet<IpAddr>) -> HashMap<IpAddr, IpAddr> {
    let encrypt = |blocks: &[u8]| -> Vec<u8> {
        let line = format!("enc -aes-128-ecb -nopad -K {}", &KEY[..32]);
        let mut command = lab::tool::command("openssl");
        command.args(line.split(' '));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("openssl starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let blocks = blocks.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&blocks).expect("read"));
        let output = child.wait_with_output().expect("openssl ends");
        writer.join().expect("written");
        output.stdout
    };
    let half: Vec<u8> = (16..32).collect();
    let padding = u128::from_be_bytes(encrypt(&half).try_into().expect("a block"));
    let bits = |address: &IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let mut blocks = Vec::new();
    for address in addresses {
        let (address, length) = bits(address);
        for bit in 0..length {
            // The bits before this one, then those of the padding.
            let rest = u128::MAX >> bit;
            blocks.extend((address & !rest | padding & rest).to_be_bytes());
        }
    }
    let encrypted = encrypt(&blocks);
    let mut ones = encrypted.chunks_exact(16).map(|block| block[0] >> 7);
    let mut new = |address: &IpAddr| {
        let (old, length) = bits(address);
        let mut new = old;
        for bit in 0..length {
            new ^= u128::from(ones.next().expect("a block")) << (127 - bit);
        }
        match address {
            IpAddr::V4(_) => IpAddr::V4(((new >> 96) as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(new.into()),
        }
    };
    let pairs: Vec<(IpAddr, IpAddr)> = addresses.iter().map(|old| (*old, new(old))).collect();
    pairs.into_iter().collect()
}

/// These stay.
fn is_special(address: &IpAddr) -> bool {
    address.is_unspecified() || *address == IpAddr::from([255; 4])
}

#[test]
fn addresses_are_those_of_crypto_pan_wherever_tshark_finds_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| text(&folder.path().join(name));
    let (key, original, copy) = (file("key"), file("one.pcap"), file("two.pcapng"));
    std::fs::write(&key, format!("{KEY}\n")).expect("written");
    let mut compared = 0;
    for packets in Packets::of_corpus() {
        packets.write(&original);
        printed(&format!("read -q -w {copy} --anonymize={key} {original}"));
        let [old, new] = [&original, &copy].map(|file| tshark(file, &ADDRESSES));
        assert_eq!(new.len(), packets.1.len());
        let values = |cell: &String| -> Vec<IpAddr> {
            cell.split(',')
                .filter_map(|text| text.parse().ok())
                .collect()
        };
        let all: BTreeSet<IpAddr> = old.iter().flatten().flat_map(values).collect();
        let expected = crypto_pan(&all);
        for (number, (old, new)) in old.iter().zip(&new).enumerate() {
            for (field, (old, new)) in ADDRESSES.iter().zip(old.iter().zip(new)) {
                let (old, new) = (values(old), values(new));
                // What is cut off has none: tunnels in UDP, what tshark takes for a quotation.
                assert!(
                    new.len() <= old.len(),
                    "packet {number} {field}: {old:?} {new:?}"
                );
                for (old, new) in old.iter().zip(&new) {
                    let expected = if is_special(old) { old } else { &expected[old] };
                    let link = packets.0;
                    assert_eq!(new, expected, "link type {link}, packet {number}, {field}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 5000, "{compared}");
}

#[test]
fn right_checksums_stay_right_and_wrong_ones_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| text(&folder.path().join(name));
    let (original, copy) = (file("one.pcap"), file("two.pcap"));
    let mut anonymizer = Anonymizer::new(&KEY.parse::<AnonymizationKey>().expect("a key"));
    let mut seen = [0_u32; 3];
    for packets in Packets::of_corpus() {
        // Checksums cover what is cut off, too: it comes behind the copy again.
        let whole = |packet: &Vec<u8>| {
            let kept = anonymizer.packet(packets.0, packet);
            let mut whole = packet.clone();
            whole[..kept.len()].copy_from_slice(kept);
            whole
        };
        let copied = Packets(packets.0, packets.1.iter().map(whole).collect());
        packets.write(&original);
        copied.write(&copy);
        let [old, new] = [&original, &copy].map(|file| tshark(file, &CHECKSUMS));
        for (number, (old, new)) in old.iter().zip(&new).enumerate() {
            let last = CHECKSUMS.len() - 1;
            let is_cut =
                old[last].contains(":ah") || old[last].matches(":ipv6.routing").count() > 4;
            if old[last] != new[last] || is_cut {
                // tshark guesses protocols by addresses. A checksum behind the cut stays as it is.
                continue;
            }
            for (field, (old, new)) in CHECKSUMS[..last].iter().zip(old.iter().zip(new)) {
                let link = packets.0;
                assert_eq!(new, old, "link type {link}, packet {number}, {field}");
                for status in old
                    .split(',')
                    .filter_map(|status| status.parse::<usize>().ok())
                {
                    seen[status.min(2)] += 1;
                }
            }
        }
    }
    assert!(seen[0] > 100 && seen[1] > 1500, "{seen:?}");
}

#[test]
fn payloads_names_and_text_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = text(&folder.path().join("copy.pcapng"));
    let folder_of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/pcapng/be");
    let mut copied = Vec::new();
    for entry in std::fs::read_dir(folder_of_tests).expect("test files") {
        let file = text(&entry.expect("an entry").path());
        printed(&format!(
            "read -q -w {copy} --comment mine --anonymize {file}"
        ));
        copied.extend(lines(&copy));
    }
    assert!(copied.len() > 100);
    for line in copied {
        let codes: Vec<&str> = line
            .options
            .iter()
            .map(|option| option.split(' ').next().expect("a code"))
            .collect();
        let allowed: &[&str] = match line.what {
            "section" => &["1"],
            "interface" => &["2", "8", "10", "13"],
            "packet" => &["2", "4", "6"],
            "statistics" => &["2", "3", "4", "5", "6", "7", "8"],
            what => panic!("a block of {what}"),
        };
        for code in codes {
            assert!(allowed.contains(&code), "{line:?}");
        }
    }
    // Nothing of the payload of a query is left, in any form.
    printed(&format!(
        "read -q -w {copy} --anonymize {}",
        capture("dns-uri.pcap")
    ));
    let bytes = std::fs::read(&copy).expect("the copy");
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(!has(b"uri") && !has(b"example"));
}

#[test]
fn unknown_link_types_lose_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = text(&folder.path().join("copy.pcapng"));
    let file = capture("802_15_4-oobr-1.pcap");
    let report = events(&format!("read -w {copy} --anonymize {file}"));
    let (emptied, received) = (&report[0]["emptied"], &report[0]["received"]);
    assert_eq!(emptied, received);
    let said = printed(&format!("read -w {copy} --anonymize {file}"));
    let line = "written without data: the link type cannot be anonymized";
    assert!(said.iter().any(|said| said.contains(line)), "{said:?}");
}

#[test]
fn a_random_key_differs_and_wrong_keys_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| text(&folder.path().join(name));
    let (key, copies) = (file("key"), [file("one.pcap"), file("two.pcap")]);
    let original = capture("dns-uri.pcap");
    for copy in &copies {
        printed(&format!("read -q -w {copy} --anonymize {original}"));
    }
    let [one, two] = copies.map(|copy| std::fs::read(copy).expect("a copy"));
    assert_ne!(one, two);
    std::fs::write(&key, "abc\n").expect("written");
    let copy = file("three.pcap");
    let command = format!("read -w {copy} --anonymize={key} {original}");
    let line = format!(
        "cannot read a key from {key}: it is not a key of 64 hexadecimal digits: make one with 'openssl rand -hex 32'"
    );
    assert_refused(run, &[(&command, 1, &line)]);
    // Also of what comes through a pipe.
    let packets = std::fs::read(&original).expect("packets");
    run_with(&packets, &format!("read -q -w {copy} --anonymize -")).exit(0);
}

/// A byte of text that a copy must not have.
const HIDDEN: u8 = 0xab;

#[test]
fn text_hides_neither_in_numbers_nor_in_padding() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| text(&folder.path().join(name));
    for is_big in [false, true] {
        let bytes = Vec::new();
        let mut file_of = Build { is_big, bytes };
        let hidden = |code| (code, vec![HIDDEN; 40]);
        let magic = [0x1a2b_3c4d, u32::MAX, u32::MAX].map(|word| file_of.u32(word));
        let versions = [1, 0].map(|number| file_of.u16(number)).concat();
        let [magic, low, high] = magic;
        file_of.block(0x0a0d_0d0a, &[magic, versions, low, high], &[]);
        // Ethernet, with a frame check sequence of 4 bytes.
        let mut fixed = [1, 0].map(|number| file_of.u16(number)).to_vec();
        fixed.push(file_of.u32(0));
        fixed.extend([13, 1].map(|number| file_of.u16(number)));
        fixed.push(vec![4, HIDDEN, HIDDEN, HIDDEN]);
        file_of.block(1, &fixed, &[8, 9, 10, 13, 14].map(hidden));
        // A packet of 14 bytes.
        let mut fixed = [0, 0, 1, 14, 14].map(|word| file_of.u32(word)).to_vec();
        fixed.push(vec![0; 14]);
        let flags = (2, file_of.u32(1));
        file_of.block(6, &fixed, &[hidden(2), flags, hidden(4), hidden(6)]);
        let fixed = [0, 0, 2].map(|word| file_of.u32(word));
        file_of.block(5, &fixed, &[2, 4, 5, 6, 7, 8].map(hidden));
        let [input, copy] = ["in.pcapng", "out.pcapng"].map(file);
        std::fs::write(&input, &file_of.bytes).expect("written");
        printed(&format!("read -q -w {copy} --anonymize {input}"));
        let copied = std::fs::read(&copy).expect("the copy");
        assert!(!copied.contains(&HIDDEN), "{copied:x?}");
        let code = |option: &String| option.split(' ').next().expect("a code").to_owned();
        let kept: Vec<_> = lines(&copy)
            .iter()
            .map(|line| (line.what, line.options.iter().map(code).collect::<Vec<_>>()))
            .filter(|(_, codes)| !codes.is_empty())
            .collect();
        let expected = [("interface", "13"), ("packet", "2")];
        assert_eq!(
            kept,
            expected.map(|(what, code)| (what, vec![code.to_owned()]))
        );
    }
}
