//! `tapline report`, beside tshark.

mod dns;
mod page_file;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;
use wire::MacAddress;
use wire::build::Frame;
use wire::protocol::ethertype;

use crate::support::files::{capture, pcap, pcap_of};
use crate::support::run::{run, run_with};
use crate::support::{assert_refused, text, tool};

/// Files with packets that are whole, and without tunnels.
const FILES: [&str; 18] = [
    "802.1w_rapid_STP.pcap",
    "EIGRP_ipv6.pcap",
    "HSRP_failover.pcap",
    "OSPFv2_Capture_FINAL.pcapng",
    "OSPFv3_broadcast_adjacency.pcap",
    "PIMv2_hellos.pcap",
    "accecn_handshake.pcap",
    "bgp-bgpsec.pcap",
    "dns-badcookie.pcap",
    "edns-opts.pcap",
    "dhcpv6-ia-na.pcap",
    "icmpv6.pcap",
    "kday4.pcap",
    "ldp-common-session.pcap",
    "ntp-time-ef.pcap",
    "of10_s4810.pcap",
    "resp_1_benchmark.pcap",
    "tftp.pcap",
];

/// The figures, and the page.
fn report(file: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let page = text(&folder.path().join("page.html"));
    let summary = run(&format!("report --top 1000 --json -o {page} {file}")).summary();
    assert_eq!(summary.0["page"], page);
    (summary.0, fs::read_to_string(page).expect("a page"))
}

/// Fields of packets, and then tables, by one run of tshark.
struct Oracle {
    rows: Vec<Vec<String>>,
    tables: Vec<String>,
}

const FIELDS: [&str; 12] = [
    "frame.len",
    "tcp.stream",
    "tcp.completeness",
    "tcp.analysis.initial_rtt",
    "tcp.analysis.lost_segment",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "dns.time",
    "arp.duplicate-address-detected",
    "_ws.expert.message",
];

impl Oracle {
    fn new(file: &str) -> Self {
        let taps =
            "-z io,phs -z conv,tcp -z conv,udp -z endpoints,ip -z endpoints,ipv6 -z plen,tree";
        let fields = FIELDS.join(" -e ");
        let printed = tool(
            "tshark",
            &format!("-n -r {file} {taps} -T fields -e {fields}"),
        );
        let is_row =
            |line: &&str| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains('\t');
        let row = |line: &str| line.split('\t').map(str::to_owned).collect();
        let tables = printed.lines().skip_while(is_row);
        Self {
            rows: printed.lines().take_while(is_row).map(row).collect(),
            tables: tables.map(str::to_owned).collect(),
        }
    }

    fn column(&self, field: &str) -> impl Iterator<Item = &str> {
        let place = FIELDS
            .iter()
            .position(|known| *known == field)
            .expect("a field");
        self.rows.iter().map(move |row| row[place].as_str())
    }

    /// Packets that have one of these.
    fn with(&self, fields: &[&str]) -> u64 {
        let places: Vec<_> = FIELDS
            .iter()
            .enumerate()
            .filter(|(_, name)| fields.contains(name))
            .collect();
        let has = |row: &&Vec<String>| places.iter().any(|(place, _)| !row[*place].is_empty());
        self.rows.iter().filter(has).count() as u64
    }

    /// The lines of a table behind its title.
    fn table(&self, title: &str) -> impl Iterator<Item = Vec<&str>> {
        let lines = self
            .tables
            .iter()
            .skip_while(move |line| *line != title)
            .skip(1);
        let lines = lines.take_while(|line| !line.starts_with("==="));
        lines.map(|line| line.split_whitespace().collect())
    }

