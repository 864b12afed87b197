//! `tapline flows --ipfix`: messages as decoded by tshark and by nfdump.

mod reconnect;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::Stdio;
use std::thread::{self, JoinHandle};

use lab::generator::udp_frame;
use lab::{Host, wait};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use wire::MacAddress;
use wire::build::Frame;

use crate::support::engines::duckdb;
use crate::support::files::{capture, pcap_of, tshark};
use crate::support::run::{Running, begin, command, events, run, spawn, spawn_silent};
use crate::support::{Scene, assert_refused, ip_json, number, output, text};

/// Fields of IPFIX messages by tshark, a row for each message.
fn fields(messages: &[Vec<u8>], names: &[&str]) -> Vec<Vec<String>> {
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let frame = |message: &Vec<u8>| {
        let frame = Frame::ethernet(mac, mac).ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        (0, frame.udp(5000, 4739).payload(message))
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("messages.pcap"));
    fs::write(&file, pcap_of(messages.iter().map(frame))).expect("a file");
    tshark(&file, names)
}

/// Records of IPFIX messages by tshark, as `initiator port responder port protocol bytes packets bytes packets end flags flags`,
/// sorted.
fn decoded(messages: &[Vec<u8>]) -> Vec<String> {
    let of = |version: &str| {
        let names = format!(
            "cflow.srcaddr{version} cflow.srcport cflow.dstaddr{version} cflow.dstport cflow.protocol cflow.octets cflow.packets cflow.flow_end_reason cflow.tcpflags"
        );
        let names: Vec<&str> = names.split(' ').collect();
        fields(messages, &names)
    };
    let expert = fields(
        messages,
        &[
            "cflow.sequence_analysis.expected_sn",
            "_ws.malformed",
            "cflow.template_frame",
        ],
    );
    assert!(
        expert
            .iter()
            .all(|row| row[0].is_empty() && row[1].is_empty()),
        "{expert:?}"
    );
    let mut records = Vec::new();
    for (four, six) in of("").into_iter().zip(of("v6")) {
        let cells = |row: &[String], column: usize| -> Vec<String> {
            row[column]
                .split(',')
                .filter(|cell| !cell.is_empty())
                .map(str::to_owned)
                .collect()
        };
        // IPv4 records come first.
        let both = |column: usize| [cells(&four, column), cells(&six, column)].concat();
        let (sources, targets) = (both(0), both(2));
        let [from, to, protocol, octets, packets, end, flags] =
            [1, 3, 4, 5, 6, 7, 8].map(|column| cells(&four, column));
        for at in 0..sources.len() {
            let flag = |at: usize| {
                u64::from_str_radix(flags[at].trim_start_matches("0x"), 16).expect("flags")
            };
            records.push(format!(
                "{} {} {} {} {} {} {} {} {} {} {} {}",
                sources[at],
                from[at],
                targets[at],
                to[at],
                protocol[at],
                octets[2 * at],
                packets[2 * at],
                octets[2 * at + 1],
                packets[2 * at + 1],
                end[at],
                flag(2 * at),
                flag(2 * at + 1)
            ));
        }
    }
    records.sort();
    records
}

/// The same of the program's own events.
fn printed(events: &[Value]) -> Vec<String> {
    let flows = events.iter().filter(|event| event["event"] == "flow");
    let mut records: Vec<String> = flows
        .map(|flow| {
            let end = match flow["end"].as_str().expect("a reason") {
                "idle" => 1,
                "active" => 2,
                "end" => 4,
                "evicted" => 5,
                _ => 3,
            };
            let text = |key: &str| {
                flow[key]
                    .as_str()
                    .map_or_else(|| flow[key].to_string(), str::to_owned)
            };
            let flags = |key: &str| flow[key].as_u64().unwrap_or(0);
            format!(
                "{} {} {} {} {} {} {} {} {} {end} {} {}",
                text("initiator"),
                text("initiator_port"),
                text("responder"),
                text("responder_port"),
                text("protocol"),
                text("forward_ip_bytes"),
                text("forward_packets"),
                text("backward_ip_bytes"),
                text("backward_packets"),
                flags("forward_tcp_flags"),
                flags("backward_tcp_flags")
            )
        })
        .collect();
    records.sort();
    records
}

