//! Parquet and Arrow: DuckDB and nanoarrow read the files, and the values agree with tshark.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use lab::wait;
use rustix::process::Signal;
use serde_json::Value;
use wire::MacAddress;
use wire::build::Frame;

use crate::support::engines::{duckdb, nanoarrow};
use crate::support::files::{capture, pcap_of, tshark};
use crate::support::frames::{frames, udp};
use crate::support::objects::spooled_in;
use crate::support::run::{Running, begin, command, events, run, spawn, spawn_into};
use crate::support::{PROGRAM, Scene, assert_refused, number, text};

/// Fields of tshark, and the columns that are equal to them. Of two fields, one is empty.
const FIELDS: [(&str, &str, &str); 17] = [
    ("frame.cap_len", "", "bytes"),
    ("frame.len", "", "original_bytes"),
    ("eth.src", "sll.src.eth", "src_mac"),
    ("eth.dst", "", "dst_mac"),
    ("vlan.id", "", "vlan"),
    ("ip.src", "ipv6.src", "src"),
    ("ip.dst", "ipv6.dst", "dst"),
    ("ip.ttl", "ipv6.hlim", "ttl"),
    ("ip.dsfield.dscp", "ipv6.tclass.dscp", "dscp"),
    ("tcp.srcport", "udp.srcport", "src_port"),
    ("tcp.dstport", "udp.dstport", "dst_port"),
    ("tcp.seq_raw", "", "seq"),
    ("tcp.ack_raw", "", "ack"),
    ("tcp.window_size_value", "", "\"window\""),
    ("icmp.type", "icmpv6.type", "icmp_type"),
    ("icmp.code", "icmpv6.code", "icmp_code"),
    ("tcp.flags", "", "tcp_flags"),
];

/// Each packet of a file outside of ARP, by tshark, as text.
fn by_tshark(file: &str) -> Vec<Vec<String>> {
    let mut fields = vec!["frame.time_epoch"];
    for (one, other, _) in FIELDS {
        fields.push(one);
        fields.push(if other.is_empty() { one } else { other });
    }
    // The outermost of each; flags that tshark prints as a hexadecimal number.
    let rows = tshark(&format!("{file} -Y !arp -E occurrence=f"), &fields);
    let row = |row: Vec<String>| {
        // Seconds with nine decimals.
        let mut cells = vec![row[0].replace('.', "")];
        for (at, (.., column)) in FIELDS.iter().enumerate() {
            let [one, other] = [&row[2 * at + 1], &row[2 * at + 2]];
            let cell = if one.is_empty() { other } else { one };
            cells.push(match (*column, cell.strip_prefix("0x")) {
                ("tcp_flags", Some(flags)) => {
                    let flags = u32::from_str_radix(flags, 16).expect("flags");
                    flags.to_string()
                }
                _ => cell.clone(),
            });
        }
        cells
    };
    rows.into_iter().map(row).collect()
}

/// The same of a Parquet file, by DuckDB.
fn by_duckdb(file: &str) -> Vec<Vec<String>> {
    let columns = FIELDS.map(|(.., column)| format!("coalesce({column}::text, '')"));
    let query = format!(
        "select epoch_ns(time)::text, {} from '{file}' where protocol is distinct from 'arp'",
        columns.join(", ")
    );
    let row = |row: Vec<Value>| {
        let cell = |cell: Value| cell.as_str().expect("text").to_owned();
        row.into_iter().map(cell).collect()
    };
    duckdb(&query).into_iter().map(row).collect()
}

#[test]
fn packets_are_those_of_tshark() {
    let folder = tempfile::tempdir().expect("a folder");
    let parquet = text(&folder.path().join("packets.parquet"));
    let mut packets = 0;
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let tagged = Frame::ethernet(mac, mac).vlan(7).vlan(8);
    let tagged = tagged.ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let tagged = pcap(&tagged.udp(5000, 53).payload(b"?"), &[1, 2]);
    let vlans = text(&folder.path().join("vlans.pcap"));
    fs::write(&vlans, tagged).expect("a file");
    let names = [
        "dns_tcp_8053.pcap",
        "icmpv6.pcap",
        "babel_auth.pcap",
        "mptcp-aa-echo.pcap",
        "bgp-bgpsec.pcap",
    ];
    for file in names.map(capture).into_iter().chain([vlans]) {
        let ended = run(&format!("read {file} -w {parquet}"));
        ended.exit(0);
        let (found, wanted) = (by_duckdb(&parquet), by_tshark(&file));
        assert_eq!(found.len(), wanted.len(), "{file}");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{file}");
        }
        packets += found.len();
        ended.assert_mentions(&format!("written to {parquet}"));
    }
    assert!(packets > 50, "{packets}");
}

