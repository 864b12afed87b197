//! `--user`: the user of every thread according to the kernel, and the owner of the files.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use serde_json::json;

use crate::support::files::{capture, count};
use crate::support::frames::frames;
use crate::support::rpcap::{FRAMES, serve, served};
use crate::support::run::{Running, events, run, spawn};
use crate::support::{Scene, assert_refused, has_run_with_own_mounts};

/// A user of this test, in three groups.
const USERS: &str = "{ cat /etc/passwd; echo watcher:x:4242:4243::/:/bin/sh; } >passwd \
&& { cat /etc/group; echo watchers:x:4243:; echo one:x:4244:watcher; echo two:x:4245:watcher; } >group \
&& mount --bind passwd /etc/passwd && mount --bind group /etc/group";

const USER: u32 = 4242;
const GROUP: u32 = 4243;

/// Capabilities as in capabilities(7).
const DAC_OVERRIDE: u64 = 1 << 1;
const NET_RAW: u64 = 1 << 13;
const SYS_ADMIN: u64 = 1 << 21;

/// Whether the test has run as one with [`USERS`]; false when that is where it runs now.
#[track_caller]
fn has_run() -> bool {
    let setup = format!("cd $(mktemp -d) && {USERS} && rm -r \"$PWD\" && cd /");
    has_run_with_own_mounts("TAPLINE_TEST_USERS", &setup)
}

/// A scene with a folder `own` of the user.
fn scene() -> Scene {
    let scene = Scene::new();
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o755)).expect("ours");
    let own = scene.file("own");
    fs::create_dir(&own).expect("a folder");
    chown(&own, Some(USER), Some(GROUP)).expect("root");
    fs::set_permissions(&own, Permissions::from_mode(0o700)).expect("ours");
    scene
}

/// A line of /proc/PID/status for each thread.
fn lines(running: &Running, name: &str) -> BTreeSet<String> {
    let tasks = format!("/proc/{}/task", running.pid().as_raw_nonzero());
    let tasks = fs::read_dir(tasks).expect("it runs");
    let lines = tasks.map(|task| {
        let status = task.expect("a thread").path().join("status");
        let status = fs::read_to_string(status).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let words: Vec<_> = line.expect("a line").split_whitespace().collect();
        words.join(" ")
    });
    lines.collect()
}

/// Every thread is one of the user's. Returns the capabilities of each.
#[track_caller]
fn is_of_user(running: &Running) -> Vec<u64> {
    let one = |text: &str| BTreeSet::from([text.to_owned()]);
    assert_eq!(lines(running, "Uid:"), one("4242 4242 4242 4242"));
    assert_eq!(lines(running, "Gid:"), one("4243 4243 4243 4243"));
    assert_eq!(lines(running, "Groups:"), one("4243 4244 4245"));
    let sets = lines(running, "CapPrm:").into_iter();
    let number = |text: String| u64::from_str_radix(&text, 16).expect("a number");
    sets.map(number).collect()
}

#[track_caller]
fn belongs_to_user(file: &str) {
    let about = fs::metadata(file).expect("a file");
    assert_eq!((about.uid(), about.gid()), (USER, GROUP), "{file}");
    assert_eq!(about.mode() & 0o777, 0o600, "{file}");
}

#[test]
fn every_thread_of_a_capture_changes_and_its_files_belong_to_the_user() {
    if has_run() {
        return;
    }
    let scene = scene();
    let mut running =
        scene.capture("--user watcher --metrics 127.0.0.1:0 -w own/a.pcapng --rotate-packets 5");
    scene.send(&frames(12, 100));
    running.received(12);
    assert_eq!(is_of_user(&running), [0]);
    running.stop_after(12).exit(0);
    let mut files: Vec<_> = fs::read_dir(scene.file("own"))
        .expect("a folder")
        .map(|file| file.expect("a file").path().display().to_string())
        .collect();
    files.sort();
    let counts: Vec<_> = files.iter().map(|file| count(file)).collect();
    assert_eq!(counts, [5, 5, 2], "{files:?}");
    for file in &files {
        belongs_to_user(file);
    }
}

