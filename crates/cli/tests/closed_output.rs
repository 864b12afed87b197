//! Whoever reads standard output may go away: every subcommand takes that as an end in order.

use crate::support;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

use crate::support::frames::frames;
use crate::support::run::spawn_into;
use crate::support::{PROGRAM, Scene, name};

/// A stream without a reader. Unlike a pipe's, its other end is closed for good even while another
/// process that is just being started has a copy of it.
fn closed() -> OwnedFd {
    let (read, write) = UnixStream::pair().expect("a stream");
    read.shutdown(Shutdown::Both).expect("the reader goes");
    write.into()
}

fn quietly(mut command: Command) {
    command.stdout(closed());
    let ended = spawn_into(command).finish();
    ended.exit(0);
}

#[test]
fn what_goes_on_ends_in_order() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let peer = scene.left.interface().v4.to_string();
    for line in [
        "count -i IF --interval 1ms",
        "count -i IF --interval 1ms --json",
        "count -i IF --interval 1ms --csv",
        "count -i IF --interval 1h --duration 1ms",
        "capture -i IF --json",
        "capture -i IF --mode drop --json",
        "latency -i IF --json",
        "latency -i IF --stats-interval 1ms",
        "ping PEER --interval 1ms",
        "ping PEER --interval 1ms --json",
        "ping PEER -c 1 --csv",
        "ping PEER 127.0.0.1 -c 1",
        "ping --dry-run PEER",
    ] {
        let words = line.split(' ').map(|word| match word {
            "IF" => link.as_str(),
            "PEER" => peer.as_str(),
            word => word,
        });
        let mut command = scene.right.command(PROGRAM);
        command.args(words);
        quietly(command);
    }
}

#[test]
fn what_is_read_or_explained_ends_in_order() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let mut running = support::run::start(&scene.right, &["-w", &file, "-c", "500"]);
    scene.send(&frames(500, 1000));
    running.event(|event| event["event"] == "summary");
    running.finish().exit(0);
    for line in [
        "read FILE",
        "read FILE --json",
        "read FILE -q",
        "read FILE -w -",
        "read FILE --summary",
        "read FILE --summary --json",
        "filter tcp",
        "filter --json tcp",
        "filter --packet FILE tcp",
        "filter --packet FILE --json tcp",
        "doctor",
        "doctor --json",
    ] {
        let words = line.split(' ').map(|word| match word {
            "FILE" => file.as_str(),
            word => word,
        });
        let mut command = scene.right.command(PROGRAM);
        command.args(words);
        quietly(command);
    }
}

/// A reader that is gone is no failure; a device without room is one.
#[test]
fn other_failures_of_standard_output_are_told() {
    let scene = Scene::new();
    let mut command = support::count::command(&scene.right, &["--interval", "1ms"]);
    command.stdout(std::fs::File::create("/dev/full").expect("the device"));
    let ended = spawn_into(command).finish();
    assert_eq!(
        ended.exit(1),
        "cannot write to standard output: No space left on device"
    );
}
