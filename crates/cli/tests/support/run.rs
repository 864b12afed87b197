//! Runs the program and waits for its output.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use lab::wait;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{PROGRAM, assert_has, number, words};

/// How long the program may print nothing before the test fails.
const DEADLINE: Duration = Duration::from_mins(3);

/// `tapline LINE` on the machine itself, for tests without a network; times are in UTC.
pub fn command(line: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words(line)).env("TZ", "UTC");
    command
}

/// Runs it until it exits.
pub fn run(line: &str) -> Ended {
    spawn(command(line)).finish()
}

/// Runs it with `input` on its standard input.
pub fn run_with(input: &[u8], line: &str) -> Ended {
    let mut command = command(line);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(input)
        .and_then(|()| file.rewind())
        .expect("written");
    // A pipe, which unlike a file cannot be read twice.
    command.stdin(Stdio::piped());
    let mut running = spawn_with_input(command);
    let mut stdin = running.child.stdin.take().expect("a pipe");
    thread::spawn(move || {
        // Who has read enough goes away before the end.
        let _ = io::copy(&mut file, &mut stdin);
    });
    running.finish()
}

/// Its output; it must succeed.
#[track_caller]
pub fn printed(line: &str) -> Vec<String> {
    let ended = run(line);
    ended.exit(0);
    ended.stdout
}

/// The JSON objects that it prints with `--json`.
#[track_caller]
pub fn events(line: &str) -> Vec<Value> {
    let ended = run(&format!("{line} --json"));
    ended.exit(0);
    ended.events()
}

/// Starts `command` with both outputs piped.
pub fn spawn(mut command: Command) -> Running {
    command.stdout(Stdio::piped());
    spawn_into(command)
}

/// Starts `command`, with standard error redirected by the caller.
pub fn spawn_silent(mut command: Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    begin(command)
}

/// Starts a program that reads what another writes.
pub fn spawn_with_input(mut command: Command) -> Running {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    begin(command)
}

/// Starts `command`, with standard output redirected by the caller.
pub fn spawn_into(mut command: Command) -> Running {
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    begin(command)
}

/// Starts `command`, with streams redirected by the caller.
pub fn begin(mut command: Command) -> Running {
    let mut child = command.spawn().expect("the program starts");
    let stdout = Lines::of(child.stdout.take());
    let stderr = Lines::of(child.stderr.take());
    Running {
        child,
        stdout,
        stderr,
    }
}

/// Waits until another signal to a process counts as a second one; the thread that handles the first then has another name.
pub fn takes_another(process: Pid) {
    let tasks = format!("/proc/{}/task", process.as_raw_nonzero());
    let is_it = |task: std::io::Result<fs::DirEntry>| {
        let name = task.and_then(|task| fs::read_to_string(task.path().join("comm")));
        name.is_ok_and(|name| name.trim_end() == "second signal")
    };
    wait::until("the second signal is waited for", || {
        let mut tasks = fs::read_dir(&tasks).expect("the process is there");
        assert!(!has_ended(process), "it has ended");
        tasks.any(is_it)
    });
}

/// Whether a child has ended. It is not waited for yet.
fn has_ended(process: Pid) -> bool {
    let path = format!("/proc/{}/stat", process.as_raw_nonzero());
    let stat = fs::read_to_string(path).expect("the process is there");
    // The state follows the name, in which anything can be.
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('Z'))
}

/// A running program; killed when dropped.
pub struct Running {
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

impl Running {
    /// Waits for the start event.
    pub fn ready(&mut self) -> Value {
        self.event(|event| event["event"] == "start")
    }

    /// Waits for the line that announces the capture.
    pub fn ready_text(&mut self) {
        while !self.error_line().starts_with("capturing on ") {}
    }

    /// The next line of standard output.
    pub fn line(&mut self) -> String {
        match self.stdout.next() {
            Some(line) => line,
            None => panic!("it ended: {:?}", self.stdout.seen),
        }
    }