#[test]
fn flows_of_a_capture_are_what_was_sent() {
    let scene = Scene::new();
    let parquet = scene.file("flows.parquet");
    let mut running = spawn(scene.command(&format!(
        "flows -i right0 --json --direction in -w {parquet} --idle 300ms udp"
    )));
    running.ready();
    scene.send(&vec![udp(b"hello"); 50]);
    running.event(|event| event["event"] == "flow");
    // What is not complete has another name.
    assert!(!Path::new(&parquet).exists());
    let ended = running.stop();
    ended.exit(0);
    let rows = duckdb(&format!(
        "select count(*), sum(forward_packets), sum(forward_bytes), min(interface), min(end_reason) from '{parquet}'"
    ));
    let bytes = 50 * udp(b"hello").len();
    let wanted = serde_json::json!([[1, 50, bytes, "right0", "idle"]]);
    let rows: Vec<Vec<Value>> = rows
        .into_iter()
        .map(|row| row.into_iter().map(plain).collect())
        .collect();
    assert_eq!(Value::from(rows), wanted);
    let summary = ended.events().pop().expect("a summary");
    assert_eq!(number(&summary["columns"], "rows"), 1, "{summary}");
    assert_eq!(
        number(&summary["columns"], "bytes"),
        fs::metadata(&parquet).expect("the file").len()
    );
    assert_eq!(scene.listed(), ["flows.parquet"]);
}

/// Sums of DuckDB are decimals, which Python prints as text.
fn plain(value: Value) -> Value {
    match value.as_str().and_then(|text| text.parse::<u64>().ok()) {
        Some(number) => number.into(),
        None => value,
    }
}

#[test]
fn flows_are_the_same_in_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = capture("mptcp-aa-echo.pcap");
    let parquet = text(&folder.path().join("flows.parquet"));
    let json = events(&format!("flows {file} -w {parquet}"));
    let flows = &json[..json.len() - 1];
    let stream = folder.path().join("flows.arrows");
    let output = File::create(&stream).expect("a file");
    let mut arrow = command(&format!("flows {file} -w -"));
    arrow.stdout(Stdio::from(output));
    spawn_into(arrow).finish().exit(0);
    let rows = nanoarrow(File::open(&stream).expect("the stream"));
    let columns = duckdb(&format!(
        "select column_name from (describe from '{parquet}')"
    ));
    let named = duckdb(&format!(
        "select * exclude (first_time, last_time), epoch_ns(first_time), epoch_ns(last_time) from '{parquet}'"
    ));
    assert!(flows.len() > 1 && rows.len() == flows.len() && named.len() == flows.len());
    for ((flow, arrow), parquet) in flows.iter().zip(&rows).zip(&named) {
        let keys = columns.iter().map(|row| row[0].as_str().expect("a name"));
        let keys: Vec<&str> = keys.filter(|key| !key.ends_with("_time")).collect();
        for (at, key) in keys.iter().enumerate() {
            let json_key = if *key == "end_reason" { "end" } else { key };
            assert_eq!(flow[json_key], arrow[*key], "{key}");
            assert_eq!(flow[json_key], parquet[at], "{key}");
        }
        let times = [&flow["first_ns"], &flow["last_ns"]];
        assert_eq!(times, [&parquet[keys.len()], &parquet[keys.len() + 1]]);
        assert_eq!(
            keys.len() + 4,
            flow.as_object().expect("an object").len() + 1
        );
    }
}

/// A pcap file with `frame` at each of these times, in seconds.
fn pcap(frame: &[u8], seconds: &[u32]) -> Vec<u8> {
    let packets = seconds.iter().map(|&second| {
        let time = u64::from(second) * 1_000_000_000 + 7;
        (time, frame.to_vec())
    });
    pcap_of(packets)
}

