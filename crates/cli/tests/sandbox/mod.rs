//! The sandbox: the system calls that it allows are those that the commands make, and whoever takes a command over can do
//! nothing else.

#[path = "../../src/sandbox/calls.rs"]
#[expect(dead_code, reason = "the program has both lists")]
mod calls;
mod trace;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;

use netlink::Gro;

use self::calls::{
    CAPTURE, COLUMNS, COUNT, EXPLAIN, EXTCAP, INDEX, LATENCY, LOCAL_TIME, List, METRICS, MONITOR,
    NEW_SOCKETS, PING, PROCESS, READ, SEND, START_THREAD, UPLOADS,
};
use self::trace::{Calls, fake_ssh, trace, trace_thread, trace_while};
use crate::support::files::count;
use crate::support::objects::{Server, use_server};
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, output, tapline};

/// A file of 30 packets.
const CAPTURE_FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../lab/corpus/captures/802.1w_rapid_STP.pcap"
);

/// A command of the shell that captures watch.
const PINGS: &str = "-- ping -q -c 5 -i 0.01 127.0.0.1";

/// Fetches metrics, and sends five pings.
const FETCH: &str = "-- bash -c 'exec 3<>/dev/tcp/127.0.0.1/9100; printf \"GET /metrics HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3 >/dev/null; ping -q -c 5 -i 0.01 127.0.0.1'";

const NAMESPACES: &str = "numbers of network namespaces: tests of netns";
const SCREENS: &str = "a screen on a terminal: tests of screens";