/// Captures with IPv4 and IPv6, TCP, UDP and others, and of many flows, in `folder`.
fn captures(folder: &TempDir) -> String {
    let many = text(&folder.path().join("many.pcapng"));
    let flows = "--udp --src 10.1.0.1-10.1.0.60 --dst 10.9.0.1 --dport 443 --flows 60 -c 120";
    run(&format!("send {flows} -w {many}")).exit(0);
    let names = [
        "dns_tcp_8053.pcap",
        "bgp-bgpsec.pcap",
        "icmpv6.pcap",
        "babel_auth.pcap",
        "mptcp-aa-echo.pcap",
    ];
    format!("{} {many}", names.map(capture).join(" "))
}

/// The datagrams that wait in a socket.
fn waiting(socket: &UdpSocket) -> Vec<Vec<u8>> {
    socket.set_nonblocking(true).expect("it does not block");
    let mut messages = Vec::new();
    let mut buffer = [0; 2048];
    while let Ok(bytes) = socket.recv(&mut buffer) {
        assert!(bytes <= 1400, "{bytes}");
        messages.push(buffer[..bytes].to_vec());
    }
    messages
}

/// The messages of a connection.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    let mut rest = bytes;
    while let Some(header) = rest.first_chunk::<4>() {
        let (message, behind) =
            rest.split_at(usize::from(u16::from_be_bytes([header[2], header[3]])));
        messages.push(message.to_vec());
        rest = behind;
    }
    messages
}

/// Takes one connection, and all that comes over it.
fn collect(listener: TcpListener) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("messages");
        bytes
    })
}

#[test]
fn datagrams_are_what_tshark_decodes() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = socket.local_addr().expect("an address");
    let events = events(&format!(
        "flows --idle 1s --ipfix {to} {}",
        captures(&folder)
    ));
    // All was sent when the program ended, and waits in the socket.
    let messages = waiting(&socket);
    let wanted = printed(&events);
    assert_eq!(decoded(&messages), wanted);
    let addresses = |version: char| {
        wanted
            .iter()
            .filter(|record| record.contains(version))
            .count()
    };
    assert!(
        wanted.len() > 60 && addresses(':') > 3 && addresses('.') > 60,
        "{wanted:?}"
    );
    let summary = &events[events.len() - 1]["ipfix"];
    assert_eq!(number(summary, "flows"), wanted.len() as u64);
    assert_eq!(
        (number(summary, "messages"), number(summary, "failed_flows")),
        (messages.len() as u64, 0)
    );
}

#[test]
fn a_connection_carries_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let to = listener.local_addr().expect("an address");
    let collector = collect(listener);
    let events = events(&format!(
        "flows --idle 1s --ipfix tcp:{to} {}",
        captures(&folder)
    ));
    let messages = split(&collector.join().expect("the collector"));
    assert_eq!(decoded(&messages), printed(&events));
    assert!(messages.len() > 1, "{}", messages.len());
}

#[test]
fn a_missing_collector_is_reported() {
    let file = capture("dns_tcp_8053.pcap");
    // A port that nobody has any more.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("a port")
        .port();
    assert_refused(
        run,
        &[
            (
                &format!("flows --ipfix tcp:127.0.0.1:{port} {file}"),
                1,
                "(does the collector listen there?)",
            ),
            (&format!("flows --ipfix udp: {file}"), 2, "use HOST:PORT"),
            (&format!("flows --ipfix :4739 {file}"), 2, "use HOST:PORT"),
            (&format!("flows --ipfix [::1]:0 {file}"), 2, "use HOST:PORT"),
            (
                &format!("flows --ipfix host:70000 {file}"),
                2,
                "use HOST:PORT",
            ),
            (
                &format!("flows --ipfix name.invalid:1 {file}"),
                1,
                "cannot send flows to udp:name.invalid:1",
            ),
        ],
    );
    // Datagrams are not acknowledged; nothing is printed but the summary.
    let ended = run(&format!("flows --ipfix 127.0.0.1:{port} {file}"));
    ended.exit(0);
    assert_eq!(ended.stdout.len(), 4);
    assert!(
        ended.stdout[3].contains(&format!("to udp:127.0.0.1:{port}")),
        "{ended:?}"
    );
}