    /// Packets and bytes by protocols, as far as both know them.
    fn protocols(&self) -> BTreeMap<Vec<&'static str>, [u64; 2]> {
        let mut found = BTreeMap::<_, [u64; 2]>::new();
        let mut path: Vec<Option<&str>> = Vec::new();
        for line in self
            .tables
            .iter()
            .skip_while(|line| *line != "Protocol Hierarchy Statistics")
        {
            let Some((name, counts)) = line.split_once("frames:") else {
                continue;
            };
            let depth = (name.len() - name.trim_start().len()) / 2;
            path.truncate(depth);
            path.push(name_here(name.trim()));
            let Some((packets, bytes)) = counts.split_once(" bytes:") else {
                panic!("{line}");
            };
            // Headers of options are no protocols here.
            if path.iter().all(Option::is_some) && path.last() != Some(&Some("")) {
                let known = path
                    .iter()
                    .flatten()
                    .copied()
                    .filter(|name| !name.is_empty());
                let sum = found.entry(known.collect()).or_default();
                sum[0] += packets.parse::<u64>().expect("packets");
                sum[1] += bytes.trim().parse::<u64>().expect("bytes");
            }
        }
        found
    }
}

/// Our name of tshark's; empty for a header that is none here.
fn name_here(name: &str) -> Option<&'static str> {
    let names = [
        ("frame", ""),
        ("eth", "Ethernet"),
        ("sll", "Linux cooked capture"),
        ("null", "BSD loopback"),
        ("vlan", "VLAN"),
        ("arp", "ARP"),
        ("ip", "IPv4"),
        ("ipv6", "IPv6"),
        ("ipv6.hopopts", ""),
        ("tcp", "TCP"),
        ("udp", "UDP"),
        ("icmp", "ICMP"),
        ("icmpv6", "ICMPv6"),
        ("ospf", "OSPF"),
        ("pim", "PIM"),
        ("eigrp", "EIGRP"),
        ("dns", "DNS"),
        ("dhcpv6", "DHCPv6"),
        ("ntp", "NTP"),
    ];
    Some(names.iter().find(|(theirs, _)| *theirs == name)?.1)
}

/// The least and the most of times in seconds, in nanoseconds.
#[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
fn range(times: impl Iterator<Item = f64>) -> (Option<u64>, Option<u64>, u64) {
    let mut times: Vec<_> = times.map(|time| (time * 1e9).round() as u64).collect();
    times.sort_unstable();
    (
        times.first().copied(),
        times.last().copied(),
        times.len() as u64,
    )
}

#[track_caller]
fn assert_times(ours: &Value, theirs: (Option<u64>, Option<u64>, u64), what: &str) {
    let figures = (
        ours["min_ns"].as_u64(),
        ours["max_ns"].as_u64(),
        ours["count"].as_u64(),
    );
    assert_eq!(figures, (theirs.0, theirs.1, Some(theirs.2)), "{what}");
}

/// The initial round trip of each connection with SYN, SYN with ACK, and ACK. tshark has one of refused connections, too.
fn round_trips(oracle: &Oracle) -> (Option<u64>, Option<u64>, u64) {
    let streams = oracle
        .column("tcp.stream")
        .zip(oracle.column("tcp.completeness"));
    let is_whole = |bits: &str| bits.parse::<u32>().is_ok_and(|bits| bits & 7 == 7);
    let rows = streams.zip(oracle.column("tcp.analysis.initial_rtt"));
    let rows = rows.filter(|((_, bits), time)| is_whole(bits) && !time.is_empty());
    let of_stream: BTreeMap<_, _> = rows.map(|((stream, _), time)| (stream, time)).collect();
    range(
        of_stream
            .values()
            .map(|time| time.parse().expect("seconds")),
    )
}

