//! Conservation: a known number sent is delivered, filtered or lost, and the summary, the file and
//! the kernel's own counters agree on it.

use crate::support;
use std::fs::File;
use std::io::{self, Read};
use std::process::Command;
use std::thread::{self, JoinHandle};

use crate::support::files::{column, count, options};
use crate::support::frames::{frames, udp};
use crate::support::run::{Ended, start};
use crate::support::{Scene, arrived};

/// UDP only, as `tcpdump -ddd udp` prints it for IPv4: ldh [12]; jeq 0x800; ldb [23]; jeq 17.
const UDP_ONLY: &str = "6\n40 0 0 12\n21 0 3 2048\n48 0 0 23\n21 0 1 17\n6 0 0 262144\n6 0 0 0\n";

/// A named pipe whose reader takes nothing until it is told to.
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

    /// Takes everything to `file`, until the last writer is gone.
    fn drain(self, file: String) -> JoinHandle<()> {
        let Self { path, read } = self;
        // A second descriptor, for reading only, sees the end; the first would keep the pipe open.
        let mut only_read = File::open(path).expect("the pipe");
        drop(read);
        thread::spawn(move || {
            let mut out = File::create(file).expect("a file");
            io::copy(&mut only_read, &mut out).expect("a copy");
        })
    }
}

/// Checks that the file's drop counts and final counters tell the same loss as the summary.
#[track_caller]
fn assert_file_tells(file: &str, ended: &Ended) {
    let summary = ended.summary();
    let lost = summary.lost("ring");
    let options = options(file);
    let sum = |name: &str| -> u64 {
        let values = options
            .iter()
            .filter_map(|option| option.strip_prefix(name));
        values
            .map(|value| value.parse::<u64>().expect("a number"))
            .sum()
    };
    assert_eq!(sum("Drop Count = "), lost, "drop counts of the packets");
    assert_eq!(sum("Number of Packets Dropped by OS = "), lost);
    assert_eq!(
        sum("Number of Received Packets = "),
        summary.number("received")
    );
    let delivered = sum("Number of Packets Delivered to the User = ");
    assert_eq!(delivered, summary.number("delivered"));
}

#[test]
fn at_a_low_rate_nothing_is_lost() {
    let scene = Scene::new();
    // A frame of TPACKET_V2 has room for the snaplen: with a small one there are many.
    for flags in [
        &[][..],
        &["--backend", "packet-v2", "-s", "256"],
        &["--delivery", "immediate", "-s", "256"],
    ] {
        let before = arrived(&scene.right);
        let file = scene.file("low.pcapng");
        let arguments = [&["-w", &file, "--stats-interval", "5ms"], flags].concat();
        let mut running = start(&scene.right, &arguments);
        scene.generate(3000, Some(20_000));
        running.received(3000);
        let ended = running.stop();
        ended.exit(0);
        let summary = ended.summary();
        summary.conserves(arrived(&scene.right) - before);
        assert_eq!((summary.number("delivered"), summary.all_lost()), (3000, 0));
        assert_eq!(count(&file), 3000);
        assert_file_tells(&file, &ended);
    }
}

#[test]
fn at_overload_every_loss_is_counted() {
    let scene = Scene::new();
    for backend in ["packet-v3", "packet-v2"] {
        let stalled = Stalled::new(&scene);
        let path = stalled.path.clone();
        let file = scene.file("overload.pcapng");
        let before = arrived(&scene.right);
        let mut running = start(
            &scene.right,
            &[
                "-w",
                &path,
                "--backend",
                backend,
                "--buffer",
                "1M",
                "-s",
                "96",
                "--stats-interval",
                "5ms",
            ],
        );
        scene.generate(60_000, None);
        let drained = stalled.drain(file.clone());
        // The next packets carry what was lost before them.
        running.received(60_000);
        scene.generate(100, Some(10_000));
        running.received(60_100);
        let ended = running.stop();
        ended.exit(0);
        drained.join().expect("the reader ends");
        std::fs::remove_file(path).expect("the pipe is removed");

        let summary = ended.summary();
        summary.conserves(60_100);
        assert_eq!(arrived(&scene.right) - before, 60_100);
        let (delivered, lost) = (summary.number("delivered"), summary.lost("ring"));
        assert!(lost > 10_000, "{backend}: {lost} lost of 60 000");
        assert_eq!(delivered + lost, 60_100, "{backend}");
        assert_eq!(count(&file), delivered, "{backend}");
        assert_file_tells(&file, &ended);
    }
}

/// What the ring drops before the reader could decide on it is lost; what the reader refuses is not.
#[test]
fn at_overload_a_split_filter_is_accounted_for() {
    let scene = Scene::new();
    let stalled = Stalled::new(&scene);
    let path = stalled.path.clone();
    let file = scene.file("split.pcapng");
    let hosts: Vec<String> = (0..3800)
        .map(|n: u32| format!("10.{}.{}.1", n / 250, n % 250))
        .collect();
    // Among them the sender of the generator's frames.
    let filter = format!("not src host ({} or 198.18.0.1)", hosts.join(" or "));
    let flags = ["--buffer", "1M", "-s", "200", "--stats-interval", "5ms"];
    let mut running = start(
        &scene.right,
        &[&["-w", &path], &flags[..], &[&filter]].concat(),
    );
    // These are wanted, and more than the pipe and the writer's buffer hold.
    scene.send(&frames(15_000, 300));
    scene.generate(40_000, None);
    let drained = stalled.drain(file.clone());
    running.received(55_000);
    scene.generate(1000, Some(10_000));
    running.received(56_000);
    let ended = running.stop();
    ended.exit(0);
    drained.join().expect("the reader ends");
    std::fs::remove_file(path).expect("the pipe is removed");
    let summary = ended.summary();
    summary.conserves(56_000);
    assert_eq!(summary.0["filter"], "split");
    let (delivered, filtered) = (summary.number("delivered"), summary.number("filtered"));
    assert!(
        delivered > 1000 && filtered > 500 && summary.lost("ring") > 1000,
        "{summary:?}"
    );
    assert_eq!(count(&file), delivered);
}

