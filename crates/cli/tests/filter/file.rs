//! Filters from files, beside tcpdump's -F, and lists too long for a command line.

use std::fmt::Write;
use std::fs;

use crate::support::files::{capture, tcpdump};
use crate::support::frames::udp;
use crate::support::run::{printed, run, run_with};
use crate::support::{Scene, assert_refused, text, tool};

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

#[test]
fn lines_and_comments_mean_what_they_mean_to_tcpdump() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, theirs, ours] =
        ["filter", "a.pcap", "b.pcap"].map(|name| text(&folder.path().join(name)));
    fs::write(&file, COMMENTED).expect("a file");
    let trace = capture("eapon1.pcap");
    tool(
        "tcpdump",
        &format!("--nano -r {trace} -w {theirs} -F {file}"),
    );
    printed(&format!("read -q -F {file} {trace} -w {ours}"));
    let selected = tcpdump(&ours).expect("our file");
    assert_eq!(selected, tcpdump(&theirs).expect("its own file"));
    assert_ne!(selected, "", "something is selected");
}

#[test]
fn a_filter_on_standard_input_is_that_of_the_command_line() {
    let from_input = run_with(COMMENTED.as_bytes(), "filter -F - --emit classic");
    let from_words = printed("filter --emit classic udp port 53 or icmp or arp");
    assert_eq!(from_input.stdout, from_words);
}

#[test]
fn a_list_longer_than_a_command_line_is_captured_by() {
    let scene = Scene::new();
    scene.write("filter", list("udp"));
    let running = scene.capture("-w out.pcapng -F filter");
    scene.send(&vec![udp(b"wanted"); 9]);
    let summary = running.stop_after(9).summary();
    assert_eq!(
        (summary.number("delivered"), &summary.0["filter"]),
        (9, &"split".into())
    );
}

#[test]
fn what_is_no_filter_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("filter"));
    let filter = format!("filter -F {file}");
    let read = format!("read -F {file} {}", capture("eapon1.pcap"));
    let no_file = "cannot read filter file";
    assert_refused(run, &[(&filter, 1, no_file), (&read, 1, no_file)]);
    fs::write(&file, "tcp\nprt 80").expect("a file");
    let ended = run(&filter);
    assert_eq!(
        (ended.status.code(), &*ended.stderr[1]),
        (Some(2), "  tcp prt 80")
    );
    assert_refused(run, &[(&format!("{filter} udp"), 2, "cannot be used with")]);
    fs::write(&file, " ".repeat(2 << 20)).expect("a file");
    assert!(run(&filter).exit(2).contains("longer than"));
    fs::write(&file, [0xff, 0xfe]).expect("a file");
    assert_refused(run, &[(&filter, 1, no_file)]);
}
