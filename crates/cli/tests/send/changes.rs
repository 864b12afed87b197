//! How `tapline send` changes packets, compared with tshark before and after; its other outputs: files, metrics,
//! progress; and its memory.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Stdio;

use serde_json::json;

use crate::support::files::{KNOWN, bytes, count, known_corpus, pcap_of};
use crate::support::run::{command, run, spawn, spawn_with_input};
use crate::support::scrape::{address, scrape};
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, Scene, arrived, assert_refused, ip, tapline, tool, words};

/// Fields of each packet by tshark, all values joined by commas. Checksums are verified, fragments stay apart.
fn checked(file: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let preferences = [
        "ip.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "ip.defragment:FALSE",
        "ipv6.defragment:FALSE",
        "tcp.desegment_tcp_streams:FALSE",
    ];
    let preferences = preferences.map(|preference| format!("-o {preference}"));
    let (preferences, fields) = (preferences.join(" "), fields.join(" -e "));
    let line = format!("-n {preferences} -T fields -r {file} -e {fields}");
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    tool("tshark", &line).lines().map(cells).collect()
}

/// The file `name`, which `tapline send LINE` wrote.
#[track_caller]
fn written(scene: &Scene, name: &str, line: &str) -> String {
    let file = scene.file(name);
    run(&format!("send -w {file} --quiet {line}")).exit(0);
    file
}

const ADDRESSES: [&str; 8] = [
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "arp.src.proto_ipv4",
    "arp.dst.proto_ipv4",
    "icmpv6.nd.ns.target_address",
    "icmpv6.nd.na.target_address",
];

const STATUSES: [&str; 5] = [
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
];

#[test]
fn mapped_addresses_are_in_the_other_network_and_checksums_stay_right() {
    let scene = Scene::new();
    let mut frames = Vec::new();
    let mut made = |line: &str| frames.extend(bytes(&written(&scene, "one.pcapng", line)));
    for kind in ["--udp", "--tcp-syn", "--icmp", "--udp --vlan 7"] {
        made(&format!("{kind} --src 10.1.2.3 --dst 11.1.2.3 --count 1"));
        made(&format!(
            "{kind} --src fd00::1:2 --dst fd01::3 --size 200 --count 1"
        ));
    }
    made("--arp --src 10.1.2.3 --dst 10.4.5.6 --count 1");
    let count = frames.len();
    let raw = scene.write("raw.pcap", pcap_of((0..).zip(frames)));
    for (map, expected) in [
        // The low bits that both networks have for hosts.
        (
            "10.0.0.0/8=192.0.2.0/24",
            ["192.0.2.3", "11.1.2.3", "192.0.2.6"],
        ),
        (
            "10.1.0.0/16=172.0.0.0/8",
            ["172.0.2.3", "11.1.2.3", "10.4.5.6"],
        ),
        (
            "10.1.2.3=198.51.100.1",
            ["198.51.100.1", "11.1.2.3", "10.4.5.6"],
        ),
        (
            "10.0.0.0/8=11.0.0.0/8 --map 11.0.0.0/8=10.0.0.0/8",
            ["11.1.2.3", "10.1.2.3", "11.4.5.6"],
        ),
    ] {
        let line = format!("--map {map} --map fd00::/16=2001:db8::/32");
        let mapped = written(&scene, "mapped.pcapng", &format!("-r {raw} {line}"));
        let rows = checked(&mapped, &[&ADDRESSES[..], &STATUSES].concat());
        assert_eq!(rows.len(), count);
        for row in &rows {
            let (addresses, statuses) = row.split_at(ADDRESSES.len());
            let is_good = |status: &String| status.is_empty() || status == "1";
            assert!(statuses.iter().all(is_good), "{map} {row:?}");
            let [source, destination, target] = expected;
            let allowed = [
                [source, destination, "", "", "", "", "", ""],
                ["", "", "2001:db8::1:2", "fd01::3", "", "", "", ""],
                ["", "", "", "", source, target, "", ""],
            ];
            assert!(
                allowed.iter().any(|row| addresses == row),
                "{map} {addresses:?}"
            );
        }
    }
}

