//! Facts of printed lines, compared with tshark's fields over the corpus.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use tapline::file::model::{LinkType, Packet};

use super::super::options::TimeStyle;
use super::corpus::each_packet;
use super::{LineOptions, lines_of, options};

/// A packet as both programs show it.
pub struct Compared {
    pub line: String,
    /// All values of each field of tshark.
    fields: BTreeMap<&'static str, Vec<String>>,
    /// The protocols that tshark saw.
    pub protocols: String,
}

impl Compared {
    /// The only value of a field; `None` if there is none, or if a packet inside this one has it too.
    pub fn only(&self, field: &str) -> Option<&str> {
        match &self.fields[field][..] {
            [value] => Some(value),
            _ => None,
        }
    }

    fn all(&self, field: &str) -> &[String] {
        &self.fields[field]
    }

    /// What follows `word` in the line, up to the next blank.
    fn after(&self, word: &str) -> Option<&str> {
        let (_, rest) = self.line.split_once(word)?;
        rest.split([' ', ']', '\n']).next()
    }

    #[track_caller]
    fn assert_after(&self, word: &str, field: &str) {
        let theirs = self.only(field);
        assert_eq!(self.after(word), theirs, "{word}: {}", self.line);
    }
}

/// The fields of tshark that tests compare, here and in `serial`. tshark takes long to start, so it reads all of them at once.
const FIELDS: [&str; 48] = [
    "arp.opcode",
    "arp.src.proto_ipv4",
    "arp.dst.proto_ipv4",
    "arp.src.hw_mac",
    "tcp.flags",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.window_size_value",
    "tcp.len",
    "tcp.option_kind",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "icmp.type",
    "icmp.code",
    "icmp.ident",
    "icmp.seq",
    "icmp.mtu",
    "icmp.redir_gw",
    "icmpv6.type",
    "icmpv6.code",
    "icmpv6.echo.identifier",
    "icmpv6.echo.sequence_number",
    "icmpv6.nd.ns.target_address",
    "icmpv6.nd.na.target_address",
    "dns.id",
    "dns.flags",
    "dns.count.answers",
    "dns.count.auth_rr",
    "dns.count.add_rr",
    "dns.qry.name",
    "dns.a",
    "dns.aaaa",
    "dns.cname",
    "dns.ns",
    "dns.ptr.domain_name",
    "dns.mx.mail_exchange",
    "dns.srv.target",
    "dns.soa.mname",
    "dns.soa.serial_number",
    "ppp.protocol",
    "ppp.code",
    "chdlc.protocol",
    "ip.src",
    "ip.dst",
];

/// All packets of the link types that lines decode, compared once for all tests.
pub fn compared() -> &'static [Compared] {
    static ALL: LazyLock<Vec<Compared>> = LazyLock::new(compare);
    &ALL
}

fn compare() -> Vec<Compared> {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for link_type in [0_u16, 1, 9, 50, 101, 104, 113, 204, 229, 276] {
        let mut packets = Vec::new();
        each_packet(|packet, found| {
            // A length in the file that differs from that in memory would be another packet.
            if found.0 == link_type && packet.bytes.len() <= 65_535 {
                packets.push((packet.bytes.to_vec(), packet.original_len));
            }
        });
        let path = folder.path().join("packets.pcap");
        write_pcap(&path, link_type, &packets);
        let rows = tshark(&path, &FIELDS);
        assert_eq!(rows.len(), packets.len());
        let options = LineOptions {
            time: TimeStyle::None,
            verbosity: 2,
            ..options()
        };
        all.extend(packets.iter().zip(rows).map(|((bytes, len), row)| {
            let packet = Packet {
                original_len: *len,
                ..Packet::new(0, bytes)
            };
            let link_type = LinkType(link_type);
            let line = lines_of(&[packet], link_type, "eth0", options.clone());
            let mut values = row.split('\t').map(|values| {
                let values = values.split('|').filter(|value| !value.is_empty());
                values.map(str::to_owned).collect::<Vec<_>>()
            });
            let protocols = values.next().unwrap_or_default().join("");
            Compared {
                line,
                fields: FIELDS.into_iter().zip(values).collect(),
                protocols,
            }
        }));
    }
    assert!(all.len() > 3500, "{}", all.len());
    all
}