/// The kernel's counters of UDP in /proc/net/snmp.
fn udp_counter(host: &Host, name: &str) -> u64 {
    counter(host, "Udp: ", name)
}

/// A counter of the kernel in /proc/net/snmp.
fn counter(host: &Host, protocol: &str, name: &str) -> u64 {
    let shown = output(host, "cat", "/proc/net/snmp");
    let mut lines = shown.lines().filter_map(|line| line.strip_prefix(protocol));
    let mut words = || lines.next().expect("a line").split(' ');
    let (names, values) = (words(), words());
    let found = names.zip(values).find(|(known, _)| *known == name);
    found.expect(name).1.parse().expect("a number")
}

#[test]
fn refused_datagrams_have_left_the_host_and_are_counted() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().expect("a folder");
    let socket = scene.right.run(|| UdpSocket::bind("127.0.0.1:0"));
    let socket = socket.expect("a socket");
    let to = socket.local_addr().expect("an address");
    let line = format!("flows --json --idle 1s --ipfix {to} {}", captures(&folder));
    let summary = || {
        let ended = scene.run(&line);
        ended.exit(0);
        let events = ended.events();
        events[events.len() - 1].clone()
    };
    let wanted = summary();
    let messages = number(&wanted["ipfix"], "messages");
    assert_eq!(waiting(&socket).len() as u64, messages);
    assert!(messages > 2, "{messages}");
    drop(socket);
    let refused = || udp_counter(&scene.right, "NoPorts");
    let before = refused();
    let ipfix = &summary()["ipfix"];
    assert_eq!(refused() - before, messages);
    assert_eq!(
        ["flows", "messages"].map(|key| number(ipfix, key)),
        [0, 0],
        "{ipfix}"
    );
    assert_eq!(number(ipfix, "failed_flows"), number(&wanted, "flows"));
}

#[test]
fn a_collector_that_does_not_read_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let to = listener.local_addr().expect("an address");
    let file = capture("dns_tcp_8053.pcap");
    // All flows fit into one message, which waits unread when the connection is closed.
    let collector = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        stream.peek(&mut [0; 1]).expect("a message");
        listener
    });
    let ended = run(&format!("flows --ipfix tcp:{to} {file}"));
    let listener = collector.join().expect("the collector");
    ended.exit(1);
    let start = format!("tapline: cannot send flows to tcp:{to}: ");
    assert!(ended.stderr[0].starts_with(&start), "{start} in {ended:?}");
    // The connection is closed before there are flows.
    let (input, mut packets) = std::io::pipe().expect("a pipe");
    let mut command = command(&format!("flows --ipfix tcp:{to} -"));
    command.stdin(input).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let running = begin(command);
    drop(listener.accept().expect("a connection"));
    packets
        .write_all(&fs::read(file).expect("a capture"))
        .expect("it reads");
    drop(packets);
    let ended = running.finish();
    ended.exit(1);
    assert_eq!(
        ended.stderr,
        [format!("{start}the collector has closed the connection")]
    );
}

/// Rows of a file, by DuckDB.
fn rows(file: &str) -> u64 {
    let rows = duckdb(&format!("select count(*) from '{file}'"));
    rows[0][0].as_u64().expect("a number")
}

