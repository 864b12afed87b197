//! Compares programs, listings and verdicts with libpcap's (through tcpdump), on the captures of
//! the tcpdump test suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tapline_filter::classic::{ClassicProgram, InvalidProgram, KernelRule, ParseErrorReason};

const ETHERNET: u32 = 1;
const RAW: u32 = 101;
const LINUX_SLL: u32 = 113;

const ETHERNET_FILTERS: &[&str] = &[
    "arp",
    "arp or rarp",
    "arp[6:2] == 1",
    "broadcast",
    "ether broadcast",
    "ether multicast",
    "ether[0] & 1 = 0 and ip[16] >= 224",
    "ether host 00:00:5e:00:01:01",
    "ether proto 0x88cc",
    "stp",
    "isis",
    "llc",
    "mpls",
    "pppoes",
    "vlan",
    "vlan and ip",
    "vlan and vlan",
    "vlan 100 and tcp",
    "not vlan and ip6",
    "ip broadcast",
];

const NETWORK_FILTERS: &[&str] = &[
    "",
    "ip",
    "ip6",
    "tcp",
    "udp",
    "icmp",
    "icmp6",
    "tcp port 80",
    "udp port 53 or udp port 67",
    "udp portrange 1024-5000",
    "src port 53",
    "net 10.0.0.0/8",
    "src net 192.168.0.0/16 and not dst net 192.168.0.0/16",
    "host 192.168.0.1",
    "net 2001:db8::/32",
    "ip6 host fe80::1",
    "ip multicast or ip6 multicast",
    "greater 500",
    "less 100",
    "len == 60 or len == 64",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420",
    "ip[6:2] & 0x1fff != 0",
    "ip[0] & 0xf != 5",
    "ip[8] < 5 and ip[2:2] % 7 = 3",
    "(ip[2:2] - ((ip[0] & 0xf) << 2)) / 3 > 100 * 2",
    "icmp[icmptype] == icmp-echo or icmp[icmptype] == icmp-echoreply",
    "ip proto 89 or ip6 proto 89",
    "ip proto 50 or ip proto 51 or ip proto 47",
    "ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 44",
    "udp[8:4] > 0x10000",
    "udp[(udp[4:2] >> 1)] ^ 0x5a > 7",
    "sctp or pim or vrrp or igmp",
    "portrange 0-65535 and not (tcp or udp)",
];

struct Capture {
    file: tempfile::NamedTempFile,
    packets: Vec<Record>,
}

#[derive(Debug, PartialEq, Eq)]
struct Record {
    original_len: u32,
    bytes: Vec<u8>,
}

/// The records of a pcap file (microseconds, either byte order) up to the first damaged one, and
/// its link type; `None` for other files.
fn read(file: &[u8]) -> Option<(u32, Vec<Record>)> {
    let (header, mut rest) = file.split_first_chunk::<24>()?;
    let order = match header[..4] {
        [0xd4, 0xc3, 0xb2, 0xa1] => u32::from_le_bytes,
        [0xa1, 0xb2, 0xc3, 0xd4] => u32::from_be_bytes,
        _ => return None,
    };
    let word = |bytes: &[u8], at: usize| order(bytes[at..at + 4].try_into().unwrap());
    let mut records = Vec::new();
    while let Some((record, after)) = rest.split_first_chunk::<16>() {
        let Some((bytes, next)) = after.split_at_checked(word(record, 8) as usize) else {
            break;
        };
        records.push(Record {
            original_len: word(record, 12),
            bytes: bytes.to_vec(),
        });
        rest = next;
    }
    Some((word(header, 20), records))
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/captures")
}

/// All packets of the corpus with this link type in one new file.
fn gather(link_type: u32) -> Capture {
    let mut paths: Vec<_> = fs::read_dir(corpus())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let packets: Vec<_> = paths
        .iter()
        .filter_map(|path| read(&fs::read(path).unwrap()))
        .filter(|(there, _)| *there == link_type)
        .flat_map(|(_, records)| records)
        .collect();
    let mut text = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link_type] {
        text.extend_from_slice(&u32::to_le_bytes(word));
    }
    for packet in &packets {
        for word in [0, 0, packet.bytes.len() as u32, packet.original_len] {
            text.extend_from_slice(&word.to_le_bytes());
        }
        text.extend_from_slice(&packet.bytes);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    Capture { file, packets }
}

fn tcpdump(capture: &Capture, flags: &[&str], filter: &str) -> Vec<u8> {
    let output = Command::new("tcpdump")
        .arg("-r")
        .arg(capture.file.path())
        .args(flags)
        .arg(filter)
        .stdin(Stdio::null())
        .output()
        .expect("tcpdump runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{filter}: {said}");
    output.stdout
}

/// Compares one filter; returns the number of selected packets.
fn compare(capture: &Capture, filter: &str) -> usize {
    let decimal = String::from_utf8(tcpdump(capture, &["-ddd"], filter)).unwrap();
    let program: ClassicProgram = decimal.parse().unwrap();
    assert_eq!(program.to_string(), decimal, "{filter}");
    let listing = String::from_utf8(tcpdump(capture, &["-d"], filter)).unwrap();
    assert_eq!(program.listing().to_string(), listing, "{filter}");

    let (_, theirs) = read(&tcpdump(capture, &["-w", "-"], filter)).unwrap();
    let ours: Vec<_> = capture
        .packets
        .iter()
        .filter(|packet| program.run(&packet.bytes, packet.original_len) != 0)
        .collect();
    assert_eq!(ours.len(), theirs.len(), "{filter}");
    assert!(ours.into_iter().eq(&theirs), "{filter}");
    theirs.len()
}

#[test]
fn each_filter_selects_the_packets_that_libpcap_selects() {
    let ethernet = gather(ETHERNET);
    assert!(ethernet.packets.len() > 1000);
    let mut selective = 0;
    for filter in ETHERNET_FILTERS.iter().chain(NETWORK_FILTERS) {
        let selected = compare(&ethernet, filter);
        selective += usize::from((1..ethernet.packets.len()).contains(&selected));
    }
    // Only filters that select some packets and reject others can show a difference.
    assert!(selective > 40, "{selective}");
    for link_type in [RAW, LINUX_SLL] {
        let capture = gather(link_type);
        assert!(capture.packets.len() > 10, "{link_type}");
        for filter in NETWORK_FILTERS {
            compare(&capture, filter);
        }
    }
}

#[test]
fn a_backward_jump_is_rejected_as_by_the_kernel() {
    // libpcap compiles `protochain` to a loop, and runs it itself because the kernel rejects it.
    let capture = gather(ETHERNET);
    let decimal = String::from_utf8(tcpdump(&capture, &["-ddd"], "ip protochain 17")).unwrap();
    let error = decimal.parse::<ClassicProgram>().unwrap_err();
    assert!(
        matches!(
            error.reason,
            ParseErrorReason::Rule(InvalidProgram {
                rule: KernelRule::Jump,
                ..
            })
        ),
        "{error}"
    );
}
