//! The sandbox permits exactly the system calls that the commands make, and an attacker who compromises a command can
//! do nothing else.

mod attacks;
#[path = "../../src/sandbox/calls.rs"]
mod calls;
mod campaign;
mod full_disks;
mod other_threads;
mod privileges;
mod reported;
mod shared;
mod streams;
mod threads;
mod trace;
mod untraced_calls;

use std::fs;
use std::os::unix::fs::symlink;

use lab::wait;
use netlink::Gro;
use rustix::process::{Signal, kill_process};

use self::calls::{
    CAPTURE, COLUMNS, COMMAND, COUNT, CTL, EXPLAIN, EXTCAP, FILTER, FLOWS, INDEX, IPFIX, LATENCY,
    List, METRICS, MONITOR, NEW_SOCKETS, PING, PING_XDP, PROCESS, PROCESSES, READ, RESPOND, RPCAP,
    SEND, SERVE, SIGNALS, START_THREAD, UPLOADS,
};
use self::trace::{Calls, trace, trace_sessions, trace_thread, trace_while};
use self::untraced_calls::UNTRACED_CALLS;
use crate::support::files::count;
use crate::support::frames::frames;
use crate::support::objects::Server;
use crate::support::ping::echoes_answered;
use crate::support::rpcap::{peer, serve};
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, output, tapline};

/// A file of 30 packets.
const CAPTURE_FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../lab/corpus/captures/802.1w_rapid_STP.pcap"
);

/// A compressed file.
const COMPRESSED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../lab/corpus/made/sections.pcapng.gz"
);

/// A command of the shell that captures watch.
const PINGS: &str = "-- ping -q -c 5 -i 0.01 127.0.0.1";

/// Fetches metrics, and sends five pings.
const FETCH: &str = "-- bash -c 'exec 3<>/dev/tcp/127.0.0.1/9100; printf \"GET /metrics HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3 >/dev/null; ping -q -c 5 -i 0.01 127.0.0.1'";

/// All lists.
static LISTS: [&List; 24] = [
    &CAPTURE, &COLUMNS, &COMMAND, &COUNT, &CTL, &EXPLAIN, &EXTCAP, &FILTER, &FLOWS, &INDEX, &IPFIX,
    &LATENCY, &METRICS, &MONITOR, &PING, &PING_XDP, &PROCESSES, &READ, &RESPOND, &RPCAP, &SEND,
    &SERVE, &SIGNALS, &UPLOADS,
];

/// The test that traces the commands of a list.
static TRACED: [(&str, &[&str]); 24] = [
    (
        "capture",
        &["sandbox::captures_make_the_calls_of_their_list"],
    ),
    (
        "columns",
        &["sandbox::writing_columns_makes_the_calls_of_its_list"],
    ),
    (
        "command",
        &["sandbox::other_threads::waiting_for_a_command_makes_the_calls_of_its_list"],
    ),
    ("count", &["sandbox::counting_makes_the_calls_of_its_list"]),
    (
        "ctl",
        &["sandbox::asking_a_capture_makes_the_calls_of_its_list"],
    ),
    (
        "explain",
        &["sandbox::explaining_makes_the_calls_of_its_list"],
    ),
    (
        "extcap",
        &["sandbox::the_plugin_of_wireshark_makes_the_calls_of_its_list"],
    ),
    ("filter", &["sandbox::filters_make_the_calls_of_their_list"]),
    (
        "flows",
        &["sandbox::writing_flows_of_a_capture_makes_the_calls_of_its_list"],
    ),
    ("index", &["sandbox::indexing_makes_the_calls_of_its_list"]),
    (
        "ipfix",
        &["flows::ipfix::reconnect::a_capture_connects_to_its_collector_again"],
    ),
    ("latency", &["sandbox::latency_makes_the_calls_of_its_list"]),
    (
        "metrics",
        &["sandbox::the_thread_of_the_metrics_makes_the_calls_of_its_list"],
    ),
    (
        "monitor",
        &["sandbox::monitoring_makes_the_calls_of_its_list"],
    ),
    ("ping", &["sandbox::pings_make_the_calls_of_their_list"]),
    (
        "ping-xdp",
        &["sandbox::pings_of_the_kernel_make_the_calls_of_their_list"],
    ),
    (
        "processes",
        &["sandbox::other_threads::finding_processes_makes_the_calls_of_its_list"],
    ),
    ("read", &["sandbox::reading_makes_the_calls_of_its_list"]),
    (
        "respond",
        &["sandbox::answering_makes_the_calls_of_its_list"],
    ),
    (
        "rpcap",
        &["sandbox::taking_packets_from_a_server_makes_the_calls_of_its_list"],
    ),
    ("send", &["sandbox::sending_makes_the_calls_of_its_list"]),
    (
        "serve",
        &["sandbox::sessions_of_rpcap_make_the_calls_of_their_list"],
    ),
    (
        "signals",
        &[
            "sandbox::other_threads::waiting_for_signals_makes_the_calls_of_its_list",
            "capture::signals::a_second_signal_ends_it_at_once",
        ],
    ),
    (
        "uploads",
        &["sandbox::the_thread_of_uploads_makes_the_calls_of_its_list"],
    ),
];

