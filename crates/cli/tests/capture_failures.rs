//! What the program says when it cannot do what it was asked to, how it exits, and what of the
//! packets is on disk then.

use crate::support;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;

use crate::support::files::{bytes, count};
use crate::support::frames::{frame, frames};
use crate::support::run::{
    Ended, command, run, spawn, spawn_into, spawn_silent, start, start_text,
};
use crate::support::{PROGRAM, Scene, ip, name, text};
use lab::Host;

/// `tapline capture` on the host's interface, with no capabilities but `kept`.
fn unprivileged(host: &Host, kept: &str, arguments: &[&str]) -> Command {
    let mut command = host.command("setpriv");
    command.args(["--bounding-set", &format!("-all{kept}"), PROGRAM]);
    command.args(["capture", "-i", &name(host)]).args(arguments);
    command
}

#[test]
fn an_unknown_interface_is_named() {
    let scene = Scene::new();
    for filter in [&[][..], &["udp", "port", "53"]] {
        let mut command = scene.right.command(PROGRAM);
        command.args(["capture", "-i", "nowhere0", "-w", &scene.file("file")]);
        command.args(filter);
        let ended = spawn(command).finish();
        let complaint = ended.refusal(1);
        assert!(
            complaint.contains("nowhere0: No such device"),
            "{complaint}"
        );
        assert!(complaint.contains("'ip link'"), "{complaint}");
    }
    // Longer than any name, and none.
    for wrong in ["an-interface-of-too-many-letters", ""] {
        let mut command = scene.right.command(PROGRAM);
        command.args(["capture", "-i", wrong]);
        let ended = spawn(command).finish();
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{ended:?}");
        ended.refusal(ended.status.code().unwrap());
    }
    assert!(scene.listed().is_empty());
}

#[test]
fn an_interface_that_is_down_is_said_to_be() {
    let scene = Scene::new();
    let interface = name(&scene.right);
    ip(&scene.right, &["link", "set", &interface, "down"]);
    let file = scene.file("file");
    let said =
        format!("interface {interface} is down (bring it up with 'ip link set {interface} up')");
    for flags in [
        &["--backend", "packet-v2"][..],
        &["--backend", "packet-v3"],
        &["--backend", "xdp-ringbuf", "--direction", "in", "-s", "96"],
        &["--mode", "drop"],
        &["--mode", "drop", "-s", "96"],
    ] {
        let ended = run(&scene.right, &[&["-w", &file], flags].concat());
        assert_eq!(ended.refusal(1), said, "{flags:?}");
    }
    assert!(scene.listed().is_empty());
}

/// Has packets captured, then does `change`; gives the end of it and the file.
fn interrupted_by(scene: &Scene, flags: &[&str], change: &[&str]) -> (Ended, String) {
    let file = scene.file("interrupted.pcapng");
    let arguments = [&["-w", &file, "--stats-interval", "5ms"], flags].concat();
    let mut running = start(&scene.right, &arguments);
    scene.send(&frames(40, 100));
    running.received(40);
    ip(&scene.right, change);
    (running.finish(), file)
}

#[test]
fn an_interface_that_goes_down_ends_the_capture_in_order() {
    for flags in [
        &[][..],
        &["--backend", "packet-v2"],
        &["--delivery", "immediate"],
    ] {
        let scene = Scene::new();
        let interface = name(&scene.right);
        let (ended, file) = interrupted_by(&scene, flags, &["link", "set", &interface, "down"]);
        assert_eq!(ended.exit(1), format!("interface {interface} went down"));
        ended.summary().conserves(40);
        assert_eq!(bytes(&file), frames(40, 100));
        assert_eq!(count(&file), 40);
    }
}

