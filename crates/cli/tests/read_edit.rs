//! Copies with changes, beside those of editcap.

use std::path::Path;

use crate::support::blocks::{Line, lines};
use crate::support::files::{capture, count, known_corpus, pcap};
use crate::support::run::{events, printed, run};
use crate::support::{assert_refused, text};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str) -> String {
        text(&self.0.path().join(name))
    }
}

/// The lines of our copy and of editcap's, with these flags.
#[track_caller]
fn both(file: &str, flags: &str, editcap: &[&str]) -> [Vec<Line>; 2] {
    let folder = Folder::new();
    let (ours, theirs) = (folder.file("ours.pcapng"), folder.file("theirs.pcapng"));
    printed(&format!("read -q -w {ours} {flags} {file}"));
    let output = lab::tool::command("editcap")
        .args(editcap)
        .args([file, &theirs])
        .output();
    assert!(output.expect("editcap runs").status.success(), "{file}");
    [&ours, &theirs].map(|file| lines(file))
}

/// Files of a few packets.
fn files() -> Vec<String> {
    let is_small = |file: &String| {
        Path::new(file)
            .extension()
            .is_some_and(|name| name == "pcap")
            && (2..200).contains(&count(file))
    };
    let files: Vec<String> = known_corpus()
        .into_iter()
        .filter(is_small)
        .take(30)
        .collect();
    assert_eq!(files.len(), 30);
    files
}

fn packets(lines: Vec<Line>) -> Vec<Line> {
    let is_packet = |line: &Line| line.what == "packet";
    lines.into_iter().filter(is_packet).collect()
}

#[test]
fn duplicates_are_those_of_editcap() {
    let mut left_out = 0;
    for file in files() {
        // editcap counts the packet itself.
        for (flags, editcap) in [
            ("--dedup", &["-d"][..]),
            ("--dedup=1", &["-D", "2"]),
            ("--dedup=30", &["-D", "31"]),
            ("--dedup=10s", &["-w", "10"]),
        ] {
            let [ours, theirs] = both(&file, flags, editcap).map(packets);
            left_out += count(&file) - ours.len() as u64;
            assert_eq!(ours, theirs, "{file} {flags}");
        }
    }
    assert!(left_out > 0, "{left_out}");
}

#[test]
fn times_are_shifted_as_by_editcap() {
    for file in files() {
        for (flags, by) in [("--shift 1h", "3600"), ("--shift=-1.5s", "-1.5")] {
            let [ours, mut theirs] = both(&file, flags, &["-t", by]).map(packets);
            // Times before 1970, which pcapng has not, wrap around in editcap's copies. Here they become 1970.
            for line in &mut theirs {
                if line.text.starts_with("time 1844674407") {
                    let (_, rest) = line.text.split_once(" of ").expect("a length");
                    line.text = format!("time 0 of {rest}");
                }
            }
            assert_eq!(ours, theirs, "{file}");
        }
    }
}

#[test]
fn comments_are_those_of_editcap() {
    let file = capture("bgp-shutdown-communication.pcapng");
    let flags = "--comment one --packet-comment 1:two";
    let [ours, theirs] = both(&file, flags, &["--capture-comment", "one", "-a", "1:two"]);
    let comments = |lines: Vec<Line>| {
        let is_commented = |line: &Line| ["section", "packet"].contains(&line.what);
        let comments = |line: Line| -> Vec<String> {
            let options = line.options.into_iter();
            options.filter(|option| option.starts_with("1 ")).collect()
        };
        let lines = lines.into_iter().filter(is_commented);
        lines.map(comments).collect::<Vec<_>>()
    };
    let [ours, theirs] = [ours, theirs].map(comments);
    assert_eq!(ours, theirs);
    assert!(ours[0].contains(&"1 6f6e65".to_owned()), "{ours:?}");
    assert!(ours[1].contains(&"1 74776f".to_owned()), "{ours:?}");
    let folder = Folder::new();
    let (commented, stripped) = (folder.file("one.pcapng"), folder.file("two.pcapng"));
    printed(&format!("read -q -w {commented} {flags} {file}"));
    printed(&format!(
        "read -q -w {stripped} --strip comments,names,secrets {commented}"
    ));
    assert!(comments(lines(&stripped)).iter().all(Vec::is_empty));
}

#[test]
fn files_are_split_as_by_editcap() {
    let folder = Folder::new();
    let file = folder.file("in.pcap");
    // With gaps of 400 ms packets are at limits: they begin a file, and end one of editcap's.
    let at_limits = Some([vec![5; 10], [&[6][..], &[5; 8], &[4]].concat()]);
    for (flag, editcap, gap_ms, different) in [
        ("7", ["-c", "7"], 400, None),
        ("2s", ["-i", "2"], 410, None),
        ("2s", ["-i", "2"], 400, at_limits),
    ] {
        let time = |number: u64| 1_700_000_000_300_000_000 + number * gap_ms * 1_000_000;
        std::fs::write(&file, pcap(&(0..50).map(time).collect::<Vec<_>>())).expect("written");
        let theirs = Folder::new();
        let name = theirs.file("part.pcapng");
        let output = lab::tool::command("editcap")
            .args(editcap)
            .args([&file, &name])
            .output();
        assert!(output.expect("editcap runs").status.success());
        let entries = std::fs::read_dir(theirs.0.path()).expect("files");
        let names = entries.map(|entry| text(&entry.expect("an entry").path()));
        let mut expected: Vec<String> = names.collect();
        expected.sort();
        let ours = folder.file(&format!("{flag}.pcapng"));
        let report = events(&format!("read -w {ours} --split {flag} {file}"));
        let files: Vec<String> =
            serde_json::from_value(report[0]["files"].clone()).expect("names of files");
        let counts = |files: &[String]| -> Vec<usize> {
            files
                .iter()
                .map(|file| packets(lines(file)).len())
                .collect()
        };
        let [ours, theirs] = [&files, &expected].map(|files| counts(files));
        let expected = different.unwrap_or_else(|| [theirs.clone(), theirs.clone()]);
        assert_eq!([ours, theirs], expected, "{flag}, gaps of {gap_ms} ms");
    }
}

#[test]
fn injected_secrets_are_those_of_editcap() {
    let folder = Folder::new();
    let keys = folder.file("keys.log");
    let secret = "ab".repeat(32);
    let log = format!("# log\nCLIENT_RANDOM {secret} {secret}{}\n", &secret[..32]);
    std::fs::write(&keys, log).expect("written");
    let file = capture("dns-uri.pcap");
    let argument = format!("tls,{keys}");
    let flags = format!("--inject-secrets {keys}");
    let [ours, theirs] = both(&file, &flags, &["--inject-secrets", &argument]);
    let secrets = |lines: Vec<Line>| -> Vec<String> {
        let found = lines.into_iter().filter(|line| line.what == "secrets");
        found.map(|line| line.text).collect()
    };
    let [ours, theirs] = [ours, theirs].map(secrets);
    assert_eq!((&ours, ours.len()), (&theirs, 1));
    std::fs::write(&keys, "a secret that is none\n").expect("written");
    let copy = folder.file("copy.pcapng");
    let line = format!(
        "cannot read TLS secrets from {keys}: line 1 is neither \"LABEL HEX HEX\" nor a comment"
    );
    let command = format!("read -w {copy} --inject-secrets {keys} {file}");
    assert_refused(run, &[(&command, 1, &line)]);
}