fn hex(frame: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("below 16");
    let digits = frame
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

/// The files of the corpus whose packets are all Ethernet, as flags.
fn ethernet_corpus() -> String {
    let files = known_corpus().into_iter();
    let files = files.filter(|file| KNOWN[file]["File encapsulation"] == "ether");
    let flags: Vec<_> = files.map(|file| format!("-r '{file}'")).collect();
    assert!(flags.len() > 150, "{}", flags.len());
    flags.join(" ")
}

#[test]
fn right_and_wrong_checksums_of_the_corpus_stay_so_when_addresses_change() {
    let scene = Scene::new();
    let corpus = ethernet_corpus();
    let before = written(&scene, "before.pcapng", &corpus);
    let line = "--map 0.0.0.0/0=172.0.0.0/8 --map ::/0=2001:db8::/32";
    let after = written(&scene, "after.pcapng", &format!("-r {before} {line}"));
    let fields = [
        &ADDRESSES[..4],
        &STATUSES,
        &["ipv6.routing.type", "frame.protocols"],
    ]
    .concat();
    let (before, after) = (checked(&before, &fields), checked(&after, &fields));
    assert_eq!(before.len(), after.len());
    let (mut verified, mut wrong, mut mapped) = (0, 0, 0);
    for (old, new) in before.iter().zip(&after) {
        // The checksum has the last address of a routing header, which stays.
        if old[9].is_empty() {
            assert_eq!(old[4..9], new[4..9], "{old:?} {new:?}");
        }
        verified += u32::from(old[4..9].iter().any(|status| status.starts_with('1')));
        wrong += u32::from(old[4..9].iter().any(|status| status.starts_with('0')));
        // Which header is the outermost one that is changed, if any is.
        let mut layers = old[10].split(':').skip(1);
        let outermost = layers.find(|layer| !["ethertype", "vlan", "ieee8021ad"].contains(layer));
        let fields = match outermost {
            Some("ip") => 0..2,
            Some("ipv6") => 2..4,
            _ => 0..0,
        };
        // A header that ends in the middle, or of another version, stays.
        let is_whole = fields.clone().all(|field| !old[field].is_empty());
        let fields = if is_whole { fields } else { 0..0 };
        for field in fields {
            // The outermost packet comes first.
            let first = |row: &Vec<String>| row[field].split(',').next().unwrap_or("").to_owned();
            let (old, new) = (first(old), first(new));
            if let (Ok(old), Ok(new)) = (old.parse::<Ipv4Addr>(), new.parse::<Ipv4Addr>()) {
                let [_, b, c, d] = old.octets();
                assert_eq!(new.octets(), [172, b, c, d]);
                mapped += 1;
            }
            if let (Ok(old), Ok(new)) = (old.parse::<Ipv6Addr>(), new.parse::<Ipv6Addr>()) {
                assert_eq!(new.segments()[..2], [0x2001, 0xdb8]);
                assert_eq!(new.segments()[2..], old.segments()[2..]);
                mapped += 1;
            }
        }
    }
    assert!(
        verified > 1000 && wrong > 10 && mapped > 2000,
        "{verified} {wrong} {mapped}"
    );
}

#[test]
fn spoiled_checksums_are_computed_anew() {
    let scene = Scene::new();
    let mut right = Vec::new();
    for addresses in [
        "--src 10.1.2.3 --dst 11.1.2.3",
        "--src fd00::1 --dst fd01::3",
    ] {
        for kind in ["--udp", "--tcp-syn", "--icmp"] {
            for size in [101, 110] {
                let line = format!("{kind} {addresses} --size {size} --stamp --count 3");
                right.extend(bytes(&written(&scene, "right.pcapng", &line)));
            }
        }
    }
    let spoiled = right.iter().map(|frame| {
        let mut frame = frame.clone();
        let is_ipv4 = frame[12..14] == [8, 0];
        let (protocol, transport) = if is_ipv4 {
            (frame[23], 34)
        } else {
            (frame[20], 54)
        };
        let at = transport
            + match protocol {
                6 => 16,
                17 => 6,
                _ => 2,
            };
        frame[at] ^= 0x55;
        if is_ipv4 {
            frame[24..26].fill(0);
        }
        // Padding.
        frame.extend([0xaa; 5]);
        frame
    });
    let raw: Vec<_> = spoiled.collect();
    let file = scene.write("raw.pcap", pcap_of((0..).zip(raw.iter().cloned())));
    let line = format!("-r {file} --fix-checksums");
    let fixed = bytes(&written(&scene, "fixed.pcapng", &line));
    let padded = right.iter().map(|frame| [&frame[..], &[0xaa; 5]].concat());
    assert_eq!(fixed, padded.collect::<Vec<_>>());
    // What is not all there keeps its transport checksum; a good checksum stays.
    let file = written(
        &scene,
        "raw.pcapng",
        &format!("--raw {} --count 1", hex(&raw[0][..70])),
    );
    let cut = bytes(&written(
        &scene,
        "cut.pcapng",
        &format!("-r {file} --fix-checksums"),
    ));
    assert_eq!(cut[0][24..26], right[0][24..26]);
    assert_eq!(cut[0][26..], raw[0][26..70]);
    // Every complete, unfragmented packet of the corpus is good then.
    let fixed = written(
        &scene,
        "corpus.pcapng",
        &format!("{} --fix-checksums", ethernet_corpus()),
    );
    let fields = [
        "ip.checksum.status",
        "ip.proto",
        "ipv6.nxt",
        "ip.len",
        "frame.number",
    ];
    let rows = checked(&fixed, &fields);
    let first = |cell: &String| cell.split(',').next().unwrap_or("").to_owned();
    let headers: Vec<_> = rows.iter().map(|row| first(&row[0])).collect();
    let bad = headers.iter().filter(|status| *status == "0").count();
    assert_eq!(bad, 0, "IPv4 headers");
    assert!(headers.iter().filter(|status| *status == "1").count() > 500);
}

#[test]
fn packets_go_to_files_and_pipes_with_their_planned_times() {
    let scene = Scene::new();
    let between = "--src 10.0.0.1 --dst 10.0.0.2";
    let file = scene.file("made.pcapng");
    let ended = run(&format!(
        "send -w {file} --udp {between} --size 100 --rate 2kpps --count 500 --json"
    ));
    let summary = ended.done();
    let length = std::fs::metadata(&file).expect("the file").len();
    summary
        .has(&json!({ "written": 500, "bytes": 50_000, "bytes_written": length, "files": [file] }));
    assert_eq!(count(&file), 500);
    let times = checked(&file, &["frame.time_delta"]);
    assert!(
        times[1..].iter().all(|row| row[0] == "0.000500000"),
        "{:?}",
        times[1]
    );
    // Through a pipe, and the recorded times are kept.
    let line = format!("send -w - --udp {between} --rate 1kpps --count 50 --stamp");
    let mut writing = command(&line);
    let mut writing = writing
        .arg("-q")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut reading = command("send -r - -w copy.pcapng --json");
    reading.current_dir(scene.folder.path());
    reading.stdin(writing.stdout.take().expect("a pipe"));
    let summary = spawn_with_input(reading).done();
    summary.has(&json!({ "written": 50 }));
    assert!(writing.wait().expect("its status").success());
    let stamps = run(&format!(
        "read {} --stamps --json",
        scene.file("copy.pcapng")
    ));
    stamps.summary().has(&json!({ "streams": [
        { "received": 50, "lost": 0, "delay_min_ns": 0, "delay_max_ns": 0 },
    ]}));
    let refuse = |line: &str| run(&format!("send --quiet {line}"));
    assert_refused(
        refuse,
        &[
            (
                &format!("-w - --json --udp {between} --count 1"),
                2,
                "cannot write both packets and JSON",
            ),
            (&format!("-w {file} -r {file}"), 2, "it is an input"),
            (
                &format!("-w none/made.pcapng --udp {between} --count 1"),
                1,
                "none/made.pcapng",
            ),
            (
                &format!("-r {file} --map 10.0.0.1/8=11.0.0.0/8 -w x"),
                2,
                "'10.0.0.1/8' has host bits set",
            ),
            (
                &format!("-r {file} --map 10.0.0.0/8 -w x"),
                2,
                "'10.0.0.0/8' is not OLD=NEW",
            ),
            (
                &format!("-r {file} --map 10.0.0.0/8=fd00::/8 -w x"),
                2,
                "mixes IPv4 and IPv6",
            ),
            (
                &format!("-i lo --dry-run --udp {between}"),
                2,
                "give --count for a dry run",
            ),
        ],
    );
}

#[test]
fn metrics_and_progress_have_what_was_sent() {
    let scene = Scene::new();
    let line = "--udp --src 10.0.0.1 --dst 10.0.0.2 --dst-mac 02:00:00:00:00:02 --rate 500pps";
    let mut running = spawn(tapline(
        &scene.left,
        &format!("send -i left0 {line} --metrics 0 --json"),
    ));
    let to = address(&running.ready());
    lab::wait::until("packets arrive", || arrived(&scene.right) >= 10);
    let counters = scrape(&scene.left, to);
    let packets = counters["tapline_send_packets_total{interface=\"left0\"}"];
    let octets = counters["tapline_send_bytes_total{interface=\"left0\"}"];
    assert!(packets >= 10 && octets >= 600, "{counters:?}");
    for name in ["send_failed_packets", "send_retries"] {
        let value = counters[&format!("tapline_{name}_total{{interface=\"left0\"}}")];
        assert_eq!(value, 0, "{name}");
    }
    let summary = running.stop().done();
    assert!(summary.number("accepted") >= packets);
    // On a terminal: the rate, and the time that is left.
    let mut command = scene.left.command(PROGRAM);
    command.args(words(&format!("send -i left0 {line} --count 1000000")));
    let (mut terminal, running) = Terminal::start_errors(command, 100, 24);
    terminal.wait_for("pps");
    terminal.wait_for(" left");
    running.stop().exit(0);
    // Of a file too.
    let file = written(
        &scene,
        "some.pcapng",
        "--udp --src 10.0.0.1 --dst 10.0.0.2 --size 1500 --count 20000",
    );
    ip(&scene.left, "link set left0 mtu 1500");
    let mut command = scene.left.command(PROGRAM);
    command.args(words(&format!(
        "send -i left0 -r {file} --loop 50 --rate 20kpps"
    )));
    let (mut terminal, running) = Terminal::start_errors(command, 100, 24);
    terminal.wait_for(" left");
    running.stop().exit(0);
}

/// The memory that a job may take.
const MOST_KIB: u64 = 64 << 10;

/// Peak resident memory of `tapline LINE` in KiB, by getrusage(2) of a process that runs only it.
fn peak_kib(line: &str) -> u64 {
    let script = "import resource, subprocess, sys\n\
                  subprocess.run(sys.argv[1:], check=True)\n\
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let mut command = lab::tool::command("python3");
    command.args(["-c", script, PROGRAM]).args(words(line));
    let output = command.stdin(Stdio::null()).output().expect("python runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("a number");
    text.trim().parse().expect("a number")
}

#[test]
fn a_long_replay_and_ten_million_flows_take_little_memory() {
    let scene = Scene::new();
    // 10 million different flows, of which each is used.
    let line = "send -q -w /dev/null --udp --src 10.0.0.0/8 --sport 1024-65535 --dst 11.0.0.1 --flows 10000000 --count 10000000";
    let peak = peak_kib(line);
    assert!(peak <= MOST_KIB, "generator: {peak} KiB");
    // Five times the limit.
    let made = "--udp --src 10.0.0.1 --dst 10.0.0.2 --size 1514 --count 220000";
    let file = written(&scene, "long.pcapng", made);
    let length = std::fs::metadata(&file).expect("the file").len();
    assert!(length > 5 * (MOST_KIB << 10), "{length}");
    let peak = peak_kib(&format!(
        "send -q -w /dev/null -r {file} --map 10.0.0.0/8=11.0.0.0/8"
    ));
    assert!(peak <= MOST_KIB, "replay: {peak} KiB");
}
