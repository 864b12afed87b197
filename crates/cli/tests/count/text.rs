//! Text output of a count: lines in a pipe, a table on a terminal, a summary, and the end.

use lab::wait;
use rustix::io::ioctl_fionread;
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::Signal;

use crate::support::count::{run, start, start_text, tally, totals};
use crate::support::frames::{frames, udp};
use crate::support::run::spawn_into;
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, Scene, ending, ip, words};

#[test]
fn a_line_tells_each_class_and_interval() {
    let scene = Scene::new();
    let mut running = start_text(&scene, "--interval 5ms 'test=ether proto 0x88b5' udp");
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
    for (line, words) in [
        (1, &["packets", "bytes (l2)"][..]),
        (2, &["test  ", " 1 234 ", " 123 400 "]),
        (3, &["  right0 in "]),
        (4, &["  right0 out "]),
        (5, &["udp  "]),
    ] {
        assert!(
            words.iter().all(|words| summary[line].contains(words)),
            "{words:?} in {summary:?}"
        );
    }
    let ends = [&summary[0], &summary[8]];
    assert_eq!(
        ends,
        ["", "counted on right0: in by xdp-native, out by tcx"]
    );
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
    let groups = "--by dport --groups 1 --interval 1h";
    for (format, told) in [
        ("", "  all  (other)              2 packets "),
        ("--csv", ",all,(other),2,"),
        ("--json", "\"other\":{\"packets\":2,"),
    ] {
        let running = match format {
            "--json" => start(&scene, groups),
            format => start_text(&scene, &format!("{groups} {format}")),
        };
        scene.send(&datagrams);
        let ended = running.stop();
        ended.exit(0);
        ended.assert_mentions(told);
    }
}

#[test]
fn a_quiet_count_tells_the_intervals_alone() {
    let scene = Scene::new();
    // One interval, which the end cuts short.
    for (format, lines) in [("", 1), ("--csv", 2)] {
        let ended = run(&scene, &format!("-q --interval 1h --duration 5ms {format}"));
        ended.exit(0);
        assert_eq!(
            (ended.stdout.len(), ended.stderr.len()),
            (lines, 0),
            "{ended:?}"
        );
    }
}

#[test]
fn a_signal_or_the_time_ends_the_count_in_order() {
    let scene = Scene::new();
    for signal in ending() {
        // In the first interval, which is far from over.
        let running = start(&scene, "--interval 1h all= 'none=vlan 4095'");
        scene.send(&frames(200, 100));
        running.signal(signal);
        let ended = running.finish();
        ended.exit(0);
        assert_eq!(tally(&totals(&ended, "all")), (200, 20_000));
    }
    let ended = run(&scene, "--interval 10ms --duration 25ms --json");
    let duration = ended.done().number("duration_ns");
    assert!(duration >= 25_000_000, "{duration}");
    totals(&ended, "all");
}

#[test]
fn a_terminal_has_a_table_that_is_drawn_over_itself() {
    let scene = Scene::new();
    let command = scene.command("count -i right0 --interval 5ms 'test=ether proto 0x88b5' udp");
    let (mut terminal, running) = Terminal::start(command, 80, 24);
    terminal.wait_for("packets/s");
    assert!(terminal.is_filled());
    scene.send(&frames(1234, 100));
    terminal.wait_for_shown(" 1 234  ");
    terminal.wait_for("█");
    terminal.wait_for_shown("packets per second  test  udp");
    // In another window it is drawn anew.
    terminal.resize(40, 2);
    terminal.wait_for_shown("(2 more lines)");
    terminal.resize(80, 24);
    running.signal(Signal::INT);
    terminal.wait_for("bytes (l2)");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(terminal.is_as_usual());
    let rest = terminal.seen.rsplit("\x1b[?1049l").next().expect("an end");
    assert!(!rest.contains('\x1b'), "{rest:?}");
}

/// Keys are handled during an interval, and a failure restores the terminal before it is printed.
#[test]
fn keys_and_failures_of_a_screen() {
    let scene = Scene::new();
    let session = |line: &str| {
        let mut command = scene.right.command("setsid");
        command.args(["--ctty", PROGRAM, "count", "-i", "right0"]);
        command.args(words(line));
        Terminal::start_session(command, 100, 24)
    };
    let (mut terminal, running) = session("--interval 1h all=");
    terminal.wait_for_shown("sorted by list; s: by packets, q: end");
    terminal.press("s");
    terminal.wait_for_shown("sorted by packets; s: by bits, q: end");
    terminal.press("q");
    terminal.wait_for("bytes (l2)");
    assert_eq!(running.finish().status.code(), Some(0));
    assert!(terminal.is_as_usual());

    let (mut terminal, running) = session("--interval 10ms all=");
    terminal.wait_for_shown("q: end");
    ip(&scene.right, "link delete right0");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(
        ended
            .stderr
            .iter()
            .any(|line| line.contains("right0 was removed")),
        "{ended:?}"
    );
    terminal.read_to_end();
    assert!(terminal.is_as_usual());
}

/// In windows of any width, also without colours, and while the window changes.
#[test]
fn a_screen_fits_every_window_and_follows_its_changes() {
    let scene = Scene::new();
    for (columns, colors) in [(60, "1"), (80, ""), (200, "")] {
        let mut command =
            scene.command("count -i right0 --interval 5ms 'test=ether proto 0x88b5' udp");
        command.env("NO_COLOR", colors);
        let (mut terminal, running) = Terminal::start(command, columns, 24);
        terminal.wait_for_shown("packets per second  test  udp");
        for wanted in [200, 60, 80] {
            terminal.resize(wanted, 24);
            let axis = format!("└{}", "─".repeat(usize::from(wanted) - 2));
            terminal.wait_for_shown(&axis);
            terminal.wait_for_shown("udp ");
        }
        assert_eq!(terminal.seen.contains("\x1b[2m"), colors.is_empty());
        running.signal(Signal::INT);
        running.finish().exit(0);
        terminal.read_to_end();
        assert!(terminal.is_as_usual());
    }
}

/// A terminal that takes nothing but lines gets lines.
#[test]
fn a_plain_terminal_has_lines() {
    let scene = Scene::new();
    let mut command = scene.command("count -i right0 --interval 5ms");
    command.env("TERM", "dumb");
    let (mut terminal, running) = Terminal::start(command, 80, 24);
    terminal.wait_for(" packets ");
    running.signal(Signal::INT);
    running.finish().exit(0);
    terminal.read_to_end();
    assert!(!terminal.seen.contains('\x1b'), "{:?}", terminal.seen);
}

#[test]
fn a_quiet_count_has_no_table() {
    let scene = Scene::new();
    let command = scene.command("count -i right0 --interval 5ms -q");
    let (mut terminal, running) = Terminal::start(command, 80, 24);
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
    let mut command = scene.command("count -i right0 --json --interval 1ms");
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
