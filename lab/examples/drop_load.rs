//! Drop mode by AF_XDP while the processors have other work, and for how long the reader waited for one:
//! `cargo run --release -p tapline-lab --example drop_load -- TAPLINE [PREFIX… --] [FLAG…]`.
//!
//! `PREFIX` is put before the program, e.g. `/usr/bin/nice -n -20`; `FLAG`s are its own. Sends frames of 128
//! bytes from processor 0, as fast as they go, with no, one and three busy processes on processor 1, and keeps 96
//! bytes of each in a file on tmpfs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tapline_lab::Net;
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tempfile::TempDir;

const FRAMES: u64 = 2_000_000;
const RUNS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (program, rest) = arguments.split_first().expect("the program");
    let split = rest.iter().position(|word| word == "--");
    let (prefix, flags) = split.map_or((&[][..], rest), |at| (&rest[..at], &rest[at + 1..]));
    println!("busy  sent/s   received      lost (ring)    reader ran, waited for a processor");
    for busy in [0, 1, 3] {
        for _ in 0..RUNS {
            let hogs = Hogs::start(busy);
            run(program, prefix, flags, busy);
            drop(hogs);
        }
    }
}

fn run(program: &str, prefix: &[String], flags: &[String], busy: usize) {
    let [left, right] = Net::new().pair();
    let folder = TempDir::with_prefix_in("tapline-load.", "/dev/shm").expect("a folder on tmpfs");
    let words: Vec<&str> = prefix.iter().map(String::as_str).chain([program]).collect();
    let mut command = right.command(words[0]);
    command.args(&words[1..]).args(["capture", "-i"]);
    command.arg(right.interface().name.to_string());
    command.args([
        "--mode",
        "drop",
        "--backend",
        "xdp",
        "-s",
        "96",
        "--json",
        "-w",
    ]);
    command.arg(folder.path().join("file.pcapng")).args(flags);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    lines.next().expect("it is ready").expect("a line");

    let options = GeneratorOptions::new(left.interface().index, udp_frame(128));
    let mut generator = left.run(|| Generator::new(options));
    let sent = left.run(|| {
        pin_to_cpu(0).expect("processor 0");
        generator.send(FRAMES, None)
    });
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("it runs");
    let summary = lines.last().expect("a summary").expect("a line");
    child.wait().expect("it ends");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let time = |key: &str| Duration::from_nanos(summary[key].as_u64().unwrap_or(0));
    let [ran, waited] = ["reader_ran_ns", "reader_waited_ns"].map(time);
    let received = summary["received"].as_u64().unwrap_or(0);
    let lost = summary["lost"]["ring"].as_u64().unwrap_or(0);
    let adds_up = received == sent.delivered;
    println!(
        "{busy:4} {:7.2}M {received:9} {lost:9} {:5.1} %  {ran:9.1?} {waited:9.1?} of {:.1?}{}",
        sent.delivered_pps() / 1e6,
        100.0 * lost as f64 / received as f64,
        sent.duration,
        if adds_up { "" } else { "  DOES NOT ADD UP" },
    );
}

/// Processes that keep processor 1 busy until this is dropped.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start(count: usize) -> Self {
        let hog = |_| {
            let mut command = Command::new("taskset");
            command.args(["-c", "1", "sh", "-c", "while :; do :; done"]);
            command.spawn().expect("a shell")
        };
        Self((0..count).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}
