//! `tapline ping --live`: its screen, its keys, and its end.

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

/// What is left on the terminal after the screen.
fn summary(terminal: &Terminal) -> Vec<String> {
    let end = terminal.seen.rsplit("\x1b[?1049l").next().expect("an end");
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
    terminal.wait_for_shown("sorted by loss; s: by delay, q: end");
    terminal.press("\x1b[B");
    terminal.wait_until("a selected row", |terminal| {
        terminal
            .shown()
            .lines()
            .nth(6)
            .is_some_and(|row| row.starts_with('>'))
    });
    // In another window it is drawn anew, and fewer lines fit.
    terminal.resize(60, 10);
    terminal.wait_for_shown("more targets)");
    terminal.wait_for_shown("sorted by loss; s: by delay, q: end, p: plot, arrows: scrol~");
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
fn changes_of_the_targets_are_shown() {
    let scene = Scene::new();
    // No resolver is reachable from the host.
    let list = scene.write("list", "10.1.0.2 h.test.\n");
    let command = command(&scene, &format!("-i 50ms --resolve-every 1m -f {list}"));
    let (mut terminal, running) = Terminal::start_session(command, 90, 24);
    terminal.wait_for_shown("h.test.   no addr");
    scene.write("list", "10.1.0.2 10.1.0.3\n");
    running.signal(Signal::HUP);
    terminal.wait_for_shown("tapline: h.test. removed: 0 probes sent");
    terminal.wait_until("a row comes and another goes", |terminal| {
        let shown = terminal.shown();
        let has = |name: &str| shown.lines().any(|row| row[1..].starts_with(name));
        has("10.1.0.3 ") && !has("h.test. ")
    });
    terminal.press("q");
    let ended = finish(&mut terminal, running, "raw back end");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    ended.assert_says("tapline: 10.1.0.3 added");
    ended.assert_says("tapline: targets read again: 1 added, 1 removed, 1 unchanged");
    let said = summary(&terminal);
    let line = |start: &str| said.iter().any(|line| line.starts_with(start));
    assert!(line("10.1.0.3 : xmt/rcv/%loss = "), "{said:?}");
    assert!(
        line("2 targets: 1 answered, 1 did not; 1 target removed after 0 probes"),
        "{said:?}"
    );
}

#[test]
fn thousands_of_targets_fit_into_the_window() {
    let scene = Scene::new();
    let command = command(&scene, "-c 2 -i 0 --rate 20kpps 127.0.0.0/18");
    let (mut terminal, running) = Terminal::start_session(command, 80, 24);
    // Three header lines, a blank line, the column names, 17 rows, the number of hidden rows, the keys.
    terminal.wait_for_shown("(16 365 more targets)");
    let ended = finish(&mut terminal, running, "raw back end");
    ended.exit(0);
    let said = summary(&terminal);
    assert!(said.len() <= 24, "{said:?}");
    let all = "32 764 probes sent = 32 764 received + 0 lost + 0 late + 0 errors";
    assert!(said.contains(&all.to_owned()), "{said:?}");
}

/// In windows of any width, whatever the terminal supports; the window changes its size during the run.
#[test]
fn it_fits_every_window_and_follows_its_changes() {
    let scene = Scene::new();
    dead_ends(&scene);
    for (columns, environment, has_plots) in [
        (60, "NO_COLOR=1", false),
        (80, "NO_COLOR=", false),
        (200, "LC_ALL=C", true),
    ] {
        let mut command = command(&scene, "-i 20ms 10.1.0.2 10.9.0.1");
        let (name, value) = environment.split_once('=').expect("a value");
        command.env(name, value);
        let (mut terminal, running) = Terminal::start_session(command, columns, 30);
        terminal.wait_for_shown("sorted by loss; s: by delay, q: end");
        terminal.wait_for_shown("round trips to ");
        assert_eq!(terminal.shown().contains("probes per second"), has_plots);
        for wanted in [60, 200, 80] {
            terminal.resize(wanted, 24);
            terminal.wait_until("a drawing of this width", |terminal| {
                let shown = terminal.shown();
                let keys = shown.lines().nth(23).unwrap_or_default();
                let is_cut = keys.ends_with('~');
                keys.starts_with("sorted by") && is_cut == (wanted == 60)
            });
            terminal.wait_for_shown("10.9.0.1");
        }
        let has_colors = terminal.seen.contains("\x1b[1m") || terminal.seen.contains("\x1b[2m");
        assert_eq!(has_colors, environment != "NO_COLOR=1", "{environment}");
        if environment == "LC_ALL=C" {
            assert!(terminal.shown().is_ascii(), "{}", terminal.shown());
        }
        terminal.press("q");
        let ended = finish(&mut terminal, running, "raw back end");
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        assert!(terminal.is_as_usual());
    }
}

/// A second signal ends the program at once, even while it waits for a terminal that takes nothing.
#[test]
fn a_second_signal_restores_the_terminal_too() {
    let scene = Scene::new();
    let command = command(&scene, "-i 1ms 10.1.0.2");
    let (mut terminal, running) = Terminal::start_session(command, 80, 24);
    terminal.wait_for_shown("q: end");
    assert!(!terminal.is_in_line_mode());
    terminal.stop_output();
    running.stalls();
    running.signal(Signal::INT);
    running.takes_another();
    running.signal(Signal::TERM);
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert!(terminal.is_in_line_mode());
}

/// A terminal that is closed ends the run, as it ends every program.
#[test]
fn a_closed_terminal_ends_it() {
    let scene = Scene::new();
    let command = command(&scene, "-i 20ms 10.1.0.2");
    let (mut terminal, running) = Terminal::start_session(command, 80, 24);
    terminal.wait_for_shown("q: end");
    terminal.close();
    running.finish();
}

/// Ctrl-Z leaves the terminal to the shell, and fg(1) fills it again.
#[test]
fn a_suspended_run_gives_the_terminal_back() {
    let scene = Scene::new();
    let mut command = scene.left.command("setsid");
    let line = format!(
        "set -m; PS1=; {PROGRAM} ping --live -i 20ms 10.1.0.2; echo stopped; fg; echo over"
    );
    command.args(["--ctty", "sh", "-c", &line]);
    let (mut terminal, running) = Terminal::start_session(command, 80, 24);
    terminal.wait_for_shown("q: end");
    terminal.press("\x1a");
    terminal.wait_for("\x1b[?1049l");
    terminal.wait_for("stopped");
    terminal.wait_until("the second screen", Terminal::is_filled);
    terminal.wait_for_shown("q: end");
    terminal.press("q");
    terminal.wait_for("over");
    running.finish().exit(0);
    assert!(terminal.is_as_usual());
}

/// Without a session there is a terminal to draw on, but none with keys.
#[test]
fn without_keys_signals_end_it() {
    let scene = Scene::new();
    let mut command = scene.left.command("setsid");
    command.args([PROGRAM, "ping", "--live", "-i", "20ms", "10.1.0.2"]);
    let (mut terminal, running) = Terminal::start(command, 80, 24);
    terminal.wait_for("sorted by loss");
    assert!(!terminal.shown().contains("q: end"));
    assert!(terminal.is_in_line_mode());
    running.signal(Signal::INT);
    finish(&mut terminal, running, "raw back end").exit(0);
}

#[test]
fn without_a_terminal_it_is_refused() {
    let scene = Scene::new();
    assert_refused(
        |line| ping(&scene, &format!("--live 10.1.0.2 {line}")),
        &[
            ("-c 1", 2, "--live requires a terminal"),
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

/// A quiet run with an end shows on a terminal how far it is, and nothing of it stays.
#[test]
fn a_quiet_run_shows_its_progress() {
    let scene = Scene::new();
    let mut command = scene.left.command("setsid");
    command.args([PROGRAM, "ping", "-q", "-c", "100", "-i", "20ms", "10.1.0.2"]);
    let (mut terminal, running) = Terminal::start_errors(command, 80, 24);
    terminal.wait_for("0 probes of 100 probes");
    terminal.wait_for(" left");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    terminal.read_to_end();
    assert!(
        !terminal.shown().contains("probes of"),
        "{}",
        terminal.shown()
    );
}
