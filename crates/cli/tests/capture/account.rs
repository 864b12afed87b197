//! Conservation: each packet of a known number is delivered, filtered or lost, and the summary, the file and the
//! kernel's counters agree.

use std::fs::{self, File};
use std::io;
use std::process::Command;
use std::thread::{self, JoinHandle};

use lab::{Host, Net};
use serde_json::json;

use crate::support::files::{column, count, options};
use crate::support::frames::{frames, udp};
use crate::support::run::{Ended, run};
use crate::support::{Scene, arrived, send};

/// UDP only, as `tcpdump -ddd udp` prints it for IPv4: ldh [12]; jeq 0x800; ldb [23]; jeq 17.
const UDP_ONLY: &str = "6\n40 0 0 12\n21 0 3 2048\n48 0 0 23\n21 0 1 17\n6 0 0 262144\n6 0 0 0\n";

/// A named pipe `pipe` whose reader starts to read only when the test says so.
struct Stalled {
    path: String,
    read: File,
}

impl Stalled {
    fn new(scene: &Scene) -> Self {
        let path = scene.file("pipe");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        // Open for both, it does not wait for a writer.
        let read = File::options().read(true).write(true).open(&path);
        let read = read.expect("the pipe");
        Self { path, read }
    }

    /// Takes everything to `file`, until the last writer is gone; then the pipe is removed.
    fn drain(self, file: String) -> JoinHandle<()> {
        let Self { path, read } = self;
        // A second descriptor, for reading only, sees the end; the first would keep the pipe open.
        let mut only_read = File::open(&path).expect("the pipe");
        drop(read);
        thread::spawn(move || {
            let mut out = File::create(file).expect("a file");
            io::copy(&mut only_read, &mut out).expect("a copy");
            fs::remove_file(path).expect("the pipe is removed");
        })
    }
}

/// Checks that the file's drop counts and final counters contain the same loss as the summary.
#[track_caller]
fn assert_file_tells(file: &str, ended: &Ended) {
    let summary = ended.summary();
    let options = options(file);
    let sum = |name: &str| -> u64 {
        let values = options
            .iter()
            .filter_map(|option| option.strip_prefix(name));
        values
            .map(|value| value.parse::<u64>().expect("a number"))
            .sum()
    };
    for (name, expected) in [
        ("Drop Count = ", summary.lost("ring")),
        ("Number of Packets Dropped by OS = ", summary.lost("ring")),
        ("Number of Received Packets = ", summary.number("received")),
        (
            "Number of Packets Delivered to the User = ",
            summary.number("delivered"),
        ),
    ] {
        assert_eq!(sum(name), expected, "{name}");
    }
}

#[test]
fn at_overload_every_loss_is_counted() {
    let scene = Scene::new();
    for backend in ["packet-v3", "packet-v2"] {
        let stalled = Stalled::new(&scene);
        let file = scene.file("overload.pcapng");
        let before = arrived(&scene.right);
        let mut running = scene.capture(&format!("-w pipe --backend {backend} --buffer 1M -s 96"));
        scene.generate(60_000, None);
        let drained = stalled.drain(file.clone());
        // The next packets carry what was lost before them.
        running.received(60_000);
        scene.generate(100, Some(10_000));
        let ended = running.stop_after(60_100);
        drained.join().expect("the reader ends");
        let summary = ended.summary();
        assert_eq!(arrived(&scene.right) - before, 60_100);
        let (delivered, lost) = (summary.number("delivered"), summary.lost("ring"));
        assert!(lost > 10_000, "{backend}: {lost} lost of 60 000");
        assert_eq!(
            (delivered + lost, count(&file)),
            (60_100, delivered),
            "{backend}"
        );
        assert_file_tells(&file, &ended);
        let report = run(&format!("report --json -o /dev/null {file}")).summary();
        report.has(
            &json!({"packets": delivered, "interfaces": [{"lost": lost, "lost_by_packets": lost}]}),
        );
    }
}