#[test]
fn a_named_capture_can_still_be_changed() {
    if has_run() {
        return;
    }
    let scene = scene();
    let name = format!("user-{}", std::process::id());
    let line = format!("-Z watcher --name {name} -w own/a.pcapng");
    let mut running = scene.capture(&line);
    scene.send(&frames(3, 100));
    running.received(3);
    events(&format!("ctl --name {name} filter ether proto 0x1234"));
    events(&format!("ctl --name {name} add lo"));
    let capabilities = is_of_user(&running);
    // The thread that opens rings, and the others.
    assert!(capabilities.iter().any(|set| set & SYS_ADMIN != 0));
    assert!(capabilities.contains(&0), "{capabilities:?}");
    assert!(capabilities.iter().all(|set| set & DAC_OVERRIDE == 0));
    scene.send(&frames(3, 100));
    let ended = running.stop_after(6);
    ended.summary().has(&json!({"delivered": 3, "filtered": 3}));
    belongs_to_user(&scene.file("own/a.pcapng"));
    // The next capture removes the socket.
    let socket = format!("/run/tapline/{name}.sock");
    assert!(fs::exists(&socket).expect("the folder"));
    scene.capture("").stop_after(0).exit(0);
    assert!(!fs::exists(&socket).expect("the folder"));
}

#[test]
fn captures_of_any_interface_and_programs_in_the_kernel_go_on_as_the_user() {
    if has_run() {
        return;
    }
    let scene = scene();
    for (line, packets) in [
        ("capture -i any --stats-interval 5ms", 3),
        ("capture -i right0 --mode drop --stats-interval 5ms", 3),
        ("count -i right0 --interval 10ms", 3),
        ("count -i right0 --interval 10ms --metrics 127.0.0.1:0", 3),
        ("latency -i right0", 0),
        ("flows -i right0", 0),
        ("ping -q -i 0.01 10.1.0.1", 0),
        ("ping -q -i 0.01 --backend xdp -I right0 10.1.0.1", 0),
        ("ping --respond -I right0", 0),
        ("send -i right0 --udp --dst 10.1.0.1 --rate 100pps", 0),
    ] {
        let line = format!("{line} --user watcher --json");
        let mut running = spawn(scene.command(&line));
        running.ready();
        if packets > 0 {
            scene.send(&frames(packets, 100));
        }
        let sets = is_of_user(&running);
        let overrides = sets.iter().any(|set| set & DAC_OVERRIDE != 0);
        assert!(!overrides, "{line}: {sets:x?}");
        // Some say on standard error which path they take.
        let ended = running.stop();
        assert!(ended.status.success(), "{line}: {ended:?}");
    }
}

#[test]
fn a_server_of_rpcap_serves_as_the_user() {
    if has_run() {
        return;
    }
    let scene = scene();
    let (mut server, port) = serve(&scene.right, "--user watcher");
    let line = format!("capture -i rpcap://127.0.0.1:{port}/right0 --json '{FRAMES}'");
    let mut client = spawn(scene.command(&line));
    client.ready();
    let capabilities = is_of_user(&server);
    // Those that open captures, and the session.
    assert!(capabilities.iter().any(|set| set & NET_RAW != 0));
    assert!(capabilities.contains(&0), "{capabilities:?}");
    assert!(capabilities.iter().all(|set| set & DAC_OVERRIDE == 0));
    scene.send(&frames(3, 100));
    for _ in 0..3 {
        client.event(|event| event["event"] == "packet");
    }
    client.stop().summary().has(&json!({"delivered": 3}));
    served(&mut server);
    // Root has started it, so that its user is a stranger.
    let mut stranger = scene.right.command("setpriv");
    stranger.args(["--reuid", "4242", "--clear-groups", crate::support::PROGRAM]);
    stranger.args(["capture", "-D", "-i", &format!("rpcap://127.0.0.1:{port}/")]);
    let ended = spawn(stranger).finish();
    assert!(
        ended.refusal(1).contains("user 4242 is neither"),
        "{ended:?}"
    );
    server.stop().exit(0);
}