/// A host with a pair of interfaces; and a folder with the capture `in.pcap`, a `large.pcap` that is read in several parts,
/// and a `link` to the folder itself.
fn scene() -> Scene {
    let scene = Scene::new();
    let capture = fs::read(CAPTURE_FILE).expect("a capture");
    let (header, packets) = capture.split_at(24);
    scene.write("in.pcap", &capture);
    scene.write("large.pcap", [header, &packets.repeat(200)].concat());
    symlink(".", scene.file("link")).expect("a link");
    scene
}

/// Traces `lines` at the host of a [`scene`], whose folder is `DIR`, and compares the calls with `list`.
#[track_caller]
fn check(list: &List, lines: &[&str]) {
    let scene = scene();
    // Live frames need it at the receiver.
    scene.left.set_gro(Gro::On);
    let folder = scene.folder.path().to_str().expect("text");
    let mut made = Calls::default();
    for line in lines {
        let line = line.replace("DIR", folder);
        made.add(trace(&scene.right, &line));
    }
    compare(list, &made);
}

/// Each call that was made is in `list` or among `more`.
#[track_caller]
fn assert_allowed(list: &List, more: &[i64], made: &Calls) {
    let is_allowed = |call: &i64| {
        // The C library asks for clone3(2) first.
        [libc::SYS_clone3, START_THREAD].contains(call)
            || list.calls.iter().any(|calls| calls.contains(call))
            || more.contains(call)
            || (*call == libc::SYS_bpf && !list.bpf_commands.is_empty())
    };
    let missing: Vec<_> = made
        .made
        .iter()
        .filter(|(call, _)| !is_allowed(call))
        .collect();
    assert!(missing.is_empty(), "not in the list: {missing:#?}");
}

/// Each call that was made is in `list`, and each in `list` was made.
#[track_caller]
fn compare(list: &List, made: &Calls) {
    assert_allowed(list, &[], made);
    assert_used(list, made);
}

/// Each call in `list` was made.
#[track_caller]
fn assert_used(list: &List, made: &Calls) {
    let allowed: Vec<i64> = list.calls.iter().copied().flatten().copied().collect();
    let elsewhere = UNTRACED_CALLS.iter().filter(|made| made.list == list.name);
    for made in elsewhere.clone() {
        let missing = made.calls.iter().find(|call| !allowed.contains(call));
        assert_eq!(missing, None, "{}", made.why);
    }
    let is_excused = |call: &i64| {
        // Which of these a run makes depends on the memory that is left, and on how its threads run: see `shared`.
        PROCESS.contains(call) || elsewhere.clone().any(|made| made.calls.contains(call))
    };
    let is_unused = |call: &&i64| !is_excused(call) && !made.made.contains_key(call);
    let unused: Vec<_> = allowed.iter().filter(is_unused).collect();
    assert!(unused.is_empty(), "no line makes the calls {unused:?}");
    assert_eq!(
        made.bpf_commands.len(),
        list.bpf_commands.len(),
        "{:?}",
        made.bpf_commands
    );
}

#[test]
fn captures_make_the_calls_of_their_list() {
    check(
        &CAPTURE,
        &[
            &format!("capture -i lo {PINGS}"),
            &format!("capture -i lo --json {PINGS}"),
            &format!(
                "capture -i lo -w DIR/a.pcapng --index --rotate-packets 3 --keep 1 icmp {PINGS}"
            ),
            &format!("capture -i lo -w DIR/link/a.pcapng --index --rotate-packets 3 icmp {PINGS}"),
            &format!("capture -i lo -w DIR/a.pcapng.zst --queues 2 {PINGS}"),
            &format!("capture -i lo -w DIR/f.pcapng --queues 1 {PINGS}"),
            "capture -i lo -w DIR/e.pcapng --queues 2 -- ping -q -f -c 2000 -s 1000 127.0.0.1",
            &format!(
                "capture -i lo -w DIR/b.pcapng --record 1MiB --trigger icmp --after 10ms {PINGS}"
            ),
            &format!("capture -i lo --who {PINGS}"),
            &format!("capture -i lo --decode tshark {PINGS}"),
            &format!("capture -i lo --name sandbox -- {PROGRAM} ctl stats -n sandbox"),
            "capture -i lo -c 3 -- ping -q -i 0.01 127.0.0.1",
            &format!("capture -i right0 --mode drop {PINGS}"),
            &format!("capture -i lo -w DIR/c.pcapng --keylog {CAPTURE_FILE} {PINGS}"),
            &format!("capture -i any {PINGS}"),
            &format!("capture -i any -w DIR/d.pcapng --who {PINGS}"),
            "flows -i lo --duration 50ms",
        ],
    );
}

