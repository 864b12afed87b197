//! `tapline capture --who` and `--packet-id`: packets whose process is this one, and packets that are seen twice.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use lab::generator::send_frames;
use serde_json::{Value, json};

use crate::support::files::tshark;
use crate::support::frames::{frames, udp};
use crate::support::run::{events, printed, spawn};
use crate::support::{Scene, assert_refused, ip, number};

/// Packets of this process on the loopback: over UDP and IPv4 and IPv6, and a connection that is older than the capture.
struct Traffic {
    udp: [(UdpSocket, UdpSocket); 2],
    tcp: (TcpStream, TcpStream),
}

impl Traffic {
    /// Packets that [`send`](Self::send) sends: four datagrams, and a segment with its acknowledgment.
    const PACKETS: u64 = 6;

    fn new(scene: &Scene) -> Self {
        ip(&scene.right, "link set lo up");
        scene.right.run(|| {
            let udp = ["127.0.0.1:0", "[::1]:0"].map(|at| {
                let bind = || UdpSocket::bind(at).expect("a socket");
                (bind(), bind())
            });
            // Connected, and not connected.
            let to = udp[1].1.local_addr().expect("an address");
            udp[1].0.connect(to).expect("connected");
            let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
            let to = listener.local_addr().expect("an address");
            let client = TcpStream::connect(to).expect("a connection");
            let (server, _) = listener.accept().expect("a connection");
            let tcp = (client, server);
            Self { udp, tcp }
        })
    }

    fn send(&mut self) {
        for (from, to) in &self.udp {
            for _ in 0..2 {
                let to = to.local_addr().expect("an address");
                match from.peer_addr() {
                    Ok(_) => from.send(b"?").expect("sent"),
                    Err(_) => from.send_to(b"?", to).expect("sent"),
                };
            }
        }
        self.tcp.0.write_all(b"?").expect("sent");
        self.tcp.1.read_exact(&mut [0]).expect("received");
    }
}

/// This process, as tapline names it.
fn own_words() -> String {
    let name = fs::read_to_string("/proc/self/comm").expect("a name");
    format!("{}[{}]", name.trim_end(), std::process::id())
}

#[track_caller]
fn assert_own(packets: &[Value]) {
    assert_eq!(packets.len() as u64, Traffic::PACKETS);
    for packet in packets {
        assert_eq!(packet["process_id"], std::process::id(), "{packet}");
        assert_eq!(packet["comment"], own_words());
    }
}

fn packets(events: Vec<Value>) -> Vec<Value> {
    let is_packet = |event: &Value| event["event"] == "packet";
    events.into_iter().filter(is_packet).collect()
}

#[test]
fn a_file_says_which_process_sent_a_packet() {
    let scene = Scene::new();
    let mut traffic = Traffic::new(&scene);
    let file = scene.file("who.pcapng");
    let line = format!(
        "capture -i lo --json --who -c {} -w {file} udp or tcp",
        Traffic::PACKETS
    );
    let mut running = spawn(scene.command(&line));
    running.ready();
    traffic.send();
    let counts = json!({"found": Traffic::PACKETS, "unknown": 0});
    running.done().has(&json!({"processes": counts}));

    assert_own(&packets(events(&format!("read {file}"))));
    for line in printed(&format!("read {file}")) {
        assert!(line.ends_with(&format!("# {}", own_words())), "{line}");
    }
    // An older reader shows the comments, and the description of the process as a record without any.
    let mut comments = tshark(&file, &["frame.comment"]).concat();
    comments.retain(|comment| !comment.is_empty());
    assert_eq!(comments, vec![own_words(); Traffic::PACKETS as usize]);

    let bytes = fs::read(&file).expect("a file");
    let occurrences = |wanted: &[u8]| {
        bytes
            .windows(wanted.len())
            .filter(|part| *part == wanted)
            .count()
    };
    let number = std::process::id();
    // The option of each packet: code 8, 8 bytes, process, unknown thread.
    let option = [&[8, 0, 8, 0][..], &number.to_le_bytes(), &[0; 4]].concat();
    assert_eq!(occurrences(&option) as u64, Traffic::PACKETS);
    // One description: number of the Wireshark Foundation, Process Information, its length, the process.
    let described = [32_622, 3].map(u32::to_le_bytes).concat();
    assert_eq!(occurrences(&described), 1);
    let program = std::env::current_exe().expect("a program");
    assert!(occurrences(program.as_os_str().as_encoded_bytes()) > 0);
}

#[test]
fn printed_packets_have_their_process() {
    let scene = Scene::new();
    // Another user finds the processes of root, too.
    for user in ["", "--user nobody"] {
        let mut traffic = Traffic::new(&scene);
        let line = format!(
            "capture -i lo --json --who {user} -c {} udp or tcp",
            Traffic::PACKETS
        );
        let mut running = spawn(scene.command(&line));
        running.ready();
        traffic.send();
        let ended = running.finish();
        ended.exit(0);
        assert_own(&packets(ended.events()));
    }
}

/// Frames that a packet socket sends belong to no TCP or UDP socket; received ones were not made here.
#[test]
fn packets_without_a_process_are_counted() {
    let scene = Scene::new();
    let running = scene.capture("--who -c 5 -w who.pcapng");
    scene.send(&frames(2, 70));
    let datagrams = [b"1", b"2", b"3"].map(|text| udp(text));
    scene.send_back(&datagrams);
    running
        .done()
        .has(&json!({"processes": {"found": 0, "unknown": 3}}));
}

#[test]
fn a_packet_has_one_number_at_two_interfaces() {
    let scene = Scene::new();
    ip(&scene.right, "link add near0 type veth peer name far0");
    ip(&scene.right, "link set near0 up");
    ip(&scene.right, "link set far0 up");
    let file = scene.file("ids.pcapng");
    let line = format!("capture -i near0 -i far0 --json --packet-id -c 6 -w {file} udp");
    let mut running = spawn(scene.command(&line));
    running.ready();
    let datagrams = [b"1", b"2", b"3"].map(|text| udp(text));
    let near = scene
        .right
        .netlink()
        .link_named("near0")
        .expect("a link")
        .ifindex();
    let sent = scene.right.run(|| send_frames(near, &datagrams));
    assert_eq!(sent.expect("frames are sent"), 3);
    running.done();
    let rows = tshark(
        &file,
        &["frame.interface_name", "frame.packet_id", "udp.payload"],
    );
    let at = |name: &str| -> Vec<_> {
        let rows = rows.iter().filter(|row| row[0] == name);
        let mut rows: Vec<_> = rows.map(|row| row[1..].to_vec()).collect();
        rows.sort_by(|a, b| a[1].cmp(&b[1]));
        rows
    };
    assert_eq!(at("near0").len(), 3);
    assert_eq!(at("near0"), at("far0"));
    let mut ids: Vec<_> = at("near0").iter().map(|row| row[0].clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    for packet in packets(events(&format!("read {file}"))) {
        assert!(number(&packet, "packet_id") > 0);
    }
}

#[test]
fn flags_that_contradict_are_refused() {
    let scene = Scene::new();
    assert_refused(
        |line| scene.run(&format!("capture -i right0 {line}")),
        &[
            ("--who --netns all", 2, "cannot be used with"),
            ("--who --record 1M -w file", 2, "cannot be used with"),
            ("--packet-id", 2, "--write"),
        ],
    );
}
