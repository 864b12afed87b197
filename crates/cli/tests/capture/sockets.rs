//! `--own-sockets`: the packets of the command's sockets, among those of other programs of the same host.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Stdio;

use lab::skip::{self, Feature};
use rustix::process::Signal;

use crate::support::files::tshark;
use crate::support::{Scene, assert_refused, ip};

/// Control groups of version 2 are mounted, and the kernel runs programs there.
const CGROUPS: Feature = Feature {
    name: "control groups of version 2",
    probe: || match groups() {
        Some(_) => Ok(()),
        None => Err("cgroup2 is not mounted".to_owned()),
    },
};

/// The directory in which tapline makes a control group.
fn groups() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    let is_group = |line: &&str| line.contains(" - cgroup2 ");
    let mount = mounts.lines().find(is_group)?.split(' ').nth(4)?.to_owned();
    let groups = fs::read_to_string("/proc/self/cgroup").expect("the groups");
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(PathBuf::from(mount).join(group))
}

/// The group of the process with this number.
fn group(pid: i32) -> PathBuf {
    groups()
        .expect("control groups")
        .join(format!("tapline-{pid}"))
}

/// Connects to 10.9.0.1, port 7000, and sends five datagrams from a port that the kernel chooses. Listens on another port,
/// says both ports, and waits for a client and then for the end.
const COMMAND: &str = "
import socket
near = socket.create_connection(('10.9.0.1', 7000))
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(5):
    datagrams.sendto(b'x' * number, ('10.9.0.1', 7001))
server = socket.create_server(('10.9.0.2', 0))
near.sendall(b'%d %d\\n' % (datagrams.getsockname()[1], server.getsockname()[1]))
client, _ = server.accept()
client.recv(5)
client.close()
near.recv(1)
";

fn scene() -> Scene {
    let scene = Scene::new();
    ip(&scene.left, "addr add 10.9.0.1/24 dev left0");
    ip(&scene.right, "addr add 10.9.0.2/24 dev right0");
    ip(&scene.left, "link set left0 arp on");
    ip(&scene.right, "link set right0 arp on");
    scene
}

#[test]
fn only_packets_of_the_commands_sockets_are_captured() {
    if skip::without(&CGROUPS) {
        return;
    }
    let scene = scene();
    scene.write("command.py", COMMAND);
    let (listener, datagrams) = scene.left.run(|| {
        let listener = TcpListener::bind("10.9.0.1:7000").expect("a port");
        (listener, UdpSocket::bind("10.9.0.1:7001").expect("a port"))
    });
    let running = scene.capture("--own-sockets -w own.pcapng -- python3 command.py");
    let pid = running.pid().as_raw_nonzero().get();
    let (stream, peer) = listener.accept().expect("the command");
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line).expect("its ports");
    let ports: Vec<u16> = line
        .split_whitespace()
        .map(|port| port.parse().expect("a port"))
        .collect();
    let [udp, server] = ports[..].try_into().expect("two ports");
    // Another program of the same host uses the same services.
    scene.right.run(|| {
        let other = UdpSocket::bind("10.9.0.2:0").expect("a port");
        for _ in 0..7 {
            other.send_to(b"other", "10.9.0.1:7001").expect("sent");
        }
        let mut other = TcpStream::connect("10.9.0.1:7000").expect("connected");
        other.write_all(b"other").expect("sent");
    });
    let mut other = listener.accept().expect("the other program").0;
    let mut said = Vec::new();
    other.read_to_end(&mut said).expect("until it ends");
    assert_eq!(said, b"other");
    let mut arrived = 0;
    for _ in 0..12 {
        arrived += datagrams.recv(&mut [0; 16]).map(|_| 1).expect("a datagram");
    }
    assert_eq!(arrived, 12);
    // A client of the command, which binds a port and does not send first.
    scene.left.run(|| {
        let mut client = TcpStream::connect(("10.9.0.2", server)).expect("connected");
        client.write_all(b"hello").expect("sent");
        client.read_to_end(&mut Vec::new()).expect("closed");
    });
    lines.get_mut().write_all(b"x").expect("it may end");
    lines.read_to_end(&mut Vec::new()).expect("closed");
    let summary = running.done();
    assert_eq!(summary.all_lost(), 0);

    let rows = tshark(
        &scene.file("own.pcapng"),
        &["udp.srcport", "tcp.port", "tcp.flags.str"],
    );
    assert_eq!(summary.number("delivered"), rows.len() as u64);
    let own = [peer.port(), server].map(|port| port.to_string());
    let mut datagrams = 0;
    // By connection: SYN, SYN with ACK, and FIN.
    let mut flags_seen = [[0; 3]; 2];
    for row in &rows {
        let [source, tcp, flags] = &row[..] else {
            panic!("{row:?}");
        };
        if tcp.is_empty() {
            assert_eq!(*source, udp.to_string(), "{row:?}");
            datagrams += 1;
            continue;
        }
        let at = (own.iter()).position(|port| tcp.split(',').any(|one| one == port));
        let at = at.unwrap_or_else(|| panic!("another program's: {row:?}"));
        let [is_syn, is_ack, is_fin] = ['S', 'A', 'F'].map(|flag| flags.contains(flag));
        flags_seen[at][0] += u32::from(is_syn && !is_ack);
        flags_seen[at][1] += u32::from(is_syn && is_ack);
        flags_seen[at][2] += u32::from(is_fin);
    }
    // From the first packet, which the command sends or receives, to the last. This test still holds its end of the first
    // connection open.
    assert_eq!((datagrams, flags_seen), (5, [[1, 1, 1], [1, 1, 2]]));
    drop(lines);
    assert!(!group(pid).exists());
}

