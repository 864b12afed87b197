//! Packets selected by number and sorted by time, compared with editcap and reordercap.

use serde_json::json;
use tapline::file::model::{Interface, LinkType, Packet};
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};

use crate::support::blocks::lines;
use crate::support::files::{capture, column, count, pcap, tcpdump, tshark};
use crate::support::run::{events, printed, run};
use crate::support::{assert_has, assert_refused, text, tool};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str) -> String {
        text(&self.0.path().join(name))
    }

    /// A pcap file with a packet for each time.
    fn pcap(&self, name: &str, times_ns: &[u64]) -> String {
        let file = self.file(name);
        std::fs::write(&file, pcap(times_ns)).expect("written");
        file
    }
}

/// The packets of the copy that another program makes, as tcpdump prints them.
#[track_caller]
fn copied_by(program: &str, arguments: &[&str], copy: &str) -> String {
    let output = lab::tool::command(program).args(arguments).output();
    let output = output.expect("it runs");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    packets(copy)
}

fn packets(file: &str) -> String {
    tcpdump(file).expect("tcpdump reads it")
}

/// Times in nanoseconds: this many microseconds after a moment.
fn times(microseconds: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let time = |us: u64| 1_700_000_000_000_000_000 + us * 1000;
    microseconds.into_iter().map(time).collect()
}

#[test]
fn packets_are_selected_by_number_as_by_editcap() {
    let folder = Folder::new();
    let [ours, theirs] = ["ours.pcapng", "theirs.pcapng"].map(|name| folder.file(name));
    let file = capture("eapon1.pcap");
    assert_eq!(count(&file), 114);
    for numbers in [
        "1",
        "114",
        "2-3,5",
        "60-,1-4,3-7",
        "1-114",
        "110-120,115",
        "20-30,25",
    ] {
        // In editcap's ranges, 0 is the end of the file.
        let selections = numbers.replace("60-", "60-0");
        let selections: Vec<&str> = selections.split(',').collect();
        for (flag, editcap) in [("--packets", &["-r"][..]), ("--except-packets", &[])] {
            let report = events(&format!("read -w {ours} {flag} {numbers} {file}"));
            let files = [file.as_str(), theirs.as_str()];
            let arguments = [editcap, &files[..], &selections[..]].concat();
            let expected = copied_by("editcap", &arguments, &theirs);
            assert_eq!(packets(&ours), expected, "{flag} {numbers}");
            let written = json!({"written": count(&theirs), "lost": {"writer": 0}});
            assert_has(&report[0], &written);
        }
    }
}

/// Numbers are those of the file, which tshark shows, whatever else selects packets.
#[test]
fn a_filter_does_not_change_the_numbers_of_packets() {
    let folder = Folder::new();
    let copy = folder.file("copy.pcapng");
    let file = capture("eapon1.pcap");
    let times = |display_filter: &str| -> Vec<String> {
        let arguments = [
            "-n",
            "-r",
            file.as_str(),
            "-T",
            "fields",
            "-e",
            "frame.time_epoch",
        ];
        let mut tshark = lab::tool::command("tshark");
        let output = tshark.args(arguments).args(["-Y", display_filter]).output();
        let text = String::from_utf8(output.expect("tshark runs").stdout).expect("text");
        text.lines().map(str::to_owned).collect()
    };
    for (flag, display_filter) in [
        (
            "--packets 10-40",
            "frame.number >= 10 && frame.number <= 40 && frame.len > 100",
        ),
        (
            "--except-packets 10-40",
            "(frame.number < 10 || frame.number > 40) && frame.len > 100",
        ),
    ] {
        printed(&format!("read -q -w {copy} {flag} {file} greater 101"));
        let expected = times(display_filter);
        assert_eq!(
            column::<String>(&copy, "frame.time_epoch"),
            expected,
            "{flag}"
        );
        assert!(!expected.is_empty(), "{flag}");
        // The packets that are printed are the same.
        let objects = events(&format!("read {flag} {file} greater 101"));
        assert_eq!(objects.len() - 1, expected.len(), "{flag}");
    }
    // After the last number nothing is read.
    let report = events(&format!("read -w {copy} --packets 2,7 {file}"));
    assert_has(
        &report[0],
        &json!({"received": 7, "delivered": 2, "filtered": 5}),
    );
    let wrong = |numbers: &str| format!("read --packets {numbers} {file}");
    assert_refused(
        run,
        &[
            (&wrong("0"), 2, "packets are numbered from 1"),
            (
                &wrong("7-3"),
                2,
                "use numbers and ranges such as 1-10,20,100-",
            ),
            (
                &wrong("1,x"),
                2,
                "use numbers and ranges such as 1-10,20,100-",
            ),
        ],
    );
}

#[test]
fn packets_are_sorted_as_by_reordercap() {
    let folder = Folder::new();
    let [ours, theirs] = ["ours.pcapng", "theirs.pcap"].map(|name| folder.file(name));
    // Every time comes twice, in an order that a multiplication makes.
    let shuffled = times((0..2000).map(|number| number * 7919 % 1000));
    let two_runs = times((500..1000).chain(0..500));
    let sorted = times(0..1000);
    let files = [
        folder.pcap("shuffled.pcap", &shuffled),
        folder.pcap("runs.pcap", &two_runs),
        folder.pcap("sorted.pcap", &sorted),
        capture("bgp-bgpsec.pcap"),
        capture("kday3.pcap"),
    ];
    for file in files {
        let expected = copied_by("reordercap", &[&file, &theirs], &theirs);
        let report = events(&format!("read -w {ours} --sort {file}"));
        assert_eq!(packets(&ours), expected, "{file}");
        assert_has(&report[0], &json!({"written": count(&file), "unsorted": 0}));
        // With a filter, threads read the file.
        printed(&format!("read -q -w {ours} --sort {file} greater 1"));
        assert_eq!(packets(&ours), expected, "{file}, with a filter");
    }
}

