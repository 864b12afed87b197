//! `tapline flows`, compared with tshark; every packet is accounted for once.

use std::collections::BTreeMap;
use std::fs;

use lab::wait;
use serde_json::Value;
use wire::build::Frame;
use wire::{MacAddress, TcpFields, TcpFlags};

use crate::support::files::{capture, known_corpus, tshark};
use crate::support::frames::{frames, udp};
use crate::support::run::{events, printed, run, spawn, spawn_into};
use crate::support::scrape::{address, scrape};
use crate::support::{Scene, assert_refused, number, text};

/// Protocol, and both ends in order.
type Ends = (u64, [(String, String); 2]);

/// Packets, bytes, retransmissions, segments out of order, round-trip time.
type Figures = [u64; 5];

fn ends(protocol: u64, one: (String, String), other: (String, String)) -> Ends {
    let mut ends = [one, other];
    ends.sort();
    (protocol, ends)
}

/// What tshark sees in the flows of TCP and UDP outside of tunnels.
fn by_tshark(file: &str) -> BTreeMap<Ends, Figures> {
    const FIELDS: &str = "frame.protocols ip.src ip.dst ipv6.src ipv6.dst tcp.srcport tcp.dstport udp.srcport udp.dstport \
        frame.len tcp.analysis.retransmission tcp.analysis.out_of_order tcp.analysis.initial_rtt";
    let fields: Vec<&str> = FIELDS.split_whitespace().collect();
    // Without reassembly, and of each field the outermost.
    let options = "-o ip.defragment:FALSE -o ipv6.defragment:FALSE -E occurrence=f";
    let mut flows = BTreeMap::<Ends, Figures>::new();
    for row in tshark(&format!("{file} {options}"), &fields) {
        let layers: Vec<&str> = row[0].split(':').collect();
        let is_transport = |layer: &&str| ["tcp", "udp"].contains(layer);
        let Some(at) = layers.iter().position(is_transport) else {
            continue;
        };
        let is_ip = |layer: &&&str| ["ip", "ipv6"].contains(layer);
        let other = [
            "mpls", "gre", "pppoes", "icmp", "icmpv6", "llc", "macsec", "juniper", "arcnet",
            "ipoib", "nflog",
        ];
        let is_behind_other = layers[..at].iter().any(|layer| other.contains(layer));
        if is_behind_other || layers[..at].iter().filter(is_ip).count() != 1 {
            continue;
        }
        let first = |a: usize, b: usize| {
            if row[a].is_empty() {
                row[b].clone()
            } else {
                row[a].clone()
            }
        };
        let (protocol, ports) = if layers[at] == "tcp" { (6, 5) } else { (17, 7) };
        let source = (first(1, 3), row[ports].clone());
        let destination = (first(2, 4), row[ports + 1].clone());
        let flow = flows
            .entry(ends(protocol, source, destination))
            .or_default();
        flow[0] += 1;
        flow[1] += row[9].parse::<u64>().expect("a length");
        flow[2] += u64::from(!row[10].is_empty());
        flow[3] += u64::from(!row[11].is_empty());
        // Seconds with nine decimals.
        if let Ok(nanoseconds) = row[12].replace('.', "").parse() {
            flow[4] = nanoseconds;
        }
    }
    flows
}

fn sum(flow: &Value, what: &str) -> u64 {
    let of = |side: &str| flow[format!("{side}_{what}")].as_u64().unwrap_or(0);
    of("forward") + of("backward")
}

/// What the program says of a file. To tshark, packets belong together however much time is between them.
#[track_caller]
fn by_tapline(file: &str) -> BTreeMap<Ends, Figures> {
    figures(run(&format!("flows --json --idle 1000h {file}")).events())
}

