//! Filters from files, beside tcpdump's -F, and lists too long for a command line.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

use crate::read_support::{capture, feed, name, read, read_well, tcpdump, text};
use crate::support::Scene;
use crate::support::frames::udp;
use crate::support::run::start;

/// Long enough that the kernel takes no word of a command line that has it.
const HOSTS: u32 = 10_000;

const COMMENTED: &str = "# resolvers\nudp port 53 or # and\n\ticmp\n\n or arp # none";

/// A list of hosts that nobody is, a line each, and `expression`.
fn list(expression: &str) -> String {
    let mut text = format!("{expression} # wanted\n");
    for host in 0..HOSTS {
        // Far from one another, so that no two are a network.
        let [_, a, b, c] = (host * 1601).to_be_bytes();
        writeln!(text, "or host 240.{a}.{b}.{c}").expect("memory");
    }
    text
}

fn filter(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
    command
        .arg("filter")
        .args(arguments)
        .output()
        .expect("tapline runs")
}

#[test]
fn lines_and_comments_mean_what_they_mean_to_tcpdump() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, theirs, ours] = ["filter", "a.pcap", "b.pcap"].map(|name| folder.path().join(name));
    fs::write(&file, COMMENTED).expect("a file");
    let trace = capture("eapon1.pcap");
    let mut command = lab::tool::command("tcpdump");
    command.args([
        "--nano",
        "-r",
        name(&trace),
        "-w",
        name(&theirs),
        "-F",
        name(&file),
    ]);
    assert!(command.output().expect("tcpdump runs").status.success());
    let arguments = ["-q", "-F", name(&file), name(&trace), "-w", name(&ours)];
    read_well(arguments);
    let selected = tcpdump(&ours).expect("our file");
    assert_eq!(selected, tcpdump(&theirs).expect("its own file"));
    assert_ne!(selected, "", "something is selected");
}

#[test]
fn a_filter_on_standard_input_is_that_of_the_command_line() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
    command.args(["filter", "-F", "-", "--emit", "classic"]);
    let from_input = feed(command, COMMENTED.as_bytes());
    let from_words = filter(&["--emit", "classic", "udp port 53 or icmp or arp"]);
    assert!(from_words.status.success(), "{from_words:?}");
    assert_eq!(text(&from_input.stdout), text(&from_words.stdout));
}

#[test]
fn a_list_longer_than_a_command_line_is_captured_by() {
    let scene = Scene::new();
    let [file, out] = ["filter", "out.pcapng"].map(|name| scene.file(name));
    fs::write(&file, list("udp")).expect("a file");
    let arguments = ["-w", &out, "-F", &file, "--stats-interval", "5ms"];
    let mut running = start(&scene.right, &arguments);
    let frames = vec![udp(b"wanted"); 9];
    scene.send(&frames);
    running.received(9);
    let ended = running.stop();
    ended.exit(0);
    assert_eq!(ended.summary().number("delivered"), 9);
    assert_eq!(ended.summary().0["filter"], "split");
}

#[test]
fn what_is_no_filter_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("filter");
    let file = name(&file);
    let refused = |output: Output, status: i32, expected: &str| {
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{line}");
        assert!(line.contains(expected), "{line}");
    };
    let no_file = "cannot read filter file";
    refused(filter(&["-F", file]), 1, no_file);
    refused(
        read(["-F", file, name(&capture("eapon1.pcap"))]),
        1,
        no_file,
    );
    fs::write(file, "tcp\nprt 80").expect("a file");
    refused(filter(&["-F", file]), 2, "tcp prt 80");
    refused(filter(&["-F", file, "udp"]), 2, "cannot be used with");
    fs::write(file, " ".repeat(2 << 20)).expect("a file");
    refused(filter(&["-F", file]), 2, "longer than");
    fs::write(file, [0xff, 0xfe]).expect("a file");
    refused(filter(&["-F", file]), 1, no_file);
}
