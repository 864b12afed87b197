//! `tapline ping --live`: what is drawn on a terminal, its keys, and its end.

use std::process::Command;

use rustix::process::Signal;

use crate::support::ping::{dead_ends, ping};
use crate::support::run::{Ended, Running};
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, Scene, assert_refused, words};

/// In a session of its own, so that it has a terminal whose keys it reads.
fn command(scene: &Scene, line: &str) -> Command {
    let mut command = scene.left.command("setsid");
    command.args(["--ctty", PROGRAM, "ping", "--live"]);
    command.args(words(line));
    command
}

/// What is left on the terminal behind the last drawing.
fn summary(terminal: &Terminal) -> Vec<String> {
    let end = terminal.seen.rsplit("\x1b[J").next().expect("an end");
    end.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[track_caller]
fn finish(terminal: &mut Terminal, running: Running, last: &str) -> Ended {
    terminal.wait_for(last);
    running.finish()
}

#[test]
fn keys_sort_the_table_and_end_the_run() {
    let scene = Scene::new();
    dead_ends(&scene);
    let command = command(&scene, "-i 50ms 10.1.0.2 10.9.0.1 192.0.2.1");
    let (mut terminal, running) = Terminal::start_session(command, 90, 24);
    terminal.wait_for("sorted by loss; s: by delay, q: end");
    assert!(!terminal.is_as_usual());
    terminal.wait_for("errors: ");
    terminal.wait_for(" from 10.1.0.2: Destination Host Unreachable");
    terminal.wait_for("latest: Network is unreachable");
    terminal.wait_for("××××");
    terminal.wait_for("████");
    terminal.press("s");
    terminal.wait_for("sorted by delay; s: by list, q: end");
    terminal.press("ss");
    terminal.seen.clear();
    terminal.wait_for("sorted by loss; s: by delay, q: end");
    // In another window it begins anew, and fewer lines fit.
    terminal.resize(60, 10);
    terminal.seen.clear();
    terminal.wait_for("\r\x1b[J");
    terminal.wait_for("more targets)");
    terminal.resize(90, 24);
    terminal.press("q");
    let ended = finish(&mut terminal, running, "raw back end");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(terminal.is_as_usual());
    let said = summary(&terminal);
    let line = |start: &str| said.iter().any(|line| line.starts_with(start));
    assert!(line("10.1.0.2  : xmt/rcv/%loss = "), "{said:?}");
    assert!(line("192.0.2.1 : xmt/rcv/%loss = 0/0/-, "), "{said:?}");
    assert!(line("3 targets: 1 answered, 2 did not"), "{said:?}");
}

#[test]
fn a_single_target_ends_as_ping_tells_it() {
    let scene = Scene::new();
    for end in ["\x03", "q"] {
        let command = command(&scene, "-i 20ms 10.1.0.2");
        let (mut terminal, running) = Terminal::start_session(command, 80, 24);
        terminal.wait_for("PING 10.1.0.2 (10.1.0.2) 56(84) bytes of data.");
        terminal.wait_for("1 target: 1 answered, 0 did not");
        terminal.press(end);
        let ended = finish(&mut terminal, running, "raw back end");
        ended.exit(0);
        assert!(terminal.is_as_usual());
        let said = summary(&terminal);
        assert_eq!(said[1], "--- 10.1.0.2 ping statistics ---");
        assert!(said[2].contains(" packets transmitted, ") && said[3].starts_with("rtt "));
    }
}

#[test]
fn thousands_of_targets_fit_into_the_window() {
    let scene = Scene::new();
    let command = command(&scene, "-c 2 -i 0 --rate 20kpps 127.0.0.0/18");
    let (mut terminal, running) = Terminal::start_session(command, 80, 24);
    let ended = finish(&mut terminal, running, "raw back end");
    ended.exit(0);
    // The heading's three lines, a blank, the table's heading, 17 rows, what is left out, the keys; the
    // cursor is below.
    let drawn = "\x1b[23A\x1b[J";
    assert!(terminal.seen.contains(drawn), "{:?}", terminal.seen);
    assert!(terminal.seen.contains("(16 366 more targets)"));
    let said = summary(&terminal);
    assert!(said.len() <= 24, "{said:?}");
    let all = "32 764 probes sent = 32 764 received + 0 lost + 0 late + 0 errors";
    assert!(said.contains(&all.to_owned()), "{said:?}");
}

/// Without a session there is a terminal to draw on, but none with keys.
#[test]
fn without_keys_signals_end_it() {
    let scene = Scene::new();
    let mut command = scene.left.command("setsid");
    command.args([PROGRAM, "ping", "--live", "-i", "20ms", "10.1.0.2"]);
    let (mut terminal, running) = Terminal::start(command, 80, 24);
    terminal.wait_for("sorted by loss\x1b[0m\r");
    assert!(terminal.is_as_usual());
    running.signal(Signal::INT);
    finish(&mut terminal, running, "raw back end").exit(0);
}

#[test]
fn without_a_terminal_it_is_refused() {
    let scene = Scene::new();
    assert_refused(
        |line| ping(&scene, &format!("--live 10.1.0.2 {line}")),
        &[
            ("-c 1", 2, "--live draws on a terminal"),
            ("--json", 2, "cannot be used with"),
            ("--csv", 2, "cannot be used with"),
            ("-v", 2, "cannot be used with"),
            ("-q", 2, "cannot be used with"),
            ("--dry-run", 2, "cannot be used with"),
        ],
    );
    let mut dumb = scene.left.command("setsid");
    dumb.args([
        "--ctty",
        "env",
        "TERM=dumb",
        PROGRAM,
        "ping",
        "--live",
        "10.1.0.2",
    ]);
    let (_terminal, running) = Terminal::start_session(dumb, 80, 24);
    let ended = running.finish();
    assert!(
        ended.refusal(2).contains("this terminal cannot"),
        "{ended:?}"
    );
}
