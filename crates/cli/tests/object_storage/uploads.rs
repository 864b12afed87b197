//! Parquet files on object storage: an S3 server stores them, and DuckDB reads them from there.

use std::fs;
use std::path::PathBuf;

use lab::wait;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::frames::udp;
use crate::support::objects::{
    BUCKET, Server, command, command_to, duckdb, spooled, stalling_port, start,
};
use crate::support::run::{Running, spawn};
use crate::support::scrape::{address, scrape};
use crate::support::{Scene, engines, number};

/// Flows that reach right, in files that are completed often.
const FLOWS: &str = "flows -i right0 --json --direction in --idle 50ms -w s3://logs/table --partition=one --rotate-interval 200ms udp";

/// A capture file with so many flows of one packet.
fn many_flows(scene: &Scene, count: u32) -> String {
    let file = scene.file("many.pcapng");
    let line = format!(
        "send --udp --src 10.1.0.1-10.1.200.200 --sport 1024-60000 --dst 10.9.0.1 --dport 443 --flows {count} -c {count} -w {file}"
    );
    scene.run(&line).exit(0);
    file
}

#[test]
fn tables_of_many_hosts_are_one_table_in_a_bucket() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let file = many_flows(&scene, 300);
    for host in ["one", "two hosts"] {
        let line = format!("flows {file} -w s3://logs/net/table/ '--partition={host}'");
        let ended = spawn(command(&scene, &line)).finish();
        ended.exit(0);
        ended.assert_mentions("300 flows, ");
        ended.assert_mentions("below s3://logs/net/table/");
        ended.assert_mentions("uploaded to s3://logs/net/table");
    }
    let rows = duckdb(
        &scene.right,
        "select host, responder_port, count(*) from read_parquet('s3://logs/net/table/**/*.parquet', hive_partitioning = true)
         group by all order by all",
    );
    assert_eq!(
        Value::from(rows),
        json!([["one", 443, 300], ["two hosts", 443, 300]])
    );
    let keys = server.keys();
    assert!(
        keys.iter().all(|key| key.starts_with("net/table/date=")),
        "{keys:?}"
    );
    assert!(spooled(&scene, false).is_empty() && spooled(&scene, true).is_empty());
    // Neither do empty directories stay.
    let root = PathBuf::from(scene.file("spool/s3")).join(BUCKET);
    let names: Vec<_> = fs::read_dir(root)
        .expect("the spool")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, [".lock"]);
}

#[test]
fn an_object_is_the_file_that_would_be_written() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let file = many_flows(&scene, 2000);
    for (format, name) in [("parquet", "a.parquet"), ("arrow", "a.arrows")] {
        let line = format!("read {file} --json -w s3://logs/{name}");
        let ended = spawn(command(&scene, &line)).finish();
        ended.exit(0);
        let local = scene.file(name);
        scene
            .run(&format!("read {file} --format {format} -w {local}"))
            .exit(0);
        let expected = fs::read(local).expect("the file");
        assert!(server.get(name) == expected, "{name}");
        let columns = &ended.events().pop().expect("a summary")["columns"];
        assert_eq!(columns["path"], format!("s3://logs/{name}"));
        let uploads = &columns["uploads"];
        assert_eq!(number(uploads, "uploaded_files"), 1, "{uploads}");
        assert_eq!(number(uploads, "uploaded_bytes"), expected.len() as u64);
        for key in [
            "waiting_files",
            "given_up_files",
            "given_up_rows",
            "failures",
        ] {
            assert_eq!(number(uploads, key), 0, "{uploads}");
        }
    }
}

#[test]
fn a_server_that_was_away_has_all_files_in_the_end() {
    let scene = Scene::new();
    let mut running = start(&scene, &format!("{FLOWS} --metrics 0"));
    let to = address(&running.ready());
    scene.send(&[udp(b"hello")]);
    // The server is away.
    let warning = running.error_line();
    assert!(
        warning.starts_with("warning: cannot upload to s3://logs/table: Connection refused"),
        "{warning}"
    );
    // It has seen that before there was a file.
    wait::until("a file waits", || {
        scrape(&scene.right, to)["tapline_spool_files{}"] >= 1
    });
    let counters = scrape(&scene.right, to);
    assert_eq!(
        counters["tapline_upload_files_total{outcome=\"uploaded\"}"],
        0
    );
    let server = Server::start(&scene.right, scene.folder.path());
    wait::until("it is back", || !server.keys().is_empty());
    // It may also have said that there was no bucket yet.
    while running.error_line() != "uploads to s3://logs/table work again" {}
    scene.send(&[udp(b"again")]);
    running.event(|event| event["event"] == "flow");
    let ended = running.stop();
    ended.exit(0);
    let columns = &ended.events().pop().expect("a summary")["columns"];
    let uploads = &columns["uploads"];
    assert!(number(uploads, "failures") > 0, "{uploads}");
    assert_eq!(number(uploads, "uploaded_files"), number(columns, "files"));
    assert_eq!(number(uploads, "given_up_files"), 0);
    let rows = duckdb(
        &scene.right,
        "select sum(forward_packets)::int from 's3://logs/table/*/*/*/*.parquet'",
    );
    assert_eq!(rows, [[2]]);
}

