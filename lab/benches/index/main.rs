//! Searching a large set of indexed capture files, and the cost of indexing while capturing.
//!
//! `cargo bench -p tapline-lab --bench index -- [--rounds N | --quick] [--only search|cost] [--trace-in FOLDER]` requires a release
//! build of tapline, 2.5 GB of disk in `--trace-in` (default: /var/tmp) and 3 GB of memory for its page cache, 1 GB in /dev/shm, root,
//! and an otherwise idle machine.
//!
//! The set is 1000 names of 17 files of 100 MB, each name with an index of its own. The flow that is searched is in one file, which has
//! one name. `tcpdump`, `tshark` and `tapline read` without an index read a part of the set.

#![forbid(unsafe_code)]

mod cost;
#[path = "../harness/mod.rs"]
mod harness;
mod search;
mod trace;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use harness::{BenchOptions, Report, Running};

fn main() -> ExitCode {
    harness::run(5, &["search", "cost"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let folder = tempfile::tempdir_in(&options.trace_in).expect("a folder for the files");
    let tapline = &options.tapline()[0];
    if options.has("search") {
        search::measure(tapline, folder.path(), report);
    }
    if options.has("cost") {
        cost::measure(tapline, folder.path(), report);
    }
}

/// What a program used from its start until it exited.
struct Used {
    wall_s: f64,
    cpu_s: f64,
    /// Bytes that it asked the kernel for.
    read_bytes: f64,
    text: String,
}

impl Used {
    /// Runs a program, which must succeed.
    fn by(command: Command) -> Self {
        let begin = Instant::now();
        let running = Running::start(command);
        assert!(running.has_ended(Duration::from_mins(5)), "it is too slow");
        let wall_s = begin.elapsed().as_secs_f64();
        // Its counters are there until its exit status has been read.
        let io = std::fs::read_to_string(format!("/proc/{}/io", running.id()));
        let io = io.expect("the counters of a process");
        let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
        let ended = running.finish();
        assert!(ended.status.success(), "{}: {}", ended.status, ended.text);
        Self {
            wall_s,
            cpu_s: ended.used.cpu.as_secs_f64(),
            read_bytes: read.and_then(|bytes| bytes.parse().ok()).expect("a number"),
            text: ended.text,
        }
    }
}

/// Length of a file.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).expect("the file").len()
}
