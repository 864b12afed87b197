//! Live pipes, closed pipes and signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lab::wait;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::files::{capture, count, count_by_tcpdump, pcap};
use crate::support::run::{command, run, run_with, spawn};
use crate::support::{text, tool_bytes};

/// Starts it with three pipes.
fn start(line: &str) -> (Child, ChildStdin, ChildStdout) {
    let mut command = command(line);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("tapline runs");
    let stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    (child, stdin, stdout)
}

/// Its end in order, with this on standard error.
#[track_caller]
fn assert_ends(child: Child, errors: &str) {
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*said), (Some(0), errors));
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

#[test]
fn packets_that_have_arrived_are_printed_before_more_are_waited_for() {
    let (child, mut stdin, stdout) = start("read -");
    let mut lines = BufReader::new(stdout).lines();
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
    assert_ends(
        child,
        "2 packets read = 2 delivered + 0 filtered + 0 lost\n",
    );
    drop(stdin);
}

#[test]
fn a_signal_ends_a_copy_in_order() {
    let (child, mut stdin, mut stdout) = start("read -q -w - --format pcap-ns -");
    let bytes = pcap(&[1, 2, 3]);
    // Two packets and a half: the half is neither an error nor in the copy.
    let (whole, half) = bytes.split_at(24 + 2 * 76);
    stdin.write_all(whole).expect("written");
    let mut copy = vec![0; whole.len()];
    stdout.read_exact(&mut copy).expect("two packets");
    stdin.write_all(&half[..30]).expect("written");
    signal(&child, Signal::TERM);
    stdout.read_to_end(&mut copy).expect("the end");
    assert_ends(child, "");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), copy).expect("written");
    assert_eq!(count(&text(file.path())), 2);
    drop(stdin);
}

#[test]
fn a_closed_pipe_is_an_end_in_order() {
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), pcap(&vec![0; 100_000])).expect("written");
    for flags in ["-q", "-q --json", "-q -w -"] {
        let (child, _stdin, stdout) = start(&format!("read {flags} {}", text(path.path())));
        drop(stdout);
        assert_ends(child, "");
    }
}

#[test]
fn a_signal_ends_the_wait_for_the_writer_of_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = text(&folder.path().join("fifo"));
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo runs").success());
    let mut reader = command(&format!("capture -i {fifo}"));
    let mut child = reader.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert_eq!(line(), format!("reading packets from the pipe {fifo}"));
    wait::until("it handles signals", || {
        let path = format!("/proc/{}/status", child.id());
        let status = std::fs::read_to_string(path).expect("its status");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.expect("a mask").trim(), 16);
        caught.expect("a mask") & 1 << (Signal::INT.as_raw() - 1) != 0
    });
    signal(&child, Signal::INT);
    assert!(line().ends_with("not a capture file: the input is empty"));
    assert_eq!(child.wait().expect("its status").code(), Some(1));
}

#[test]
fn a_capture_reads_pipes_as_dumpcap_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let [fifo, kept, plain] =
        ["fifo", "kept.pcapng", "plain.pcap"].map(|name| text(&folder.path().join(name)));
    let source = capture("edns-opts.pcap");
    let expected = count_by_tcpdump(&source, "udp port 53");
    assert!(expected > 0);
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo runs").success());
    // A pipe in the folder needs no path, unless an interface has its name.
    let line = format!("capture -i fifo -w {kept} --json udp port 53");
    let mut reader = command(&line);
    reader.current_dir(folder.path());
    let reader = spawn(reader);
    // Opening it waits for the reader.
    std::fs::copy(&source, &fifo).expect("written");
    let summary = reader.done();
    assert_eq!(summary.number("written"), expected);
    assert_eq!(count(&kept), expected);
    // From another capture program, by standard input; with every rotation limit at once.
    let tcpdump = tool_bytes("tcpdump", &format!("-n -r {source} -w -"));
    let rotated = "--rotate-packets 1 --rotate-size 1M --rotate-interval 1h --keep 2";
    let line = format!("capture -i - -w {plain} {rotated} --json udp port 53");
    let ended = run_with(&tcpdump, &line);
    assert_eq!(ended.done().files().len(), 2);
    for (line, said) in [
        (
            "capture -i - -i lo",
            "packets of pipes and of interfaces cannot be captured together",
        ),
        (
            "capture -i - --duration 1s",
            "--duration needs an interface, not a pipe",
        ),
        (
            "capture -i - --record 1M -w x.pcapng",
            "--record needs an interface, not a pipe",
        ),
        (
            "capture -i - -- true",
            "a command needs an interface, not a pipe",
        ),
        (
            &format!("capture -i {source}"),
            "is a file, not an interface: use 'tapline read",
        ),
    ] {
        let refused = run(line);
        assert!(refused.refusal(2).contains(said), "{line}: {refused:?}");
    }
}
