//! Live pipes, closed pipes and signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};

use crate::read_support::{command, name, pcap, text, tshark};
use rustix::process::{Pid, Signal, kill_process};

/// Starts it with three pipes.
fn start(args: &[&str]) -> (Child, ChildStdin) {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .expect("tapline runs");
    let stdin = child.stdin.take().expect("a pipe");
    (child, stdin)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

#[test]
fn packets_that_have_arrived_are_printed_before_more_are_waited_for() {
    let (mut child, mut stdin) = start(&["-"]);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let bytes = pcap(&[1_000_000_000, 2_000_000_000]);
    let (first, second) = bytes.split_at(24 + 76);
    for (bytes, start) in [
        (first, "00:00:01.000000000"),
        (second, "00:00:02.000000000"),
    ] {
        stdin.write_all(bytes).expect("written");
        let line = lines.next().expect("a line").expect("text");
        assert!(line.starts_with(start), "{line}");
    }
    // While it waits for more: an orderly end with the summary.
    signal(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    let summary = "2 packets read = 2 delivered + 0 filtered + 0 lost\n";
    assert_eq!(text(&output.stderr), summary);
    drop(stdin);
}

#[test]
fn a_signal_ends_a_copy_in_order() {
    let (mut child, mut stdin) = start(&["-q", "-w", "-", "--format", "pcap-ns", "-"]);
    let bytes = pcap(&[1, 2, 3]);
    // Two packets and a half: the half is neither an error nor in the copy.
    stdin.write_all(&bytes[..24 + 2 * 76]).expect("written");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut copy = vec![0; 24 + 2 * 76];
    stdout.read_exact(&mut copy).expect("two packets");
    stdin
        .write_all(&bytes[24 + 2 * 76..][..30])
        .expect("written");
    signal(&child, Signal::TERM);
    stdout.read_to_end(&mut copy).expect("the end");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new())
    );
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), copy).expect("written");
    assert_eq!(tshark(file.path(), &["frame.number"]), ["1", "2"]);
    drop(stdin);
}

#[test]
fn a_closed_pipe_is_an_end_in_order() {
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), pcap(&vec![0; 100_000])).expect("written");
    for args in [&["-q"][..], &["-q", "--json"], &["-q", "-w", "-"]] {
        let mut child = command(args.iter().copied().chain([name(path.path())]));
        let mut child = child
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("tapline runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(0), String::new())
        );
    }
}