#[test]
fn a_monitor_and_an_index_have_no_privileges() {
    if has_run() {
        return;
    }
    let scene = scene();
    let mut running = spawn(scene.command("monitor link --json --user watcher"));
    // What exists is printed once everything else is given up.
    running.event(|event| event["object"] == "link");
    assert_eq!(is_of_user(&running), [0]);
    running.stop().exit(0);
    let mut running = spawn(scene.command("monitor link --json"));
    running.event(|event| event["object"] == "link");
    assert_eq!(lines(&running, "CapPrm:"), BTreeSet::from(["0".repeat(16)]));
    running.stop().exit(0);
    let own = scene.file("own/in.pcap");
    fs::copy(capture("802.1w_rapid_STP.pcap"), &own).expect("copied");
    chown(&own, Some(USER), Some(GROUP)).expect("root");
    scene.run("index --user watcher own/in.pcap").exit(0);
    let about = fs::metadata(scene.file("own/in.pcap.index")).expect("an index");
    assert_eq!((about.uid(), about.gid()), (USER, GROUP));
    // Only root can read it.
    let input = scene.file("in.pcap");
    fs::copy(&own, &input).expect("copied");
    fs::set_permissions(&input, Permissions::from_mode(0o600)).expect("ours");
    let refused = scene.run("index --user watcher in.pcap");
    assert!(
        refused.refusal(1).contains("Permission denied"),
        "{refused:?}"
    );
}

#[test]
fn copies_and_pages_belong_to_the_user() {
    if has_run() {
        return;
    }
    let scene = scene();
    let corpus = capture("802.1w_rapid_STP.pcap");
    // An input that only root can read.
    let input = scene.file("in.pcap");
    fs::copy(corpus, &input).expect("copied");
    fs::set_permissions(&input, Permissions::from_mode(0o600)).expect("ours");
    for (line, file) in [
        ("read in.pcap -w own/out.pcapng", "own/out.pcapng"),
        ("read in.pcap -w own/out.pcap.zst", "own/out.pcap.zst"),
        ("report in.pcap -o own/page.html", "own/page.html"),
        (
            "send --udp --src 10.1.0.2 --dst 10.1.0.1 -c 3 -w own/sent.pcap",
            "own/sent.pcap",
        ),
        (
            "capture -i lo -w own/b.pcapng --record 1MiB --trigger icmp -- ping -q -c 2 -i 0.01 127.0.0.1",
            "own/b-trigger-00001.pcapng",
        ),
    ] {
        let (command, rest) = line.split_once(' ').expect("words");
        let line = format!("{command} --user watcher {rest}");
        scene.run(&line).exit(0);
        let about = fs::metadata(scene.file(file)).expect(&line);
        assert_eq!((about.uid(), about.gid()), (USER, GROUP), "{line}");
    }
    assert_eq!(count(&scene.file("own/out.pcapng")), 30);
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    if has_run() {
        return;
    }
    let scene = scene();
    let input = capture("802.1w_rapid_STP.pcap");
    let root = |line: &str| scene.run(line);
    assert_refused(
        root,
        &[
            ("capture -i right0 --user stranger", 2, "no such user"),
            (
                "capture -i right0 --user watcher -w a.pcapng",
                1,
                "a.pcapng: Permission denied",
            ),
            (
                "capture -i right0 --user watcher --queues 1 --cpus 0",
                2,
                "--user cannot be used with --cpus",
            ),
            (
                "capture -i right0 --user watcher --own-sockets -- true",
                2,
                "--user cannot be used with --own-sockets",
            ),
        ],
    );
    let mut command = scene.right.command("setpriv");
    command.args(["--reuid", "4246", "--clear-groups", crate::support::PROGRAM]);
    command.args(["read", &input, "--user", "watcher"]);
    let ended = spawn(command).finish();
    ended.exit(3);
    let errors = ended.stderr.join("\n");
    let line = "cannot change to user watcher: Operation not permitted (os error 1) (--user requires root)";
    assert!(errors.contains(line), "{errors}");
    run(&format!("read {input} --user root")).exit(0);
}