#[test]
fn partitions_are_one_table() {
    let scene = Scene::new();
    // 23:59:59, then 00:00:00 and 05:00:00 of the next day.
    let pcap = scene.write(
        "in.pcap",
        pcap(
            &udp(b"hello"),
            &[1_709_251_199, 1_709_251_200, 1_709_269_200, 1_709_269_201],
        ),
    );
    for host in ["one", "two"] {
        let ended = run(&format!(
            "read {pcap} -w {} --partition={host}",
            scene.file("table")
        ));
        ended.exit(0);
        ended.assert_mentions("written to 3 files below");
    }
    let query = format!(
        "select date::text, hour::int, host, count(*) from read_parquet('{}/**/*.parquet', hive_partitioning = true)
         group by all order by all",
        scene.file("table")
    );
    let mut wanted = Vec::new();
    for (date, hour, rows) in [
        ("2024-02-29", 23, 1),
        ("2024-03-01", 0, 1),
        ("2024-03-01", 5, 2),
    ] {
        for host in ["one", "two"] {
            wanted.push(serde_json::json!([date, hour, host, rows]));
        }
    }
    let found: Vec<Value> = duckdb(&query).into_iter().map(Value::from).collect();
    assert_eq!(found, wanted);
}

#[test]
fn files_of_a_long_run_are_completed_while_it_runs() {
    let scene = Scene::new();
    let table = scene.file("table");
    let mut running = spawn(scene.command(&format!(
        "flows -i right0 --json --direction in --idle 100ms -w {table} --partition --rotate-interval 600ms udp"
    )));
    running.ready();
    scene.send(&[udp(b"hello")]);
    running.event(|event| event["event"] == "flow");
    let query = format!("select count(*) from glob('{table}/*/*/*/*.parquet')");
    wait::until("a file is complete", || duckdb(&query)[0][0] == 1);
    let query = format!("select sum(forward_packets)::int from '{table}/*/*/*/*.parquet'");
    assert_eq!(duckdb(&query), [[1]]);
    let ended = running.stop();
    ended.exit(0);
    let node = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let hosts = duckdb(&format!(
        "select distinct host from read_parquet('{table}/*/*/*/*.parquet', hive_partitioning = true)"
    ));
    assert_eq!(hosts, [[Value::from(node)]]);
}

/// 2025-11-28 00:00 UTC.
const FIRST_HOUR: u64 = 1_764_288_000;

/// A capture file of one frame at these hours since then.
fn hourly(hours: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let seconds: Vec<u32> = hours
        .into_iter()
        .map(|hour| FIRST_HOUR as u32 + hour * 3600)
        .collect();
    pcap(&udp(b"hello"), &seconds)
}

/// Waits for a complete file below `table` while `running` runs, and ends it.
#[track_caller]
fn assert_completes(running: Running, table: &str) {
    wait::until("a file is complete", || {
        !spooled_in(Path::new(table), false).is_empty()
    });
    running.stop().exit(0);
}

#[test]
fn files_are_completed_while_pipes_are_quiet() {
    let scene = Scene::new();
    for (table, names) in [("one", &["a"][..]), ("two", &["b", "c"])] {
        let pipes = names.iter().map(|name| {
            let path = scene.file(name);
            assert!(
                Command::new("mkfifo")
                    .arg(&path)
                    .status()
                    .expect("it runs")
                    .success()
            );
            path
        });
        let pipes: Vec<_> = pipes.collect();
        let line = format!(
            "read {} -w {table} --partition --rotate-interval 600ms",
            pipes.join(" ")
        );
        let running = spawn(scene.command(&line));
        let writers = pipes.iter().map(|path| {
            let mut pipe = File::create(path).expect("a reader");
            pipe.write_all(&hourly([0])).expect("it reads");
            pipe
        });
        let _open: Vec<_> = writers.collect();
        assert_completes(running, &scene.file(table));
    }
}

#[test]
fn files_are_completed_while_a_compressed_pipe_is_busy() {
    let scene = Scene::new();
    let packets = hourly(vec![0; 10_000]);
    let compressed = |name: &str, bytes: &[u8]| {
        let file = scene.write(name, bytes);
        let output = Command::new("gzip").args(["-c", &file]).output();
        output.expect("gzip runs").stdout
    };
    let (input, mut pipe) = std::io::pipe().expect("a pipe");
    let mut reading = scene.command("read - -w table --partition --rotate-interval 600ms");
    reading.stdin(input).stdout(Stdio::piped());
    reading.stderr(Stdio::piped());
    let running = begin(reading);
    let mut next = compressed("begin", &packets);
    // Members of gzip follow each other. This one has no header of the capture.
    let more = compressed("more", &packets[24..]);
    let writer = thread::spawn(move || {
        while pipe.write_all(&next).is_ok() {
            next.clone_from(&more);
        }
    });
    assert_completes(running, &scene.file("table"));
    writer.join().expect("it ends with its reader");
}

