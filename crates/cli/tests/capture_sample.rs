//! Sampling: of a known number of packets from one CPU those arrive that are to, and the summary, the
//! file and the numbers in the frames agree on which.

use std::collections::HashSet;

use crate::support::files::{bytes, count, options};
use crate::support::frames::{frames, number, udp};
use crate::support::run::{Ended, command, run, spawn, start, start_text};
use crate::support::{PROGRAM, Scene, name};
use lab::generator::{pin_to_cpu, send_frames};

/// Has `cpu` send `frames` from left to right.
fn send_from(scene: &Scene, cpu: usize, frames: &[Vec<u8>]) {
    let out = scene.left.interface().index;
    let send = || {
        pin_to_cpu(cpu).expect("there is such a CPU");
        send_frames(out, frames).expect("frames are sent")
    };
    assert_eq!(scene.left.run(send), frames.len() as u64);
}

/// Captures into `file` while the CPUs with these numbers send `count` frames each, after three that a
/// filter for the frames' EtherType refuses.
fn capture(scene: &Scene, file: &str, cpus: &[usize], count: u32, arguments: &[&str]) -> Ended {
    let arguments = [&["-w", file, "--stats-interval", "5ms"], arguments].concat();
    let mut running = start(&scene.right, &arguments);
    for &cpu in cpus {
        send_from(scene, cpu, &vec![udp(b"other"); 3]);
        send_from(scene, cpu, &frames(count, 100));
    }
    running.received(cpus.len() as u64 * (u64::from(count) + 3));
    let ended = running.stop();
    ended.exit(0);
    ended
}

/// Checks that the account of `sent` packets adds up and has this share.
#[track_caller]
fn assert_kept(ended: &Ended, sent: u64, refused: u64, kept: u64) {
    let summary = ended.summary();
    summary.conserves(sent);
    let left_out = sent - refused - kept;
    let told = ["delivered", "sampled_out", "filtered"].map(|key| summary.number(key));
    assert_eq!(told, [kept, left_out, refused + left_out], "{summary:?}");
    let interface = &summary.0["interfaces"][0];
    assert_eq!(interface["sampled_out"], left_out);
}

const FILTER: [&str; 3] = ["ether", "proto", "0x88b5"];

#[test]
fn every_nth_packet_that_the_filter_accepts_is_kept() {
    let scene = Scene::new();
    for flags in [
        &["--backend", "packet-v3"][..],
        &["--backend", "packet-v2", "-s", "256"],
        &["--backend", "xdp-ringbuf", "--direction", "in", "-s", "96"],
        &["--mode", "drop"],
        &["--mode", "drop", "-s", "96"],
        &["--mode", "drop", "--others", "drop", "--xdp", "generic"],
    ] {
        let file = scene.file("nth.pcapng");
        let arguments = [flags, &["--sample", "1/100"], &FILTER].concat();
        let ended = capture(&scene, &file, &[0], 1001, &arguments);
        assert_kept(&ended, 1004, 3, 11);
        assert_eq!(ended.summary().0["sample"], "1/100");
        assert_eq!(ended.summary().0["filter"], "kernel");
        assert_eq!(count(&file), 11);
        let numbers: Vec<u32> = bytes(&file).iter().map(|frame| number(frame)).collect();
        let expected: Vec<u32> = (0..=1000).step_by(100).collect();
        assert_eq!(numbers, expected, "{flags:?}");
    }
}

#[test]
fn without_a_filter_all_packets_are_sampled() {
    let scene = Scene::new();
    let file = scene.file("all.pcapng");
    let ended = capture(&scene, &file, &[0], 997, &["--sample", "1/10"]);
    assert_kept(&ended, 1000, 0, 100);
    assert!(ended.summary().0["filter"].is_null());
    assert_eq!(count(&file), 100);
}

#[test]
fn each_cpu_counts_for_itself() {
    let scene = Scene::new();
    let file = scene.file("cpus.pcapng");
    let arguments = [&["--sample", "1/7"][..], &FILTER].concat();
    let ended = capture(&scene, &file, &[0, 1], 100, &arguments);
    // Of 100 the first, and of the 99 others every seventh.
    assert_kept(&ended, 206, 6, 2 * 15);
}