/// The flows of these events. Checks that the account is complete.
#[track_caller]
fn figures(mut events: Vec<Value>) -> BTreeMap<Ends, Figures> {
    let summary = events.pop().expect("a summary");
    let places = ["in_flows", "not_ip", "fragments", "malformed"];
    let all: u64 = places.iter().map(|place| number(&summary, place)).sum();
    assert_eq!(all, number(&summary, "packets"), "{summary}");
    events.retain(|event| event["event"] == "flow");
    let exported: u64 = events.iter().map(|flow| sum(flow, "packets")).sum();
    assert_eq!(exported, number(&summary, "in_flows"), "{summary}");
    let of_protocols = summary["protocols"].as_object().expect("protocols");
    let of_protocols = of_protocols.values().map(|one| number(one, "packets"));
    assert_eq!(of_protocols.sum::<u64>(), exported, "{summary}");
    let mut flows = BTreeMap::<Ends, Figures>::new();
    for event in events {
        let end = |who: &str| {
            let address = event[who].as_str().expect("an address").to_owned();
            (address, event[format!("{who}_port")].to_string())
        };
        let protocol = number(&event, "protocol");
        let flow = flows.entry(ends(protocol, end("initiator"), end("responder")));
        let flow = flow.or_default();
        flow[0] += sum(&event, "packets");
        flow[1] += sum(&event, "bytes");
        flow[2] += sum(&event, "retransmissions");
        flow[3] += sum(&event, "out_of_order");
        flow[4] = event["rtt_ns"].as_u64().unwrap_or(flow[4]);
    }
    flows
}