#[test]
fn with_a_count_the_surplus_is_filtered() {
    let scene = Scene::new();
    let stalled = Stalled::new(&scene);
    let file = scene.file("surplus.pcapng");
    // More than the pipe and the writer's buffer hold, so that all are sent before the last wanted
    // one is read.
    let running = start(
        &scene.right,
        &["-w", &stalled.path, "-c", "11000", "-s", "200"],
    );
    scene.generate(15_000, None);
    let drained = stalled.drain(file.clone());
    let ended = running.finish();
    ended.exit(0);
    drained.join().expect("the reader ends");
    let summary = ended.summary();
    summary.conserves(15_000);
    assert_eq!(
        (summary.number("delivered"), summary.number("filtered")),
        (11_000, 4000)
    );
    assert_eq!(count(&file), 11_000);
}

#[test]
fn what_the_filter_refuses_is_counted() {
    let scene = Scene::new();
    let filter = scene.file("filter");
    std::fs::write(&filter, UDP_ONLY).expect("a filter");
    let file = scene.file("udp.pcapng");
    let arguments = ["-w", &file, "--bpf", &filter, "--stats-interval", "5ms"];
    let mut running = start(&scene.right, &arguments);
    for _ in 0..10 {
        scene.send(&frames(30, 90));
        scene.send(&[udp(b"one"), udp(b"two")]);
    }
    running.received(320);
    let ended = running.stop();
    ended.exit(0);
    let summary = ended.summary();
    summary.conserves(320);
    assert_eq!(
        (summary.number("delivered"), summary.number("filtered")),
        (20, 300)
    );
    assert_eq!(column::<String>(&file, "udp.dstport"), ["9"; 20]);
    assert_file_tells(&file, &ended);
}

#[test]
fn several_interfaces_share_one_account() {
    let [left, mut right] = lab::Net::new().pair();
    let net = lab::Net::new();
    let mut third = lab::Host::new("third");
    // The second link has the number of the first in a network of its own: hosts know no routes.
    net.join(&mut third, &mut right);
    let folder = tempfile::tempdir().expect("a folder");
    let file = support::text(&folder.path().join("two.pcapng"));
    let names: Vec<String> = right
        .interfaces()
        .iter()
        .map(|i| i.name.to_string())
        .collect();
    let running = start(&right, &["-i", &names[1], "-w", &file, "-c", "50"]);
    let send = |host: &lab::Host, frames: &[Vec<u8>]| {
        let out = host.interface().index;
        host.run(|| lab::generator::send_frames(out, frames))
            .expect("frames are sent");
    };
    send(&left, &frames(20, 100));
    send(&third, &frames(30, 200));
    let ended = running.finish();
    ended.exit(0);
    let summary = ended.summary();
    summary.conserves(50);
    let interfaces = summary.0["interfaces"].as_array().expect("interfaces");
    let told: Vec<_> = interfaces
        .iter()
        .map(|i| {
            (
                i["name"].as_str().unwrap(),
                i["delivered"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [(&*names[0], 20), (&*names[1], 30)]);
    let seen: Vec<String> = column(&file, "frame.interface_name");
    let of = |name: &String| seen.iter().filter(|seen| *seen == name).count();
    assert_eq!((of(&names[0]), of(&names[1])), (20, 30));
    let lengths: Vec<usize> = column(&file, "frame.len");
    for (interface, length) in seen.iter().zip(lengths) {
        assert_eq!(length, if *interface == names[0] { 100 } else { 200 });
    }
    assert_eq!(count(&file), 50);
}

/// Losses decide the exit status only where they are asked to.
#[test]
fn loss_above_the_limit_fails() {
    let scene = Scene::new();
    for (limit, code) in [("0", 1), ("100%", 0), ("1%", 1), ("1000000", 0)] {
        let stalled = Stalled::new(&scene);
        let path = stalled.path.clone();
        let mut running = start(
            &scene.right,
            &[
                "-w",
                &path,
                "--buffer",
                "256k",
                "--fail-loss",
                limit,
                "--stats-interval",
                "5ms",
            ],
        );
        scene.generate(30_000, None);
        let drained = stalled.drain(scene.file("lossy.pcapng"));
        running.received(30_000);
        let ended = running.stop();
        drained.join().expect("the reader ends");
        std::fs::remove_file(path).expect("the pipe is removed");
        let complaint = ended.exit(code);
        let lost = ended.summary().lost("ring");
        assert!(lost > 1000);
        if code == 1 {
            let expected = format!("lost {lost} of 30000 packets, more than --fail-loss allows");
            assert_eq!(complaint, expected);
        }
    }
    // Nothing lost is within every limit.
    let file = scene.file("whole.pcapng");
    let running = start(&scene.right, &["-w", &file, "-c", "9", "--fail-loss", "0"]);
    scene.send(&frames(9, 60));
    running.finish().exit(0);
    let mut begun = [0; 4];
    File::open(&file)
        .expect("the file")
        .read_exact(&mut begun)
        .expect("a beginning");
    assert_eq!(begun, [0x0a, 0x0d, 0x0d, 0x0a]);
}
