//! The filters that are measured.

use std::net::Ipv4Addr;

use crate::trace::{Random, Trace};

pub struct Row {
    pub name: String,
    pub text: String,
    /// libpcap compiles it in a few seconds.
    pub is_for_libpcap: bool,
}

/// Hosts of the longest list that libpcap compiles in a few seconds.
const MOST_FOR_LIBPCAP: usize = 400;

const PAYLOAD: &str = "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)";

const EXPRESSIONS: [(&str, &str); 11] = [
    ("accept", ""),
    ("ip", "ip"),
    ("tcp", "tcp"),
    ("icmp", "icmp"),
    ("tcp port 5555", "tcp port 5555"),
    ("tcp src port 80", "tcp src port 80"),
    ("src net 178.79.150.0/24", "src net 178.79.150.0/24"),
    ("host 178.79.150.233", "host 178.79.150.233"),
    ("portrange 0-6000", "portrange 0-6000"),
    ("TCP port 80 with payload", PAYLOAD),
    (
        "udp port 53 or tcp port 443 or icmp",
        "udp port 53 or tcp port 443 or icmp",
    ),
];

const LISTS: [usize; 4] = [100, 400, 800, 10_000];

pub fn rows(trace: &Trace) -> Vec<Row> {
    let expressions = EXPRESSIONS.iter().map(|row| expression(*row));
    let lists = LISTS.iter().map(|hosts| list(*hosts));
    match trace.name {
        "one frame" => lists.collect(),
        "ping flood" => expressions.collect(),
        _ => expressions.chain(lists).collect(),
    }
}

/// What the time of compiling is told of.
pub fn to_compile() -> Vec<Row> {
    let mut rows: Vec<_> = [4, 9, 10].map(|at| expression(EXPRESSIONS[at])).into();
    rows.extend([100, 400, 10_000].map(list));
    rows
}

fn expression((name, text): (&str, &str)) -> Row {
    Row {
        name: name.into(),
        text: text.into(),
        is_for_libpcap: true,
    }
}

/// Hosts of 128.0.0.0/3, where no packet of the traces comes from but those of one host.
fn list(hosts: usize) -> Row {
    let mut random = Random(hosts as u64 + 1);
    let mut host = || Ipv4Addr::from(0x8000_0000 | random.next() as u32 & 0x1fff_ffff);
    let terms: Vec<_> = (0..hosts).map(|_| format!("host {}", host())).collect();
    Row {
        name: format!("{hosts} hosts"),
        text: terms.join(" or "),
        is_for_libpcap: hosts <= MOST_FOR_LIBPCAP,
    }
}
