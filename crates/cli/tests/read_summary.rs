//! `tapline read --summary`, beside capinfos.

use crate::read_support;
use std::path::PathBuf;

use crate::read_support::{
    capinfos, capture, corpus, json, made, name, read, read_from, read_well, text, tshark,
};
use serde_json::Value;

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
    let files = corpus();
    let known = capinfos(&files);
    let files: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| known.contains_key(path))
        .collect();
    let names = files.iter().map(|path| name(path));
    let objects = json(&["--summary"].into_iter().chain(names).collect::<Vec<_>>());
    let (summary, objects) = objects.split_last().expect("a summary");
    assert_eq!(objects.len(), files.len());
    assert_eq!(summary["files"], files.len());
    for (path, ours) in files.iter().zip(objects) {
        let theirs = &known[path];
        let same =
            |title: &str, value: String| assert_eq!(value, theirs[title], "{path:?}: {title}");
        assert_eq!(ours["file"], name(path));
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
        if path.starts_with(made("").parent().expect("a folder")) && format == "pcapng" {
            // Packets without a time, which capinfos counts as of 1970.
            continue;
        }
        same("File size (bytes)", ours["size_bytes"].to_string());
        // capinfos compares times in 32 bits of seconds, and cuts the nanoseconds to 32 bits of a
        // file whose fractions are more than a second.
        if ours["duration_ns"].as_u64() >= Some(1_000_000_000 << 31)
            || path.ends_with("timestamp_invalid_micro.pcap")
        {
            continue;
        }
        let order = if ours["in_time_order"] == true {
            "True"
        } else {
            "False"
        };
        same("Strict time order", order.into());
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
fn interfaces_and_their_statistics_are_told() {
    let objects = json(&["--summary", name(&made("little.pcapng"))]);
    // As the file was made by hand; tshark shows the same numbers in the statistics block.
    let interface = &objects[0]["interfaces"][0];
    for (key, value) in [
        ("name", "eth0".into()),
        ("description", "uplink".into()),
        ("filter", "tcp port 80".into()),
        ("link_type", 1.into()),
        ("speed_bps", 10_000_000_000_u64.into()),
        ("packets", 2.into()),
    ] {
        let value: Value = value;
        assert_eq!(interface[key], value, "{key}");
    }
    let counters = [
        "received",
        "interface_dropped",
        "filter_accepted",
        "os_dropped",
        "delivered",
    ];
    let counters = counters.map(|key| interface["statistics"][key].as_u64());
    assert_eq!(counters, [4, 5, 6, 7, 8].map(Some));
    assert_eq!(objects[0]["interfaces"][1]["statistics"], Value::Null);
}

#[test]
fn text_says_the_same() {
    let path = capture("OSPFv2_Capture_FINAL.pcapng");
    let page = read_well(["--summary", name(&path)]);
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
            page.lines().any(|found| found == line),
            "{line}\nis not in\n{page}"
        );
    }
}

#[test]
fn every_file_is_told_of_though_one_fails() {
    let good = capture("icmpv6.pcap");
    let bytes = std::fs::read(&good).expect("the file");
    let cut = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(cut.path(), &bytes[..bytes.len() - 1]).expect("written");
    let output = read([
        "--summary",
        "--json",
        name(cut.path()),
        "/nonexistent",
        name(&good),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let objects = read_support::objects(&text(&output.stdout));
    assert_eq!(objects.len(), 3);
    let packets = |object: &Value| object["packets"].as_u64().expect("a number");
    assert_eq!(packets(&objects[0]) + 1, packets(&objects[1]));
    assert_eq!(
        (&objects[0]["complete"], &objects[1]["complete"]),
        (&false.into(), &true.into())
    );
    let error = objects[0]["error"].as_str().expect("an error");
    assert!(
        error.starts_with("truncated packet record (block "),
        "{error}"
    );
    assert_eq!(text(&output.stderr).lines().count(), 2);
}

#[test]
fn a_pipe_is_summarised_with_what_arrived() {
    let path = capture("icmpv6.pcap");
    let bytes = std::fs::read(&path).expect("the file");
    let output = read_from(&bytes, &["--summary", "--json", "-"]);
    let mut piped = read_support::objects(&text(&output.stdout)).swap_remove(0);
    let mut file = json(&["--summary", name(&path)]).swap_remove(0);
    assert_eq!(piped["file"], "standard input");
    for object in [&mut piped, &mut file] {
        object.as_object_mut().expect("an object").remove("file");
    }
    assert_eq!(piped, file);
}

#[test]
fn compression_is_named() {
    for (file, compression) in [
        ("sections.pcapng", None),
        ("sections.pcapng.gz", Some("gzip")),
        ("sections.pcapng.zst", Some("zstd")),
    ] {
        let told = json(&["--summary", name(&made(file))]).swap_remove(0);
        assert_eq!(told["compression"].as_str(), compression, "{file}");
        assert_eq!(
            told["packets"],
            tshark(&made(file), &["frame.number"]).len(),
            "{file}"
        );
    }
}