#[test]
fn writing_columns_makes_the_calls_of_its_list() {
    let one = CAPTURE_FILE;
    check(
        &COLUMNS,
        &[
            &format!("read {one} {one} -w DIR/link/a.parquet"),
            &format!("read {one} -w DIR/link/table --partition"),
            "read DIR/large.pcap -w DIR/large.parquet",
            &format!("read {COMPRESSED} -w DIR/z.parquet"),
            &format!("flows {one} -w DIR/flows.parquet"),
            &format!("flows {one} -w /dev/null --format arrow"),
        ],
    );
}

#[test]
fn reading_makes_the_calls_of_its_list() {
    let one = CAPTURE_FILE;
    check(
        &READ,
        &[
            &format!("read {one}"),
            &format!("read {one} {one} -w DIR/link/a.pcapng.zst --rotate-packets 3 --keep 1"),
            &format!("read --summary {one}"),
            &format!("read --json {one}"),
            &format!("read --decode tshark {one}"),
            &format!("read {COMPRESSED}"),
            "read DIR/in.pcap --split flow -w DIR/split.pcapng",
            &format!("flows {one}"),
            &format!("flows --csv {one} {one}"),
            &format!("report {one} -o DIR/page.html"),
        ],
    );
}

#[test]
fn writing_flows_of_a_capture_makes_the_calls_of_its_list() {
    let scene = scene();
    let folder = scene.folder.path().to_str().expect("text");
    let mut made = Calls::default();
    for line in [
        "flows -i lo -c 10 -w DIR/link/flows.parquet",
        "flows -i lo -c 10 -w DIR/table --partition icmp",
    ] {
        let line = line.replace("DIR", folder);
        made.add(trace_while(&scene.right, &line, |_| {
            output(&scene.right, "ping", "-q -c 10 -i 0.01 127.0.0.1");
        }));
    }
    compare(&FLOWS, &made);
}

#[test]
fn counting_makes_the_calls_of_its_list() {
    check(
        &COUNT,
        &[
            "count -i right0 --interval 10ms --duration 50ms",
            "count -i right0 --interval 10ms --duration 50ms --json icmp",
            "count -i right0 --by src --interval 10ms --duration 50ms",
            "count -i right0 --by stamp --interval 10ms --duration 50ms",
        ],
    );
}

#[test]
fn pings_make_the_calls_of_their_list() {
    check(
        &PING,
        &[
            "ping -c 3 -i 0.01 127.0.0.1",
            "ping -c 3 -i 0.01 --json 127.0.0.1 127.0.0.2",
            "ping -c 3 -i 0.1 --backend raw 127.0.0.1",
        ],
    );
}

#[test]
fn latency_makes_the_calls_of_its_list() {
    check(
        &LATENCY,
        &[
            "latency -i lo --duration 50ms icmp",
            "latency -i lo --duration 50ms --json --compare",
        ],
    );
}

#[test]
fn monitoring_makes_the_calls_of_its_list() {
    let scene = Scene::new();
    let right = &scene.right;
    let mut made = trace_while(right, "monitor link --changes -c 1", |_| {
        output(right, "ip", "link set right0 mtu 1400");
    });
    made.add(trace(right, "monitor link -c 1"));
    compare(&MONITOR, &made);
}

