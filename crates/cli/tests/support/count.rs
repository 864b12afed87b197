//! Running `tapline count`.

use std::process::Command;

use lab::Host;
use serde_json::Value;

use super::run::{Ended, Running, spawn};
use super::{PROGRAM, Scene, name};

/// A short interval, so that a test does not wait for a long one.
pub const OFTEN: [&str; 2] = ["--interval", "5ms"];

/// `tapline count -i` with the host's first interface and `arguments`, on `host`.
pub fn command(host: &Host, arguments: &[&str]) -> Command {
    let mut command = host.command(PROGRAM);
    command.args(["count", "-i", &name(host)]).args(arguments);
    command
}

/// Runs it to its end.
pub fn run(host: &Host, arguments: &[&str]) -> Ended {
    spawn(command(host, arguments)).finish()
}

/// Starts it with `--json` and short intervals, and returns when it counts.
pub fn start(host: &Host, arguments: &[&str]) -> Running {
    let mut command = command(host, &OFTEN);
    command.args(arguments).arg("--json");
    let mut running = spawn(command);
    running.ready();
    running
}

/// Starts it for text, and returns when it counts.
pub fn start_text(host: &Host, arguments: &[&str]) -> Running {
    let mut running = spawn(command(host, arguments));
    while !running.error_line().starts_with("counting on ") {}
    running
}

/// Waits until `packets` were counted in `class`.
pub fn counted(running: &mut Running, class: &str, packets: u64) {
    let mut sum = 0;
    while sum < packets {
        let of_class = |event: &Value| event["event"] == "interval" && event["class"] == class;
        sum += running.event(of_class)["packets"]
            .as_u64()
            .expect("a number");
    }
}

/// Sends `frames` from right to left.
pub fn send_back(scene: &Scene, frames: &[Vec<u8>]) {
    let out = scene.right.interface().index;
    let sent = scene.right.run(|| lab::generator::send_frames(out, frames));
    assert_eq!(sent.expect("frames are sent"), frames.len() as u64);
}

/// Packets and bytes of an object.
#[track_caller]
pub fn tally(object: &Value) -> (u64, u64) {
    let number = |key: &str| object[key].as_u64();
    let known = number("packets").zip(number("bytes"));
    known.unwrap_or_else(|| panic!("packets and bytes of {object}"))
}

/// Of the events of a run that has ended: what the summary says of `class`, checked to be what the
/// intervals add up to.
#[track_caller]
pub fn totals(ended: &Ended, class: &str) -> Value {
    let summary = ended.summary().0;
    let classes = summary["classes"].as_array().expect("classes");
    let object = classes.iter().find(|object| object["class"] == class);
    let object = object.unwrap_or_else(|| panic!("no {class} in {summary}"));
    let mut sum = (0, 0);
    for event in ended.events() {
        if event["event"] == "interval" && event["class"] == class {
            let (packets, bytes) = tally(&event);
            sum = (sum.0 + packets, sum.1 + bytes);
        }
    }
    assert_eq!(sum, tally(object), "{class}");
    object.clone()
}
