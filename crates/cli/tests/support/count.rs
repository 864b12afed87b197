//! Running `tapline count`.

use serde_json::Value;

use super::run::{Ended, Running, spawn};
use super::{Scene, number};

/// Starts `tapline count -i right0 --json LINE` with short intervals. Returns when it counts.
pub fn start(scene: &Scene, line: &str) -> Running {
    start_begun(scene, line).0
}

/// Like [`start`], with the start event.
pub fn start_begun(scene: &Scene, line: &str) -> (Running, Value) {
    let often = if line.contains("--interval") {
        ""
    } else {
        "--interval 5ms"
    };
    let mut running = spawn(scene.command(&format!("count -i right0 --json {often} {line}")));
    let start = running.ready();
    (running, start)
}

/// Starts it with text output. Returns when it counts.
pub fn start_text(scene: &Scene, line: &str) -> Running {
    let mut running = spawn(scene.command(&format!("count -i right0 {line}")));
    while !running.error_line().starts_with("counting on ") {}
    running
}

/// Runs it until it exits.
pub fn run(scene: &Scene, line: &str) -> Ended {
    scene.run(&format!("count -i right0 {line}"))
}

impl Running {
    /// Waits until `packets` packets were counted in `class`.
    pub fn counted(&mut self, class: &str, packets: u64) {
        let mut sum = 0;
        while sum < packets {
            let of_class = |event: &Value| event["event"] == "interval" && event["class"] == class;
            sum += number(&self.event(of_class), "packets");
        }
    }

    /// Waits until `packets` packets were counted in `class`, then stops it.
    #[track_caller]
    pub fn stop_counted(mut self, class: &str, packets: u64) -> Ended {
        self.counted(class, packets);
        let ended = self.stop();
        ended.exit(0);
        ended
    }
}

/// Packets and bytes of an object.
#[track_caller]
pub fn tally(object: &Value) -> (u64, u64) {
    (number(object, "packets"), number(object, "bytes"))
}

/// The summary of `class` in the events of a finished run. Checks that it equals the sum of the intervals.
#[track_caller]
pub fn totals(ended: &Ended, class: &str) -> Value {
    let summary = ended.summary().0;
    let classes = summary["classes"].as_array().expect("classes");
    let object = classes.iter().find(|object| object["class"] == class);
    let object = object.unwrap_or_else(|| panic!("no {class} in {summary}"));
    let mut sum = (0, 0);
    for event in ended.events_of("interval") {
        if event["class"] == class {
            let (packets, bytes) = tally(&event);
            sum = (sum.0 + packets, sum.1 + bytes);
        }
    }
    assert_eq!(sum, tally(object), "{class}");
    object.clone()
}
