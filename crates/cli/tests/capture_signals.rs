//! Signals: an orderly end, a quick one, and what a killed program leaves.

use std::fs;

use crate::support::Scene;
use crate::support::files::{bytes, count, tshark};
use crate::support::frames::{frames, number};
use crate::support::run::{start, start_text};
use rustix::process::Signal;

#[test]
fn a_signal_ends_the_capture_in_order() {
    let scene = Scene::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        for flags in [&[][..], &["--backend", "packet-v2"]] {
            let file = scene.file("file.pcapng");
            let arguments = [&["-w", &file, "--stats-interval", "5ms"], flags].concat();
            let mut running = start(&scene.right, &arguments);
            scene.send(&frames(200, 100));
            running.received(200);
            running.signal(signal);
            let ended = running.finish();
            ended.exit(0);
            let summary = ended.summary();
            summary.conserves(200);
            assert_eq!(summary.number("written"), 200);
            let size = fs::metadata(&file).expect("the file").len();
            assert_eq!(summary.number("bytes_written"), size);
            assert_eq!(count(&file), 200);
        }
    }
}

/// Packets that lie in the ring when the signal comes are read before the end: here nobody has
/// read any, since a batch is a megabyte or two seconds.
#[test]
fn packets_in_the_ring_are_read_before_the_end() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let arguments = ["-w", &file, "--min-bytes", "1M", "--timeout", "2s"];
    let running = start_text(&scene.right, &arguments);
    scene.generate(1000, None);
    let ended = running.stop();
    ended.exit(0);
    assert_eq!(count(&file), 1000);
    let first = &ended.stdout[0];
    assert_eq!(
        first,
        "1 000 packets received = 1 000 delivered + 0 filtered + 0 lost"
    );
}

/// timeout(1) tells the program and then its group.
#[test]
fn two_signals_at_once_are_one_request() {
    let scene = Scene::new();
    for signal in [Signal::INT, Signal::TERM] {
        let file = scene.file("file.pcapng");
        let running = start_text(
            &scene.right,
            &["-w", &file, "--min-bytes", "1M", "--timeout", "2s"],
        );
        scene.generate(1000, None);
        running.signal(signal);
        running.handled();
        running.signal(signal);
        running.finish().exit(0);
        assert_eq!(count(&file), 1000);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let scene = Scene::new();
    for second in [Signal::INT, Signal::TERM] {
        // A pipe whose reader takes nothing, so that the orderly end cannot come about.
        let path = scene.file("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        let stalled = fs::File::options().read(true).write(true).open(&path);
        let running = start(&scene.right, &["-w", &path]);
        scene.generate(20_000, None);
        running.signal(Signal::INT);
        running.takes_another();
        running.signal(second);
        let ended = running.finish();
        assert_eq!(ended.status.code(), Some(130), "{ended:?}");
        drop(stalled);
        fs::remove_file(&path).expect("the pipe is removed");
    }
}

#[test]
fn a_killed_program_leaves_a_file_up_to_its_last_whole_block() {
    let scene = Scene::new();
    for (name, flags) in [
        ("killed.pcapng", &[][..]),
        ("killed.pcap", &[]),
        ("row.pcapng", &["--rotate-packets", "1000000"]),
    ] {
        let pattern = scene.file(name);
        let arguments = [&["-w", &pattern, "--stats-interval", "5ms"], flags].concat();
        let mut running = start(&scene.right, &arguments);
        // Three megabytes: the writer's buffer of one has been written twice.
        for _ in 0..3 {
            scene.send(&frames(1000, 1000));
        }
        running.delivered(3000);
        running.signal(Signal::KILL);
        let ended = running.finish();
        assert_eq!(ended.status.code(), None, "{ended:?}");
        let file = scene.listed().pop().expect("a file");
        let stored = count(&file);
        assert!((2000..=3000).contains(&stored), "{stored}");
        let numbers: Vec<u32> = bytes(&file).iter().map(|frame| number(frame)).collect();
        let expected: Vec<u32> = (0..stored as u32).map(|place| place % 1000).collect();
        assert_eq!(numbers, expected);
        fs::remove_file(file).expect("the file is removed");
    }
}

/// A program that ends before a packet came leaves a valid file.
#[test]
fn an_empty_capture_is_a_valid_file() {
    let scene = Scene::new();
    for name in ["empty.pcapng", "empty.pcap"] {
        let file = scene.file(name);
        let ended = start(&scene.right, &["-w", &file]).stop();
        ended.exit(0);
        ended.summary().conserves(0);
        assert_eq!(count(&file), 0);
        assert!(tshark(&file, &["frame.number"]).is_empty());
    }
}
