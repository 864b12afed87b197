//! A spool that is full, and one that another run uses.

use std::fs;
use std::process::{Command, Stdio};

use lab::wait;
use serde_json::Value;

use super::failures::read_to;
use crate::support::frames::udp;
use crate::support::objects::{Server, command, spooled, start};
use crate::support::run::{begin, spawn};
use crate::support::scrape::{address, scrape};
use crate::support::{Scene, engines, number};

#[test]
fn a_full_spool_gives_up_the_oldest_files_and_counts_them() {
    let scene = Scene::new();
    let mut running = start(
        &scene,
        "flows -i right0 --json --direction in --idle 10ms -w s3://logs/table --partition=one --rotate-interval 20ms --spool-limit 24k --spool-wait 0s --metrics 0 udp",
    );
    let to = address(&running.ready());
    let given_up = "tapline_upload_files_total{outcome=\"given_up\"}";
    wait::until("files are given up", || {
        scene.send(&[udp(b"hello")]);
        scrape(&scene.right, to)[given_up] >= 3
    });
    let ended = running.stop();
    let line = ended.exit(1).to_owned();
    assert!(line.contains("Connection refused"), "{line}");
    let is_warning = |line: &&String| line.starts_with("warning: the spool ");
    let warnings: Vec<_> = ended.stderr.iter().filter(is_warning).collect();
    assert_eq!(
        warnings,
        [&format!(
            "warning: the spool {}/spool/s3/logs is full (24 576 bytes): the oldest files are given up, and counted",
            scene.folder.path().display()
        )]
    );
    let summary = ended.events().pop().expect("a summary");
    let columns = &summary["columns"];
    let uploads = &columns["uploads"];
    let files = number(uploads, "waiting_files") + number(uploads, "given_up_files");
    assert_eq!(files, number(columns, "files"), "{summary}");
    assert_eq!(number(columns, "rows"), number(&summary, "flows"));
    // What was not given up is in the spool, which has its size.
    let root = scene.file("spool/s3/logs/table");
    let rows = engines::duckdb(&format!("select count(*) from '{root}/*/*/*/*.parquet'"));
    let kept = rows[0][0].as_u64().expect("a number");
    assert_eq!(
        kept + number(uploads, "given_up_rows"),
        number(columns, "rows")
    );
    let keys = spooled(&scene, false);
    assert_eq!(keys.len() as u64, number(uploads, "waiting_files"));
    let bytes = keys.iter().map(|key| {
        let about = fs::metadata(scene.file(&format!("spool/s3/logs/{key}")));
        about.expect("a file").len()
    });
    let bytes: u64 = bytes.sum();
    assert_eq!(bytes, number(uploads, "waiting_bytes"));
    assert!(bytes <= 24 << 10, "{bytes}");
}

#[test]
fn a_full_spool_holds_up_the_reading_of_files() {
    let scene = Scene::new();
    let many = scene.file("many.pcapng");
    scene.run(&format!("send --udp --src 10.1.0.1-10.1.200.200 --sport 1024-60000 --dst 10.9.0.1 --dport 443 --flows 50000 -c 50000 -w {many}")).exit(0);
    let line = format!(
        "read {many} --json -w s3://logs/table --partition=one --spool-limit 150k --spool-wait 0s"
    );
    let ended = spawn(command(&scene, &line)).finish();
    let complaint = ended.exit(1);
    assert!(
        complaint.contains("the spool is full, and nothing can be uploaded: Connection refused"),
        "{complaint}"
    );
    // The account has every file that is complete.
    let columns = &ended.events().pop().expect("a summary")["columns"];
    let waiting = number(&columns["uploads"], "waiting_files");
    assert_eq!(waiting, spooled(&scene, false).len() as u64);
    assert_eq!(waiting, number(columns, "files"), "{columns}");
    assert!(waiting > 1, "{columns}");
    // It says what is too large for a spool.
    let single = format!("read {many} -w s3://logs/a.parquet --spool-limit 100k");
    let ended = spawn(command(&scene, &single)).finish();
    let complaint = ended.exit(1);
    assert!(
        complaint.contains("it has reached the limit of 102400 bytes"),
        "{complaint}"
    );
    fs::remove_dir_all(scene.file("spool")).expect("removed");
    let server = Server::start(&scene.right, scene.folder.path());
    let line = line.replace("--spool-wait 0s", "");
    let ended = spawn(command(&scene, &line)).finish();
    ended.exit(0);
    let columns = &ended.events().pop().expect("a summary")["columns"];
    assert!(number(columns, "files") > 3, "{columns}");
    assert_eq!(number(columns, "rows"), 50_000);
    assert_eq!(columns["uploads"]["given_up_rows"], Value::from(0));
    assert_eq!(server.keys().len() as u64, number(columns, "files"));
}