#[track_caller]
fn compare(file: &str) {
    let ((ours, page), oracle) = (report(file), Oracle::new(file));
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"),
        "{file}"
    );
    assert_eq!(ours["packets"], oracle.rows.len(), "{file}");
    let bytes: u64 = oracle
        .column("frame.len")
        .map(|len| len.parse::<u64>().expect("bytes"))
        .sum();
    assert_eq!(ours["bytes"], bytes, "{file}");
    let protocols: BTreeMap<Vec<&str>, [u64; 2]> = array(&ours["protocols"])
        .map(|one| {
            let path = array(&one["path"]).map(|name| name.as_str().expect("a name"));
            (
                path.collect(),
                [&one["packets"], &one["bytes"]].map(|n| n.as_u64().expect("a number")),
            )
        })
        .collect();
    let theirs = oracle.protocols();
    assert!(!theirs.is_empty(), "{file}");
    for (path, counts) in theirs {
        assert_eq!(protocols.get(&path), Some(&counts), "{file}: {path:?}");
    }
    let sizes = array(&ours["sizes"]).map(|class| class["packets"].as_u64().expect("packets"));
    let classes = oracle.tables.iter().filter(|line| {
        let first = line
            .trim_start()
            .split(['-', ' '])
            .next()
            .unwrap_or_default();
        line.starts_with(' ') && first.parse::<u32>().is_ok() && line.contains('%')
    });
    let classes = classes.map(|line| {
        let words: Vec<_> = line
            .split_whitespace()
            .filter(|word| word.parse::<u64>().is_ok())
            .collect();
        // The last class has a number in its name.
        words[usize::from(line.contains("greater"))]
            .parse::<u64>()
            .expect("packets")
    });
    assert_eq!(
        sizes.collect::<Vec<_>>(),
        classes.collect::<Vec<_>>(),
        "{file}"
    );
    hosts(&ours, &oracle, file);
    flows(&ours, &oracle, file);
    let tcp = &ours["tcp"];
    let again = [
        "tcp.analysis.retransmission",
        "tcp.analysis.fast_retransmission",
        "tcp.analysis.spurious_retransmission",
        "tcp.analysis.out_of_order",
    ];
    let counted = tcp["retransmissions"]
        .as_u64()
        .zip(tcp["out_of_order"].as_u64());
    assert_eq!(
        counted.map(|(again, late)| again + late),
        Some(oracle.with(&again)),
        "{file}: {tcp}"
    );
    assert_eq!(
        tcp["gaps"],
        oracle.with(&["tcp.analysis.lost_segment"]),
        "{file}"
    );
    assert_times(&tcp["round_trip"], round_trips(&oracle), file);
    let answers = oracle.column("dns.time").filter(|time| !time.is_empty());
    let answers = range(answers.map(|time| time.parse().expect("seconds")));
    assert_times(&ours["dns"]["time"], answers, file);
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn pair(value: &Value) -> [u64; 2] {
    [0, 1].map(|place| value[place].as_u64().expect("a number"))
}

/// Sent and received packets and bytes of each address.
fn hosts(ours: &Value, oracle: &Oracle, file: &str) {
    let ours = array(&ours["hosts"]).map(|host| {
        let [packets, bytes] = [pair(&host["packets"]), pair(&host["bytes"])];
        let address = host["address"].as_str().expect("an address").to_owned();
        (address, [packets[0], bytes[0], packets[1], bytes[1]])
    });
    let ours: BTreeMap<String, [u64; 4]> = ours.collect();
    let mut theirs = BTreeMap::new();
    for row in ["IPv4 Endpoints", "IPv6 Endpoints"]
        .into_iter()
        .flat_map(|title| oracle.table(title))
    {
        if let [address, _, _, numbers @ ..] = &row[..]
            && let [a, b, c, d] = numbers
            && let Ok(address) = address.parse::<std::net::IpAddr>()
        {
            let numbers = [a, b, c, d].map(|number| number.parse::<u64>().expect("a number"));
            theirs.insert(address.to_string(), numbers);
        }
    }
    assert_eq!(ours, theirs, "{file}");
}

/// Packets in each direction between two ends.
fn flows(ours: &Value, oracle: &Oracle, file: &str) {
    for (title, protocol) in [("TCP Conversations", 6), ("UDP Conversations", 17)] {
        let mut theirs = BTreeMap::<_, u64>::new();
        for row in oracle.table(title) {
            if let [one, "<->", two, back, _, _, there, ..] = &row[..] {
                let number = |text: &str| text.parse::<u64>().expect("packets");
                let ends = [one, two].map(|end| (*end).to_owned());
                *theirs
                    .entry([ends[1].clone(), ends[0].clone()])
                    .or_default() += number(back);
                *theirs.entry(ends).or_default() += number(there);
            }
        }
        let mut found = BTreeMap::new();
        for flow in array(&ours["flows"]).filter(|flow| flow["protocol"] == protocol) {
            let end = |place: usize| {
                let end = &flow["ends"][place];
                format!(
                    "{}:{}",
                    end["address"].as_str().expect("an address"),
                    end["port"]
                )
            };
            let [there, back] = pair(&flow["packets"]);
            found.insert([end(0), end(1)], there);
            found.insert([end(1), end(0)], back);
        }
        assert_eq!(found, theirs, "{file}: {title}");
    }
}