pub fn write_pcap(path: &Path, link_type: u16, packets: &[(Vec<u8>, u32)]) {
    let mut file = Vec::new();
    let link_type = u32::from(link_type);
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link_type] {
        file.extend(u32::to_le_bytes(word));
    }
    for (bytes, len) in packets {
        for word in [0, 0, bytes.len() as u32, *len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    std::fs::write(path, file).unwrap();
}

/// A row for each packet: the protocols and the fields, separated by tabs, their values by bars.
pub fn tshark(path: &Path, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args([
        "-n",
        "-T",
        "fields",
        "-E",
        "aggregator=|",
        "-e",
        "frame.protocols",
    ]);
    for preference in [
        "ip.defragment:FALSE",
        "ipv6.defragment:FALSE",
        "tcp.desegment_tcp_streams:FALSE",
        "tcp.relative_sequence_numbers:FALSE",
        "tcp.analyze_sequence_numbers:FALSE",
    ] {
        command.args(["-o", preference]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(path).stdin(Stdio::null()).output();
    let output = output.expect("tshark runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn arp_is_tsharks() {
    let mut count = 0;
    for packet in compared() {
        let is_skipped = packet.line.contains(" | ") || packet.line.contains("[malformed]");
        if !packet.line.contains(" ARP ") || is_skipped {
            continue;
        }
        let Some(operation) = packet.only("arp.opcode") else {
            continue;
        };
        match operation {
            "1" => {
                packet.assert_after("who-has ", "arp.dst.proto_ipv4");
                packet.assert_after("tell ", "arp.src.proto_ipv4");
            }
            "2" => packet.assert_after("is-at ", "arp.src.hw_mac"),
            _ => packet.assert_after("operation ", "arp.opcode"),
        }
        count += 1;
    }
    assert!(count > 50, "{count}");
}

/// The letters of tcpdump for flags as tshark prints them in hexadecimal.
fn letters(flags: &str) -> String {
    let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).unwrap();
    let letters = "FSRP.UEWe".chars().enumerate();
    let set = letters.filter(|(bit, _)| flags >> bit & 1 != 0);
    let text: String = set.map(|(_, letter)| letter).collect();
    if text.is_empty() { "none".into() } else { text }
}

#[test]
fn tcp_is_tsharks() {
    let (mut count, mut with_options) = (0, 0);
    for packet in compared() {
        let is_ours = packet.line.contains(" TCP ") && packet.line.contains(" win ");
        let is_ours = is_ours && !packet.line.contains(" | ");
        let Some(flags) = packet.only("tcp.flags").filter(|_| is_ours) else {
            continue;
        };
        let flags = format!(" [{}] seq ", letters(flags));
        assert!(packet.line.contains(&flags), "{flags}: {}", packet.line);
        packet.assert_after("] seq ", "tcp.seq_raw");
        packet.assert_after(" win ", "tcp.window_size_value");
        if packet.line.contains(" ack ") {
            packet.assert_after(" ack ", "tcp.ack_raw");
        }
        if packet.only("tcp.len").is_some() && !is_beyond_frame(packet) {
            packet.assert_after(" len ", "tcp.len");
        }
        count += 1;
        with_options += usize::from(compare_options(packet));
    }
    assert!(count > 450 && with_options > 400, "{count}, {with_options}");
}

/// Whether the IP header has no length, or one beyond the frame: tshark then shows what the frame holds.
fn is_beyond_frame(packet: &Compared) -> bool {
    let number = |word| {
        packet
            .after(word)?
            .trim_end_matches(')')
            .parse::<u64>()
            .ok()
    };
    let length = number(", length ").filter(|length| *length != 0);
    length
        .zip(number(" TCP "))
        .is_none_or(|(length, frame)| length > frame)
}

/// Compares the options by kind and value; `false` without options.
fn compare_options(packet: &Compared) -> bool {
    let Some((_, options)) = packet.line.split_once(" options [") else {
        let kinds = packet.all("tcp.option_kind");
        let is_whole = !packet.line.contains("[truncated]");
        assert!(kinds.is_empty() || !is_whole, "{kinds:?}: {}", packet.line);
        return false;
    };
    let (options, _) = options.split_once(']').unwrap();
    let kinds: Vec<_> = options.split(',').map(kind_of).collect();
    // tshark shows the padding behind the end of the options, too.
    let theirs = packet.all("tcp.option_kind").iter();
    let theirs: Vec<_> = theirs.take(kinds.len()).map(String::as_str).collect();
    if !options.contains("bad length") {
        assert_eq!(kinds, theirs, "{}", packet.line);
    }
    let value = |name: &str| {
        let mut options = options.split(',');
        options.find_map(|option| option.strip_prefix(name))
    };
    assert_eq!(
        value("mss "),
        packet.only("tcp.options.mss_val"),
        "{}",
        packet.line
    );
    assert_eq!(
        value("wscale "),
        packet.only("tcp.options.wscale.shift"),
        "{}",
        packet.line
    );
    let [ours, theirs] = ["tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr"]
        .map(|field| packet.only(field))
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .map_or([None, None], |times| {
            [
                value("TS val ").map(str::to_owned),
                Some(times.join(" ecr ")),
            ]
        });
    assert_eq!(ours, theirs, "{}", packet.line);
    let edges = packet
        .all("tcp.options.sack_le")
        .iter()
        .zip(packet.all("tcp.options.sack_re"));
    for (left, right) in edges {
        assert!(
            options.contains(&format!("{{{left}:{right}}}")),
            "{}",
            packet.line
        );
    }
    true
}

/// The number of an option's name, as IANA assigns it.
fn kind_of(option: &str) -> &str {
    let word = option.split(' ').next().unwrap();
    match word {
        "eol" => "0",
        "nop" => "1",
        "mss" => "2",
        "wscale" => "3",
        "sackOK" => "4",
        "sack" => "5",
        "TS" => "8",
        "md5" => "19",
        "tcp-ao" => "29",
        "mptcp" => "30",
        "tfo" => "34",
        "accecn0" => "172",
        "accecn1" => "174",
        _ => word
            .trim_start_matches("unknown-")
            .trim_start_matches("exp-"),
    }
}

#[test]
fn icmp_is_tsharks() {
    let mut count = 0;
    for packet in compared() {
        let (prefix, word) = match &packet.line {
            line if line.contains(" ICMP ") => ("icmp", " ICMP "),
            line if line.contains(" ICMPv6 ") => ("icmpv6", " ICMPv6 "),
            _ => continue,
        };
        let kind = packet.only(if prefix == "icmp" {
            "icmp.type"
        } else {
            "icmpv6.type"
        });
        let code = packet.only(if prefix == "icmp" {
            "icmp.code"
        } else {
            "icmpv6.code"
        });
        let (Some(kind), Some(code)) = (kind, code) else {
            continue;
        };
        let (_, rest) = packet.line.split_once(word).unwrap();
        if rest.contains("[truncated]") || rest.contains("fragment") {
            continue;
        }
        let rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
        let expected = name(prefix, kind, code);
        assert!(rest.starts_with(&expected), "{expected}: {}", packet.line);
        if expected.starts_with("echo") {
            let names = if prefix == "icmp" {
                ["icmp.ident", "icmp.seq"]
            } else {
                ["icmpv6.echo.identifier", "icmpv6.echo.sequence_number"]
            };
            // tshark shows identifier and sequence number in both byte orders.
            let [id, seq] = names.map(|name| number(&packet.all(name)[0]));
            let echo = format!(" id {id} seq {seq}");
            assert!(rest.contains(&echo), "{echo}: {}", packet.line);
        }
        if packet.only("icmp.mtu").is_some() && expected == "fragmentation needed" {
            packet.assert_after(" mtu ", "icmp.mtu");
        }
        if packet.only("icmp.redir_gw").is_some() {
            packet.assert_after(" to ", "icmp.redir_gw");
        }
        for target in ["icmpv6.nd.ns.target_address", "icmpv6.nd.na.target_address"] {
            if let Some(address) = packet.only(target) {
                assert!(rest.contains(address), "{address}: {}", packet.line);
            }
        }
        count += 1;
    }
    assert!(count > 30, "{count}");
}

/// A number that tshark shows in decimal or hexadecimal.
fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

/// The words of RFC 792, 1191, 4443 and 4861, as short as tcpdump has them.
fn name(prefix: &str, kind: &str, code: &str) -> String {
    let words = match (prefix, kind, code) {
        ("icmp", "0", _) | ("icmpv6", "129", _) => "echo reply",
        ("icmp", "8", _) | ("icmpv6", "128", _) => "echo request",
        ("icmpv6", "1", "0") => "no route",
        ("icmpv6", "1", "3") => "address unreachable",
        ("icmp", "3", "0") => "net unreachable",
        ("icmp", "3", "1") => "host unreachable",
        ("icmp", "3", "2") => "protocol unreachable",
        ("icmp", "3", "3") | ("icmpv6", "1", "4") => "port unreachable",
        ("icmp", "3", "4") => "fragmentation needed",
        ("icmp", "3", _) | ("icmpv6", "1", _) => "unreachable",
        ("icmpv6", "2", _) => "packet too big",
        ("icmp", "4", _) => "source quench",
        ("icmp", "5", _) | ("icmpv6", "137", _) => "redirect",
        ("icmp", "9", _) | ("icmpv6", "134", _) => "router advertisement",
        ("icmp", "10", _) | ("icmpv6", "133", _) => "router solicitation",
        ("icmp", "11", "1") | ("icmpv6", "3", "1") => "reassembly time exceeded",
        ("icmp", "11", _) | ("icmpv6", "3", _) => "time exceeded",
        ("icmp", "12", _) | ("icmpv6", "4", _) => "parameter problem",
        ("icmp", "13", _) => "timestamp request",
        ("icmp", "14", _) => "timestamp reply",
        ("icmp", "17", _) => "address mask request",
        ("icmp", "18", _) => "address mask reply",
        ("icmpv6", "130", _) => "multicast listener query",
        ("icmpv6", "131", _) => "multicast listener report",
        ("icmpv6", "132", _) => "multicast listener done",
        ("icmpv6", "135", _) => "neighbour solicitation",
        ("icmpv6", "136", _) => "neighbour advertisement",
        ("icmpv6", "143", _) => "multicast listener report v2",
        _ => return format!("type {kind} code {code}"),
    };
    words.to_owned()
}

#[test]
fn dns_is_tsharks() {
    let (mut count, mut answers, mut missing) = (0, 0, Vec::new());
    for packet in compared() {
        let (Some(id), Some(flags)) = (packet.only("dns.id"), packet.only("dns.flags")) else {
            continue;
        };
        let message = ["DNS", "LLMNR"].iter().find_map(|word| {
            let (_, rest) = packet.line.split_once(&format!("{word} "))?;
            Some(rest)
        });
        let Some(message) = message else {
            missing.push((&packet.protocols, &packet.line));
            continue;
        };
        let ours = message.split(|c: char| !c.is_ascii_digit()).next();
        assert_eq!(
            ours,
            Some(number(id).to_string().as_str()),
            "{}",
            packet.line
        );
        let flags = number(flags);
        let marks = [
            ('+', 0x8100, 0x0100),
            ('*', 0x0400, 0x0400),
            ('|', 0x0200, 0x0200),
        ];
        let marked = message.split(' ').next().unwrap();
        for (mark, mask, value) in marks {
            assert_eq!(
                marked.contains(mark),
                flags & mask == value,
                "{mark}: {}",
                packet.line
            );
        }
        if flags & 0x8000 != 0 {
            let counts = ["dns.count.answers", "dns.count.auth_rr", "dns.count.add_rr"];
            let counts = counts.map(|field| packet.only(field).unwrap_or_default());
            let counts = format!(" {} ", counts.join("/"));
            assert!(message.contains(&counts), "{counts}: {}", packet.line);
        }
        for (field, start, end) in [
            ("dns.qry.name", "? ", "."),
            ("dns.a", "A ", ""),
            ("dns.aaaa", "AAAA ", ""),
            ("dns.cname", "CNAME ", "."),
            ("dns.ns", "NS ", "."),
            ("dns.ptr.domain_name", "PTR ", "."),
            ("dns.mx.mail_exchange", " ", "."),
            ("dns.srv.target", "SRV ", ".:"),
            ("dns.soa.mname", "SOA ", ". "),
            ("dns.soa.serial_number", " ", ""),
        ] {
            for value in packet.all(field).iter().filter(|value| is_plain(value)) {
                let value = format!("{start}{value}{end}");
                assert!(message.contains(&value), "{field} {value}: {}", packet.line);
                answers += 1;
            }
        }
        count += 1;
    }
    assert!(count > 60 && answers > 80, "{count}, {answers}");
    let is_known = |(protocols, line): &&(&String, &String)| {
        // Messages of other protocols, in packets that ICMP quotes, on other ports, and in pieces.
        protocols.contains("icmp") || line.contains("[truncated]") || line.contains(":8053")
    };
    let unknown: Vec<_> = missing.iter().filter(|packet| !is_known(packet)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// A name or address that both programs write the same way.
fn is_plain(value: &str) -> bool {
    value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}