#[test]
fn flows_of_all_captures_are_those_of_tshark() {
    // Of these, tshark does not understand the length of super-packets or the header of a tunnel, or takes times apart from
    // ours: what has more packets than a snaplen, and a time that is none.
    let is_excused = |file: &&String| {
        [
            "bigtcp-",
            "gso-",
            "timestamp_invalid",
            "ipv6_ext_headers",
            "sflow_",
            "geneve",
        ]
        .iter()
        .any(|name| file.contains(name))
    };
    let files: Vec<String> = known_corpus()
        .into_iter()
        .filter(|file| !is_excused(&file))
        .collect();
    let (mut flows, mut again, mut round_trips) = (0, 0, 0);
    for (number, file) in files.iter().enumerate() {
        let mut found = by_tapline(file);
        found.retain(|(protocol, _), _| [6, 17].contains(protocol));
        // tshark takes half a second for each file: of those without TCP, every twentieth.
        let has_tcp = found.keys().any(|(protocol, _)| *protocol == 6);
        if !has_tcp && number % 20 > 0 {
            continue;
        }
        let wanted = by_tshark(file);
        for (ends, wanted) in wanted {
            let mut wanted = wanted;
            let found = found.remove(&ends).unwrap_or_default();
            if found[4] == 0 {
                // tshark also takes the time from a SYN to a RST, and that of a handshake without its answer.
                wanted[4] = 0;
            }
            assert_eq!(found, wanted, "{file} {ends:?}");
            flows += 1;
            again += found[2];
            round_trips += u64::from(found[4] > 0);
        }
        assert!(found.is_empty(), "{file}: tshark does not have {found:?}");
    }
    assert!(
        flows > 60 && again > 0 && round_trips > 15,
        "{flows} {again} {round_trips}"
    );
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A segment of 1000 bytes, or of none, to or from port `port` at 10.0.0.1.
fn segment(
    port: u16,
    to: bool,
    flags: u16,
    sequence: u32,
    acknowledgment: u32,
    has_data: bool,
) -> Vec<u8> {
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let ends = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
    let [from, target] = if to { [ends[1], ends[0]] } else { ends };
    let ports = if to { [80, port] } else { [port, 80] };
    let frame = Frame::ethernet(mac, mac).ipv4(from, target).tcp(TcpFields {
        source_port: ports[0],
        destination_port: ports[1],
        sequence,
        acknowledgment,
        flags: TcpFlags(flags),
        ..TcpFields::default()
    });
    frame.payload(if has_data { &[7; 1000] } else { &[] })
}

/// A connection whose segments are lost before or behind the capture, come late, or come twice. Returns times and frames.
fn connection(port: u16, dice: &mut Dice) -> Vec<(u64, Vec<u8>)> {
    let rtt_ns = 1_000_000 * (1 + dice.below(40));
    let initial = dice.below(1 << 32) as u32;
    let mut now = 1_000_000_000_000 + dice.below(1_000_000_000);
    let mut frames = vec![
        (now, segment(port, false, 2, initial, 0, false)),
        (
            now + rtt_ns - 100_000,
            segment(port, true, 0x12, 5000, initial.wrapping_add(1), false),
        ),
        (
            now + rtt_ns,
            segment(port, false, 0x10, initial.wrapping_add(1), 5001, false),
        ),
    ];
    now += rtt_ns + 50_000;
    // Numbers of segments, each of 1000 bytes.
    let sequence = |number: u64| initial.wrapping_add(1).wrapping_add(number as u32 * 1000);
    let data = |number: u64| segment(port, false, 0x18, sequence(number), 5001, true);
    let acknowledge = |number: u64| segment(port, true, 0x10, 5001, sequence(number), false);
    let mut next = 0;
    for _ in 0..dice.below(60) {
        now += 200_000;
        match dice.below(8) {
            // Lost before the capture: duplicate acknowledgements, then again at once or later.
            0 => {
                frames.push((now, acknowledge(next)));
                for number in 1..=3 {
                    now += 100_000;
                    frames.push((now, data(next + number)));
                    frames.push((now + 50_000, acknowledge(next)));
                }
                now += if dice.below(2) == 0 {
                    1_000_000
                } else {
                    300_000_000
                };
                frames.push((now, data(next)));
                next += 4;
                frames.push((now + 100_000, acknowledge(next)));
            }
            // Lost behind it.
            1 => {
                frames.push((now, data(next)));
                now += 250_000_000;
                frames.push((now, data(next)));
                next += 1;
            }
            // Swapped.
            2 => {
                frames.push((now, data(next + 1)));
                now += 20_000;
                frames.push((now, data(next)));
                next += 2;
            }
            // Acknowledged, and sent again all the same.
            3 => {
                frames.push((now, data(next)));
                frames.push((now + 10_000, acknowledge(next + 1)));
                now += 20_000;
                frames.push((now, data(next)));
                next += 1;
            }
            4 => frames.push((now, acknowledge(next))),
            _ => {
                frames.push((now, data(next)));
                next += 1;
            }
        }
    }
    now += 500_000;
    frames.push((now, segment(port, false, 0x11, sequence(next), 5001, false)));
    if dice.below(2) == 0 {
        now += 300_000_000;
        frames.push((now, segment(port, false, 0x11, sequence(next), 5001, false)));
    }
    let end = segment(
        port,
        true,
        0x11,
        5001,
        sequence(next).wrapping_add(1),
        false,
    );
    frames.push((now + 10_000, end));
    frames
}

#[test]
fn retransmissions_and_reordering_are_those_of_tshark() {
    let mut dice = Dice(7);
    let mut frames: Vec<_> = (0..300)
        .flat_map(|number| connection(1000 + number, &mut dice))
        .collect();
    frames.sort_by_key(|&(time, _)| time);
    let mut pcap = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1]
        .map(u32::to_le_bytes)
        .as_flattened()
        .to_vec();
    for (time, frame) in &frames {
        let length = frame.len() as u32;
        let record = [
            (time / 1_000_000_000) as u32,
            (time % 1_000_000_000) as u32,
            length,
            length,
        ];
        pcap.extend(record.map(u32::to_le_bytes).as_flattened());
        pcap.extend(frame);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("connections.pcap"));
    fs::write(&file, pcap).expect("a file");
    let (wanted, found) = (by_tshark(&file), by_tapline(&file));
    let different: Vec<_> = wanted
        .iter()
        .filter(|(ends, figures)| found.get(*ends) != Some(*figures))
        .collect();
    assert!(
        different.is_empty(),
        "{} differ, e.g. tshark {:?}, not {:?}",
        different.len(),
        different[0],
        found.get(different[0].0)
    );
    assert_eq!(wanted.len(), 300);
    let sums = |column: usize| wanted.values().map(|figures| figures[column]).sum::<u64>();
    assert!(sums(2) > 1000 && sums(3) > 300, "{} {}", sums(2), sums(3));
    // All ended by FIN, and the text has a line for each.
    let summary = events(&format!("flows {file}")).pop().expect("a summary");
    assert_eq!(summary["ended"]["fin"], 300);
    let lines = printed(&format!("flows {file}"));
    assert_eq!(lines.len(), 1 + 300 + 3);
    assert!(
        lines[303].starts_with("300 flows (300 fin); at most "),
        "{}",
        lines[303]
    );
    // With little room, more parts, and no packet less.
    let mut events = events(&format!("flows --max-flows 20 {file}"));
    let summary = events.pop().expect("a summary");
    assert_eq!(number(&summary, "most_flows"), 20);
    assert!(number(&summary["ended"], "evicted") > 0, "{summary}");
    assert_eq!(
        events.iter().map(|flow| sum(flow, "packets")).sum::<u64>(),
        frames.len() as u64
    );
}

