//! Commands with terminals, pipes and disappearing interfaces, which make calls that no other command makes.

use super::{CAPTURE_FILE, scene};
use crate::support::run::spawn;
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, output};

#[test]
fn a_status_line_of_a_capture_is_drawn() {
    let scene = scene();
    let (mut terminal, running) =
        Terminal::start_errors(scene.command("capture -i right0 -w a.pcapng"), 30, 24);
    terminal.wait_for_shown("0 packets");
    running.stop().exit(0);
}

#[test]
fn pipes_are_read() {
    let scene = scene();
    for line in [
        "read PIPE",
        "read PIPE -w a.parquet",
        "filter --packet PIPE stp",
        "send -i right0 -r PIPE",
        "flows PIPE -w f.parquet",
    ] {
        let pipe = format!("<(cat {CAPTURE_FILE})");
        let line = format!("{PROGRAM} {}", line.replace("PIPE", &pipe));
        let mut command = scene.right.command("bash");
        command.args(["-c", &line]).current_dir(scene.folder.path());
        spawn(command).finish().exit(0);
    }
}

/// The sender is faster than a reader that wakes for each packet.
#[test]
fn dense_packets_change_how_a_reader_of_flows_is_scheduled() {
    let scene = scene();
    let mut running = spawn(scene.command("flows -i lo --json -c 20000"));
    running.ready();
    output(&scene.right, "ping", "-q -f -c 10000 -s 1000 127.0.0.1");
    running.finish().exit(0);
}

#[test]
fn flows_end_with_their_interface() {
    let scene = scene();
    let mut running = spawn(scene.command("flows -i right0 --json"));
    running.ready();
    scene.right.ip("link delete right0");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
}
