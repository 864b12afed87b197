//! Files converted, merged, cut and parted, beside what tcpdump, tshark and mergecap read.

use std::path::Path;

use crate::read_support::{
    capinfos, capture, corpus, json, made, name, pcap, read, read_from, read_well, tcpdump, text,
    tool, tshark,
};

fn convert(from: &Path, to: &Path, args: &[&str]) {
    let said = read_well([&["-q", "-w", name(to), name(from)], args].concat());
    assert_eq!(said, "");
}

#[test]
fn pcap_to_pcapng_to_pcap_changes_no_packet() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pcapng, back) = (folder.path().join("a.pcapng"), folder.path().join("b.pcap"));
    let mut compared = 0;
    let files = corpus();
    // What tshark refuses carries link types with bits that say more than the type.
    let known = capinfos(&files);
    for path in files.iter().filter(|path| known.contains_key(*path)) {
        let mixed = known[path]["File encapsulation"] == "per-packet";
        let Some(expected) = tcpdump(path) else {
            continue;
        };
        // pcap ends in the year 2106.
        let is_out_of_range = path.ends_with("time_2106_overflow.pcapng")
            || path.ends_with("timestamp_invalid_micro.pcap");
        if mixed || is_out_of_range || exceeds_snaplen(path) {
            continue;
        }
        convert(path, &pcapng, &[]);
        convert(&pcapng, &back, &["--format", "pcap-ns"]);
        assert_eq!(tcpdump(&pcapng).as_ref(), Some(&expected), "{path:?}");
        assert_eq!(tcpdump(&back).as_ref(), Some(&expected), "{path:?}");
        compared += 1;
    }
    assert!(compared > 300, "{compared}");
}

/// Whether a packet is longer than the file says any is: libpcap cuts it in pcap and refuses it in pcapng.
fn exceeds_snaplen(path: &Path) -> bool {
    let snaplen = json(&["--summary", name(path)])[0]["snaplen"].as_u64();
    let snaplen = snaplen.filter(|&bytes| bytes > 0);
    let exceeds = |packet: &serde_json::Value| packet["bytes"].as_u64() > snaplen;
    snaplen.is_some() && json(&[name(path)]).iter().any(exceeds)
}

#[test]
fn a_copy_keeps_lengths_beyond_the_snaplen_for_capinfos_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = corpus();
    let known = capinfos(&files);
    let (mut sources, mut copies) = (Vec::new(), Vec::new());
    for (number, path) in files
        .iter()
        .filter(|path| known.contains_key(*path))
        .enumerate()
    {
        let copy = folder.path().join(format!("{number}.pcapng"));
        convert(path, &copy, &[]);
        sources.push(path);
        copies.push(copy);
    }
    let found = capinfos(&copies);
    for (source, copy) in sources.into_iter().zip(&copies) {
        for field in [
            "Number of packets",
            "Data size (bytes)",
            "Packet size limit max (inferred)",
            "Strict time order",
        ] {
            // A packet without a time gets one where pcapng asks for it.
            if !source.starts_with(made("").parent().expect("a folder")) {
                assert_eq!(
                    found[copy][field], known[source][field],
                    "{source:?} {field}"
                );
            }
        }
    }
}

/// What tshark tells of the packets and their options; the comments of statistics blocks and the
/// rest come from the other test of the same file.
const FIELDS: [&str; 8] = [
    "frame.time_epoch",
    "frame.interface_id",
    "frame.interface_name",
    "frame.cap_len",
    "frame.len",
    "frame.packet_flags",
    "frame.packet_id",
    "frame.protocols",
];