#[test]
fn times_in_disorder_make_few_files() {
    let scene = Scene::new();
    // Where thousands of files are completed in no time.
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let place = |name: &str| text(&memory.path().join(name));
    let file = scene.write("five.pcap", hourly((0..50_000).map(|packet| packet % 5)));
    scene
        .run(&format!(
            "read {file} -w {} --partition=one",
            place("table")
        ))
        .exit(0);
    let table = place("table");
    let rows = duckdb(&format!(
        "select hour::int, count(*), count(distinct filename) from read_parquet('{table}/*/*/*/*.parquet', hive_partitioning = true, filename = true) group by hour order by hour"
    ));
    // 8192 rows of an hour are encoded together, into one of four open files: the first is completed for that of the fifth hour.
    let wanted = [2, 1, 1, 1, 1].into_iter().enumerate();
    let wanted: Vec<_> = wanted.map(|(hour, files)| [hour, 10_000, files]).collect();
    assert_eq!(Value::from(rows), serde_json::json!(wanted));
    let many = scene.write("many.pcap", hourly((0..10_000).map(|packet| packet % 30)));
    let ended = scene.run(&format!("read {many} -w {} --partition=one", place("many")));
    let complaint = ended.exit(1);
    assert!(
        complaint.contains("times go back too often between more than 24 hours (sort the packets by time first, for example with tapline read --sort)"),
        "{complaint}"
    );
    let files = spooled_in(Path::new(&place("many")), false).len();
    assert!((1000..1100).contains(&files), "{files}");
    // Sorted, they may have any number of hours.
    let sorted = scene.write("sorted.pcap", hourly(0..1100));
    scene
        .run(&format!(
            "read {sorted} -w {} --partition=one",
            place("sorted")
        ))
        .exit(0);
    assert_eq!(spooled_in(Path::new(&place("sorted")), false).len(), 1100);
}

#[test]
fn a_killed_run_leaves_no_half_file() {
    let scene = Scene::new();
    let parquet = scene.write("flows.parquet", "an older file");
    let mut running =
        spawn(scene.command(&format!("flows -i right0 --json -w {parquet} --idle 100ms")));
    running.ready();
    scene.send(&frames(1, 100));
    running.signal(Signal::KILL);
    running.finish();
    assert_eq!(fs::read(&parquet).expect("the file"), b"an older file");
    let others: Vec<String> = scene
        .listed()
        .into_iter()
        .filter(|name| name != "flows.parquet")
        .collect();
    assert!(
        others.len() == 1
            && others[0].starts_with(".flows.parquet.")
            && others[0].strip_suffix(".part").is_some(),
        "{others:?}"
    );
}