#[test]
fn csv_has_the_columns_of_json() {
    let file = capture("dns_tcp_8053.pcap");
    let flow = events(&format!("flows {file}")).remove(0);
    let csv = run(&format!("flows --csv {file}"));
    csv.exit(0);
    let names: Vec<&str> = csv.stdout[0].split(',').collect();
    let cells: Vec<&str> = csv.stdout[1].split(',').collect();
    let object = flow.as_object().expect("an object");
    assert_eq!(names.len() + 1, object.len());
    for (name, cell) in names.into_iter().zip(cells) {
        let shown = match &flow[name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        assert_eq!(cell, shown, "{name}");
    }
    csv.assert_mentions("1 flow (1 fin); at most 1 at the same time, room for 262 144 flows in ");
    // Without flows there is a header.
    let none = run(&format!("flows --csv {file} udp"));
    none.exit(0);
    assert_eq!(none.stdout.len(), 1);
}

#[test]
fn flows_of_an_interface_end_while_it_runs_and_are_counted() {
    let scene = Scene::new();
    let mut running =
        spawn(scene.command("flows -i right0 --json --idle 300ms --metrics 0 --direction in"));
    let start = running.ready();
    let to = address(&start);
    scene.send(&vec![udp(b"hello"); 50]);
    scene.send(&frames(20, 100));
    // It ends without another packet.
    let flow = running.event(|event| event["event"] == "flow" && event["protocol"] == 17);
    assert_eq!(
        (&flow["end"], &flow["interface"]),
        (&"idle".into(), &"right0".into())
    );
    assert_eq!(
        (
            number(&flow, "forward_packets"),
            number(&flow, "backward_packets")
        ),
        (50, 0)
    );
    let counters = scrape(&scene.right, to);
    assert_eq!(
        counters["tapline_flow_packets_total{place=\"in_flows\"}"],
        50
    );
    assert!(counters["tapline_flow_packets_total{place=\"not_ip\"}"] >= 20);
    assert_eq!(counters["tapline_flow_exports_total{reason=\"idle\"}"], 1);
    assert_eq!(counters["tapline_flows{}"], 0);
    let ended = running.stop();
    ended.exit(0);
    let summary = ended.events().pop().expect("a summary");
    assert_eq!(number(&summary, "in_flows"), 50, "{summary}");
    assert_eq!(
        number(&summary, "packets"),
        number(&summary, "delivered"),
        "{summary}"
    );
    assert!(number(&summary, "max_memory_bytes") > 0);
}

#[test]
fn an_interface_that_is_down_for_a_while_does_not_end_them() {
    let scene = Scene::new();
    let line = "flows -i right0 --json --idle 100ms --direction in udp";
    let mut running = spawn(scene.command(line));
    running.ready();
    for change in ["down", "up"] {
        scene.right.ip(&format!("link set right0 {change}"));
    }
    wait::until("the link is up", || scene.left.link().carrier == Some(true));
    scene.send(&vec![udp(b"hello"); 5]);
    let flow = running.event(|event| event["event"] == "flow");
    assert_eq!(number(&flow, "forward_packets"), 5);
    // It is down when it is removed.
    scene.right.ip("link set right0 down");
    scene.right.ip("link delete right0");
    let ended = running.finish();
    assert_eq!(ended.exit(1), "interface right0 was removed");
    let summary = ended.events().pop().expect("a summary");
    assert_eq!(number(&summary, "in_flows"), 5, "{summary}");
}

#[test]
fn flows_of_an_interface_are_those_of_tshark_in_the_same_packets() {
    let scene = Scene::new();
    let mut dice = Dice(7);
    let segments = (2000..2020).flat_map(|port| connection(port, &mut dice));
    let mut segments: Vec<_> = segments.collect();
    segments.sort_by_key(|(time_ns, _)| *time_ns);
    let frames: Vec<_> = segments.into_iter().map(|(_, frame)| frame).collect();
    let count = frames.len().to_string();
    let file = scene.file("tcpdump.pcap");
    let mut tcpdump = scene.right.command("tcpdump");
    tcpdump.args(["-i", "right0", "-Q", "in", "-Z", "root", "-B", "16384"]);
    tcpdump.args(["-c", &count, "-w", &file, "tcp"]);
    let mut tcpdump = spawn_into(tcpdump);
    while !tcpdump.error_line().contains("listening on") {}
    let line = format!("flows -i right0 --json --direction in -c {count} tcp");
    let mut running = spawn(scene.command(&line));
    running.ready();
    scene.send(&frames);
    let ended = running.finish();
    ended.exit(0);
    assert!(tcpdump.finish().status.success());
    let mut events = ended.events();
    let summary = events.last().expect("a summary").clone();
    events.remove(0);
    // The two stamp packets some microseconds apart, on which it depends what is a retransmission and what is late.
    let comparable = |flows: BTreeMap<Ends, Figures>| -> BTreeMap<_, _> {
        let flows = flows.into_iter();
        flows
            .map(|(ends, [packets, bytes, again, late, _])| (ends, [packets, bytes, again + late]))
            .collect()
    };
    let wanted = comparable(by_tshark(&file));
    assert_eq!(comparable(figures(events)), wanted);
    assert_eq!(wanted.len(), 20);
    let again: u64 = wanted.values().map(|figures| figures[2]).sum();
    assert!(again > 10, "{again}");
    let tcp = &summary["protocols"]["tcp"];
    let bytes: u64 = wanted.values().map(|figures| figures[1]).sum();
    assert_eq!(
        (number(tcp, "packets"), number(tcp, "bytes")),
        (frames.len() as u64, bytes)
    );
}

#[test]
fn the_summary_states_the_memory_that_a_full_table_takes() {
    let file = capture("dns_tcp_8053.pcap");
    let line = format!("flows --max-flows 1048576 {file}");
    let bytes = number(events(&line).last().expect("a summary"), "max_memory_bytes");
    let ended = run(&line);
    ended.exit(0);
    let wanted = format!("room for 1 048 576 flows in {} MiB", bytes >> 20);
    ended.assert_mentions(&wanted);
}

#[test]
fn wrong_uses_are_refused() {
    let file = capture("dns_tcp_8053.pcap");
    assert_refused(
        run,
        &[
            (
                "flows",
                2,
                "flows of what? Name capture files, or an interface with -i",
            ),
            ("flows /nonexistent", 1, "cannot open /nonexistent"),
            (
                &format!("flows --max-flows 0 {file}"),
                2,
                "a number from 1 to",
            ),
            (
                &format!("flows --max-flows 67108865 {file}"),
                2,
                "a number from 1 to 67108864",
            ),
            (&format!("flows --idle 0s {file}"), 2, "must not be 0"),
            (
                &format!("flows --json --csv {file}"),
                2,
                "cannot be used with",
            ),
            (&format!("flows --duration 1s {file}"), 2, "--interface"),
            (&format!("flows --direction in {file}"), 2, "--interface"),
            (&format!("flows -s 64 {file}"), 2, "--interface"),
            (
                "flows -i any",
                2,
                "pipe 'tapline capture -i any -w -' into 'tapline flows -'",
            ),
            (&format!("flows --ipfix-domain 1 {file}"), 2, "--ipfix"),
            (
                &format!("flows --ipfix 127.0.0.1 --ipfix-domain 0 {file}"),
                2,
                "--ipfix-domain",
            ),
        ],
    );
    let filter = run(&format!("flows {file} port x"));
    assert!(
        filter.status.code() == Some(2) && filter.stderr[0].contains("unknown port 'x'"),
        "{filter:?}"
    );
    // What follows a damaged packet is lost; what came before is not.
    let folder = tempfile::tempdir().expect("a folder");
    let cut = text(&folder.path().join("cut.pcap"));
    let bytes = fs::read(&file).expect("the file");
    fs::write(&cut, &bytes[..bytes.len() - 10]).expect("a file");
    let ended = run(&format!("flows --json {cut}"));
    assert_eq!(ended.status.code(), Some(1));
    let summary = ended.events().pop().expect("a summary");
    assert!(number(&summary, "in_flows") > 0, "{summary}");
}
