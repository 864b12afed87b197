//! Options of the jobs that the examples do not use, in C and in C++.

use std::fs;
use std::process::Stdio;

use lab::generator::udp_frame;
use lab::{Host, Net};

use crate::support::{Checked, Checker, LANGUAGES, run, sanitized, twins};

/// The test program with this name in both languages, under checkers.
fn programs(name: &str) -> [Checked; 3] {
    twins(&format!("tests/programs/{name}"))
}

fn source(name: &str, extension: &str) -> String {
    format!("tests/programs/{name}.{extension}")
}

#[test]
fn an_event_loop_ends_with_the_time_limit_of_an_idle_capture() {
    for program in programs("options") {
        let [left, _right] = Net::new().pair();
        let name = left.interface().name.to_string();
        assert_eq!(program.start(&left, &["idle", &name]).finish(), ["done"]);
    }
}

#[test]
fn options_without_effect_are_refused() {
    // The program in C has more of these options.
    let of_c = Checker::Valgrind.program(&source("options", "c"), &[]);
    for program in programs("options").into_iter().chain([of_c]) {
        let host = Host::new("alone");
        assert_eq!(program.start(&host, &["refused", "lo"]).finish(), ["done"]);
    }
}

#[test]
fn a_signal_ends_calls_that_wait_and_is_for_the_program() {
    let program = sanitized(&source("options", "c"));
    let [left, _right] = Net::new().pair();
    let name = left.interface().name.to_string();
    for job in ["interrupted", "signalled"] {
        assert_eq!(program.start(&left, &[job, &name]).finish(), ["done"]);
    }
}

#[test]
fn an_event_loop_with_a_ping_or_a_count_neither_misses_the_end_nor_waits_in_a_call() {
    let program = sanitized(&source("options", "c"));
    let [left, _right] = Net::new().pair();
    let name = left.interface().name.to_string();
    assert_eq!(program.start(&left, &["polled", &name]).finish(), ["done"]);
}

#[test]
fn a_class_has_groups_until_the_map_is_full() {
    // 30 packets to port 53, 20 to port 443, and 10 to a third.
    let frames = [(53_u16, 30), (443, 20), (9, 10)].map(|(port, count)| {
        let mut frame = udp_frame(60);
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        vec![frame; count]
    });
    for extension in LANGUAGES {
        // Valgrind 3.19 does not know the calls that attach programs of eBPF.
        let program = sanitized(&source("groups", extension));
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let mut running = program.start(&right, &[&name, "60"]);
        running.ready();
        left.send(frames.iter().flatten());
        let expected = [
            "53: 30 packets, 1800 bytes",
            "443: 20 packets, 1200 bytes",
            "others: 10 packets",
        ];
        assert_eq!(running.finish(), expected, "{extension}");
    }
}

#[test]
fn groups_for_which_there_is_no_memory_are_an_error() {
    // Runs without a checker, because sanitizers need more memory than the limit allows.
    let program = Checker::Valgrind.program(&source("groups_memory", "c"), &[]);
    let frames: Vec<_> = (1..=50_000_u16)
        .map(|port| {
            let mut frame = udp_frame(60);
            frame[36..38].copy_from_slice(&port.to_be_bytes());
            frame
        })
        .collect();
    let [left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let mut command = right.command(program.path.to_str().expect("a path of text"));
    command
        .args([name.as_str(), "50000"])
        .stdout(Stdio::piped());
    let mut running = run(command);
    running.ready();
    // The receive queue of a veth with an XDP program has 256 entries.
    let mut sent = 0;
    for some in frames.chunks(100) {
        left.send(some);
        sent += some.len();
        while running.line().parse::<usize>().expect("a number") < sent {}
    }
    assert_eq!(running.finish(), ["done"]);
}

#[test]
fn rotated_files_are_complete_and_the_oldest_are_removed() {
    let host = Host::new("alone");
    for program in programs("rotate") {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.pcapng");
        program
            .start(&host, &[path.to_str().expect("text"), "35"])
            .finish();
        let entries = fs::read_dir(folder.path()).expect("the folder");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
        files.sort();
        let counts = files.iter().map(|file| {
            let name = file.file_name().expect("a name").to_string_lossy();
            let printed = host.output_of(&format!("tcpdump --count -nr {}", file.display()));
            let number = printed.split(' ').next().unwrap_or_default().to_owned();
            format!("{} {number}", &name[..11])
        });
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, ["trace_00003 10", "trace_00004 5"]);
    }
}

#[test]
fn generated_packets_arrive() {
    for extension in LANGUAGES {
        // Valgrind does not know the calls that run programs of eBPF.
        let counting = sanitized(&source("groups", extension));
        let sending = sanitized(&source("generate", extension));
        let [left, right] = Net::new().pair();
        let [from, to] = [&left, &right].map(|host| host.interface().name.to_string());
        let mut running = counting.start(&right, &[&to, "90"]);
        running.ready();
        let before = right.counters();
        let printed = sending.start(&left, &[&from]).finish();
        assert_eq!(printed, ["90 accepted"]);
        let after = right.counters();
        assert_eq!(after.rx_packets - before.rx_packets, 90);
        assert_eq!(after.rx_bytes - before.rx_bytes, 9000);
        let lines = running.finish();
        // There is room for the groups of two of the three ports.
        let groups: Vec<_> = lines
            .iter()
            .map(|line| &line[line.find(':').unwrap_or(0)..])
            .collect();
        let group = ": 30 packets, 3000 bytes";
        assert_eq!(groups, [group, group, ": 30 packets"], "{lines:?}");
    }
}