    /// The next line of standard output, if available.
    pub fn line_now(&mut self) -> Option<String> {
        self.stdout.next_now()
    }

    /// The next line of standard error.
    pub fn error_line(&mut self) -> String {
        match self.stderr.next() {
            Some(line) => line,
            None => panic!("it ended: {:?}", self.stderr.seen),
        }
    }

    /// Reads events from standard output until one satisfies the condition.
    pub fn event(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        while let Some(line) = self.stdout.next() {
            let event = serde_json::from_str(&line).expect("a line of JSON");
            if is_it(&event) {
                return event;
            }
        }
        while self.stderr.next().is_some() {}
        panic!("it ended: {:?} {:?}", self.stdout.seen, self.stderr.seen);
    }

    /// Waits until it has accounted for `count` packets. Requires `--stats-interval`.
    pub fn received(&mut self, count: u64) {
        self.event(|event| event["received"].as_u64() == Some(count));
    }

    /// Waits until an event of a capture with `--stats-interval` reports at least `count` delivered packets.
    pub fn delivered(&mut self, count: u64) {
        self.event(|event| {
            event["delivered"]
                .as_u64()
                .is_some_and(|value| value >= count)
        });
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it takes signals");
    }

    /// Waits until it has no pending signal.
    pub fn handled(&self) {
        let path = format!("/proc/{}/status", self.pid().as_raw_nonzero());
        wait::until("no signal is pending", || {
            let status = fs::read_to_string(&path).expect("the process is there");
            let mut pending = status.lines().filter(|line| line.contains("Pnd:"));
            pending.all(|line| line.ends_with("\t0000000000000000"))
        });
    }

    /// Waits until another signal counts as a second one.
    pub fn takes_another(&self) {
        takes_another(self.pid());
    }

    /// Waits until it is blocked while it writes to standard output.
    pub fn stalls(&self) {
        let path = format!("/proc/{}/syscall", self.pid().as_raw_nonzero());
        let blocked = format!("{} 0x1 ", libc::SYS_write);
        wait::until("standard output takes nothing more", || {
            fs::read_to_string(&path).is_ok_and(|call| call.starts_with(&blocked))
        });
    }

    /// Waits until it has accounted for `count` packets, and stops it. The summary must account for them too.
    #[track_caller]
    pub fn stop_after(mut self, count: u64) -> Ended {
        self.received(count);
        let ended = self.stop();
        ended.done().conserves(count);
        ended
    }

    /// Stops it and waits for its exit.
    pub fn stop(self) -> Ended {
        self.signal(Signal::INT);
        self.finish()
    }

    /// Waits for its exit, which must be successful.
    #[track_caller]
    pub fn done(self) -> Summary {
        self.finish().done()
    }

