//! What people read of a count: lines in a pipe, a table on a terminal, a summary, and its end.

use crate::support;
use crate::support::count::{OFTEN, command, start_text};
use crate::support::frames::{frames, udp};
use crate::support::run::{spawn, spawn_into};
use crate::support::terminal::Terminal;
use crate::support::{Scene, name};
use lab::wait;
use rustix::io::ioctl_fionread;
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::Signal;

#[test]
fn a_line_tells_each_class_and_interval() {
    let scene = Scene::new();
    let arguments = [&OFTEN[..], &["test=ether proto 0x88b5", "udp"]].concat();
    let mut running = start_text(&scene.right, &arguments);
    scene.send(&frames(1234, 100));
    let mut packets = 0;
    while packets < 1234 {
        let line = running.line();
        let Some((time, rest)) = line.split_once("  test") else {
            assert!(
                line.contains("  udp ") && line.contains(" 0 packets"),
                "{line}"
            );
            continue;
        };
        assert_eq!(time.len(), "12:34:56.789".len(), "{line}");
        let (count, rest) = rest.split_once(" packets").expect("packets");
        packets += count.replace(' ', "").parse::<u64>().expect("a number");
        assert!(rest.contains(" bytes ") && rest.ends_with("bps"), "{line}");
    }
    let ended = running.stop();
    ended.exit(0);
    // A line of its own, the heading, each class with what both directions saw of it, and by what.
    let summary = &ended.stdout[ended.stdout.len() - 9..];
    assert_eq!(summary[0], "");
    let link = name(&scene.right);
    let start = |line: usize| summary[line].split("  ").next().expect("a name");
    assert!(summary[1].contains("packets") && summary[1].contains("bytes (l2)"));
    assert_eq!(start(2), "test");
    assert!(
        summary[2].contains(" 1 234 ") && summary[2].contains(" 123 400 "),
        "{summary:?}"
    );
    assert!(
        summary[3].starts_with(&format!("  {link} in ")),
        "{summary:?}"
    );
    assert!(
        summary[4].starts_with(&format!("  {link} out ")),
        "{summary:?}"
    );
    assert_eq!(start(5), "udp");
    let hooks = format!("counted on {link}: in by xdp-native, out by tcx");
    assert_eq!(summary[8], hooks);
}

/// What the kernel had no room for is called the same in every form.
#[test]
fn groups_without_room_are_other() {
    let scene = Scene::new();
    let datagrams = [1000_u16, 1001, 1002].map(|port| {
        let mut frame = udp(b"a datagram");
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame
    });
    for (flags, told) in [
        (&[][..], "  all  (other)              2 packets "),
        (&["--csv"], ",all,(other),2,"),
        (&["--json"], "\"other\":{\"packets\":2,"),
    ] {
        let arguments = [
            flags,
            &["--by", "dport", "--groups", "1", "--interval", "1h"],
        ]
        .concat();
        let mut running = spawn(command(&scene.right, &arguments));
        if flags.contains(&"--json") {
            running.ready();
        } else {
            while !running.error_line().starts_with("counting on ") {}
        }
        scene.send(&datagrams);
        let ended = running.stop();
        ended.exit(0);
        assert!(
            ended.stdout.iter().any(|line| line.contains(told)),
            "{ended:?}"
        );
    }
}

#[test]
fn a_quiet_count_tells_the_intervals_alone() {
    let scene = Scene::new();
    // One interval, which the end cuts short.
    for (format, lines) in [(&[][..], 1), (&["--csv"], 2)] {
        let arguments = [&["-q", "--interval", "1h", "--duration", "5ms"], format].concat();
        let ended = support::count::run(&scene.right, &arguments);
        ended.exit(0);
        assert_eq!(ended.stdout.len(), lines, "{ended:?}");
        assert!(ended.stderr.is_empty(), "{ended:?}");
    }
}

#[test]
fn a_signal_ends_the_count_in_order() {
    let scene = Scene::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        // In the first interval, which is far from over.
        let mut long = command(&scene.right, &["--json", "--interval", "1h", "all="]);
        long.arg("none=vlan 4095");
        let mut running = spawn(long);
        running.ready();
        scene.send(&frames(200, 100));
        running.signal(signal);
        let ended = running.finish();
        ended.exit(0);
        let all = support::count::totals(&ended, "all");
        assert_eq!(support::count::tally(&all), (200, 20_000));
    }
}

#[test]
fn the_time_ends_the_count() {
    let scene = Scene::new();
    let arguments = ["--interval", "10ms", "--duration", "25ms", "--json"];
    let ended = support::count::run(&scene.right, &arguments);
    ended.exit(0);
    let duration = ended.summary().number("duration_ns");
    assert!(duration >= 25_000_000, "{duration}");
    support::count::totals(&ended, "all");
}

#[test]
fn a_terminal_has_a_table_that_is_drawn_over_itself() {
    let scene = Scene::new();
    let classes = [&OFTEN[..], &["test=ether proto 0x88b5", "udp"]].concat();
    let command = command(&scene.right, &classes);
    let (mut terminal, running) = Terminal::start(command, 80, 24);
    terminal.wait_for("packets/s");
    // Heading and two classes.
    terminal.wait_for("\r\x1b[3A\x1b[J");
    scene.send(&frames(1234, 100));
    terminal.wait_for(" 1 234  ");
    terminal.wait_for("█");
    // In another window it begins anew.
    terminal.seen.clear();
    terminal.resize(40, 2);
    terminal.wait_for("\r\x1b[J");
    terminal.wait_for("(3 more lines)");
    terminal.resize(80, 24);
    running.signal(Signal::INT);
    terminal.wait_for("bytes (l2)");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    // Colours are the only state of a terminal that is changed, and each ends in its line.
    let changes = terminal.seen.matches("\x1b[").count();
    let harmless = [
        "\x1b[J", "\x1b[2m", "\x1b[0m", "\x1b[1A", "\x1b[2A", "\x1b[3A",
    ];
    let known: usize = harmless
        .iter()
        .map(|code| terminal.seen.matches(code).count())
        .sum();
    assert_eq!(changes, known, "{:?}", terminal.seen);
    assert_eq!(
        terminal.seen.matches("\x1b[2m").count(),
        terminal.seen.matches("\x1b[0m").count()
    );
}

#[test]
fn a_quiet_count_has_no_table() {
    let scene = Scene::new();
    let arguments = [&OFTEN[..], &["-q"]].concat();
    let (mut terminal, running) = Terminal::start(command(&scene.right, &arguments), 80, 24);
    terminal.wait_for(" packets ");
    running.signal(Signal::INT);
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(!terminal.seen.contains('\x1b'), "{:?}", terminal.seen);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let scene = Scene::new();
    // A small pipe that nobody reads: the orderly end cannot come about.
    let (read, write) = std::io::pipe().expect("a pipe");
    let bytes = fcntl_setpipe_size(&read, 4096).expect("its size");
    let mut command = command(&scene.right, &["--json", "--interval", "1ms"]);
    command.stdout(write);
    let running = spawn_into(command);
    wait::until("the pipe has no room for another line", || {
        ioctl_fionread(&read).expect("its content") + 200 > bytes as u64
    });
    running.signal(Signal::INT);
    running.takes_another();
    running.signal(Signal::TERM);
    assert_eq!(running.finish().status.code(), Some(130));
}