#[test]
fn an_interface_that_is_removed_ends_the_capture_in_order() {
    for flags in [
        &[][..],
        &["--backend", "packet-v2"],
        &["--delivery", "immediate"],
    ] {
        let scene = Scene::new();
        let interface = name(&scene.right);
        let (ended, file) = interrupted_by(&scene, flags, &["link", "delete", &interface]);
        assert_eq!(ended.exit(1), format!("interface {interface} was removed"));
        let summary = ended.summary();
        assert_eq!(
            (summary.number("received"), summary.number("written")),
            (40, 40)
        );
        // Nobody can tell any more.
        assert!(summary.0["lost"]["nic"].is_null(), "{summary:?}");
        assert_eq!(count(&file), 40);
    }
}

#[test]
fn without_privilege_it_says_which_one_is_missing() {
    let scene = Scene::new();
    let file = scene.file("file");
    for filter in [&[][..], &["udp", "port", "53"]] {
        let arguments = [&["-w", &file], filter].concat();
        let ended = spawn(unprivileged(&scene.right, "", &arguments)).finish();
        let complaint = ended.refusal(3);
        assert!(complaint.contains("Operation not permitted"), "{complaint}");
        assert!(complaint.contains("CAP_NET_RAW"), "{complaint}");
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
    fs::set_permissions(scene.folder.path(), fs::Permissions::from_mode(0o777)).expect("a folder");
    let filter = scene.file("filter");
    fs::write(
        &filter,
        "4\n40 0 0 12\n21 0 1 34997\n6 0 0 262144\n6 0 0 0\n",
    )
    .expect("a filter");
    // So many stations that the kernel cannot hold them.
    let stations = (0..4000).map(|n: u32| format!("6:0:0:0:{:x}:{:x}", n / 251, n % 251));
    let stations: Vec<String> = stations.collect();
    let long = format!(
        "ether proto 0x88b5 and not ether src ({})",
        stations.join(" or ")
    );
    for (filter, place) in [
        (&["--bpf", &filter][..], "kernel"),
        (&["ether", "proto", "0x88b5"], "kernel"),
        (&[&long], "split"),
    ] {
        let file = scene.file("file.pcapng");
        let arguments = [&["-w", &file, "-c", "10", "--json"], filter].concat();
        let mut running = spawn(unprivileged(&scene.right, ",+net_raw", &arguments));
        running.ready();
        scene.send(&[support::frames::udp(b"refused")]);
        scene.send(&frames(10, 100));
        let ended = running.finish();
        ended.exit(0);
        let summary = ended.summary();
        assert_eq!(summary.number("delivered"), 10);
        assert!(
            summary.0["filtered"].is_null() && summary.0["received"].is_null(),
            "{summary:?}"
        );
        assert_eq!(summary.0["filter"], place);
        assert_eq!(summary.0["interfaces"][0]["uncounted"], WITHOUT_BPF);
        assert_eq!(count(&file), 10);
    }
    let arguments = ["-w", &scene.file("text"), "--duration", "1ms", "udp"];
    let ended = spawn(unprivileged(&scene.right, ",+net_raw", &arguments)).finish();
    ended.exit(0);
    let link = name(&scene.right);
    let line = format!("what the filter of {link} refused is not known: {WITHOUT_BPF}");
    assert!(ended.stdout.contains(&line), "{ended:?}");
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let scene = Scene::new();
    let folder = text(scene.folder.path());
    let missing = scene.file("missing/file.pcapng");
    for (file, reason) in [
        (&missing, "No such file or directory"),
        (&folder, "Is a directory"),
    ] {
        let ended = run(&scene.right, &["-w", file]);
        let expected = format!("cannot create {file}: {reason}");
        assert_eq!(ended.refusal(1), expected);
    }
    // A folder that lets nobody write, and nobody who may write anyhow.
    fs::set_permissions(scene.folder.path(), fs::Permissions::from_mode(0o555)).expect("a folder");
    let file = scene.file("file");
    let ended = spawn(unprivileged(&scene.right, ",+net_raw", &["-w", &file])).finish();
    let expected = format!("cannot create {file}: Permission denied");
    assert_eq!(ended.refusal(1), expected);
    let ended = run(&scene.right, &["-w", "/dev/full"]);
    assert!(
        ended.exit(1).contains("No space left on device"),
        "{ended:?}"
    );
}

/// On a file system of 64 KiB in a mount namespace of its own; the file is copied out of it.
#[test]
fn a_full_disk_keeps_what_was_written() {
    for flags in ["", "--format pcap", "--rotate-packets 100"] {
        let scene = Scene::new();
        let small = scene.file("small");
        fs::create_dir(&small).expect("a folder");
        let interface = name(&scene.right);
        let script = format!(
            "mount -t tmpfs -o size=64k tmpfs {small} || exit 99
             {PROGRAM} capture --json -i {interface} -w {small}/file {flags} --stats-interval 20ms
             status=$?
             cp {small}/* {0}
             exit $status",
            text(scene.folder.path())
        );
        let mut command = scene.right.command("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        let mut running = spawn(command);
        running.ready();
        scene.generate(20_000, None);
        let ended = running.finish();
        let complaint = ended.exit(1);
        assert!(complaint.starts_with("cannot "), "{complaint}");
        assert!(complaint.contains(&small), "{complaint}");
        assert!(complaint.contains("No space left on device"), "{complaint}");
        let summary = ended.summary();
        assert!(summary.lost("writer") > 0, "{summary:?}");
        // It ended while packets were still coming.
        let received = summary.number("received");
        assert!(received <= 20_000, "{summary:?}");
        summary.conserves(received);
        assert_eq!(summary.number("written"), summary.number("delivered"));
        fs::remove_dir(&small).expect("the folder");
        let files = scene.listed();
        let stored: u64 = files.iter().map(|file| count(file)).sum();
        assert!(stored > 0);
        assert_eq!(stored, summary.number("written"), "{flags}: {summary:?}");
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
    for flags in [
        &["-w", "-"][..],
        &[],
        &["--json"],
        &["--json", "--stats-interval", "5ms"],
    ] {
        let (read, write) = stream();
        let mut command = command(&scene.right, flags);
        command.stdout(write);
        let mut running = spawn_into(command);
        if flags.contains(&"--json") {
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
        if !flags.contains(&"--json") {
            // The account of an end in order.
            let is_account = |line: &String| line.contains(" packets received = ");
            assert!(ended.stderr.iter().any(is_account), "{flags:?}: {ended:?}");
        }
    }
}

#[test]
fn a_closed_standard_error_ends_nothing() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    for (flags, code) in [
        (&["-c", "5", "--stats-interval", "1ms"][..], 0),
        (&["-i", "nowhere0"], 1),
    ] {
        let (read, write) = stream();
        read.shutdown(Shutdown::Both).expect("the reader goes");
        let mut command = command(&scene.right, &["-w", &file, "--json"]);
        command.args(flags).stderr(write);
        let mut running = spawn_silent(command);
        if code == 0 {
            running.ready();
            scene.send(&frames(5, 100));
        }
        let ended = running.finish();
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
    }
    assert_eq!(count(&file), 5);
}

/// Text that would steer a terminal, or make two lines of one, is not passed on.
#[test]
fn names_from_outside_stay_on_one_line() {
    let scene = Scene::new();
    let file = scene.file("no\nfolder/\x1b[2Jfile");
    let ended = run(&scene.right, &["-w", &file]);
    assert!(ended.refusal(1).contains("no?folder/?[2Jfile"), "{ended:?}");
}

/// A capture that goes on has what it read on disk within a second or so, whatever comes later.
#[test]
fn what_was_captured_is_on_disk_while_the_capture_goes_on() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let mut running = start_text(&scene.right, &["-w", &file, "--stats-interval", "50ms"]);
    scene.send(&[frame(1, 100)]);
    let header = fs::metadata(&file).expect("the file").len();
    // Lines of the counters come as long as it runs.
    while fs::metadata(&file).expect("the file").len() == header {
        running.error_line();
    }
    assert_eq!(count(&file), 1);
    running.stop().exit(0);
    assert_eq!(count(&file), 1);
}