#[test]
fn packets_of_a_pipe_do_not_wait_for_room_in_the_spool() {
    let scene = Scene::new();
    let many = scene.file("many.pcapng");
    scene.run(&format!("send --udp --src 10.1.0.1-10.1.200.200 --sport 1024-60000 --dst 10.9.0.1 --dport 443 --flows 50000 -c 50000 -w {many}")).exit(0);
    for command_line in [
        "read - --json -w s3://logs/packets --partition=one --spool-limit 150k --spool-wait 0s",
        "flows - --json -w s3://logs/flows --partition=one --spool-limit 150k --spool-wait 0s",
    ] {
        let mut cat = Command::new("cat")
            .arg(&many)
            .stdout(Stdio::piped())
            .spawn()
            .expect("cat runs");
        let mut command = command(&scene, command_line);
        command
            .stdin(cat.stdout.take().expect("a pipe"))
            .stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        let ended = begin(command).finish();
        assert!(cat.wait().expect("its end").success());
        let line = ended.exit(1);
        assert!(line.contains("Connection refused"), "{line}");
        let summary = ended.events().pop().expect("a summary");
        assert_eq!(number(&summary, "delivered"), 50_000, "{summary}");
        let columns = &summary["columns"];
        let uploads = &columns["uploads"];
        assert_eq!(number(columns, "rows"), 50_000, "{columns}");
        assert!(number(uploads, "given_up_rows") > 0, "{columns}");
        let root = scene.file("spool/s3/logs");
        let rows = engines::duckdb(&format!("select count(*) from '{root}/*/*/*/*/*.parquet'"));
        let kept = rows[0][0].as_u64().expect("a number");
        assert_eq!(kept + number(uploads, "given_up_rows"), 50_000);
        fs::remove_dir_all(scene.file("spool")).expect("removed");
    }
}

#[test]
fn the_reason_is_told_if_every_file_was_given_up() {
    let scene = Scene::new();
    let mut running = start(
        &scene,
        "flows -i right0 --json --direction in --idle 10ms -w s3://logs/table --partition=one --rotate-interval 20ms --spool-limit 100 --spool-wait 0s udp",
    );
    running.ready();
    // That of the first look at the bucket.
    let warning = running.error_line();
    assert!(warning.contains("Connection refused"), "{warning}");
    scene.send(&[udp(b"hello")]);
    // No file has room.
    let warning = running.error_line();
    assert!(warning.starts_with("warning: the spool "), "{warning}");
    let ended = running.stop();
    let line = ended.exit(1);
    assert!(
        line.contains("the spool was too small for the time it took, and an attempt failed: Connection refused ("),
        "{line}"
    );
}

#[test]
fn a_spool_has_one_user() {
    let scene = Scene::new();
    let mut running = start(
        &scene,
        "flows -i right0 --json -w s3://logs/table --partition --spool-wait 0s",
    );
    running.ready();
    let ended = read_to(&scene, "s3://logs/a.parquet", "");
    let line = ended.exit(1);
    assert!(
        line.contains("another tapline uses it (--spool DIR chooses another one)"),
        "{line}"
    );
    // Another bucket has another spool.
    let _server = Server::start(&scene.right, scene.folder.path());
    let line = read_to(&scene, "s3://nobodys/a.parquet", "")
        .exit(1)
        .to_owned();
    assert!(line.contains("NoSuchBucket"), "{line}");
    running.stop().exit(0);
}