#[test]
fn interfaces_options_and_statistics_survive() {
    let folder = tempfile::tempdir().expect("a folder");
    for source in [
        "little.pcapng",
        "big.pcapng",
        "sections.pcapng",
        "sections.pcapng.gz",
    ] {
        let source = made(source);
        let copy = folder.path().join("copy.pcapng");
        convert(&source, &copy, &[]);
        let twice = folder.path().join("twice.pcapng");
        convert(&copy, &twice, &[]);
        let bytes = |path: &Path| std::fs::read(path).expect("the file");
        assert_eq!(bytes(&copy), bytes(&twice), "{source:?}");
        let told = |path: &Path| {
            let mut file = json(&["--summary", name(path)]).swap_remove(0);
            for key in [
                "file",
                "byte_order",
                "size_bytes",
                "compression",
                "application",
            ] {
                file.as_object_mut().expect("an object").remove(key);
            }
            for interface in file["interfaces"].as_array_mut().expect("a list") {
                let interface = interface.as_object_mut().expect("an object");
                // A copy counts nanoseconds and has the last statistics of each interface.
                interface.remove("ticks_per_second");
                interface.remove("statistics_blocks");
            }
            file
        };
        let (mut ours, mut theirs) = (told(&copy), told(&source));
        if source == made("little.pcapng") || source == made("big.pcapng") {
            // A packet without a time is one of a section's first interface; that stays as it is.
            assert_eq!(
                tshark(&copy, &FIELDS),
                tshark(&source, &FIELDS),
                "{source:?}"
            );
        } else {
            // In the second section such a packet gets the time 0.
            for file in [&mut ours, &mut theirs] {
                for key in [
                    "first_ns",
                    "duration_ns",
                    "rate_pps",
                    "rate_bps",
                    "in_time_order",
                ] {
                    file.as_object_mut().expect("an object").remove(key);
                }
            }
        }
        assert_eq!(ours, theirs, "{source:?}");
    }
}

#[test]
fn files_are_merged_as_mergecap_merges_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let second = 1_000_000_000;
    let files: Vec<_> = (0..5_u64)
        .map(|file| {
            let path = folder.path().join(format!("{file}.pcap"));
            let times: Vec<_> = (0..50)
                .map(|n| second + (n * (file + 3) * 7919) + file)
                .collect();
            std::fs::write(&path, pcap(&times)).expect("written");
            name(&path).to_owned()
        })
        .collect();
    let theirs = folder.path().join("theirs.pcapng");
    let mut arguments = vec!["-w", name(&theirs)];
    arguments.extend(files.iter().map(String::as_str));
    // An interface for each file, also where two are the same.
    tool(
        "mergecap",
        &[&["-I", "none"], arguments.as_slice()].concat(),
    );
    let ours = folder.path().join("ours.pcapng");
    arguments[1] = name(&ours);
    read_well(arguments);
    let fields = [
        "frame.time_epoch",
        "frame.interface_id",
        "eth.type",
        "data.data",
    ];
    let merged = tshark(&ours, &fields);
    assert_eq!(merged.len(), 250);
    let theirs = tshark(&theirs, &fields);
    let first_difference = merged
        .iter()
        .zip(&theirs)
        .find(|(ours, theirs)| ours != theirs);
    assert_eq!(first_difference, None);
    assert_eq!(theirs.len(), 250);
}

#[test]
fn packets_are_cut_and_keep_their_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = capture("icmpv6.pcap");
    for suffix in ["pcap", "pcapng"] {
        let cut = folder.path().join(format!("cut.{suffix}"));
        convert(&source, &cut, &["-s", "60"]);
        let fields = ["frame.time_epoch", "frame.len", "frame.cap_len"];
        let expected = tshark(&source, &fields).into_iter().map(|row| {
            let (start, captured) = row.rsplit_once('\t').expect("three fields");
            let captured: u32 = captured.parse().expect("a number");
            format!("{start}\t{}", captured.min(60))
        });
        assert_eq!(tshark(&cut, &fields), expected.collect::<Vec<_>>());
        assert_eq!(json(&["--summary", name(&cut)])[0]["snaplen"], 60);
    }
}