    /// Waits for its exit.
    pub fn finish(mut self) -> Ended {
        while self.stdout.next().is_some() {}
        while self.stderr.next().is_some() {}
        Ended {
            status: self.child.wait().expect("its status"),
            stdout: std::mem::take(&mut self.stdout.seen),
            stderr: std::mem::take(&mut self.stderr.seen),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended; what counts is that it does.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines of a stream, as they come.
struct Lines {
    coming: Option<Receiver<String>>,
    seen: Vec<String>,
}

impl Lines {
    fn of(stream: Option<impl Read + Send + 'static>) -> Self {
        let coming = stream.map(|stream| {
            let (sender, receiver) = channel();
            thread::spawn(move || {
                // Ends with the stream, or when nobody listens any more.
                BufReader::new(stream)
                    .lines()
                    .map_while(Result::ok)
                    .try_for_each(|line| sender.send(line))
            });
            receiver
        });
        Self {
            coming,
            seen: Vec::new(),
        }
    }

    /// The next line; `None` at the end.
    fn next(&mut self) -> Option<String> {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        match self.coming.as_ref()?.recv_timeout(DEADLINE) {
            Ok(line) => {
                self.seen.push(line.clone());
                Some(line)
            }
            Err(Disconnected) => None,
            Err(Timeout) => panic!("nothing for {DEADLINE:?} after {:?}", self.seen),
        }
    }

    /// Like [`next`](Self::next), without waiting.
    fn next_now(&mut self) -> Option<String> {
        let line = self.coming.as_ref()?.try_recv().ok()?;
        self.seen.push(line.clone());
        Some(line)
    }
}

/// Exit status and output.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
}

impl Ended {
    /// Checks that it exited with status `code` and printed one error line if that is not 0, and none otherwise.
    /// Returns the error without the program's name.
    #[track_caller]
    pub fn exit(&self, code: i32) -> &str {
        assert_eq!(self.status.code(), Some(code), "{self:?}");
        let complaints: Vec<&str> = self
            .stderr
            .iter()
            .filter_map(|line| line.strip_prefix("tapline: "))
            .collect();
        match complaints[..] {
            [] if code == 0 => "",
            [complaint] if code != 0 => complaint,
            _ => panic!("{self:?}"),
        }
    }

    /// Like [`exit`](Self::exit), for a program that prints nothing else to standard error.
    #[track_caller]
    pub fn refusal(&self, code: i32) -> &str {
        let complaint = self.exit(code);
        assert!(self.stderr.len() == 1 && self.stdout.is_empty(), "{self:?}");
        complaint
    }

    /// The summary of a successful job.
    #[track_caller]
    pub fn done(&self) -> Summary {
        self.exit(0);
        self.summary()
    }

    /// Checks that a line of standard output or error equals `line`.
    #[track_caller]
    pub fn assert_says(&self, line: &str) {
        let mut lines = self.stdout.iter().chain(&self.stderr);
        assert!(lines.any(|told| told == line), "{line:?} in {self:#?}");
    }

    /// Checks that standard output or error contains this text.
    #[track_caller]
    pub fn assert_mentions(&self, text: &str) {
        let mut lines = self.stdout.iter().chain(&self.stderr);
        assert!(
            lines.any(|told| told.contains(text)),
            "{text:?} in {self:#?}"
        );
    }

    /// The events of a kind.
    #[track_caller]
    pub fn events_of(&self, kind: &str) -> Vec<Value> {
        let events = self.events().into_iter();
        events.filter(|event| event["event"] == kind).collect()
    }

    /// Every line of standard output as JSON.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let parse = |line: &String| serde_json::from_str(line);
        let events: Result<_, _> = self.stdout.iter().map(parse).collect();
        events.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The last event, checked to be a summary that adds up.
    #[track_caller]
    pub fn summary(&self) -> Summary {
        let last = self.events().pop();
        let summary = last.unwrap_or_else(|| panic!("no summary: {self:?}"));
        assert_eq!(summary["event"], "summary", "{self:?}");
        Summary(summary)
    }
}

/// The last event of a capture.
#[derive(Debug)]
pub struct Summary(pub Value);

impl Summary {
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        number(&self.0, key)
    }

    /// Checks that it has what `expected` has.
    #[track_caller]
    pub fn has(&self, expected: &Value) {
        assert_has(&self.0, expected);
    }

    #[track_caller]
    pub fn lost(&self, place: &str) -> u64 {
        number(&self.0["lost"], place)
    }

    #[track_caller]
    pub fn all_lost(&self) -> u64 {
        let places = ["nic", "ring", "program", "reader", "writer"];
        // A value of the driver that the kernel does not report is null.
        let driver = self.0["lost"]["driver"].as_u64().unwrap_or(0);
        places.iter().map(|place| self.lost(place)).sum::<u64>() + driver
    }

    /// Checks that the `sent` packets are all accounted for, in sum and by interface.
    #[track_caller]
    pub fn conserves(&self, sent: u64) {
        let sum = self.number("delivered") + self.number("filtered") + self.all_lost();
        assert_eq!((self.number("received"), sum), (sent, sent), "{}", self.0);
    }

    /// The names of the files.
    pub fn files(&self) -> Vec<String> {
        serde_json::from_value(self.0["files"].clone()).expect("a list of files")
    }
}
