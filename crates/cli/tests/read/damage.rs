//! Damaged files: packets before the damage are delivered, and one line states the offset.

use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::json;

use crate::support::files::{capture, column, count, made, pcap};
use crate::support::run::{command, events, run, run_with};
use crate::support::{assert_has, number, text};

#[test]
fn a_file_that_is_cut_short_gives_its_packets_and_the_place() {
    let whole = pcap(&[1, 2, 3]);
    let folder = tempfile::tempdir().expect("a folder");
    let [path, copy] = ["cut.pcap", "copy.pcap"].map(|name| text(&folder.path().join(name)));
    std::fs::write(&path, &whole[..24 + 2 * 76 + 20]).expect("written");
    let expected = format!(
        "tapline: {path}: truncated packet record (block 3 at byte 176): the input ends, 76 bytes needed, 20 \
         available"
    );
    for (flags, lines) in [("-q", 2), (&*format!("-q -w {copy}"), 0)] {
        let ended = run(&format!("read {flags} {path}"));
        assert_eq!(ended.status.code(), Some(1));
        assert_eq!(
            (&ended.stderr[..], ended.stdout.len()),
            (&[expected.clone()][..], lines)
        );
    }
    assert_eq!(count(&copy), 2);
    let summary = run(&format!("read --json {path}")).summary();
    assert_eq!(summary.number("received"), 2);
    let error = summary.0["inputs"][0]["error"].as_str();
    assert!(
        error.is_some_and(|error| error.starts_with("truncated")),
        "{summary:?}"
    );
}

#[test]
fn other_files_go_on_when_one_breaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let [a, b, c, out] =
        ["a.pcap", "b.pcap", "c.pcap", "out.pcapng"].map(|name| text(&folder.path().join(name)));
    let mut damaged = pcap(&[11, 21, 31]);
    // The second record claims a packet of 4 GiB.
    damaged[24 + 76 + 8..][..4].copy_from_slice(&[0xff; 4]);
    for (file, bytes) in [
        (&a, &pcap(&[10, 20, 30])[..]),
        (&b, &damaged),
        (&c, &pcap(&[12, 22])[..24 + 77]),
    ] {
        std::fs::write(file, bytes).expect("written");
    }
    let ended = run(&format!("read -q -w {out} {a} {b} {c}"));
    assert_eq!(
        (ended.status.code(), ended.stderr.len()),
        (Some(1), 2),
        "{ended:?}"
    );
    for (line, file, kind) in [(0, b, "corrupt"), (1, c, "truncated")] {
        let start = format!("tapline: {file}: {kind} packet record (block 2 at byte 100)");
        assert!(ended.stderr[line].starts_with(&start), "{ended:?}");
    }
    let times: Vec<String> = column(&out, "frame.time_epoch");
    let nanoseconds = times
        .iter()
        .map(|time| time.rsplit_once('.').expect("a fraction").1.parse::<u32>());
    assert_eq!(
        nanoseconds.collect::<Result<Vec<_>, _>>(),
        Ok(vec![10, 11, 12, 20, 30])
    );
}

#[test]
fn every_cut_of_a_file_ends_in_order() {
    let file = made("little.pcapng");
    let bytes = std::fs::read(&file).expect("the file");
    let whole = events(&format!("read {file}"));
    for end in (4..bytes.len()).step_by(4) {
        let ended = run_with(&bytes[..end], "read --json -q -");
        assert!(
            matches!(ended.status.code(), Some(0 | 1)),
            "{end}: {ended:?}"
        );
        assert_eq!(
            ended.status.success(),
            ended.stderr.is_empty(),
            "{end}: {ended:?}"
        );
        let packets = ended.events_of("packet");
        assert_eq!(packets, whole[..packets.len()], "{end}");
    }
}

#[test]
fn a_full_disk_is_one_line_and_the_account_adds_up() {
    let ended = run(&format!(
        "read --json -w /dev/full {}",
        capture("icmpv6.pcap")
    ));
    let line = ended.exit(1);
    assert!(
        line.contains("/dev/full")
            && line.ends_with("No space left on device (free space, or use --compress zstd)"),
        "{line}"
    );
    assert_eq!(ended.stderr.len(), 1);
    let summary = ended.summary();
    let lost = number(&summary.0["lost"], "writer");
    let sum = summary.number("delivered") + summary.number("filtered") + lost;
    assert_has(&summary.0, &json!({"received": sum, "written": 0}));
}

/// The reader has read only a part of the file when it is truncated, since its output is a full pipe.
#[test]
fn a_file_truncated_while_it_is_read_is_an_error_after_its_packets() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let times: Vec<u64> = (0..200_000).collect();
    file.write_all(&pcap(&times)).expect("written");
    for filter in ["", "ether proto 0x88b5"] {
        let copy = tempfile::NamedTempFile::new().expect("a file");
        std::fs::copy(file.path(), copy.path()).expect("copied");
        let mut command = command(&format!("read --json {} {filter}", copy.path().display()));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("tapline runs");
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut [0; 1]).expect("a packet");
        copy.as_file().set_len(24 + 76 * 1000).expect("truncated");
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).expect("UTF-8");
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains("the file was shortened while it was read"),
            "{errors}"
        );
        let packets = rest.lines().count() - 1;
        assert!((1000..200_000).contains(&packets), "{packets}");
    }
}

/// A file, which may be compressed, cannot make a summary take as much memory as its comments have bytes.
#[test]
fn a_summary_keeps_comments_up_to_a_limit_and_the_last_counters() {
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let magic = 0x1a2b_3c4d_u32.to_le_bytes();
    let header = [&magic[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let mut file = block(0x0a0d_0d0a, &header);
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 0, 0]));
    let comment_bytes = 60_000_u16;
    let comment = vec![b'x'; usize::from(comment_bytes)];
    let all = 400_u64;
    for received in 1..=all {
        // Interface 0 and the time 0; a comment, and isb_ifrecv.
        let options = [
            &[0; 12][..],
            &[1, 0],
            &comment_bytes.to_le_bytes(),
            &comment,
            &[4, 0, 8, 0],
            &received.to_le_bytes(),
            &[0; 4],
        ];
        file.extend(block(5, &options.concat()));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = text(&folder.path().join("notes.pcapng"));
    std::fs::write(&path, file).expect("written");
    let report = events(&format!("read --summary {path}"));
    let interface = &report[0]["interfaces"][0];
    let last = json!({"statistics_blocks": all, "statistics": {"received": all, "comment": null}});
    assert_has(interface, &last);
    // 16 MiB of comments, of which each takes somewhat more than its bytes.
    let notes = interface["notes"].as_array().expect("notes");
    let most = (16 << 20) / usize::from(comment_bytes);
    assert!((most - 4..=most).contains(&notes.len()), "{}", notes.len());
    let length_of = |note: &serde_json::Value| note["comment"].as_str().map(str::len);
    assert!(
        notes
            .iter()
            .all(|note| length_of(note) == Some(comment.len()))
    );
}