#[test]
fn formats_and_compression_are_as_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = capture("icmpv6.pcap");
    let expected = tcpdump(&source);
    for (file, args, format, compression) in [
        ("a.pcapng", &[][..], "pcapng", None),
        ("a.pcap", &[], "pcap-ns", None),
        ("a", &["--format", "pcap"], "pcap", None),
        ("b.pcapng", &["--format", "pcap-ns"], "pcap-ns", None),
        (
            "c.pcapng.zst",
            &["--compress", "zstd"],
            "pcapng",
            Some("zstd"),
        ),
        (
            "c.pcap.zst",
            &["--compress", "zstd:19"],
            "pcap-ns",
            Some("zstd"),
        ),
    ] {
        let path = folder.path().join(file);
        convert(&source, &path, args);
        let told = json(&["--summary", name(&path)]).swap_remove(0);
        assert_eq!(told["format"], format, "{file}");
        assert_eq!(told["compression"].as_str(), compression, "{file}");
        let plain = folder.path().join("plain.pcap");
        convert(&path, &plain, &[]);
        assert_eq!(tcpdump(&plain), expected, "{file}");
    }
    let output = read(["-w", "-", name(&source)]);
    let copy = folder.path().join("stdout.pcapng");
    std::fs::write(&copy, &output.stdout).expect("written");
    assert_eq!(tcpdump(&copy), expected);
    assert!(text(&output.stderr).ends_with("bytes written to standard output\n"));
}

#[test]
fn rotation_parts_the_packets_and_names_files_by_their_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let second = 1_000_000_000;
    let start = 1_795_249_800 * second; // 2026-11-21 08:30:00 UTC
    let times: Vec<_> = (0..10).map(|number| start + number * second).collect();
    let source = folder.path().join("source.pcap");
    std::fs::write(&source, pcap(&times)).expect("written");
    let pattern = folder.path().join("part.pcapng");
    let base = ["-w", name(&pattern), name(&source)];
    let summary = |args: &[&str]| json(&[&base, args].concat()).pop().expect("a summary");
    let files = |summary: &serde_json::Value| {
        let files = summary["files"].as_array().expect("a list").iter();
        files
            .map(|file| file.as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    let by_packets = summary(&["--rotate-packets", "4"]);
    assert_eq!(
        (&by_packets["written"], &by_packets["delivered"]),
        (&10.into(), &10.into())
    );
    let made = files(&by_packets);
    let counts: Vec<_> = made
        .iter()
        .map(|file| tshark(Path::new(file), &["frame.number"]).len())
        .collect();
    assert_eq!(counts, [4, 4, 2]);
    assert!(
        made[0].ends_with("part_00001_20261121083000.pcapng"),
        "{made:?}"
    );
    assert!(
        made[1].ends_with("part_00002_20261121083004.pcapng"),
        "{made:?}"
    );
    let by_time = summary(&["--rotate-interval", "5s", "--keep", "1"]);
    let kept = files(&by_time);
    assert_eq!(kept.len(), 1);
    assert_eq!(tshark(Path::new(&kept[0]), &["frame.number"]).len(), 5);
    // Reading the parts again must not overwrite them.
    let output = read(["-w", name(&pattern), "--rotate-packets", "2", &kept[0]]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("would overwrite the input"));
    assert_eq!(tshark(Path::new(&kept[0]), &["frame.number"]).len(), 5);
}

#[test]
fn an_input_is_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.pcap");
    let bytes = pcap(&[1, 2, 3]);
    std::fs::write(&path, &bytes).expect("written");
    let link = folder.path().join("b.pcap");
    std::fs::hard_link(&path, &link).expect("a link");
    for target in [&path, &link] {
        let output = read(["-w", name(target), name(&path)]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains("would overwrite the input"),
            "{}",
            text(&output.stderr)
        );
        assert_eq!(std::fs::read(&path).expect("the file"), bytes);
    }
}

#[test]
fn a_pcap_file_takes_one_link_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, target) = (made("little.pcapng"), folder.path().join("a.pcap"));
    let output = read(["-q", "-w", name(&target), name(&source)]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "tapline: a pcap file of link type 1 cannot hold packets of link type 101 (use --format pcapng, or \
         choose interfaces with -i)\n"
    );
    convert(&source, &target, &["-i", "eth0"]);
    assert_eq!(tshark(&target, &["frame.number"]).len(), 2);
}

#[test]
fn a_file_without_packets_is_made_of_one_without_packets() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("a.pcap");
    for input in [pcap(&[]), pcap(&[1])] {
        let output = read_from(
            &input,
            &["-q", "-w", name(&target), "--to", "@0.000000001", "-"],
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(tcpdump(&target).as_deref(), Some(""));
    }
}