/// Sends echo requests with programs of the kernel, which need a program at the other end.
#[test]
fn pings_of_the_kernel_make_the_calls_of_their_list() {
    let scene = scene();
    let line = "ping --respond --xdp native -I left0 --rate max --json";
    let mut responder = spawn(tapline(&scene.left, line));
    responder.ready();
    let folder = scene.folder.path().to_str().expect("text");
    scene.right.ip("route add 10.64.0.0/24 via 10.1.0.1");
    // ICMP errors are read from a table.
    scene.left.set_sysctl("ipv4/ip_forward", "1");
    scene.left.ip("route add unreachable 10.65.0.0/24");
    scene.right.ip("route add 10.65.0.0/24 via 10.1.0.1");
    let mut made = Calls::default();
    for line in [
        "-q -c 10 -i 10ms 10.1.0.1",
        "-q -c 10 -i 10ms --json --histogram 10.1.0.1 fd00:1::1",
        "-q -c 10 -i 10ms --send-path xdp 10.1.0.1",
        "-q -c 2 -i 10ms --fail-loss 100% 10.65.0.1",
        "-q -c 1 -W 0.1 --fail-loss 100% --state DIR/state --rate 1kpps 10.64.0.0/24",
    ] {
        let line = format!("ping --backend xdp {}", line.replace("DIR", folder));
        made.add(trace(&scene.right, &line));
    }
    // It keeps its state at the end.
    let line = format!(
        "ping --backend xdp -q -c 1 --fail-loss 100% --state {folder}/state --rate 1pps 10.64.0.0/24"
    );
    made.add(trace_while(&scene.right, &line, |pid| {
        kill_process(pid, Signal::INT).expect("it runs");
    }));
    compare(&PING_XDP, &made);
}

#[test]
fn answering_makes_the_calls_of_its_list() {
    let scene = Scene::new();
    let line = "ping --respond --xdp generic -I right0 --json -i 10ms";
    let made = trace_while(&scene.right, line, |pid| {
        scene.left.ip("route add 10.9.0.0/24 via 10.1.0.2");
        scene.right.ip("address add 10.9.0.1/32 dev right0");
        let is_answered = || {
            let mut ping = scene.left.command("ping");
            let ended = ping
                .args(["-q", "-c", "1", "-W", "0.2", "10.9.0.1"])
                .output();
            ended.expect("it runs").status.success()
        };
        wait::until("the new address is answered by the program", || {
            let before = echoes_answered(&scene.right);
            is_answered() && echoes_answered(&scene.right) == before
        });
        scene.right.ip("address del 10.9.0.1/32 dev right0");
        wait::until("it is answered no more", || !is_answered());
        kill_process(pid, Signal::INT).expect("it runs");
    });
    compare(&RESPOND, &made);
}

#[test]
fn filters_make_the_calls_of_their_list() {
    check(
        &FILTER,
        &[
            "filter tcp port 80",
            "filter --emit native --json tcp port 80",
            "filter --packet DIR/in.pcap tcp",
            "filter --packet DIR/large.pcap --json tcp",
            &format!("filter --packet {COMPRESSED} tcp"),
        ],
    );
}

#[test]
fn asking_a_capture_makes_the_calls_of_its_list() {
    let scene = Scene::new();
    let name = format!("sandbox-{}", std::process::id());
    let line = format!("capture -i lo --json --name {name}");
    let mut running = spawn(tapline(&scene.right, &line));
    running.ready();
    let mut made = trace(&scene.right, "ctl list");
    made.add(trace(&scene.right, &format!("ctl stats -n {name} --json")));
    compare(&CTL, &made);
    running.stop().exit(0);
}

#[test]
fn explaining_makes_the_calls_of_its_list() {
    let scene = Scene::new();
    let file = scene.write("message", "14000000 03000500 01000000 02000000 00000000");
    check(&EXPLAIN, &[&format!("explain {file}")]);
}

#[test]
fn sending_makes_the_calls_of_its_list() {
    check(
        &SEND,
        &[
            "send -i right0 -r DIR/in.pcap --rate 1000pps",
            "send -i right0 -r DIR/in.pcap --loop 2",
            "send -i right0 -r DIR/large.pcap",
            "send -i right0 --udp --dst 10.1.0.1 -c 100 --path live-frames",
            "send -i right0 --udp --dst 10.1.0.1 -c 100 --path xdp",
            "send -i right0 -r DIR/in.pcap --threads 2 --path bypass",
            "send -i right0 --udp --dst 10.1.0.1 -c 100 --path bypass",
            "send -i right0 --udp --dst 10.1.0.1 -c 100 --path qdisc --json",
            "send -r DIR/in.pcap -w DIR/out.pcapng",
            "send -i right0 -r DIR/in.pcap --dry-run",
        ],
    );
}

#[test]
fn indexing_makes_the_calls_of_its_list() {
    check(
        &INDEX,
        &[
            "index DIR/in.pcap",
            "index DIR/in.pcap",
            "index --again DIR/link/in.pcap",
        ],
    );
}