#[test]
fn figures_are_tsharks() {
    for file in FILES {
        compare(&capture(file));
    }
}

/// The records of a pcap file, with their heads.
fn records(bytes: &[u8]) -> (&[u8], Vec<Vec<u8>>) {
    let (head, mut rest) = bytes.split_at(24);
    let mut records = Vec::new();
    while let Some(length) = rest.get(8..12) {
        let length = u32::from_le_bytes(length.try_into().expect("four")) as usize + 16;
        records.push(rest[..length].to_vec());
        rest = &rest[length..];
    }
    (head, records)
}

#[test]
fn segments_that_are_lost_repeated_and_swapped_are_found_as_tshark_does() {
    let bytes = fs::read(capture("resp_1_benchmark.pcap")).expect("a file");
    let (head, whole) = records(&bytes);
    let times: Vec<_> = whole.iter().map(|record| record[..8].to_vec()).collect();
    let mut order: Vec<usize> = (0..whole.len()).collect();
    // A sender whose segments get lost, twice on their way and swapped.
    order.retain(|number| number % 23 != 5);
    for place in (3..order.len()).step_by(17) {
        order.insert(place + 1, order[place]);
    }
    for place in (10..order.len() - 4).step_by(29) {
        order.swap(place, place + 2);
    }
    let folder = TempDir::new().expect("a folder");
    let file = text(&folder.path().join("damaged.pcap"));
    let mut changed = head.to_vec();
    for (place, number) in order.iter().enumerate() {
        changed.extend(&times[place.min(times.len() - 1)]);
        changed.extend(&whole[*number][8..]);
    }
    fs::write(&file, changed).expect("written");
    compare(&file);
    let tcp = &report(&file).0["tcp"];
    assert!(
        tcp["retransmissions"].as_u64() > Some(3) && tcp["gaps"].as_u64() > Some(0),
        "{tcp}"
    );
}

#[test]
fn addresses_with_two_owners_are_those_of_tshark() {
    let file = capture("arp-oobr.pcap");
    let oracle = Oracle::new(&file);
    let said = oracle.column("_ws.expert.message");
    let said =
        said.flat_map(|messages| messages.split("Duplicate IP address configured (").skip(1));
    let mut theirs: Vec<_> = said
        .filter_map(|message| Some(message.split_once(')')?.0))
        .collect();
    theirs.sort_unstable();
    theirs.dedup();
    let ours = report(&file).0;
    let ours = array(&ours["conflicts"]).map(|one| one["address"].as_str().expect("text"));
    let mut ours: Vec<_> = ours.collect();
    ours.sort_unstable();
    assert!(theirs.len() > 3);
    assert_eq!(ours, theirs);
}

#[test]
fn one_wrong_clock_does_not_spoil_the_time_line() {
    let folder = TempDir::new().expect("a folder");
    let file = text(&folder.path().join("times.pcap"));
    let mut times: Vec<u64> = (1_700_000_000..1_700_000_600)
        .map(|second| second * 1_000_000_000)
        .collect();
    let page = |times: &[u64]| {
        fs::write(&file, pcap(times)).expect("written");
        report(&file).1
    };
    let after = |page: &str, what: &str| {
        let (_, rest) = page.split_once(what).expect("it is there");
        rest.split('<').next().expect("text").to_owned()
    };
    let shown = ["Each step is ", "<dt>Duration</dt><dd>"];
    let usual = page(&times);
    assert!(!usual.contains("far from the others"));
    // A device that has no time yet counts from 1970.
    times.push(0);
    let wrong = page(&times);
    for what in shown {
        assert_eq!(after(&wrong, what), after(&usual, what), "{what}");
    }
    assert!(wrong.contains("1 packet has a time far from the others"));
}