#[test]
fn chance_keeps_its_share_within_six_deviations() {
    let scene = Scene::new();
    let file = scene.file("chance.pcapng");
    let arguments = [&["--sample", "p=0.1", "-s", "64"][..], &FILTER].concat();
    let ended = capture(&scene, &file, &[0], 50_000, &arguments);
    let kept = ended.summary().number("delivered");
    assert_kept(&ended, 50_003, 3, kept);
    // 5000 are expected, with a standard deviation of 67; beyond 6 of them are 2 of a billion runs.
    assert!(kept.abs_diff(5000) <= 6 * 67, "{kept}");
    let numbers: HashSet<u32> = bytes(&file).iter().map(|frame| number(frame)).collect();
    assert_eq!(numbers.len() as u64, kept, "each of them once");
}

#[test]
fn the_first_after_a_time_is_one_or_all() {
    let scene = Scene::new();
    for (time, kept) in [("1h", 1), ("1ns", 500)] {
        let file = scene.file("first.pcapng");
        let sample = format!("first/{time}");
        let arguments = [&["--sample", &sample][..], &FILTER].concat();
        let ended = capture(&scene, &file, &[0], 500, &arguments);
        assert_kept(&ended, 503, 3, kept);
    }
}

#[test]
fn the_file_and_the_summary_tell_the_rate() {
    let scene = Scene::new();
    let file = scene.file("told.pcapng");
    let arguments = [&["--sample", "first/1h"][..], &FILTER].concat();
    capture(&scene, &file, &[0], 40, &arguments);
    let told = options(&file);
    for comment in [
        "Comment = sampled first/3600s in the kernel",
        "Comment = sampling in the kernel left out 39 packets that the filter accepted",
    ] {
        assert!(told.iter().any(|option| option == comment), "{told:?}");
    }

    let read = |flags: &[&str]| {
        let mut command = scene.right.command(PROGRAM);
        command.args(["read", "--summary", &file]).args(flags);
        let ended = spawn(command).finish();
        ended.exit(0);
        ended
    };
    let text = read(&[]);
    let line = "  sampled     first/3600s in the kernel";
    assert!(text.stdout.iter().any(|told| told == line), "{text:?}");
    let events = read(&["--json"]).events();
    assert_eq!(events[0]["interfaces"][0]["sample"], "first/3600s");

    let file = scene.file("text.pcapng");
    let arguments = ["-w", &file, "--sample", "1/5", "-c", "2"];
    let running = start_text(&scene.right, &arguments);
    send_from(&scene, 0, &frames(10, 100));
    let ended = running.finish();
    ended.exit(0);
    let line = "sampled 1/5 in the kernel: 8 of the filtered packets were left out";
    assert!(ended.stdout.iter().any(|told| told == line), "{ended:?}");
}

#[test]
fn where_the_kernel_does_not_sample_nothing_is_captured() {
    let scene = Scene::new();
    let stations = (0..4000).map(|n: u32| format!("6:0:0:0:{:x}:{:x}", n / 251, n % 251));
    let long = format!("ether src ({})", stations.collect::<Vec<_>>().join(" or "));
    let ended = run(&scene.right, &["--sample", "1/10", &long]);
    let complaint = ended.refusal(4);
    assert!(complaint.contains("too long for the kernel"), "{complaint}");
    assert!(complaint.contains("--mode drop"), "{complaint}");

    let mut unprivileged = scene.right.command("setpriv");
    unprivileged.args(["--bounding-set", "-all,+net_raw", PROGRAM, "capture", "-i"]);
    unprivileged.args([&name(&scene.right), "--sample", "1/10"]);
    let ended = spawn(unprivileged).finish();
    let complaint = ended.refusal(3);
    assert!(complaint.contains("cannot sample packets"), "{complaint}");
    assert!(complaint.contains("CAP_BPF"), "{complaint}");

    for wrong in ["0", "1/0", "p=2", "p=1e-300", "p=0.9999999999", "first/0s"] {
        let ended = spawn(command(&scene.right, &["--sample", wrong])).finish();
        assert!(ended.refusal(2).contains("--sample"), "{ended:?}");
    }
}