/// Lists the interfaces of a host, whose answer may be hostile.
const REMOTE_INTERFACES: &str = "extcap --extcap-interface tapline-ssh --ssh-host other --extcap-config --extcap-reload-option remote-interface";

/// Captures at this host.
const REMOTE: &str =
    "extcap --extcap-interface tapline-ssh --ssh-host other --capture --fifo DIR/packets";

#[test]
fn the_plugin_of_wireshark_makes_the_calls_of_its_list() {
    check(&EXTCAP, &[REMOTE_INTERFACES, REMOTE]);
}

#[test]
fn the_thread_of_the_metrics_makes_the_calls_of_its_list() {
    let line = format!("capture -i lo --json --metrics 127.0.0.1:9100 {FETCH}");
    compare(&METRICS, &trace_thread(&scene().right, &METRICS, &line));
}

/// Uploads what is in the spool, and the flows of a capture.
const UPLOAD: &str =
    "read DIR/in.pcap -w s3://logs/table --partition --spool DIR/link/spool --spool-wait 0s";

#[test]
fn the_thread_of_uploads_makes_the_calls_of_its_list() {
    let scene = scene();
    let _server = Server::start(&scene.right, scene.folder.path());
    let folder = scene.folder.path().to_str().expect("text");
    let left = scene.folder.path().join("spool/s3/logs");
    let mut made = Calls::default();
    let line = UPLOAD.replace("DIR", folder);
    for threads_of in [None, Some(&UPLOADS)] {
        fs::create_dir_all(&left).expect("a folder");
        // It is uploaded in parts.
        fs::write(left.join("large.parquet"), vec![7; 10 << 20]).expect("a file");
        match threads_of {
            None => assert_allowed(&COLUMNS, &[], &trace(&scene.right, &line)),
            Some(list) => made.add(trace_thread(&scene.right, list, &line)),
        }
    }
    // It looks up the name of the server.
    assert_allowed(&UPLOADS, NEW_SOCKETS, &made);
    assert_used(&UPLOADS, &made);
}

#[test]
fn taking_packets_from_a_server_makes_the_calls_of_its_list() {
    let scene = scene();
    let (server, port) = serve(&scene.right, "");
    let folder = scene.folder.path().to_str().expect("text");
    let mut made = Calls::default();
    for flags in [
        String::new(),
        "--json --udp".to_owned(),
        format!("-w {folder}/link/a.pcapng.zst --rotate-packets 3 --keep 1"),
    ] {
        let line = format!("capture -i rpcap://127.0.0.1:{port}/right0 -c 10 {flags}");
        made.add(trace_while(&scene.right, &line, |_| {
            scene.send(&frames(10, 100));
        }));
    }
    server.stop().exit(0);
    compare(&RPCAP, &made);
}

/// Sessions with each kind of channel for packets, of which one is slow.
#[test]
fn sessions_of_rpcap_make_the_calls_of_their_list() {
    let scene = scene();
    let line = "serve rpcap --json --listen 127.0.0.1:2002";
    let act = |pid| {
        for way in ["tcp", "active", "udp", "stalled"] {
            let file = scene.file("packets.pcap");
            let count = if way == "stalled" { 100_000 } else { 10 };
            let line = format!("client 127.0.0.1 2002 right0 {count} {file} {way}");
            let mut client = spawn(peer(&scene.right, &line));
            client.ready();
            if way == "stalled" {
                scene.generate(count, None);
            } else {
                scene.send(&frames(10, 100));
            }
            assert!(client.finish().status.success());
        }
        kill_process(pid, Signal::INT).expect("it runs");
    };
    compare(&SERVE, &trace_sessions(&scene.right, line, act));
}

#[test]
fn reading_takes_names_pipes_and_links() {
    let scene = Scene::new();
    scene
        .run(&format!(
            "read {CAPTURE_FILE} -w out.pcapng host localhost and port domain"
        ))
        .exit(0);
    let pipes = format!("{PROGRAM} read <(cat {CAPTURE_FILE}) -w >(cat >piped.pcapng)");
    let mut command = scene.right.command("bash");
    command
        .args(["-c", &pipes])
        .current_dir(scene.folder.path());
    spawn(command).finish().exit(0);
    fs::create_dir(scene.file("other")).expect("a folder");
    symlink("other/file.pcapng", scene.file("link.pcapng")).expect("a link");
    scene
        .run(&format!("read {CAPTURE_FILE} -w link.pcapng"))
        .exit(0);
    assert_eq!(count(&scene.file("other/file.pcapng")), 30);
}