/// Calls that no line here makes, and when they are made.
const ELSEWHERE: [(i64, &str); 19] = [
    (
        libc::SYS_recvmsg,
        "time stamps of the device: tests of latency with them",
    ),
    (
        libc::SYS_wait4,
        "the guard of tc filters before Linux 6.6: tests under user-mode-linux",
    ),
    (libc::SYS_rmdir, "control groups: tests of --own-sockets"),
    (
        libc::SYS_flock,
        "what a capture restores at its end: tests of interrupts and of hardware time stamps",
    ),
    (libc::SYS_getdents64, NAMESPACES),
    (libc::SYS_newfstatat, NAMESPACES),
    (
        libc::SYS_timerfd_settime,
        "pings that wait for less than a millisecond: tests of histograms",
    ),
    (libc::SYS_ioctl, SCREENS),
    (libc::SYS_openat, SCREENS),
    (libc::SYS_read, SCREENS),
    (libc::SYS_poll, SCREENS),
    (libc::SYS_getpgrp, SCREENS),
    (libc::SYS_getpgid, SCREENS),
    (libc::SYS_socketpair, SCREENS),
    (libc::SYS_ftruncate, "a full disk: tests of captures on one"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "a full disk: tests of columns on one"),
    #[cfg(not(target_arch = "x86_64"))]
    (libc::SYS_unlinkat, "a full disk: tests of columns on one"),
    (
        libc::SYS_sendto,
        "a watch lists again after an overrun; tc filters are removed one by one before Linux 6.6",
    ),
    (libc::SYS_getsockopt, "the error of such a socket"),
    (
        libc::SYS_capget,
        "which capabilities are missing, if the kernel refuses live frames: make faults",
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
    let is_excused = |call: &i64| {
        // Which of these a run makes depends on the memory that is left, and on how its threads run.
        PROCESS.contains(call)
            // Time zones are read again after minutes, which no line lasts.
            || LOCAL_TIME.contains(call)
            || ELSEWHERE.iter().any(|(other, _)| other == call)
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
            &format!(
                "capture -i lo -w DIR/b.pcapng --record 1MiB --trigger icmp --after 10ms {PINGS}"
            ),
            &format!("capture -i lo --who {PINGS}"),
            &format!("capture -i lo --decode tshark {PINGS}"),
            &format!("capture -i lo --name sandbox -- {PROGRAM} ctl stats -n sandbox"),
            "capture -i lo -c 3 -- ping -q -i 0.01 127.0.0.1",
            &format!("capture -i right0 --mode drop {PINGS}"),
            &format!("capture -i lo -w DIR/c.pcapng --keylog {CAPTURE_FILE} {PINGS}"),
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
            &format!("flows {one}"),
            &format!("flows --csv {one} {one}"),
            &format!("report {one} -o DIR/page.html"),
        ],
    );
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
    let mut made = trace_while(right, "monitor link --changes -c 1", || {
        output(right, "ip", "link set right0 mtu 1400");
    });
    made.add(trace(right, "monitor link -c 1"));
    compare(&MONITOR, &made);
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

/// One line of each command that restricts itself.
const COMMANDS: [&str; 15] = [
    "capture -i lo --duration 10ms",
    "read DIR/in.pcap",
    "flows DIR/in.pcap",
    "report DIR/in.pcap -o DIR/page.html",
    "flows -i lo --duration 10ms",
    "send -i right0 -r DIR/in.pcap",
    "send -r DIR/in.pcap -w DIR/out.pcapng",
    "index DIR/in.pcap",
    REMOTE_INTERFACES,
    REMOTE,
    "count -i right0 --interval 10ms --duration 10ms",
    "ping -c 1 127.0.0.1",
    "latency -i lo --duration 10ms",
    "monitor link -c 1",
    "explain /dev/null",
];

/// The same with a metrics server, which has a thread of its own.
const SERVERS: [&str; 6] = [
    "flows -i lo --duration 10ms --metrics 0",
    "capture -i lo --duration 10ms --metrics 0",
    "capture -i any --duration 10ms --metrics 0",
    "count -i right0 --interval 10ms --duration 10ms --metrics 0",
    "ping -c 1 --metrics 0 127.0.0.1",
    "send -i right0 --udp --dst 10.1.0.1 -c 1 --metrics 0",
];

/// Runs each command, taken over by an attacker who does `act`: in the command, and in the threads of metrics and uploads. Returns
/// the end of each, and what the attacker got.
fn taken_over(act: &str, flags: &str) -> Vec<(String, std::process::ExitStatus, String)> {
    let scene = scene();
    let folder = scene.folder.path().to_str().expect("text");
    let path = fake_ssh(scene.folder.path());
    let run = |line: &str, place: Option<&str>| {
        let line = format!("{} {flags}", line.replace("DIR", folder));
        let mut command = tapline(&scene.right, &line);
        command.env("PATH", &path).env("TAPLINE_TEST_TAKEOVER", act);
        use_server(&mut command, "127.0.0.1");
        command.envs(place.map(|place| ("TAPLINE_TEST_TAKEOVER_IN", place)));
        let output = command.output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut lines = errors.lines();
        let got = lines.find_map(|line| line.strip_prefix("takeover: "));
        (line, output.status, got.unwrap_or_default().to_owned())
    };
    let commands = COMMANDS.iter().map(|line| run(line, None));
    let servers = SERVERS.iter().map(|line| run(line, Some(METRICS.name)));
    let uploads = [COLUMNS.name, UPLOADS.name];
    let uploads = uploads.iter().map(|place| run(UPLOAD, Some(place)));
    commands.chain(servers).chain(uploads).collect()
}

#[test]
fn an_attacker_opens_no_other_files_and_connects_to_nobody() {
    // Landlock refuses it, or the system call does not exist for the command.
    let fails = |act: &str| {
        for (line, status, got) in taken_over(act, "") {
            assert!(status.code().is_some(), "{line}: {status}");
            let refusals = [libc::EACCES, libc::ENOSYS].map(|errno| format!("code: {errno},"));
            let is_refused = refusals.iter().any(|refusal| got.contains(refusal));
            assert!(is_refused, "{line}, {act}: {got}");
        }
    };
    fails("read /etc/shadow");
    fails("write /tmp/tapline-takeover");
    fails("connect 127.0.0.1:9");
    fails("call bpf");
}

#[test]
fn an_attacker_who_starts_or_traces_a_program_or_mounts_ends_the_process() {
    for act in ["exec /bin/true", "call mount", "call ptrace"] {
        for (line, status, _) in taken_over(act, "") {
            assert_eq!(
                status.signal(),
                Some(libc::SIGSYS),
                "{line}, {act}: {status}"
            );
        }
    }
}

/// What restoring the setting of an interface takes: the boot that its record names, and `CAP_NET_ADMIN`.
fn restores(flags: &str) -> (bool, bool) {
    const NET_ADMIN: u64 = 1 << 12;
    let scene = Scene::new();
    let mut command = tapline(&scene.right, &format!("capture -i right0 --json {flags}"));
    command.env(
        "TAPLINE_TEST_TAKEOVER",
        "read /proc/sys/kernel/random/boot_id",
    );
    let mut running = spawn(command);
    running.ready();
    // Bound: the error of a program that has ended.
    let got = loop {
        if let Some(got) = running.error_line().strip_prefix("takeover: ") {
            break got.to_owned();
        }
    };
    let status = format!("/proc/{}/status", running.pid().as_raw_nonzero());
    let status = fs::read_to_string(status).expect("it runs");
    let held = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .expect("capabilities");
    let held = u64::from_str_radix(held.trim(), 16).expect("a number");
    running.stop().exit(0);
    (got == "Ok(())", held & NET_ADMIN != 0)
}

#[test]
fn a_capture_to_which_stamping_interfaces_may_be_added_can_restore_their_settings() {
    assert_eq!(restores("--timestamp auto"), (true, true));
    assert_eq!(restores("--timestamp auto --no-control"), (false, false));
    assert_eq!(restores(""), (false, false));
}

#[test]
fn without_the_sandbox_an_attacker_reads_files_and_makes_calls() {
    for (line, status, got) in taken_over("read /etc/shadow", "--no-sandbox") {
        let has_read = status.code().is_some() && got == "Ok(())";
        assert!(has_read, "{line}: {status} {got}");
    }
    for act in ["call bpf", "call mount", "call ptrace"] {
        for (line, status, got) in taken_over(act, "--no-sandbox") {
            let is_made =
                got.contains("code: ") && !got.contains(&format!("code: {},", libc::ENOSYS));
            assert!(
                status.code().is_some() && is_made,
                "{line}, {act}: {status} {got}"
            );
        }
    }
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