#[test]
fn a_failed_output_leaves_the_others_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let to = listener.local_addr().expect("an address");
    let many = text(&folder.path().join("many.pcapng"));
    let flows = "--udp --src 10.1.0.1-10.1.0.250 --dst 10.9.0.1 --dport 443 --flows 250 -c 250";
    run(&format!("send {flows} -w {many}")).exit(0);
    let columns = text(&folder.path().join("flows.parquet"));
    // The collector goes away before there are flows, of which several messages would be full.
    let (input, mut packets) = std::io::pipe().expect("a pipe");
    let mut piped = command(&format!("flows --json --ipfix tcp:{to} -w {columns} -"));
    piped.stdin(input).stdout(Stdio::piped());
    piped.stderr(Stdio::piped());
    let running = begin(piped);
    drop(listener.accept().expect("a connection"));
    packets
        .write_all(&fs::read(&many).expect("a capture"))
        .expect("it reads");
    drop(packets);
    let ended = running.finish();
    ended.exit(1);
    assert_eq!(printed(&ended.events()).len(), 250);
    assert_eq!(rows(&columns), 250);
    // Nothing can be printed.
    let columns = text(&folder.path().join("printed.parquet"));
    let mut full = command(&format!("flows --json -w {columns} {many}"));
    full.stdout(File::create("/dev/full").expect("the device"));
    full.stderr(Stdio::piped());
    begin(full).finish().exit(1);
    assert_eq!(rows(&columns), 250);
}

#[test]
fn every_kind_of_run_closes_its_connection() {
    let scene = Scene::new();
    let frames: Vec<_> = (1..=5).map(|size| udp_frame(64 * size)).collect();
    let file = capture("dns_tcp_8053.pcap");
    for line in [
        &file,
        &format!("{file} -w a.parquet"),
        "-i right0 -c 5 udp",
        "-i right0 -c 5 -w b.parquet udp",
    ] {
        let listener = scene.right.run(|| TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a socket");
        let to = listener.local_addr().expect("an address");
        let collector = collect(listener);
        let line = format!("flows --json --ipfix tcp:{to} {line}");
        let mut running = spawn(scene.command(&line));
        if line.contains("right0") {
            running.ready();
            scene.send(&frames);
        }
        let ended = running.finish();
        ended.exit(0);
        let messages = split(&collector.join().expect("the collector"));
        let records = decoded(&messages);
        assert_eq!(records, printed(&ended.events()), "{line}");
        assert!(!records.is_empty(), "{line}");
    }
}

#[test]
fn the_interface_of_a_live_flow_has_the_kernels_index() {
    let scene = Scene::new();
    let socket = scene.right.run(|| UdpSocket::bind("127.0.0.1:0"));
    let socket = socket.expect("a socket");
    let to = socket.local_addr().expect("an address");
    // The second interface of the capture.
    let line = format!("flows -i lo -i right0 -c 2 --json --ipfix {to} ether src 2:0:0:0:0:1");
    let mut running = spawn(scene.command(&line));
    running.ready();
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let frame = Frame::ethernet(mac, mac).ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let frame = frame.udp(5000, 9).payload(b"");
    scene.send(&[frame.clone(), frame]);
    running.finish().exit(0);
    let link = ip_json(&scene.right, "link show right0");
    let index = number(&link[0], "ifindex").to_string();
    let names = ["cflow.inputint"];
    assert_eq!(fields(&waiting(&socket), &names), [[index]]);
    // Of a file it is unknown.
    let file = capture("dns_tcp_8053.pcap");
    scene.run(&format!("flows --ipfix {to} {file}")).exit(0);
    let known = fields(&waiting(&socket), &names);
    let known: Vec<_> = known.iter().flat_map(|row| row[0].split(',')).collect();
    assert!(
        !known.is_empty() && known.iter().all(|index| *index == "0"),
        "{known:?}"
    );
}

/// Of two senders on one host a collector such as nfcapd knows which is which only by their domains.
#[test]
fn every_run_has_an_observation_domain_of_its_own() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = socket.local_addr().expect("an address");
    let file = capture("dns_tcp_8053.pcap");
    let domains = ["", "", "--ipfix-domain 7"].map(|flag| {
        let events = events(&format!("flows --ipfix {to} {flag} {file}"));
        let told = number(&events[events.len() - 1]["ipfix"], "domain");
        let rows = fields(&waiting(&socket), &["cflow.od_id"]);
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row[0] == told.to_string()),
            "{rows:?}"
        );
        told
    });
    assert!(domains[0] != domains[1] && domains[0] > 0, "{domains:?}");
    assert_eq!(domains[2], 7);
}

