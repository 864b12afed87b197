//! Broken files: what is before the break is delivered, and one line says where it is.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::read_support::{
    capture, command, json, made, name, objects, pcap, read, read_from, tcpdump, text, tshark,
};

#[test]
fn a_file_that_is_cut_short_gives_its_packets_and_the_place() {
    let whole = pcap(&[1, 2, 3]);
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (
        folder.path().join("cut.pcap"),
        folder.path().join("copy.pcap"),
    );
    std::fs::write(&path, &whole[..24 + 2 * 76 + 20]).expect("written");
    let expected = format!(
        "tapline: {}: truncated packet record (block 3 at byte 176): the input ends, 76 bytes needed, 20 available\n",
        path.display()
    );
    for args in [&["-q"][..], &["-q", "-w", name(&copy)]] {
        let output = read(args.iter().copied().chain([name(&path)]));
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), expected);
        let lines = text(&output.stdout).lines().count();
        assert_eq!(lines, if args.len() == 1 { 2 } else { 0 });
    }
    assert_eq!(
        tcpdump(&copy)
            .expect("a whole file")
            .matches("0x0000")
            .count(),
        2
    );
    let output = read(["--json", name(&path)]);
    let objects = objects(&text(&output.stdout));
    let summary = objects.last().expect("a summary");
    assert_eq!(summary["received"], 2);
    assert!(
        summary["inputs"][0]["error"]
            .as_str()
            .expect("an error")
            .starts_with("truncated")
    );
}

#[test]
fn other_files_go_on_when_one_breaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.pcap"), pcap(&[10, 20, 30])).expect("written");
    let mut damaged = pcap(&[11, 21, 31]);
    // The second record claims a packet of 4 GiB.
    damaged[24 + 76 + 8..][..4].copy_from_slice(&[0xff; 4]);
    std::fs::write(path("b.pcap"), damaged).expect("written");
    std::fs::write(path("c.pcap"), &pcap(&[12, 22])[..24 + 77]).expect("written");
    let (a, b, c, out) = (
        path("a.pcap"),
        path("b.pcap"),
        path("c.pcap"),
        path("out.pcapng"),
    );
    let output = read(["-q", "-w", name(&out), name(&a), name(&b), name(&c)]);
    assert_eq!(output.status.code(), Some(1));
    let lines = text(&output.stderr);
    let (first, second) = lines.trim_end().split_once('\n').expect("two lines");
    assert!(first.starts_with(&format!(
        "tapline: {}: corrupt packet record (block 2 at byte 100)",
        b.display()
    )));
    assert!(second.starts_with(&format!(
        "tapline: {}: truncated packet record (block 2 at byte 100)",
        c.display()
    )));
    let times = tshark(&out, &["frame.time_epoch"]);
    let nanoseconds = |time: &String| {
        time.rsplit_once('.')
            .expect("a fraction")
            .1
            .parse()
            .expect("a number")
    };
    assert_eq!(
        times.iter().map(nanoseconds).collect::<Vec<u32>>(),
        [10, 11, 12, 20, 30]
    );
}

#[test]
fn every_cut_of_a_file_ends_in_order() {
    let bytes = std::fs::read(made("little.pcapng")).expect("the file");
    let whole = json(&[name(&made("little.pcapng"))]);
    for end in (4..bytes.len()).step_by(4) {
        let output = read_from(&bytes[..end], &["--json", "-q", "-"]);
        let errors = text(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{end}: {errors}"
        );
        assert_eq!(
            output.status.success(),
            errors.is_empty(),
            "{end}: {errors}"
        );
        let found = objects(&text(&output.stdout));
        let packets = found
            .iter()
            .filter(|object| object["event"] == "packet")
            .count();
        assert_eq!(found[..packets], whole[..packets], "{end}");
    }
}

#[test]
fn a_full_disk_is_one_line_and_the_account_adds_up() {
    let output = read(["--json", "-w", "/dev/full", name(&capture("icmpv6.pcap"))]);
    assert_eq!(output.status.code(), Some(1));
    let line = text(&output.stderr);
    assert!(
        line.contains("/dev/full") && line.contains("No space left on device"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    let summary = objects(&text(&output.stdout)).pop().expect("a summary");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let sum = number(&summary["delivered"])
        + number(&summary["filtered"])
        + number(&summary["lost"]["writer"]);
    assert_eq!(number(&summary["received"]), sum);
    assert_eq!(summary["written"], 0);
}

/// The reader has read only a part of the file when it is truncated, since its output is a full pipe.
#[test]
fn a_file_truncated_while_it_is_read_is_an_error_after_its_packets() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let times: Vec<u64> = (0..200_000).collect();
    file.write_all(&pcap(&times)).expect("written");
    for filter in [None, Some("ether proto 0x88b5")] {
        let copy = tempfile::NamedTempFile::new().expect("a file");
        std::fs::copy(file.path(), copy.path()).expect("copied");
        let mut command = command(["--json", name(copy.path())].into_iter().chain(filter));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("tapline runs");
        let mut first = [0; 1];
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut first).expect("a packet");
        copy.as_file().set_len(24 + 76 * 1000).expect("truncated");
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).expect("UTF-8");
        let output = child.wait_with_output().expect("it ends");
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains("the file was shortened while it was read"),
            "{errors}"
        );
        let packets = rest.lines().count() - 1;
        assert!((1000..200_000).contains(&packets), "{packets}");
    }
}
