//! How many readers a capture has that no flag gives. The hosts and senders are those of `files`; the rate of the interface
//! is a file in front of that of sysfs.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::files::{COUNT, assert_complete, has_run, seen, send_from_both, start, stop, stop_any};
use crate::support::files::count;
use crate::support::frames::frames;
use crate::support::run::{command, spawn};
use crate::support::{Scene, number, text};

/// Interface `v1` has this rate from now on.
fn set_rate(folder: &tempfile::TempDir, mbps: u64) {
    let file = text(&folder.path().join(mbps.to_string()));
    fs::write(&file, format!("{mbps}\n")).expect("written");
    let mut mount = Command::new("mount");
    mount.args(["--bind", &file, "/sys/class/net/v1/speed"]);
    assert!(mount.status().expect("it runs").success());
}

fn choice(event: &Value) -> (&str, Option<u64>) {
    let choice = &event["reader_choice"];
    let reason = choice["reason"].as_str().expect("a reason");
    (reason, choice["speed_mbps"].as_u64())
}

#[test]
fn a_fast_interface_has_several_readers_if_cpus_are_free() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--direction in -w {file}");
    // A veth has 10 Gbit/s, which one reader takes.
    let (running, begun) = start(&folder, &line);
    assert_eq!(choice(&begun), ("usual", None));
    assert_eq!(begun["readers"], json!([]));
    running.stop().done();
    set_rate(&folder, 100_000);
    let (running, begun) = start(&folder, &line);
    // It depends on the load of this machine.
    let readers = begun["readers"].as_array().expect("readers").len();
    let reason = match readers {
        2 => "rate",
        0 => "busy",
        _ => panic!("{begun}"),
    };
    assert_eq!(choice(&begun), (reason, Some(100_000)));
    send_from_both();
    let summary = stop_any(running, 2 * COUNT);
    assert_eq!(choice(&summary.0), (reason, Some(100_000)));
    assert_eq!(summary.0["readers"].as_array().map(Vec::len), Some(readers));
    assert_eq!(summary.number("written"), 2 * COUNT);
    assert_complete(&seen(&file), readers == 2);
    // People read the same.
    let mut running = spawn(command(&format!("capture -i v1 {line} --duration 1ms")));
    running.ready_text();
    let ended = running.finish();
    ended.exit(0);
    let told = |lines: &[String]| {
        lines
            .iter()
            .any(|line| line.contains("an interface of 100 Gbit/s"))
    };
    assert!(told(&ended.stderr) && told(&ended.stdout), "{ended:?}");
}

#[test]
fn flags_that_several_readers_do_not_suit_have_one() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    set_rate(&folder, 100_000);
    for line in [
        "",
        &format!("-w {file} -c 5"),
        &format!("-w {file} --who"),
        &format!("-w {file} --record 1M"),
    ] {
        let (running, begun) = start(&folder, line);
        assert_eq!(choice(&begun), ("usual", None), "{line}");
        running.stop().done();
    }
    let (running, begun) = start(&folder, &format!("-w {file} --queues 2"));
    assert_eq!(choice(&begun), ("flag", None));
    assert_eq!(begun["readers"].as_array().map(Vec::len), Some(2));
    let summary = running.stop().done();
    assert_eq!(choice(&summary.0), ("flag", None));
    assert_eq!(number(&summary.0, "received"), 0);
}

/// The thread that writes the file reads the ring, on the CPU of the flag: there is no other one, and nothing to merge.
#[test]
fn a_single_reader_is_the_thread_that_writes() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for line in ["", "--mode drop", "--mode drop -s 128"] {
        let file = text(&folder.path().join("file.pcapng"));
        let flags = format!("--queues 1 --cpus 1 --direction in -w {file} {line}");
        let (mut running, begun) = start(&folder, &flags);
        assert_eq!(begun["readers"], json!([{"queue": null, "cpu": 1}]));
        send_from_both();
        running.event(|event| event["event"] == "stats" && number(event, "delivered") > 0);
        let process = format!("/proc/{}", running.pid().as_raw_nonzero());
        let status = fs::read_to_string(format!("{process}/status")).expect("a status");
        assert!(status.contains("\nCpus_allowed_list:\t1\n"), "{status}");
        for thread in fs::read_dir(format!("{process}/task")).expect("threads") {
            let name = fs::read_to_string(thread.expect("a thread").path().join("comm"));
            assert_ne!(name.expect("a name"), "reader-0\n");
        }
        let summary = stop(running, 2 * COUNT);
        assert_eq!(summary.number("delivered"), 2 * COUNT, "{}", summary.0);
        assert_eq!(summary.number("written"), 2 * COUNT);
        assert!(summary.0["merge"].is_null());
        assert_complete(&seen(&file), false);
    }
}

/// The interface has one queue.
#[test]
fn a_single_automatic_reader_has_a_file_of_its_own() {
    let scene = Scene::new();
    let mut running = scene.capture("--queues auto --order queue --direction in -w file.pcapng");
    scene.send(&frames(10, 100));
    running.received(10);
    let summary = running.stop().done();
    summary.conserves(10);
    assert_eq!(scene.listed(), ["file-queue0.pcapng"]);
    assert_eq!(count(&scene.file("file-queue0.pcapng")), 10);
}
