//! `capture --index`: the index files equal those that `tapline index` writes.

use std::fs;

use lab::wait;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::readers::files::{COUNT, has_run, send_from_both, start, stop};
use crate::support::files::{count, count_by_tcpdump};
use crate::support::frames::{frames, udp};
use crate::support::run::{Summary, events, printed, run};
use crate::support::{Scene, assert_refused, number, text};

/// Checks the index of each file, and what the summary says of them.
#[track_caller]
fn assert_indexed<S: AsRef<str>>(files: &[S], summary: &Summary) {
    let mut bytes = 0;
    for file in files.iter().map(AsRef::as_ref) {
        let index = format!("{file}.index");
        let live = fs::read(&index).expect("an index");
        assert!(printed(&format!("index {file}"))[0].ends_with(", kept"));
        run(&format!("index -q --again {file}")).exit(0);
        assert!(fs::read(&index).expect("an index") == live, "{file}");
        bytes += live.len() as u64;
    }
    let counts = &summary.0["index"];
    assert_eq!(
        (number(counts, "incomplete"), &counts["failure"]),
        (0, &Value::Null)
    );
    // Of removed files, too.
    assert!(number(counts, "files") >= files.len() as u64);
    assert!(number(counts, "bytes") >= bytes);
}

/// Datagrams to the test host from 10.1.`number`.
fn datagrams(count: u16) -> Vec<Vec<u8>> {
    let datagram = |number: u16| {
        let mut frame = udp(&[7; 500]);
        frame[26..30].copy_from_slice(&[10, 1, (number >> 8) as u8, number as u8]);
        frame
    };
    (0..count).map(datagram).collect()
}

/// The paths of the files of a capture on `scene`.
fn paths(scene: &Scene, summary: &Summary) -> Vec<String> {
    let names = summary.files();
    names.iter().map(|name| scene.file(name)).collect()
}

/// The summary of a search.
#[track_caller]
fn read(files: &str, filter: &str) -> Value {
    let line = format!("read --index -q {files} '{filter}'");
    events(&line).pop().expect("a summary")
}