/// nfcapd at the right host, with the settings of its package.
struct Nfcapd<'s> {
    scene: &'s Scene,
    process: Running,
    folder: String,
}

impl<'s> Nfcapd<'s> {
    fn start(scene: &'s Scene) -> Self {
        let folder = scene.file("received");
        fs::create_dir(&folder).expect("a folder");
        let mut collector = scene.right.command("nfcapd");
        let place = "-b 127.0.0.1 -p 4739 -t 3600 -w".split(' ');
        collector.args(place).arg(&folder).stderr(Stdio::null());
        let process = spawn_silent(collector);
        let started = Self {
            scene,
            process,
            folder,
        };
        wait::until("the collector listens", || started.unread().is_some());
        started
    }

    /// Bytes that wait in its socket.
    fn unread(&self) -> Option<u64> {
        let output = self.scene.right.command("ss").args(["-Hlun"]).output();
        let text = String::from_utf8_lossy(&output.expect("ss runs").stdout).into_owned();
        // State, waiting bytes, and more.
        let bytes = text.split_whitespace().nth(1).map(str::to_owned);
        bytes.map(|bytes| bytes.parse::<u64>().expect("bytes"))
    }

    /// Ends it when it has read all, and runs nfdump on what it has.
    fn dump(self, flags: &[&str]) -> String {
        wait::until("the collector has read all", || self.unread() == Some(0));
        self.process.signal(Signal::TERM);
        self.process.finish();
        let mut nfdump = self.scene.right.command("nfdump");
        nfdump.args(["-R", &self.folder]).args(flags);
        let output = nfdump.output().expect("nfdump runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// They are about 6250 datagrams; the socket of nfcapd has room for about 90.
#[test]
fn a_collector_with_the_usual_socket_gets_all_flows_of_a_file() {
    let scene = Scene::new();
    let many = scene.file("many.pcapng");
    scene.run(&format!("send --udp --src 10.1.0.1-10.1.200.200 --sport 1024-60000 --dst 10.9.0.1 --dport 443 --flows 100000 -c 100000 -w {many}")).exit(0);
    let collector = Nfcapd::start(&scene);
    scene
        .run(&format!("flows --ipfix 127.0.0.1:4739 {many}"))
        .exit(0);
    let statistics = collector.dump(&["-I"]);
    for line in ["Flows: 100000", "Sequence failures: 0"] {
        assert!(statistics.lines().any(|one| one == line), "{statistics}");
    }
    assert_eq!(udp_counter(&scene.right, "RcvbufErrors"), 0);
}

/// A collector at the host, which has received all that is sent when the program has ended and its socket is empty.
#[test]
fn nfdump_has_the_same_flows() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().expect("a folder");
    let captures = captures(&folder);
    let collector = Nfcapd::start(&scene);
    let ended = scene.run(&format!(
        "flows --json --idle 1s --ipfix 127.0.0.1:4739 {captures}"
    ));
    ended.exit(0);
    let format = "fmt:%pr %sa %sp %da %dp %ibyt %ipkt %obyt %opkt";
    let records = collector.dump(&["-N", "-6", "-q", "-o", format]);
    let mut found: Vec<Vec<String>> = records
        .lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    let mut wanted: Vec<Vec<String>> = printed(&ended.events())
        .iter()
        .map(|record| {
            let cells: Vec<&str> = record.split(' ').collect();
            let order = [4, 0, 1, 2, 3, 5, 6, 7, 8];
            order.map(|at| cells[at].to_owned()).to_vec()
        })
        .collect();
    // nfdump shows the type and code of ICMP as a port.
    for record in found.iter_mut().chain(&mut wanted) {
        if ["1", "58"].contains(&record[0].as_str()) {
            record.remove(4);
        }
    }
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    assert!(found.len() > 60, "{}", found.len());
}
