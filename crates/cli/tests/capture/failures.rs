//! Error messages and exit statuses of failed captures, and the packets that are then in the file. Drop mode is in
//! `capture::drop::failures`.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use serde_json::json;

use crate::support::files::{bytes, count};
use crate::support::frames::{frame, frames, udp};
use crate::support::run::{spawn, spawn_into, spawn_silent};
use crate::support::{PROGRAM, RINGBUF, Scene, assert_refused, ip, nobodys_stations};

/// Every way to capture.
const WAYS: [&str; 6] = [
    "",
    "--backend packet-v2",
    "--delivery immediate",
    RINGBUF,
    "--mode drop",
    "--mode drop -s 96",
];

#[test]
fn an_interface_that_is_unknown_or_down_is_named() {
    let scene = Scene::new();
    let capture = |line: &str| scene.run(&format!("capture -w file {line}"));
    for part in ["nowhere0: No such device", "'ip link'"] {
        assert_refused(
            capture,
            &[
                ("-i nowhere0", 1, part),
                ("-i nowhere0 udp port 53", 1, part),
                ("-i nowhere0 --mode drop", 1, part),
            ],
        );
    }
    // Longer than any name, and none.
    assert_refused(
        capture,
        &[
            ("-i an-interface-of-too-many-letters", 1, ""),
            ("-i ''", 2, "a value is required"),
        ],
    );
    ip(&scene.right, "link set right0 down");
    let down = "tapline: interface right0 is down (bring it up with 'ip link set right0 up')";
    for way in WAYS {
        assert_refused(capture, &[(&format!("-i right0 {way}"), 1, down)]);
    }
    assert!(scene.listed().is_empty());
}

#[test]
fn an_interface_that_goes_ends_the_capture_in_order() {
    for (change, said) in [
        ("link set right0 down", "went down"),
        ("link delete right0", "was removed"),
    ] {
        for way in WAYS {
            let scene = Scene::new();
            let mut running = scene.capture(&format!("-w interrupted.pcapng {way}"));
            scene.send(&frames(40, 90));
            running.received(40);
            ip(&scene.right, change);
            let ended = running.finish();
            assert_eq!(ended.exit(1), format!("interface right0 {said}"), "{way}");
            let summary = ended.summary();
            summary.has(&json!({"received": 40, "written": 40}));
            if said == "went down" {
                summary.conserves(40);
            } else if !way.contains("drop") && way != RINGBUF {
                // Nobody can tell any more.
                assert!(summary.0["lost"]["nic"].is_null(), "{summary:?}");
            }
            let file = scene.file("interrupted.pcapng");
            assert_eq!((count(&file), bytes(&file)), (40, frames(40, 90)), "{way}");
        }
    }
}

