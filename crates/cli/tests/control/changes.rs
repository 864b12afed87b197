//! `tapline ctl`: access control, and the effect of changes on packets and files.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::interfaces::notes;
use crate::support::files::{column, count};
use crate::support::frames::frames;
use crate::support::run::{Running, events, run, spawn};
use crate::support::{PROGRAM, Scene, output};

/// A name that no other test has, on a machine where others run at the same time.
fn name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("test-{}-{number}", std::process::id())
}

/// `tapline ctl --name NAME LINE`, which must succeed.
#[track_caller]
fn ctl(name: &str, line: &str) -> Vec<Value> {
    events(&format!("ctl --name {name} {line}"))
}

/// Starts a capture with a name and text output nowhere.
fn capture(scene: &Scene, name: &str, line: &str) -> (Running, String) {
    let (running, start) = scene.capture_begun(&format!("--name {name} {line}"));
    let path = start["control"].as_str().expect("a path").to_owned();
    assert_eq!(path, format!("/run/tapline/{name}.sock"));
    (running, path)
}

/// What `path` answers to `request`.
fn answer(path: &str, request: &[u8]) -> Value {
    let mut stream = UnixStream::connect(path).expect("a listener");
    // A refused line is not read to its end.
    let _ = stream.write_all(request);
    let mut reply = Vec::new();
    // Closing with unread bytes resets the connection after the reply.
    let _ = stream.read_to_end(&mut reply);
    serde_json::from_slice(&reply).expect("a reply")
}

#[test]
fn changes_take_effect_and_are_noted_in_the_file() {
    let scene = Scene::new();
    let name = name();
    let (mut running, _) = capture(&scene, &name, "-w file.pcapng");
    scene.send(&frames(10, 100));
    running.received(10);
    ctl(&name, "snaplen 40");
    scene.send(&frames(10, 100));
    running.received(20);
    ctl(&name, "buffer 4M");
    ctl(&name, "delivery adaptive");
    ctl(&name, "direction in");
    ctl(&name, "filter ether proto 0x1234");
    scene.send(&frames(10, 100));
    running.received(30);
    let stats = ctl(&name, "stats").remove(0);
    assert_eq!(stats["filter"], "ether proto 0x1234");
    assert_eq!(stats["interfaces"][0]["delivered"], 20);
    assert_eq!(stats["interfaces"][0]["mode"], "mirror");
    let settings = json!({
        "snaplen": 40, "buffer_bytes": 4 << 20, "sample": "off", "direction": "in", "delivery": "adaptive",
        "min_bytes": null, "timeout_ns": null, "latency_target_ns": 200_000, "stall_ns": null,
    });
    assert_eq!(stats["settings"], settings);
    ctl(&name, "stop");
    let summary = running.done();
    summary.conserves(30);
    summary.has(&json!({"delivered": 20, "filtered": 10}));
    let file = scene.file("file.pcapng");
    assert_eq!(count(&file), 20);
    // tshark reads the file with its notes, and finds the snaplen that was set between the packets.
    let lengths: Vec<u32> = column(&file, "frame.cap_len");
    assert_eq!(lengths[..10], [100; 10]);
    assert_eq!(lengths[10..], [40; 10]);
    let summary = events(&format!("read --summary {file}")).remove(0);
    let notes = summary["interfaces"][0]["notes"].as_array().expect("notes");
    let notes: Vec<_> = notes
        .iter()
        .map(|note| note["comment"].as_str().expect("text"))
        .collect();
    let words: Vec<_> = notes
        .iter()
        .map(|note| note.split(" by uid 0, pid ").next())
        .collect();
    let expected = [
        "snaplen 40",
        "buffer 4194304",
        "delivery adaptive",
        "direction in",
        "filter \"ether proto 0x1234\"",
        "stop",
    ];
    assert_eq!(words, expected.map(Some), "{notes:?}");
    // A page about the file has them, too.
    let report = run(&format!("report --json -o /dev/null {file}")).summary();
    let shown = report.0["notes"].as_array().expect("notes").iter();
    let shown: Vec<_> = shown
        .map(|note| note["text"].as_str().expect("text"))
        .collect();
    assert_eq!(shown, notes);
}

#[test]
fn a_file_is_rotated_on_request() {
    let scene = Scene::new();
    let name = name();
    let (mut running, _) = capture(&scene, &name, "-w row.pcapng --rotate-packets 1000000");
    scene.send(&frames(10, 100));
    running.received(10);
    let shown = || ctl(&name, "stats").remove(0)["files"].take();
    assert_eq!(shown(), json!(scene.listed()));
    ctl(&name, "rotate");
    let newest = scene.listed().pop();
    assert_eq!(shown(), json!([newest]));
    scene.send(&frames(5, 100));
    running.received(15);
    ctl(&name, "stop");
    running.done().conserves(15);
    let files = scene.listed();
    let counts: Vec<_> = files.iter().map(|file| count(&scene.file(file))).collect();
    assert_eq!(counts, [10, 5], "{files:?}");
}