#[test]
fn a_ping_is_known_by_its_identifier() {
    if skip::without(&CGROUPS) {
        return;
    }
    let scene = scene();
    // Beside another ping.
    let mut other = scene.right.command("ping");
    let mut other = other
        .stdout(Stdio::null())
        .args(["-q", "-i", "0.002", "-c", "100000", "10.9.0.1"])
        .spawn()
        .expect("ping");
    let ended = scene.run(
        "capture --json -i right0 --own-sockets -w own.pcapng -- ping -q -c 5 -i 0.002 10.9.0.1",
    );
    other.kill().expect("it runs");
    other.wait().expect("it ends");
    assert_eq!(ended.done().number("delivered"), 10);
    let rows = tshark(&scene.file("own.pcapng"), &["icmp.ident", "icmp.seq"]);
    assert!(rows.iter().all(|row| row[0] == rows[0][0]), "{rows:?}");
}

#[test]
fn a_killed_capture_leaves_a_group_that_the_next_one_removes() {
    if skip::without(&CGROUPS) {
        return;
    }
    let scene = scene();
    // The command ends soon after its parent, and does not hold the streams of the test meanwhile.
    let script = "exec tail -f --pid=$PPID /dev/null >/dev/null 2>&1";
    let running = scene.capture(&format!("--own-sockets -w own.pcapng -- sh -c '{script}'"));
    let pid = running.pid().as_raw_nonzero().get();
    assert!(group(pid).exists());
    let procs = group(pid).join("cgroup.procs");
    lab::wait::until("the command joins", || {
        fs::read_to_string(&procs).is_ok_and(|text| text.lines().count() == 1)
    });
    running.signal(Signal::KILL);
    running.finish();
    let events = group(pid).join("cgroup.events");
    lab::wait::until("the command ends", || {
        fs::read_to_string(&events).is_ok_and(|text| text.contains("populated 0"))
    });
    scene
        .run("capture -q -i right0 --own-sockets -w own.pcapng -- true")
        .exit(0);
    assert!(!group(pid).exists());
}

#[test]
fn a_capture_removes_its_group() {
    if skip::without(&CGROUPS) {
        return;
    }
    let scene = scene();
    let running = scene.capture("--own-sockets -w own.pcapng -- cat");
    let pid = running.pid().as_raw_nonzero().get();
    assert!(group(pid).exists());
    running.stop().exit(0);
    assert!(!group(pid).exists());
}

#[test]
fn own_sockets_need_a_command_and_a_packet_ring() {
    if skip::without(&CGROUPS) {
        return;
    }
    let scene = scene();
    assert_refused(
        |line| scene.run(line),
        &[
            (
                "capture -i right0 --own-sockets",
                2,
                "missing argument: COMMAND",
            ),
            (
                "capture -i right0 --own-sockets --mode drop -- true",
                2,
                "only packet rings select the packets of a command's sockets (use --mode mirror and --backend auto)",
            ),
        ],
    );
}
