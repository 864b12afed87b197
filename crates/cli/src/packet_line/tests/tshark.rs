//! Packets of the tcpdump test-suite: our fields beside tshark's.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tapline::file::model::LinkType;
use tapline::file::read::Reader;

use super::json_of;

/// The named fields of each packet, as tshark meets them first.
fn tshark(path: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args([
        "-n",
        "-o",
        "ip.defragment:FALSE",
        "-T",
        "fields",
        "-E",
        "occurrence=f",
    ]);
    command.arg("-r").arg(path);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.stdin(Stdio::null()).output().expect("tshark runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().map(row).collect()
}

#[test]
fn addresses_ports_and_lengths_are_tsharks() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/captures");
    let fields = [
        "frame.len",
        "ip.src",
        "ipv6.src",
        "ip.dst",
        "ipv6.dst",
        "tcp.srcport",
        "udp.srcport",
        "tcp.dstport",
        "udp.dstport",
    ];
    for (name, link_type) in [
        ("ipv4_tcp_http_xml.pcap", LinkType::ETHERNET),
        ("icmpv6.pcap", LinkType::ETHERNET),
        ("dns_tcp_8053.pcap", LinkType::ETHERNET),
        ("syslog_udp.pcap", LinkType::ETHERNET),
        ("vrrp.pcap", LinkType::ETHERNET),
        ("bgp-addpath.pcap", LinkType::RAW),
        ("dhcpv6-ia-na.pcap", LinkType::ETHERNET),
        ("tftp.pcap", LinkType::ETHERNET),
    ] {
        let path = corpus.join(name);
        let rows = tshark(&path, &fields);
        let mut reader = Reader::open(&path).unwrap();
        for row in &rows {
            let packet = reader
                .next_packet()
                .unwrap()
                .expect("as many packets as tshark");
            let object = json_of(&packet, link_type, "eth0");
            let shown = |key: &str| match &object[key] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(shown("original_bytes"), row[0], "{name}");
            for (key, pair) in ["src", "dst", "src_port", "dst_port"]
                .iter()
                .zip(row[1..].chunks(2))
            {
                assert_eq!(shown(key), pair.concat(), "{name} {key}");
            }
        }
        assert!(
            reader.next_packet().unwrap().is_none() && !rows.is_empty(),
            "{name}"
        );
    }
}