#[test]
fn rotation_writes_and_removes_indexes() {
    let scene = Scene::new();
    let mut running = scene.capture("-w x.pcapng --index --rotate-packets 100 --keep 3");
    scene.send(&datagrams(1050));
    running.received(1050);
    let summary = running.stop().done();
    let files = paths(&scene, &summary);
    assert_eq!(files.len(), 3);
    assert_eq!(scene.listed().len(), 6);
    assert_indexed(&files, &summary);
    assert_eq!(number(&summary.0["index"], "files"), 11);
    // tcpdump is the oracle.
    let all = files.join(" ");
    for filter in [
        "host 10.1.3.250",
        "udp port 9",
        "host 10.1.0.1",
        "net 10.1.4.0/24",
    ] {
        let found: u64 = files
            .iter()
            .map(|file| count_by_tcpdump(file, filter))
            .sum();
        let read = read(&all, filter);
        assert_eq!(read["delivered"], found, "{filter}");
        assert_eq!(read["index"]["without_index"], 0);
    }
    let of_one = read(&all, "host 10.1.3.250");
    assert_eq!(
        (&of_one["index"]["skipped"], &of_one["delivered"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn files_of_every_kind_have_their_index() {
    for line in [
        "-w file.pcapng",
        "-w file.pcap",
        "-w file.pcap --format pcap",
        "-w file.pcapng -U --packet-id",
        "-w file.pcapng --who",
        "-w file.pcapng -s 60",
        "-w file.pcapng --mode drop --xdp generic",
        "-w file.pcapng --backend packet-v2 --timestamp driver",
    ] {
        let scene = Scene::new();
        let mut running = scene.capture(&format!("{line} --index"));
        scene.send(&datagrams(300));
        running.received(300);
        let summary = running.stop().done();
        let files = paths(&scene, &summary);
        assert_indexed(&files, &summary);
    }
}

#[test]
fn the_recorder_indexes_the_file_of_each_trigger() {
    let scene = Scene::new();
    let line =
        "-w rec.pcapng --index --record 4M --after 0s --trigger 'host 10.1.0.9 or host 10.1.1.9'";
    let mut running = scene.capture(line);
    scene.send(&datagrams(600));
    running.received(600);
    let summary = running.stop().done();
    let files = paths(&scene, &summary);
    assert!(!files.is_empty());
    assert_eq!(scene.listed().len(), 2 * files.len());
    assert_indexed(&files, &summary);
}

#[test]
fn several_readers_index_one_file_and_a_file_each() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    for directory in [&one, &other] {
        fs::create_dir(directory).expect("a directory");
    }
    let file = text(&folder.path().join("all.pcapng"));
    let flags = "--queues all --direction in --index";
    let (together, _) = start(&folder, &format!("{flags} -w {file} --rotate-size 500k"));
    let stripe = format!("{},{}", text(&one), text(&other));
    let line =
        format!("{flags} --order queue -w parts.pcapng --stripe {stripe} --rotate-packets 7000");
    let (apart, _) = start(&folder, &line);
    send_from_both();
    for running in [together, apart] {
        let summary = stop(running, 2 * COUNT);
        let files = summary.files();
        assert!(files.len() > 3, "{files:?}");
        assert_eq!(files.iter().map(|file| count(file)).sum::<u64>(), 2 * COUNT);
        assert_indexed(&files, &summary);
    }
}

#[test]
fn a_killed_capture_leaves_an_index_that_is_right_and_can_be_completed() {
    let scene = Scene::new();
    let file = scene.file("x.pcapng");
    let mut running = scene.capture("-w x.pcapng --index -U");
    scene.send(&datagrams(400));
    running.received(400);
    running.signal(Signal::KILL);
    running.finish();
    let found = count_by_tcpdump(&file, "host 10.1.0.77");
    let search = || read(&file, "host 10.1.0.77");
    assert_eq!(search()["delivered"], found);
    let indexed = events(&format!("index {file}")).remove(0);
    assert_eq!(indexed["is_new"], true);
    assert_eq!(indexed["packets"], count(&file));
    assert_eq!(search()["delivered"], found);
}

#[test]
fn a_running_file_is_searched_with_what_is_indexed_of_it() {
    let scene = Scene::new();
    let file = scene.file("x.pcapng");
    let mut running = scene.capture("-w x.pcapng --index -U");
    scene.send(&datagrams(200));
    running.received(200);
    wait::until("all packets are in the file", || {
        let bytes = fs::metadata(&file).map_or(0, |file| file.len());
        bytes > 200 * 542
    });
    let read = read(&file, "host 10.1.0.77");
    assert_eq!(
        (&read["delivered"], &read["index"]["without_index"]),
        (&1.into(), &0.into())
    );
    running.stop().done();
}

#[test]
fn people_are_told_what_the_indexes_take() {
    let scene = Scene::new();
    let running = scene.capture_text("-w x.pcapng --index -c 50");
    scene.send(&frames(50, 100));
    let ended = running.finish();
    ended.exit(0);
    let bytes = fs::metadata(scene.file("x.pcapng.index"))
        .expect("an index")
        .len();
    let line = ended
        .stdout
        .iter()
        .find(|line| line.ends_with("of indexes written"));
    assert!(
        line.expect("a line")
            .starts_with(&format!("{bytes} bytes (")),
        "{ended:?}"
    );
    // Where the index cannot be written any more, the capture goes on.
    let running = scene.capture("-w y.pcapng --index --rotate-packets 10 -c 25");
    scene.send(&frames(25, 100));
    let summary = running.done();
    summary.has(&json!({"written": 25, "index": {"files": 3, "incomplete": 0, "failure": null}}));
}

#[test]
fn what_cannot_be_indexed_is_refused() {
    let scene = Scene::new();
    fs::create_dir(scene.file("taken.pcapng.index")).expect("a directory");
    let stdout = "capture -i right0 --index -w -";
    assert_refused(
        |line| scene.run(line),
        &[
            ("capture -i right0 --index", 2, "--write <FILE>"),
            (
                stdout,
                2,
                "--index needs -w FILE: standard output cannot be indexed",
            ),
            (
                "capture -i right0 --index -w x.pcapng.zst",
                2,
                "--index needs files without compression",
            ),
            (
                "capture -i right0 --index -w x --compress zstd",
                2,
                "--index needs files without compression",
            ),
            (
                "capture -i - --index -w x.pcapng",
                2,
                "--index needs an interface, not a pipe",
            ),
            (
                "capture -i right0 --index -w /dev/null",
                2,
                "only a regular file can be indexed",
            ),
            (
                "capture -i right0 --index -w taken.pcapng",
                1,
                "cannot create taken.pcapng.index: Is a directory",
            ),
        ],
    );
    // Nothing but what the last one had begun.
    assert_eq!(scene.listed(), ["taken.pcapng", "taken.pcapng.index"]);
}
