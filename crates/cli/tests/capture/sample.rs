//! Sampling: the expected packets of a known number arrive from one CPU, and the summary, the file and the numbers in
//! the frames agree.

use std::collections::HashSet;

use lab::generator::{pin_to_cpu, send_frames};
use serde_json::json;

use crate::support::files::{assert_options, bytes, count};
use crate::support::frames::{frames, number, udp};
use crate::support::run::{Summary, events, printed};
use crate::support::{RINGBUF, Scene, assert_refused, nobodys_stations};

/// Has `cpu` send `frames` from left to right.
fn send_from(scene: &Scene, cpu: usize, frames: &[Vec<u8>]) {
    let sent = scene.left.run(|| {
        pin_to_cpu(cpu).expect("there is such a CPU");
        send_frames(scene.left.interface().index, frames).expect("frames are sent")
    });
    assert_eq!(sent, frames.len() as u64);
}

/// Captures into `file` while the CPUs with these numbers send `count` frames each, after three that a
/// filter for the frames' EtherType refuses.
fn capture(scene: &Scene, cpus: &[usize], count: u32, line: &str) -> Summary {
    let running = scene.capture(&format!("-w file {line}"));
    for &cpu in cpus {
        send_from(scene, cpu, &vec![udp(b"other"); 3]);
        send_from(scene, cpu, &frames(count, 100));
    }
    running
        .stop_after(cpus.len() as u64 * (u64::from(count) + 3))
        .summary()
}

/// Checks that the account of `sent` packets has this share.
#[track_caller]
fn assert_kept(summary: &Summary, sent: u64, refused: u64, kept: u64) {
    let left_out = sent - refused - kept;
    summary.has(&json!({
        "delivered": kept, "sampled_out": left_out, "filtered": refused + left_out,
        "interfaces": [{"sampled_out": left_out}],
    }));
}

const FILTER: &str = "ether proto 0x88b5";

#[test]
fn every_nth_packet_that_the_filter_accepts_is_kept() {
    let scene = Scene::new();
    for flags in [
        "--backend packet-v3",
        "--backend packet-v2 -s 256",
        RINGBUF,
        "--mode drop",
        "--mode drop -s 96",
        "--mode drop --others drop --xdp generic",
    ] {
        let summary = capture(
            &scene,
            &[0],
            1001,
            &format!("{flags} --sample 1/100 {FILTER}"),
        );
        assert_kept(&summary, 1004, 3, 11);
        summary.has(&json!({"sample": "1/100", "filter": "kernel"}));
        let numbers = bytes(&scene.file("file"))
            .iter()
            .map(|frame| number(frame))
            .collect::<Vec<_>>();
        assert_eq!(
            numbers,
            (0..=1000).step_by(100).collect::<Vec<_>>(),
            "{flags}"
        );
    }
}

#[test]
fn without_a_filter_all_packets_are_sampled() {
    let scene = Scene::new();
    let summary = capture(&scene, &[0], 997, "--sample 1/10");
    assert_kept(&summary, 1000, 0, 100);
    assert!(summary.0["filter"].is_null());
    assert_eq!(count(&scene.file("file")), 100);
}

#[test]
fn each_cpu_counts_for_itself() {
    let scene = Scene::new();
    let summary = capture(&scene, &[0, 1], 100, &format!("--sample 1/7 {FILTER}"));
    // Of 100 the first, and of the 99 others every seventh.
    assert_kept(&summary, 206, 6, 2 * 15);
}

#[test]
fn chance_keeps_its_share_within_six_deviations() {
    let scene = Scene::new();
    let summary = capture(
        &scene,
        &[0],
        50_000,
        &format!("--sample p=0.1 -s 64 {FILTER}"),
    );
    let kept = summary.number("delivered");
    assert_kept(&summary, 50_003, 3, kept);
    // 5000 are expected, with a standard deviation of 67; beyond 6 of them are 2 of a billion runs.
    assert!(kept.abs_diff(5000) <= 6 * 67, "{kept}");
    let numbers: HashSet<u32> = bytes(&scene.file("file"))
        .iter()
        .map(|frame| number(frame))
        .collect();
    assert_eq!(numbers.len() as u64, kept, "each of them once");
}

#[test]
fn the_first_after_a_time_is_one_or_all() {
    let scene = Scene::new();
    for (time, kept) in [("1h", 1), ("1ns", 500)] {
        let summary = capture(
            &scene,
            &[0],
            500,
            &format!("--sample first/{time} {FILTER}"),
        );
        assert_kept(&summary, 503, 3, kept);
    }
}

#[test]
fn the_file_and_the_summary_tell_the_rate() {
    let scene = Scene::new();
    capture(&scene, &[0], 40, &format!("--sample first/1h {FILTER}"));
    let file = scene.file("file");
    let comments = [
        "Comment = sampled first/3600s in the kernel",
        "Comment = sampling in the kernel left out 39 packets that the filter accepted",
    ];
    assert_options(&file, &comments);
    let page = printed(&format!("read --summary {file}"));
    assert!(
        page.contains(&"  sampled     first/3600s in the kernel".to_owned()),
        "{page:?}"
    );
    let events = events(&format!("read --summary {file}"));
    assert_eq!(events[0]["interfaces"][0]["sample"], "first/3600s");

    let running = scene.capture_text("-w text.pcapng --sample 1/5 -c 2");
    send_from(&scene, 0, &frames(10, 100));
    let ended = running.finish();
    ended.exit(0);
    ended.assert_says("sampled 1/5 in the kernel: 8 of the filtered packets were sampled out");
}

#[test]
fn where_the_kernel_does_not_sample_nothing_is_captured() {
    let scene = Scene::new();
    let line = format!("capture -i right0 --sample 1/10 '{}'", nobodys_stations());
    let run = |_: &str| scene.run(&line);
    assert_refused(
        run,
        &[("", 4, "too long for the kernel"), ("", 4, "--mode drop")],
    );
}