/// Packets refer to interfaces of their section, so each section is sorted alone. Several inputs become one section.
#[test]
fn sections_are_sorted_alone_and_several_inputs_together() {
    let folder = Folder::new();
    let [copy, both] = ["copy.pcapng", "both.pcapng"].map(|name| folder.file(name));
    let sections = [("a", [7, 1, 6, 2]), ("b", [5, 3, 8, 0])];
    let files = sections.map(|(name, microseconds)| {
        let file = folder.file(&format!("{name}.pcapng"));
        let interface = |number: u32| Interface {
            name: Some(format!("{name}{number}")),
            ..Interface::new(LinkType::ETHERNET, 0)
        };
        let output = Output::Path(file.clone().into());
        let options = CaptureFileOptions::new(output, vec![interface(0), interface(1)]);
        let mut capture = CaptureFile::create(options, 0).expect("made");
        for (number, time) in (0..).zip(times(microseconds)) {
            let comment = format!("{name} {number}");
            let packet = Packet {
                interface: number % 2,
                comment: Some(&comment),
                ..Packet::new(time, &[0; 60])
            };
            capture.write(&packet).expect("written");
        }
        capture.close(&[]).expect("closed");
        file
    });
    // Time, interface and comment of each packet.
    let sorted = |sections: &[(&str, [u64; 4])]| {
        let mut rows = Vec::new();
        for (name, microseconds) in sections {
            for (number, us) in microseconds.iter().enumerate() {
                rows.push(vec![
                    format!("1700000000.{:09}", us * 1000),
                    format!("{name}{}", number % 2),
                    format!("{name} {number}"),
                ]);
            }
        }
        rows.sort();
        rows
    };
    let fields = ["frame.time_epoch", "frame.interface_name", "frame.comment"];
    printed(&format!(
        "read -q -w {copy} --sort {} {}",
        files[0], files[1]
    ));
    assert_eq!(tshark(&copy, &fields), sorted(&sections));
    let bytes = files.map(|file| std::fs::read(file).expect("read"));
    std::fs::write(&both, bytes.concat()).expect("written");
    tool("zstd", &format!("-q {both}"));
    let apart = [sorted(&sections[..1]), sorted(&sections[1..])].concat();
    for input in [&both, &format!("{both}.zst")] {
        printed(&format!("read -q -w {copy} --sort {input}"));
        let found = tshark(&copy, &[fields[0], fields[2]]);
        let expected = apart.iter().map(|row| vec![row[0].clone(), row[2].clone()]);
        assert_eq!(found, expected.collect::<Vec<_>>(), "{input}");
        let packets = lines(&copy)
            .into_iter()
            .filter(|line| line.what == "packet");
        let interfaces: Vec<_> = packets.filter_map(|line| line.interface).collect();
        assert_eq!(interfaces, [1, 1, 0, 0, 3, 3, 2, 2], "{input}");
    }
}

/// Comments, duplicates and files are those of the sorted packets.
#[test]
fn other_edits_apply_to_sorted_packets() {
    let folder = Folder::new();
    let file = folder.pcap("in.pcap", &times([3, 1, 2, 0]));
    let copy = folder.file("copy.pcapng");
    printed(&format!(
        "read -q -w {copy} --sort --packet-comment 1:first {file}"
    ));
    let fields = ["frame.time_epoch", "frame.comment"];
    let row = |us: u64, comment: &str| vec![format!("1700000000.{:09}", us * 1000), comment.into()];
    let expected = vec![row(0, "first"), row(1, ""), row(2, ""), row(3, "")];
    assert_eq!(tshark(&copy, &fields), expected);
    let report = events(&format!("read -w {copy} --sort --split 2 {file}"));
    let files: Vec<String> = serde_json::from_value(report[0]["files"].clone()).expect("names");
    let parts = files.iter().map(|file| tshark(file, &["frame.time_epoch"]));
    let parts: Vec<Vec<String>> = parts.map(|rows| rows.concat()).collect();
    let time = |us: usize| expected[us][0].clone();
    assert_eq!(parts, [[time(0), time(1)], [time(2), time(3)]]);
}

/// What a packet may wait for is bounded. Nothing is lost, and the user learns of the packets that are not in order.
#[test]
fn packets_that_come_later_than_the_memory_allows_are_reported() {
    let folder = Folder::new();
    let copy = folder.file("copy.pcapng");
    // The last packet is the earliest.
    let file = folder.pcap("in.pcap", &times((1..1000).chain([0])));
    let line = format!("read -w {copy} --sort=4k {file}");
    let ended = run(&format!("{line} --json"));
    ended.exit(1);
    assert_has(&ended.events()[0], &json!({"written": 1000, "unsorted": 1}));
    let expected = "1 packet not in time order: earlier packets came after the memory for sorting was full (use --sort=SIZE with a larger size)";
    ended.assert_mentions(expected);
    assert_eq!(count(&copy), 1000);
    printed(&format!("read -q -w {copy} --sort=1M {file}"));
    let theirs = folder.file("theirs.pcap");
    let sorted = copied_by("reordercap", &[&file, &theirs], &theirs);
    assert_eq!(packets(&copy), sorted);
}
