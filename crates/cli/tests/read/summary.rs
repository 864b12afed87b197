//! `tapline read --summary`, beside capinfos.

use serde_json::{Value, json};

use crate::support::files::{KNOWN, capture, count_by_capinfos, known_corpus, made};
use crate::support::run::{events, printed, run, run_with};
use crate::support::{assert_has, number, text};

/// A time or a span in nanoseconds as capinfos shows it: seconds with six digits, the rest cut.
fn seconds(ns: &Value) -> String {
    let ns = ns.as_u64().unwrap_or(0);
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1000 % 1_000_000)
}

/// A number with two digits.
fn rounded(value: &Value) -> String {
    format!("{:.2}", value.as_f64().unwrap_or(0.0))
}

#[test]
fn counts_sizes_times_rates_and_order_are_capinfos() {
    let files = known_corpus();
    let objects = events(&format!("read --summary {}", files.join(" ")));
    let (summary, objects) = objects.split_last().expect("a summary");
    assert_eq!(objects.len(), files.len());
    assert_eq!(summary["files"], files.len());
    for (path, ours) in files.iter().zip(objects) {
        let theirs = &KNOWN[path];
        let same =
            |title: &str, value: String| assert_eq!(value, theirs[title], "{path:?}: {title}");
        assert_eq!(ours["file"], **path);
        same("Number of packets", ours["packets"].to_string());
        // For these capinfos leaves out a header before the packet.
        let has_pseudo_header = theirs["File encapsulation"] == "atm-pdus";
        if has_pseudo_header {
            continue;
        }
        same("Data size (bytes)", ours["original_bytes"].to_string());
        let format = match theirs["File type"].as_str() {
            "nsecpcap" => "pcap-ns",
            "modpcap" => "pcap",
            other => other,
        };
        assert_eq!(ours["format"], format, "{path:?}");
        if path.starts_with(&made("")) && format == "pcapng" {
            // Packets without a time, which capinfos counts as of 1970.
            continue;
        }
        same("File size (bytes)", ours["size_bytes"].to_string());
        // capinfos compares times in 32 bits of seconds, and cuts the nanoseconds to 32 bits of a
        // file whose fractions are more than a second.
        if ours["duration_ns"].as_u64() >= Some(1_000_000_000 << 31)
            || path.ends_with("/timestamp_invalid_micro.pcap")
        {
            continue;
        }
        let order = ours["in_time_order"].to_string().to_lowercase();
        assert_eq!(
            order,
            theirs["Strict time order"].to_lowercase(),
            "{path:?}"
        );
        if ours["packets"] == 0 {
            continue;
        }
        same(
            "Average packet size (bytes)",
            rounded(&ours["mean_packet_bytes"]),
        );
        same("Start time", seconds(&ours["first_ns"]));
        same("End time", seconds(&ours["last_ns"]));
        same("Capture duration (seconds)", seconds(&ours["duration_ns"]));
        for (title, key) in [
            ("Average packet rate (packets/sec)", "rate_pps"),
            ("Data bit rate (bits/sec)", "rate_bps"),
        ] {
            // capinfos takes the difference of two floating-point times, which are exact to 0.24 µs.
            let value = ours[key].as_f64().unwrap_or(0.0);
            let other: f64 = theirs[title].parse().expect("a number");
            let difference = (value - other).abs();
            let duration_s = ours["duration_ns"].as_f64().unwrap_or(0.0) / 1e9;
            assert!(
                difference < 0.01 + value * 5e-7 / duration_s.max(1e-6),
                "{path:?}: {title}: {value} and {other}"
            );
        }
        for (title, key) in [
            ("Capture hardware", "hardware"),
            ("Capture oper-sys", "os"),
            ("Capture application", "application"),
        ] {
            same(title, ours[key].as_str().unwrap_or_default().into());
        }
        if format != "pcapng" {
            same("Packet size limit", ours["snaplen"].to_string());
        }
    }
}

#[test]
fn interfaces_and_their_statistics_are_reported() {
    let objects = events(&format!("read --summary {}", made("little.pcapng")));
    // As the file was made by hand; tshark shows the same numbers in the statistics block.
    let first = json!({
        "name": "eth0", "description": "uplink", "filter": "tcp port 80", "link_type": 1,
        "speed_bps": 10_000_000_000_u64, "packets": 2,
        "statistics": {
            "received": 4, "interface_dropped": 5, "filter_accepted": 6, "os_dropped": 7, "delivered": 8,
        },
    });
    assert_has(&objects[0]["interfaces"][0], &first);
    assert_eq!(objects[0]["interfaces"][1]["statistics"], Value::Null);
}

#[test]
fn text_says_the_same() {
    let path = capture("OSPFv2_Capture_FINAL.pcapng");
    let page = printed(&format!("read --summary {path}"));
    // By capinfos.
    for line in [
        "format        pcapng 1.0, little-endian",
        "size          6 704 bytes",
        "end           complete",
        "packets       30",
        "bytes         5 364 captured, 5 364 on the wire",
        "first packet  2018-02-14 15:30:19.014914000 +00:00",
        "last packet   2018-02-14 15:30:38.733366000 +00:00",
        "duration      19.718452000 s",
        "packet size   178.80 bytes on average",
        "time order    strict",
        "os            32-bit Windows 7 Service Pack 1, build 7601",
    ] {
        assert!(
            page.iter().any(|found| found == line),
            "{line} is not in {page:#?}"
        );
    }
}

#[test]
fn every_file_is_summarised_though_one_fails() {
    let good = capture("icmpv6.pcap");
    let bytes = std::fs::read(&good).expect("the file");
    let cut = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(cut.path(), &bytes[..bytes.len() - 1]).expect("written");
    let ended = run(&format!(
        "read --summary --json {} /nonexistent {good}",
        text(cut.path())
    ));
    assert_eq!(
        (ended.status.code(), ended.stderr.len()),
        (Some(1), 2),
        "{ended:?}"
    );
    let objects = ended.events();
    assert_eq!(objects.len(), 3);
    let complete = [0, 1].map(|file: usize| objects[file]["complete"].as_bool());
    assert_eq!(complete, [Some(false), Some(true)]);
    assert_eq!(
        number(&objects[0], "packets") + 1,
        number(&objects[1], "packets")
    );
    let error = objects[0]["error"].as_str().expect("an error");
    assert!(
        error.starts_with("truncated packet record (block "),
        "{error}"
    );
}

#[test]
fn a_pipe_is_summarised_with_what_arrived() {
    let path = capture("icmpv6.pcap");
    let bytes = std::fs::read(&path).expect("the file");
    let mut piped = run_with(&bytes, "read --summary --json -")
        .events()
        .swap_remove(0);
    let file = events(&format!("read --summary {path}")).swap_remove(0);
    assert_eq!(piped["file"], "standard input");
    piped["file"] = path.into();
    assert_eq!(piped, file);
}

#[test]
fn compression_is_named() {
    for (file, compression) in [
        ("sections.pcapng", None),
        ("sections.pcapng.gz", Some("gzip")),
        ("sections.pcapng.zst", Some("zstd")),
    ] {
        let file = made(file);
        let packets = count_by_capinfos(&file);
        let told = &events(&format!("read --summary {file}"))[0];
        assert_has(
            told,
            &json!({"compression": compression, "packets": packets}),
        );
    }
}