/// With `CAP_NET_RAW` a capture over packet rings works; XDP takes more, and a filter that computes
/// where a port is takes `CAP_PERFMON`.
#[test]
fn each_missing_privilege_is_named() {
    let scene = Scene::new();
    let raw = ["Operation not permitted", "CAP_NET_RAW"];
    for (way, kept, filter, said) in [
        ("", "", "", raw),
        ("", "", "udp port 53", raw),
        (
            RINGBUF,
            "",
            "",
            [
                "by XDP: Operation not permitted",
                "(needs CAP_NET_RAW, CAP_BPF and CAP_NET_ADMIN; ",
            ],
        ),
        (
            RINGBUF,
            ",+bpf",
            "",
            [
                "from right0 by XDP",
                "(needs CAP_NET_RAW and CAP_NET_ADMIN; run with sudo or setcap)",
            ],
        ),
        (
            RINGBUF,
            ",+bpf,+net_admin",
            "",
            [
                "from right0 by XDP",
                "(needs CAP_NET_RAW; run with sudo or setcap)",
            ],
        ),
        (
            RINGBUF,
            ",+bpf,+net_admin,+net_raw",
            "port 53",
            ["needs CAP_PERFMON"; 2],
        ),
        (
            "--mode drop",
            "",
            "udp",
            [
                "by XDP: Operation not permitted",
                "(needs CAP_NET_RAW, CAP_BPF and CAP_NET_ADMIN; ",
            ],
        ),
        (
            "--mode drop",
            ",+net_raw,+ipc_lock",
            "udp",
            [
                "from right0 by XDP",
                "(needs CAP_BPF and CAP_NET_ADMIN; run with ",
            ],
        ),
        (
            "--mode drop",
            ",+net_raw,+ipc_lock,+bpf",
            "udp",
            [
                "from right0 by XDP",
                "(needs CAP_NET_ADMIN; run with sudo or ",
            ],
        ),
        (
            "--mode drop",
            ",+net_raw,+ipc_lock,+bpf,+net_admin",
            "port 53",
            ["needs CAP_PERFMON"; 2],
        ),
        (
            "--sample 1/10",
            ",+net_raw",
            "",
            ["cannot sample packets", "CAP_BPF"],
        ),
        ("--metrics 80", ",+net_raw", "", ["CAP_NET_BIND_SERVICE"; 2]),
    ] {
        let line = format!("capture -i right0 {way} --duration 1ms {filter}");
        let run = |line: &str| spawn(scene.privileged_by(kept, line)).finish();
        assert_refused(run, &said.map(|said| (&*line, 3, said)));
    }
    for (way, enough) in [
        (RINGBUF, ",+bpf,+net_admin,+net_raw"),
        ("--mode drop", ",+net_raw,+ipc_lock,+bpf,+net_admin"),
    ] {
        let line = format!("capture -i right0 {way} --duration 1ms udp");
        spawn(scene.privileged_by(enough, &line)).finish().exit(0);
    }
    assert!(scene.listed().is_empty());
}

/// Why a filter does not count without `CAP_BPF`.
const WITHOUT_BPF: &str = "cannot make a counting filter: cannot create BPF map tapline_filter (needs \
                           CAP_BPF): Operation not permitted";

/// With that one privilege everything works, but for counting what the filter refuses.
#[test]
fn one_privilege_is_enough() {
    let scene = Scene::new();
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o777)).expect("a folder");
    scene.write(
        "filter",
        "4\n40 0 0 12\n21 0 1 34997\n6 0 0 262144\n6 0 0 0\n",
    );
    let long = format!("'ether proto 0x88b5 and not {}'", nobodys_stations());
    for (filter, place) in [
        ("--bpf filter", "kernel"),
        ("ether proto 0x88b5", "kernel"),
        (&long, "split"),
    ] {
        let line = format!("capture -i right0 -w file.pcapng -c 10 --json {filter}");
        let mut running = spawn(scene.privileged_by(",+net_raw", &line));
        running.ready();
        scene.send(&[udp(b"refused")]);
        scene.send(&frames(10, 100));
        running.done().has(&json!({
            "delivered": 10, "filtered": null, "received": null, "filter": place,
            "interfaces": [{"uncounted": WITHOUT_BPF}],
        }));
        assert_eq!(count(&scene.file("file.pcapng")), 10);
    }
    let line = "capture -i right0 -w text --duration 1ms udp";
    let ended = spawn(scene.privileged_by(",+net_raw", line)).finish();
    ended.exit(0);
    ended.assert_says(&format!(
        "filtered packets on right0 were not counted: {WITHOUT_BPF}"
    ));
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let scene = Scene::new();
    let capture = |line: &str| scene.run(&format!("capture -i right0 {line}"));
    assert_refused(
        capture,
        &[
            (
                "-w missing/file",
                1,
                "tapline: cannot create missing/file: No such file or directory (create the directory missing first)",
            ),
            ("-w .", 1, "tapline: cannot create .: Is a directory"),
            // Text that would steer a terminal, or make two lines of one, is not passed on.
            ("-w 'no\nfolder/\x1b[2Jfile'", 1, "no?folder/?[2Jfile"),
        ],
    );
    // A folder that lets nobody write, and nobody who may write anyhow.
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o555)).expect("a folder");
    let unprivileged = |line: &str| spawn(scene.privileged_by(",+net_raw", line)).finish();
    let denied = "tapline: cannot create file: Permission denied";
    assert_refused(unprivileged, &[("capture -i right0 -w file", 1, denied)]);
    assert!(
        capture("-w /dev/full")
            .exit(1)
            .contains("No space left on device")
    );
}