/// Objects live in the memory of this server: those of before are kept by the test.
#[test]
fn a_server_that_goes_away_during_a_capture_gets_every_packet_once() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let mut running = start(&scene, FLOWS);
    running.ready();
    let flow = |running: &mut Running, payload: &[u8]| {
        scene.send(&[udp(payload)]);
        running.event(|event| event["event"] == "flow");
    };
    flow(&mut running, b"before");
    wait::until("the first file is an object", || {
        let waits = [false, true].map(|hidden| spooled(&scene, hidden));
        !server.keys().is_empty() && waits.concat().is_empty()
    });
    let folder = scene.file("kept");
    fs::create_dir(&folder).expect("a folder");
    for (number, key) in server.keys().iter().enumerate() {
        let file = format!("{folder}/{number}.parquet");
        fs::write(file, server.get(key)).expect("a file");
    }
    drop(server);
    for _ in 0..3 {
        flow(&mut running, b"while it is away");
    }
    let warning = running.error_line();
    assert!(warning.contains("files wait in"), "{warning}");
    let server = Server::start(&scene.right, scene.folder.path());
    while running.error_line() != "uploads to s3://logs/table work again" {}
    flow(&mut running, b"behind");
    let ended = running.stop();
    ended.exit(0);
    let columns = &ended.events().pop().expect("a summary")["columns"];
    let uploads = &columns["uploads"];
    assert!(number(uploads, "failures") > 0, "{uploads}");
    assert_eq!(number(uploads, "uploaded_files"), number(columns, "files"));
    assert_eq!(number(uploads, "given_up_files"), 0);
    let packets = |files: &str| {
        let query = format!("select coalesce(sum(forward_packets), 0)::int from '{files}'");
        let rows = duckdb(&scene.right, &query);
        rows[0][0].as_i64().expect("a number")
    };
    let kept = packets(&format!("{folder}/*.parquet"));
    let behind = packets("s3://logs/table/*/*/*/*.parquet");
    assert_eq!((kept, behind), (1, 4));
    drop(server);
}

#[test]
fn what_a_killed_run_left_is_uploaded_by_the_next_one() {
    let scene = Scene::new();
    let mut running = start(&scene, FLOWS);
    running.ready();
    scene.send(&[udp(b"hello")]);
    wait::until("a file is complete", || !spooled(&scene, false).is_empty());
    running.signal(Signal::KILL);
    running.finish();
    // The file of the next one is open from its start.
    let mut running = start(&scene, "flows -i right0 --json -w s3://logs/open.parquet");
    running.ready();
    wait::until("a file is open", || {
        let names = spooled(&scene, true);
        names
            .iter()
            .any(|name| name.strip_suffix(".part").is_some())
    });
    running.signal(Signal::KILL);
    running.finish();
    let left = spooled(&scene, false);
    let server = Server::start(&scene.right, scene.folder.path());
    let file = many_flows(&scene, 10);
    let line = format!("flows {file} --json -w s3://logs/other.parquet");
    let ended = spawn(command(&scene, &line)).finish();
    ended.exit(0);
    let uploads = ended.events().pop().expect("a summary")["columns"]["uploads"].clone();
    assert_eq!(number(&uploads, "found_files"), left.len() as u64);
    assert_eq!(number(&uploads, "half_written_files"), 1);
    assert_eq!(number(&uploads, "uploaded_files"), left.len() as u64 + 1);
    let mut expected = left;
    expected.push("other.parquet".to_owned());
    expected.sort();
    assert_eq!(server.keys(), expected);
    let rows = engines::duckdb(&format!(
        "select count(*) from glob('{}/**/*.parquet')",
        scene.file("spool")
    ));
    assert_eq!(rows, [[0]]);
}

#[test]
fn an_upload_in_parts_goes_on_where_a_killed_run_was() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let file = many_flows(&scene, 10);
    // A file that an earlier run left: three parts, of which the second does not arrive.
    let large: Vec<u8> = (0..5 << 20)
        .flat_map(|n: u32| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let left = PathBuf::from(scene.file("spool/s3/logs/large.parquet"));
    fs::create_dir_all(left.parent().expect("a folder")).expect("a folder");
    fs::write(&left, &large).expect("a file");
    let port = stalling_port(&scene.right, 12 << 20);
    let line = format!("flows {file} -w s3://logs/small.parquet");
    let running = spawn(command_to(&scene, port, &line));
    let journal = left.with_file_name(".large.parquet.upload");
    wait::until("a part is uploaded", || {
        fs::read_to_string(&journal).is_ok_and(|text| text.lines().count() == 2)
    });
    running.signal(Signal::KILL);
    running.finish();
    // Neither is the object half there.
    assert!(server.keys().is_empty());
    // A power failure may also have cut the journal's last line.
    let mut text = fs::read(&journal).expect("the journal");
    text.extend(b"\"half");
    fs::write(&journal, text).expect("written");
    let ended = spawn(command(&scene, &line)).finish();
    ended.exit(0);
    ended.assert_mentions("(1 file, 20 971 520 bytes of an earlier run)");
    assert!(server.get("large.parquet") == large);
    assert_eq!(server.keys(), ["large.parquet", "small.parquet"]);
    let first = server.requests("partNumber=1&");
    assert_eq!((first, server.requests("partNumber=3&")), (1, 1));
    assert!(
        spooled(&scene, true).is_empty(),
        "{:?}",
        spooled(&scene, true)
    );
}