/// A pipe holds the reader up, until somebody reads it after the stop.
#[test]
fn a_reader_that_is_held_up_is_stopped_and_notes_that_at_its_end() {
    let scene = Scene::new();
    let name = name();
    let path = scene.file("pipe");
    output(&scene.right, "/usr/bin/mkfifo", &path);
    // Open for both, it does not wait for a writer.
    let pipe = File::options().read(true).write(true).open(&path);
    let pipe = pipe.expect("the pipe");
    let (running, _) = capture(&scene, &name, "-w pipe");
    scene.send(&frames(300, 1000));
    ctl(&name, "stop");
    let mut reading = File::open(&path).expect("the pipe");
    drop(pipe);
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        reading.read_to_end(&mut bytes).map(|_| bytes)
    });
    running.done().conserves(300);
    let bytes = reader.join().expect("no panic").expect("its bytes");
    let file = scene.write("whole.pcapng", bytes);
    assert_eq!(count(&file), 300);
    assert_eq!(notes(&file), ["stop"]);
}

#[test]
fn defaults_are_shown_and_can_be_restored() {
    let scene = Scene::new();
    let name = name();
    let (running, _) = capture(&scene, &name, "-w file.pcapng");
    let ended = run(&format!("ctl --name {name} stats"));
    ended.exit(0);
    let line = "delivery batch  min-bytes auto  timeout 100ms";
    assert!(
        ended.stdout.iter().any(|out| out.ends_with(line)),
        "{ended:?}"
    );
    let settings = || ctl(&name, "stats").remove(0)["settings"].take();
    assert_eq!(settings()["min_bytes"], Value::Null);
    ctl(&name, "snaplen 40");
    assert_eq!(settings()["snaplen"], 40);
    ctl(&name, "snaplen 0");
    assert_eq!(settings()["snaplen"], 262_144);
    running.stop().done().conserves(0);
}

#[test]
fn what_cannot_be_changed_says_why() {
    let scene = Scene::new();
    let name = name();
    let (running, _) = capture(&scene, &name, "-w file.pcapng --delivery immediate");
    for (line, status, text) in [
        (
            "rotate",
            1,
            "no rotation (start the capture with a --rotate flag)",
        ),
        ("min-bytes 1M", 1, "this needs 'delivery batch' first"),
        ("filter tcp prt 1", 1, "filter for right0 is invalid"),
        ("sample 2", 1, "use 1/N"),
        ("buffer x", 2, "invalid value"),
    ] {
        let ended = run(&format!("ctl --name {name} {line}"));
        ended.exit(status);
        assert!(ended.stderr[0].contains(text), "{line}: {:?}", ended.stderr);
    }
    running.signal(Signal::INT);
    running.done().conserves(0);
    let ended = run(&format!("ctl --name {name} stats"));
    ended.exit(1);
    assert_eq!(
        ended.stderr[0],
        format!("tapline: no capture named {name} is running")
    );
    let ended = run("ctl --name ../x stats");
    ended.exit(2);
}

#[test]
fn the_socket_is_the_owners_and_a_name_is_taken_once() {
    let scene = Scene::new();
    let name = name();
    let (running, path) = capture(&scene, &name, "-w file.pcapng");
    let file = fs::metadata(&path).expect("the socket");
    assert_eq!((file.permissions().mode() & 0o777, file.uid()), (0o600, 0));
    let listed = events("ctl list");
    assert!(listed.iter().any(|one| one["name"] == *name), "{listed:?}");
    let second = scene.run(&format!("capture -i right0 --name {name} -w other.pcapng"));
    second.exit(1);
    assert_eq!(
        second.stderr[0],
        format!("tapline: a capture named {name} is running")
    );

    // The mode refuses another user; without it, the check of the peer does.
    let as_nobody = || {
        let mut command = std::process::Command::new(PROGRAM);
        command
            .args(["ctl", "--name", &name, "stop"])
            .uid(65534)
            .gid(65534);
        // Its folder of sockets is the one of root.
        command.env("XDG_RUNTIME_DIR", "/run");
        let output = command.output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), errors)
    };
    let (status, errors) = as_nobody();
    assert!(
        status == Some(3) && errors.contains("Permission denied"),
        "{errors}"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("a mode");
    let (status, errors) = as_nobody();
    let expected = "this capture belongs to another user";
    assert!(status == Some(1) && errors.contains(expected), "{errors}");
    assert_eq!(
        answer(&path, b"{\"command\":\"stats\"}\n")["reply"],
        "stats"
    );

    // A killed one leaves its socket, which the next capture removes.
    running.signal(Signal::KILL);
    running.finish();
    assert!(UnixStream::connect(&path).is_err());
    let (running, other) = capture(&scene, &format!("{name}-next"), "-w file.pcapng");
    assert!(fs::exists(&other).expect("a folder"));
    let lock = path.replace(".sock", ".lock");
    assert!(!fs::exists(&path).expect("a folder") && !fs::exists(lock).expect("a folder"));
    running.signal(Signal::KILL);
    running.finish();

    // Its name is free again.
    let (running, path) = capture(&scene, &name, "-w file.pcapng");
    assert_eq!(ctl(&name, "stats")[0]["name"], *name);
    running.signal(Signal::INT);
    running.done().conserves(0);
    assert!(!fs::exists(&path).expect("a folder"));
    let lock = path.replace(".sock", ".lock");
    assert!(!fs::exists(lock).expect("a folder"));
}

