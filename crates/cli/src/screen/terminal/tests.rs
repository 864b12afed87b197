use std::process::{Command, Stdio};

use super::*;

/// Set for the process that fills the terminal.
const CHILD: &str = "TAPLINE_TEST_SCREEN";

/// Runs in a process of its own, on a terminal: what ends it comes from the environment.
#[test]
fn a_screen_that_ends_in_a_panic() {
    let Ok(end) = std::env::var(CHILD) else {
        return;
    };
    let mut screen = Screen::open().expect("a terminal");
    assert!(screen.has_keys(), "the terminal is ours");
    screen
        .draw(|frame| frame.render_widget("drawn", frame.area()))
        .expect("a drawing");
    say("said meanwhile");
    assert_ne!(end, "panic", "a panic with a screen");
}

/// script(1) gives the process a terminal, and passes on what it writes; stty(1) says what is left of it.
fn on_a_terminal(end: &str) -> String {
    let program = std::env::current_exe().expect("a path");
    let name = "screen::terminal::tests::a_screen_that_ends_in_a_panic";
    let line = format!(
        "stty -a; {CHILD}={end} {} --exact {name} --nocapture; stty -a",
        program.display()
    );
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-c", &line, "/dev/null"]);
    let output = command
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .expect("script(1)");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_terminal_is_restored_after_a_panic_and_before_its_message() {
    for (end, message) in [
        ("panic", "a panic with a screen"),
        ("drop", "test result: ok"),
    ] {
        let written = on_a_terminal(end);
        let (before, after) = written.split_once("\x1b[?1049h").expect("a screen");
        let (drawn, after) = after.split_once("\x1b[?1049l").expect("its end");
        assert!(
            drawn.contains("drawn") && !drawn.contains("said"),
            "{written}"
        );
        assert!(
            after.contains("said meanwhile") && after.contains(message),
            "{written}"
        );
        let modes = |text: &str| {
            let start = text.rfind("speed ").expect("stty");
            text[start..]
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let before = before.split("running").next().expect("a part");
        assert_eq!(modes(before), modes(after));
    }
}
