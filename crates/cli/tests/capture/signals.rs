//! Signals: an orderly end, a quick end, and the files of a killed program.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::support::files::{bytes, count};
use crate::support::frames::{frames, number};
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, ending, output, words};

#[test]
fn a_signal_ends_the_capture_in_order() {
    let scene = Scene::new();
    for signal in ending() {
        for flags in ["", "--backend packet-v2"] {
            let mut running = scene.capture(&format!("-w file.pcapng {flags}"));
            scene.send(&frames(200, 100));
            running.received(200);
            running.signal(signal);
            let summary = running.done();
            summary.conserves(200);
            let file = scene.file("file.pcapng");
            let size = fs::metadata(&file).expect("the file").len();
            summary.has(&json!({"written": 200, "bytes_written": size}));
            assert_eq!(count(&file), 200);
        }
    }
}

/// As with tcpdump: nohup(1) lets a capture go on when its terminal is closed.
#[test]
fn sighup_that_was_ignored_at_the_start_ends_nothing() {
    let scene = Scene::new();
    let mut command = scene.right.command("bash");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "bash", PROGRAM]);
    command.args(words("capture -i right0 --json --stats-interval 5ms"));
    let mut running = spawn(command);
    running.ready();
    running.signal(Signal::HUP);
    scene.send(&frames(10, 100));
    running.received(10);
    running.stop().done().conserves(10);
}

/// Packets that lie in the ring when the signal comes are read before the end: here nobody has read any,
/// since a batch is a megabyte or two seconds. timeout(1) tells the program and then its group: two signals
/// at once are one request.
#[test]
fn packets_in_the_ring_are_read_before_the_end() {
    let scene = Scene::new();
    for signals in [&[Signal::INT][..], &[Signal::INT; 2], &[Signal::TERM; 2]] {
        let running = scene.capture_text("-w file.pcapng --min-bytes 1M --timeout 2s");
        scene.generate(1000, None);
        for &signal in signals {
            running.handled();
            running.signal(signal);
        }
        let ended = running.finish();
        ended.exit(0);
        assert_eq!(count(&scene.file("file.pcapng")), 1000);
        assert_eq!(
            ended.stdout[0],
            "1 000 packets received = 1 000 delivered + 0 filtered + 0 lost"
        );
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for second in [Signal::INT, Signal::TERM] {
        let scene = Scene::new();
        // A pipe whose reader takes nothing, so that the orderly end cannot come about.
        let path = scene.file("pipe");
        output(&scene.right, "/usr/bin/mkfifo", &path);
        let _stalled = fs::File::options().read(true).write(true).open(&path);
        let running = scene.capture("-w pipe");
        scene.generate(20_000, None);
        running.signal(Signal::INT);
        running.takes_another();
        running.signal(second);
        assert_eq!(running.finish().status.code(), Some(130));
    }
}

#[test]
fn a_killed_program_leaves_a_file_up_to_its_last_whole_block() {
    for (name, flags) in [
        ("killed.pcapng", ""),
        ("killed.pcap", ""),
        ("row.pcapng", "--rotate-packets 1000000"),
    ] {
        let scene = Scene::new();
        let mut running = scene.capture(&format!("-w {name} {flags}"));
        // Three megabytes: the writer's buffer of one has been written twice.
        for _ in 0..3 {
            scene.send(&frames(1000, 1000));
        }
        running.delivered(3000);
        running.signal(Signal::KILL);
        assert_eq!(running.finish().status.code(), None);
        let file = scene.file(&scene.listed()[0]);
        let stored = count(&file);
        assert!((2000..=3000).contains(&stored), "{stored}");
        let numbers: Vec<u32> = bytes(&file).iter().map(|frame| number(frame)).collect();
        let expected: Vec<u32> = (0..stored as u32).map(|place| place % 1000).collect();
        assert_eq!(numbers, expected);
    }
}

/// A program that ends before a packet came leaves a valid file.
#[test]
fn an_empty_capture_is_a_valid_file() {
    let scene = Scene::new();
    for name in ["empty.pcapng", "empty.pcap"] {
        let ended = scene.capture(&format!("-w {name}")).stop();
        ended.done().conserves(0);
        let file = scene.file(name);
        assert_eq!(count(&file), 0);
    }
}