/// On a file system of 64 KiB in a mount namespace of its own; the file is copied out of it.
#[test]
fn a_full_disk_keeps_what_was_written() {
    for flags in ["", "--format pcap", "--rotate-packets 100"] {
        let scene = Scene::new();
        let small = scene.file("small");
        fs::create_dir(&small).expect("a folder");
        let script = format!(
            "mount -t tmpfs -o size=64k tmpfs {small} || exit 99
             {PROGRAM} capture --json -i right0 -w {small}/file {flags} --stats-interval 20ms
             status=$?
             cp {small}/* {small}/..
             exit $status"
        );
        let mut command = scene.right.command("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        let mut running = spawn(command);
        running.ready();
        scene.generate(20_000, None);
        let ended = running.finish();
        let complaint = ended.exit(1);
        assert!(
            complaint.starts_with("cannot ") && complaint.contains(&small),
            "{complaint}"
        );
        assert!(
            complaint.ends_with(
                ": No space left on device (free space, or bound the files with --rotate-size and --keep)"
            ),
            "{complaint}"
        );
        let summary = ended.summary();
        // It ended while packets were still coming.
        let received = summary.number("received");
        assert!(
            summary.lost("writer") > 0 && received <= 20_000,
            "{summary:?}"
        );
        summary.conserves(received);
        fs::remove_dir(&small).expect("the folder");
        let files = scene.listed();
        let stored: u64 = files.iter().map(|file| count(&scene.file(file))).sum();
        assert!(stored > 0);
        summary.has(&json!({"written": stored, "delivered": stored}));
    }
}

/// Both ends of a stream; unlike a pipe's, its reader can be closed for good while a process that
/// is just being started has a copy of it.
fn stream() -> (UnixStream, OwnedFd) {
    let (read, write) = UnixStream::pair().expect("a stream");
    (read, write.into())
}

#[test]
fn a_reader_that_goes_away_ends_the_capture_in_order() {
    let scene = Scene::new();
    for flags in ["-w -", "", "--json", "--json --stats-interval 5ms"] {
        let (read, write) = stream();
        let mut command = scene.command(&format!("capture -i right0 {flags}"));
        command.stdout(write);
        let mut running = spawn_into(command);
        let is_json = flags.contains("--json");
        if is_json {
            // The first line is the start event.
            let line = BufReader::new(&read).lines().next();
            line.expect("a line").expect("text");
        } else {
            running.ready_text();
        }
        read.shutdown(Shutdown::Both).expect("the reader goes");
        scene.send(&frames(3, 100));
        let ended = running.finish();
        ended.exit(0);
        if !is_json {
            // The account of an end in order.
            ended.assert_mentions(" packets received = ");
        }
    }
}

#[test]
fn a_closed_standard_error_ends_nothing() {
    let scene = Scene::new();
    for (flags, code) in [("-c 5 --stats-interval 1ms", 0), ("-i nowhere0", 1)] {
        let (read, write) = stream();
        read.shutdown(Shutdown::Both).expect("the reader goes");
        let line = format!("capture -i right0 -w file.pcapng --json {flags}");
        let mut command = scene.command(&line);
        command.stderr(write);
        let mut running = spawn_silent(command);
        if code == 0 {
            running.ready();
            scene.send(&frames(5, 100));
        }
        let ended = running.finish();
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
    }
    assert_eq!(count(&scene.file("file.pcapng")), 5);
}

/// A capture that goes on has what it read on disk within a second or so, whatever comes later.
#[test]
fn what_was_captured_is_on_disk_while_the_capture_goes_on() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let mut running = scene.capture_text("-w file.pcapng --stats-interval 50ms");
    scene.send(&[frame(1, 100)]);
    let length = || fs::metadata(&file).expect("the file").len();
    let header = length();
    // Lines of the counters come as long as it runs.
    while length() == header {
        running.error_line();
    }
    assert_eq!(count(&file), 1);
    running.stop().exit(0);
    assert_eq!(count(&file), 1);
}