/// What the ring drops before the reader could decide on it is lost; what the reader refuses is not.
#[test]
fn at_overload_a_split_filter_is_accounted_for() {
    let scene = Scene::new();
    let stalled = Stalled::new(&scene);
    let file = scene.file("split.pcapng");
    let hosts = (0..3800).map(|n: u32| format!("10.{}.{}.1", n / 250, n % 250));
    let hosts = hosts.collect::<Vec<_>>().join(" or ");
    // Among them the sender of the generator's frames.
    let filter = format!("not src host ({hosts} or 198.18.0.1)");
    let mut running = scene.capture(&format!("-w pipe --buffer 1M -s 200 '{filter}'"));
    // These are wanted, and more than the pipe and the writer's buffer hold.
    scene.send(&frames(15_000, 300));
    scene.generate(40_000, None);
    let drained = stalled.drain(file.clone());
    running.received(55_000);
    scene.generate(1000, Some(10_000));
    let ended = running.stop_after(56_000);
    drained.join().expect("the reader ends");
    let summary = ended.summary();
    assert_eq!(summary.0["filter"], "split");
    let (delivered, filtered) = (summary.number("delivered"), summary.number("filtered"));
    assert!(
        delivered > 1000 && filtered > 500 && summary.lost("ring") > 1000,
        "{summary:?}"
    );
    assert_eq!(count(&file), delivered);
}

#[test]
fn what_the_filter_refuses_is_counted() {
    let scene = Scene::new();
    scene.write("filter", UDP_ONLY);
    let running = scene.capture("-w udp.pcapng --bpf filter");
    for _ in 0..10 {
        scene.send(&frames(30, 90));
        scene.send(&[udp(b"one"), udp(b"two")]);
    }
    let ended = running.stop_after(320);
    ended
        .summary()
        .has(&json!({"delivered": 20, "filtered": 300}));
    let file = scene.file("udp.pcapng");
    assert_eq!(column::<String>(&file, "udp.dstport"), ["9"; 20]);
    assert_file_tells(&file, &ended);
}

#[test]
fn several_interfaces_share_one_account() {
    let mut scene = Scene::new();
    let mut third = Host::new("third");
    // The second link has the number of the first in a network of its own: hosts know no routes.
    Net::new().join(&mut third, &mut scene.right);
    let running = scene.capture("-i right1 -w two.pcapng -c 50");
    scene.send(&frames(20, 100));
    send(&third, &frames(30, 200));
    let summary = running.done();
    summary.conserves(50);
    let expected = [
        json!({"name": "right0", "delivered": 20}),
        json!({"name": "right1", "delivered": 30}),
    ];
    summary.has(&json!({"interfaces": expected}));
    let file = scene.file("two.pcapng");
    let seen: Vec<String> = column(&file, "frame.interface_name");
    let lengths: Vec<usize> = column(&file, "frame.len");
    let of = |pair| {
        seen.iter()
            .map(String::as_str)
            .zip(lengths.iter().copied())
            .filter(|seen| *seen == pair)
            .count()
    };
    assert_eq!(
        [of(("right0", 100)), of(("right1", 200)), seen.len()],
        [20, 30, 50]
    );
}

/// Losses decide the exit status only where they are asked to.
#[test]
fn loss_above_the_limit_fails() {
    let scene = Scene::new();
    for (limit, code) in [("0", 1), ("100%", 0), ("1%", 1), ("1000000", 0)] {
        let stalled = Stalled::new(&scene);
        let mut running = scene.capture(&format!("-w pipe --buffer 256k --fail-loss {limit}"));
        scene.generate(30_000, None);
        let drained = stalled.drain(scene.file("lossy.pcapng"));
        running.received(30_000);
        let ended = running.stop();
        drained.join().expect("the reader ends");
        let complaint = ended.exit(code);
        let lost = ended.summary().lost("ring");
        assert!(lost > 1000);
        if code == 1 {
            let expected = format!("lost {lost} of 30000 packets, more than --fail-loss allows");
            assert_eq!(complaint, expected);
        }
    }
    // Nothing lost is within every limit.
    let running = scene.capture("-w whole.pcapng -c 9 --fail-loss 0");
    scene.send(&frames(9, 60));
    running.done();
    assert_eq!(count(&scene.file("whole.pcapng")), 9);
}