#[test]
fn captures_without_a_duration_have_no_rates() {
    let folder = TempDir::new().expect("a folder");
    let file = text(&folder.path().join("few.pcap"));
    let second = 1_700_000_000_000_000_000;
    let rows: [(&[u64], &str); 3] = [
        (&[], "The capture has no packets."),
        (&[second], "All packets have the same time"),
        (&[second; 20], "All packets have the same time"),
    ];
    for (times, said) in rows {
        fs::write(&file, pcap(times)).expect("written");
        let (figures, page) = report(&file);
        assert_eq!(figures["packets"], times.len());
        assert!(page.contains(said) && !page.contains("Each step is"));
    }
    fs::write(&file, pcap(&[second, second + 1_000_000])).expect("written");
    assert!(report(&file).1.contains("Each step is"));
}

/// An announcement of an address by ARP, in a VLAN or without one.
fn announcement(owner: u8, address: [u8; 4], vlan: Option<u16>) -> Vec<u8> {
    let owner = MacAddress([2, 0, 0, 0, 0, owner]);
    let frame = Frame::ethernet(owner, MacAddress([0xff; 6]));
    let frame = match vlan {
        Some(vlan) => frame.vlan(vlan),
        None => frame,
    };
    let head: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
    let ends = [&owner.0[..], &address, &[0; 6], &address].concat();
    frame.payload(ethertype::ARP, &[&head[..], &ends].concat())
}

#[test]
fn an_address_in_two_vlans_is_no_conflict() {
    let folder = TempDir::new().expect("a folder");
    let file = text(&folder.path().join("vlans.pcap"));
    let router = [192, 0, 2, 1];
    let announced = [
        announcement(1, router, Some(10)),
        announcement(2, router, Some(20)),
        announcement(3, router, None),
    ];
    let write = |frames: &[Vec<u8>]| {
        let frames = frames.iter().cloned();
        fs::write(&file, pcap_of((1..).zip(frames))).expect("written");
        let (figures, page) = report(&file);
        (figures["conflicts"].clone(), page)
    };
    let (conflicts, page) = write(&announced);
    assert_eq!(conflicts, json!([]));
    assert!(page.contains("None among 3 addresses"));
    let with_another = [&announced[..], &[announcement(4, router, Some(20))]].concat();
    let (conflicts, page) = write(&with_another);
    let [conflict] = &array(&conflicts).collect::<Vec<_>>()[..] else {
        panic!("{conflicts}");
    };
    assert_eq!(
        (&conflict["address"], &conflict["vlan"]),
        (&json!("192.0.2.1"), &json!(20))
    );
    let owners: Vec<_> = array(&conflict["owners"]).map(|one| &one["mac"]).collect();
    assert_eq!(owners, ["02:00:00:00:00:02", "02:00:00:00:00:04"]);
    assert!(page.contains("192.0.2.1, VLAN 20"));
}

#[test]
fn what_cannot_be_a_report_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let file = text(&folder.path().join("one.pcap"));
    fs::write(&file, pcap(&[1, 2, 3])).expect("written");
    assert_refused(
        run,
        &[
            ("report", 2, "missing argument: FILE"),
            ("report -", 2, "-o FILE.html"),
            (
                "report - - -o page.html",
                2,
                "standard input can be read only once",
            ),
            (&format!("report {file} -o {file}"), 2, "it is the input"),
            (
                &format!("report {file} --json -o -"),
                2,
                "both the page and JSON",
            ),
            ("report /nonexistent/file", 1, "No such file"),
            (
                &format!("report {file} -o /nonexistent/page.html"),
                1,
                "create its directory first",
            ),
            (&format!("report {file} --top 0"), 2, "--top"),
        ],
    );
    // The name of the page is that of the first file.
    run(&format!("report -q {file}")).exit(0);
    let page = fs::read_to_string(format!("{file}.html")).expect("a page");
    assert!(page.contains("one.pcap"));
    let mode = fs::metadata(format!("{file}.html"))
        .expect("a page")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let printed = run_with(&pcap(&[1, 2]), "report - -o -");
    printed.exit(0);
    printed.assert_mentions("Capture report: standard input");
    // What can be read of a file that is cut short is in the page, and so is the damage.
    let whole = pcap(&[1, 2, 3]);
    fs::write(&file, &whole[..whole.len() - 7]).expect("written");
    run(&format!("report -q {file}")).refusal(1);
    let page = fs::read_to_string(format!("{file}.html")).expect("a page");
    assert!(
        page.contains("Not read to its end") && page.contains("truncated"),
        "{page}"
    );
}