#[test]
fn garbage_and_slow_requests_are_refused() {
    let scene = Scene::new();
    let name = name();
    let (running, path) = capture(&scene, &name, "-w file.pcapng");
    for request in [
        &b"\n"[..],
        b"\xff\xfe\n",
        b"{\"command\":\"explode\"}\n",
        b"{\"command\":\"set\",\"setting\":{\"snaplen\":-1}}\n",
        &[b"[".repeat(10_000), b"\n".to_vec()].concat(),
    ] {
        let reply = answer(&path, request);
        assert_eq!(reply["reply"], "refused", "{reply}");
    }
    let long = answer(&path, &vec![b'x'; 70_000]);
    assert_eq!(long["error"], "a line of more than 65536 bytes");
    // Silent, and silent in the middle of a line.
    for begun in [&b""[..], b"{\"comm"] {
        let mut slow = UnixStream::connect(&path).expect("a listener");
        slow.write_all(begun).expect("written");
        let mut reply = String::new();
        slow.read_to_string(&mut reply).expect("a reply");
        assert!(reply.contains("silent"), "{reply}");
    }
    assert_eq!(answer(&path, b"{\"command\":\"stats\"}\n")["name"], *name);
    running.signal(Signal::INT);
    running.done().conserves(0);
}

/// Without a place for the socket of a name that nobody chose, it captures all the same.
#[test]
fn a_capture_that_cannot_listen_says_why() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let script = format!(
        "mount -t tmpfs -o ro tmpfs /run || exit 99
         exec {PROGRAM} capture -i right0 --duration 1ms -w {file}"
    );
    let mut command = scene.right.command("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    let ended = spawn(command).finish();
    ended.exit(0);
    let line = &ended.stderr[0];
    let (begin, end) = (
        "not controllable by 'tapline ctl': cannot use control socket /run/tapline/right0-",
        ".sock: Read-only file system (--name NAME selects another name, --no-control none)",
    );
    assert!(line.starts_with(begin) && line.ends_with(end), "{line}");
}

#[test]
fn a_capture_without_control_has_no_socket() {
    let scene = Scene::new();
    let (running, start) = scene.capture_begun("--no-control -w file.pcapng");
    assert_eq!(start["control"], Value::Null);
    running.signal(Signal::INT);
    running.done().conserves(0);
}

#[test]
fn a_capture_starts_in_the_background() {
    let scene = Scene::new();
    let name = name();
    let ended = scene.run(&format!("ctl start {name} -- -i right0 -w file.pcapng"));
    ended.exit(0);
    scene.send(&frames(10, 100));
    ctl(&name, "stop");
    let gone = format!("/run/tapline/{name}.sock");
    lab::wait::until("the socket is gone", || {
        !fs::exists(&gone).expect("a folder")
    });
    assert_eq!(count(&scene.file("file.pcapng")), 10);
    let ended = scene.run(&format!("ctl start {name} -- -i missing0"));
    ended.exit(1);
    assert!(ended.stderr[0].contains("missing0"), "{:?}", ended.stderr);
}

/// As systemd does: the socket that listens is passed as descriptor 3. The capture reports that it has started and
/// that it is alive, however rarely it prints counters.
#[test]
fn a_service_manager_passes_the_socket_and_hears_of_the_start() {
    let scene = Scene::new();
    let manager = scene.file("notify");
    let notified = UnixDatagram::bind(&manager).expect("a socket");
    let path = scene.file("control.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let line = "capture -i right0 -w file.pcapng --quiet --stats-interval 1h";
    let mut command = scene.right.command("unshare");
    // The shell becomes the program, so that its process ID is the one named.
    let script = format!("exec env LISTEN_PID=$$ LISTEN_FDS=1 {PROGRAM} {line} 3<&0 </dev/null");
    command
        .args(["--", "sh", "-c", &script])
        .current_dir(scene.folder.path());
    command
        .env("NOTIFY_SOCKET", &manager)
        .env("WATCHDOG_USEC", "2000000");
    command.stdin(std::os::fd::OwnedFd::from(listener));
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let running = crate::support::run::begin(command);
    let told = || {
        let mut message = [0; 64];
        let length = notified.recv(&mut message).expect("a message");
        String::from_utf8_lossy(&message[..length]).into_owned()
    };
    assert_eq!(told(), "READY=1");
    assert_eq!(told(), "WATCHDOG=1");
    assert_eq!(
        answer(&path, b"{\"command\":\"stats\"}\n")["reply"],
        "stats"
    );
    assert_eq!(answer(&path, b"{\"command\":\"stop\"}\n")["reply"], "done");
    while told() != "STOPPING=1" {}
    running.finish().exit(0);
}