/// On a file system of 64 KiB in a mount namespace of its own.
#[test]
fn a_full_disk_leaves_no_half_file() {
    let scene = Scene::new();
    let small = scene.file("small");
    fs::create_dir(&small).expect("a folder");
    let many = scene.file("many.pcapng");
    run(&format!("send --udp --src 10.1.0.1-10.1.200.200 --sport 1024-60000 --dst 10.9.0.1 --dport 443 --flows 20000 -c 20000 -w {many}")).exit(0);
    let script = format!(
        "mount -t tmpfs -o size=64k tmpfs {small} || exit 99
         {PROGRAM} read {many} -w {small}/a.parquet && exit 98
         {PROGRAM} flows {many} -w {small}/a.parquet
         status=$?
         ls -A {small}
         exit $status"
    );
    let mut command = scene.right.command("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    let ended = spawn(command).finish();
    let complaint = format!("tapline: cannot write {small}/a.parquet: No space left on device");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(ended.stderr, [complaint.clone(), complaint], "{ended:?}");
    // Of each run the account, and of the folder nothing.
    for what in ["packets", "flows"] {
        ended.assert_says(&format!("0 {what}, 0 bytes written to {small}/a.parquet"));
    }
    ended.assert_mentions("20 000 packets = 20 000 in flows");
    assert!(
        !ended.stdout.iter().any(|line| line.contains(".part")),
        "{ended:?}"
    );
}

/// A file has the name of a directory.
#[test]
fn an_hour_that_cannot_be_written_is_named_and_costs_no_other_hour() {
    let scene = Scene::new();
    // Three hours are completed at the end. Of more than 24, one is completed when another one begins, whose row is lost if that fails.
    for (hours, complete) in [(3, [2, 2]), (30, [24, 23])] {
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let packet = |hour: u16| {
            let frame = Frame::ethernet(mac, mac).ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
            let second = FIRST_HOUR + u64::from(hour) * 3600;
            // Each is a flow of its own.
            (
                second * 1_000_000_000,
                frame.udp(1000 + hour, 9).payload(b""),
            )
        };
        let file = scene.write("in.pcap", pcap_of((0..hours).map(packet)));
        for (job, complete) in ["read", "flows"].into_iter().zip(complete) {
            let table = scene.file(&format!("{job}-{hours}"));
            let hour = format!("{table}/date=2025-11-28/hour=01");
            fs::create_dir_all(format!("{table}/date=2025-11-28")).expect("folders");
            fs::write(&hour, "").expect("a file");
            let ended = scene.run(&format!("{job} {file} --json -w {table} --partition=one"));
            let wanted = format!("cannot write {hour}/host=one: Not a directory");
            assert_eq!(ended.exit(1), wanted);
            let rows = duckdb(&format!("select count(*) from '{table}/*/*/*/*.parquet'"));
            assert_eq!(rows, [[complete]], "{ended:?}");
            let summary = ended.events().pop().expect("a summary");
            let columns = &summary["columns"];
            let written = ["rows", "files"].map(|key| number(columns, key));
            assert_eq!(written, [complete, complete], "{summary}");
        }
    }
}

/// A file is complete when its directory is on the disk, too.
#[test]
fn a_directory_that_cannot_be_read_gets_no_hidden_file() {
    let scene = Scene::new();
    let folder = scene.file("folder");
    fs::create_dir(&folder).expect("a folder");
    let user = 12_345;
    chown(&folder, Some(user), Some(user)).expect("root");
    for (folder, mode) in [(Path::new(&folder), 0o300), (scene.folder.path(), 0o755)] {
        fs::set_permissions(folder, Permissions::from_mode(mode)).expect("ours");
    }
    let mut command = scene.right.command("setpriv");
    let user = user.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    let (file, columns) = (capture("dns_tcp_8053.pcap"), format!("{folder}/a.parquet"));
    command.args([PROGRAM, "read", &file, "-w", &columns]);
    let ended = spawn(command).finish();
    let complaint = ended.refusal(1);
    assert!(complaint.contains("Permission denied"), "{ended:?}");
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 0);
}

#[test]
fn wrong_uses_are_refused() {
    let scene = Scene::new();
    let file = capture("dns_tcp_8053.pcap");
    assert_refused(
        |line| scene.run(line),
        &[
            (
                &format!("flows {file} -w flows.txt"),
                2,
                "Use a name that ends in .parquet or .arrows, or --format",
            ),
            (
                &format!("flows {file} -w nowhere/flows.parquet"),
                1,
                "cannot create nowhere/flows.parquet: No such file or directory (create the directory nowhere first)",
            ),
            (
                &format!("read {file} -w nowhere/table --partition"),
                1,
                "(create the directory nowhere first)",
            ),
            (
                &format!("flows {file} -w . --format parquet"),
                2,
                "--partition writes below it",
            ),
            (
                &format!("flows {file} -w - --json"),
                2,
                "both columns and text",
            ),
            (&format!("flows {file} -w - --partition"), 2, "use -w DIR"),
            (&format!("flows {file} --partition"), 2, "--write"),
            (
                &format!("read {file} -w a.pcap --format pcap --partition"),
                2,
                "--partition is for Parquet and Arrow",
            ),
            (
                &format!("read {file} -w a.parquet --rotate-size 1M"),
                2,
                "--rotate-size is for capture files",
            ),
            // Nothing that is to be anonymized is written as it is.
            (
                &format!("read {file} -w a.parquet --anonymize"),
                2,
                "--anonymize is for capture files",
            ),
            (
                &format!("read {file} -w a.parquet --rotate-interval 1m"),
                2,
                "--rotate-interval needs --partition",
            ),
            (
                "capture -i right0 -w a.parquet",
                2,
                "capture writes pcapng and pcap",
            ),
        ],
    );
    assert!(scene.listed().is_empty(), "{:?}", scene.listed());
}
