//! The programs that are measured.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Ticks of a second in /proc (`USER_HZ`, the same on every machine that Linux runs on here).
const TICKS: u64 = 100;

/// A program with the file it reads and the one it writes.
pub struct Reader {
    pub name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    /// Whether it takes a filter.
    filters: bool,
    pub output: PathBuf,
}

/// What a run took.
#[derive(Clone, Copy)]
pub struct Spent {
    pub wall: Duration,
    /// User and system time of all threads, in steps of 10 ms.
    pub cpu: Duration,
}

impl Reader {
    pub fn tcpdump(trace: &Path, folder: &Path) -> Self {
        let output = folder.join("tcpdump.pcap");
        let arguments = [
            "-r".into(),
            trace.into(),
            "-w".into(),
            output.clone().into(),
        ];
        Self {
            name: "tcpdump".into(),
            program: tapline_lab::tool::path("tcpdump"),
            arguments: arguments.into(),
            filters: true,
            output,
        }
    }

    pub fn tapline(program: &Path, trace: &Path, folder: &Path) -> Self {
        let output = folder.join("tapline.pcapng");
        let arguments = [
            "read".into(),
            "-q".into(),
            "-w".into(),
            output.clone().into(),
            trace.into(),
        ];
        Self {
            name: program
                .file_name()
                .unwrap_or_default()
                .display()
                .to_string(),
            program: program.to_owned(),
            arguments: arguments.into(),
            filters: true,
            output,
        }
    }

    /// Copies `result`, byte by byte: what writing it costs whoever finds its packets in no time.
    pub fn copy(result: &Path, folder: &Path) -> Self {
        let output = folder.join("copy");
        Self {
            name: "cp out.pcap".into(),
            program: "/bin/cp".into(),
            arguments: [
                "--reflink=never".into(),
                result.into(),
                output.clone().into(),
            ]
            .into(),
            filters: false,
            output,
        }
    }

    /// Runs it to its end; the output is there afterwards.
    pub fn run(&self, filter: &str) -> Spent {
        let before = cpu_of_children();
        let begin = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.args(self.filters.then_some(filter));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let output = command.stderr(Stdio::piped()).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let wall = begin.elapsed();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", self.name);
        Spent {
            wall,
            cpu: cpu_of_children().saturating_sub(before),
        }
    }

    pub fn remove(&self) {
        fs::remove_file(&self.output).expect("it was written");
    }
}

/// User and system time of the children that have ended.
fn cpu_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("procfs");
    // The name, in brackets, may contain anything; fields 16 and 17 are the 14th and 15th behind it.
    let fields = stat.rsplit_once(')').expect("a name").1;
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: u64 = ticks
        .map(|field| field.parse::<u64>().expect("ticks"))
        .sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}
