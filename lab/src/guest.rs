//! Runs tests under another kernel and reports their results.

use std::env;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;

use abi::process::end_with_thread;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::skip::{self, Feature};

/// The longest time for the boot and all tests.
const DEADLINE: Timespec = Timespec {
    tv_sec: 400,
    tv_nsec: 0,
};

/// A kernel that tests run under.
pub trait Guest {
    /// Set for the tests that are run there.
    const INSIDE: &str;
    /// What it takes.
    const FEATURE: Feature;
    /// Where a test failed, as its message says.
    const PLACE: &str;

    /// Boots and runs `tests`, one after another.
    fn boot(tests: &[&str]) -> Run;
}

/// The tests of a program that run under another kernel, and their results once they have run.
#[derive(Debug)]
pub struct Tests<G> {
    /// Beginnings of their names; those of a module begin with `module::`.
    names: &'static [&'static str],
    run: OnceLock<Run>,
    guest: PhantomData<G>,
}

impl<G: Guest> Tests<G> {
    /// The tests whose names contain one of `names`.
    pub const fn named(names: &'static [&'static str]) -> Self {
        Self {
            names,
            run: OnceLock::new(),
            guest: PhantomData,
        }
    }

    /// Whether the calling test has run under that kernel; false when that is where it runs now. Where there is
    /// no such kernel the test is reported as skipped.
    ///
    /// # Panics
    /// If the test failed there, or is not in the list. The message is its output.
    #[track_caller]
    pub fn has_run(&self) -> bool {
        if env::var_os(G::INSIDE).is_some() {
            return false;
        }
        if skip::without(&G::FEATURE) {
            return true;
        }
        let run = self.run.get_or_init(|| G::boot(self.names));
        run.assert_calling_test_passed(G::PLACE);
        true
    }
}

/// The tests of a program, as they ended there.
#[derive(Debug)]
pub struct Run {
    /// What they said, and how it all ended.
    said: String,
    /// Those that passed.
    passed: Vec<String>,
}

impl Run {
    /// Reads what the harness said; `end` tells how the kernel ended.
    pub fn of(said: String, end: &str) -> Self {
        let lines = said.lines().filter_map(|line| line.strip_prefix("test "));
        let passed = lines.filter_map(|line| line.strip_suffix(" ... ok"));
        Self {
            passed: passed.map(str::to_owned).collect(),
            said: said + "\n" + end,
        }
    }

    /// # Panics
    /// When the calling test failed there, `place`: the message is what it said.
    #[track_caller]
    pub fn assert_calling_test_passed(&self, place: &str) {
        let thread = thread::current();
        let test = thread.name().expect("a test has a thread of its name");
        let said = self.said.split_once(&format!("---- {test} stdout ----"));
        let own = said.map(|(_, said)| said.split("\n---- ").next().unwrap_or(said));
        let has_passed = self.passed.iter().any(|passed| passed == test);
        // A test that is missing from the list of the program's tests in that kernel has not passed either.
        assert!(has_passed, "{place}:\n{}", own.unwrap_or(&self.said));
    }
}

/// Runs `command`, a kernel, by a thread of its own that has called `prepare`, until it ends or is late; returns how
/// it ended and what it wrote.
pub(crate) fn run_to_end(
    mut command: Command,
    prepare: impl FnOnce() + Send,
) -> (ExitStatus, String) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.process_group(0);
    // The kernel ends with the thread that began it.
    end_with_thread(&mut command);
    let run = || {
        prepare();
        wait_for(command)
    };
    let ended = thread::scope(|scope| scope.spawn(run).join());
    ended.expect("the thread that boots")
}

fn wait_for(mut command: Command) -> (ExitStatus, String) {
    let mut child = command.spawn().expect("the kernel begins");
    let console = child.stdout.take().expect("its console");
    // The end of the console is the end of all its processes.
    let reader = thread::spawn(|| std::io::read_to_string(console));
    if !has_ended(&child) {
        let group = Pid::from_child(&child);
        kill_process_group(group, Signal::KILL).expect("the late kernel is stopped");
    }
    let status = child.wait().expect("it has ended");
    let console = reader.join().expect("the reader");
    (status, console.unwrap_or_else(|error| error.to_string()))
}

fn has_ended(child: &Child) -> bool {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).expect("a descriptor");
    poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&DEADLINE)).expect("waited") == 1
}
