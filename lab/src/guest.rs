//! Runs tests under a different kernel and reports their results.

use std::env;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;

use abi::process::end_with_thread;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::skip::{self, Feature};

/// Time limit for the boot and all tests.
const DEADLINE: Timespec = Timespec {
    tv_sec: 400,
    tv_nsec: 0,
};

/// A kernel to run tests under.
pub trait Guest {
    /// Environment variable that is set inside the guest.
    const INSIDE: &str;
    /// The feature that the guest requires on the host.
    const FEATURE: Feature;
    /// Where a test failed, for the panic message.
    const PLACE: &str;

    /// Boots the kernel and runs `tests`, one after another, with `files` in place.
    fn boot(tests: &[&str], files: &[GuestFile]) -> Run;
}

/// A program or shared library for a guest that does not see the host's files.
#[derive(Clone, Debug)]
pub struct GuestFile {
    /// Where it is. The libraries that it is linked with go to the guest, too.
    pub host: PathBuf,
    /// Where the guest has it.
    pub guest: &'static str,
}

/// The tests of a program that run under a guest kernel, and their results after the run.
#[derive(Debug)]
pub struct Tests<G> {
    /// Substrings of test names; `module::` selects all tests of a module.
    names: &'static [&'static str],
    files: fn() -> Vec<GuestFile>,
    run: OnceLock<Run>,
    guest: PhantomData<G>,
}

impl<G: Guest> Tests<G> {
    /// Selects the tests whose names contain one of `names`.
    pub const fn named(names: &'static [&'static str]) -> Self {
        Self::with_files(names, Vec::new)
    }

    /// The same with files that the tests need. `files` is called once, before the kernel boots.
    pub const fn with_files(names: &'static [&'static str], files: fn() -> Vec<GuestFile>) -> Self {
        Self {
            names,
            files,
            run: OnceLock::new(),
            guest: PhantomData,
        }
    }

    /// Returns true if the calling test has run under the guest kernel, and false inside the guest. If the kernel is
    /// not available, reports the test as skipped.
    ///
    /// # Panics
    /// If the test failed in the guest, or is not in the list. The message is the test's output.
    #[track_caller]
    pub fn has_run(&self) -> bool {
        if env::var_os(G::INSIDE).is_some() {
            return false;
        }
        if skip::without(&G::FEATURE) {
            return true;
        }
        let run = self
            .run
            .get_or_init(|| G::boot(self.names, &(self.files)()));
        run.assert_calling_test_passed(G::PLACE);
        true
    }
}

/// Results of a program's tests in the guest.
#[derive(Debug)]
pub struct Run {
    /// Output of the tests, followed by how the kernel exited.
    said: String,
    /// Names of the tests that passed.
    passed: Vec<String>,
}

impl Run {
    /// Parses the test harness's output; `end` describes how the kernel exited.
    pub fn of(said: String, end: &str) -> Self {
        let lines = said.lines().filter_map(|line| line.strip_prefix("test "));
        let passed = lines.filter_map(|line| line.strip_suffix(" ... ok"));
        Self {
            passed: passed.map(str::to_owned).collect(),
            said: said + "\n" + end,
        }
    }

    /// # Panics
    /// If the calling test failed in the guest, `place`. The message is its output.
    #[track_caller]
    pub fn assert_calling_test_passed(&self, place: &str) {
        let thread = thread::current();
        let test = thread
            .name()
            .expect("a test's thread bears the test's name");
        let said = self.said.split_once(&format!("---- {test} stdout ----"));
        let own = said.map(|(_, said)| said.split("\n---- ").next().unwrap_or(said));
        let has_passed = self.passed.iter().any(|passed| passed == test);
        // A test that is missing from the program's list has not passed either.
        assert!(has_passed, "{place}:\n{}", own.unwrap_or(&self.said));
    }
}

/// The environment variables of this process that change the program under test, as words of a shell.
///
/// # Panics
/// If a value has a quotation mark.
pub(crate) fn variables() -> String {
    let text = |(name, value): (OsString, OsString)| {
        let name = name.into_string().ok()?;
        let is_passed = name.starts_with("TAPLINE_TEST_");
        Some((name, value.into_string().ok()?)).filter(|_| is_passed)
    };
    let words = env::vars_os().filter_map(text).map(|(name, value)| {
        assert!(!value.contains('\''), "{name} has a quotation mark");
        format!("{name}='{value}' ")
    });
    words.collect()
}

/// Runs `command`, a kernel, on a new thread that has first called `prepare`, until it exits or times out. Returns its
/// exit status and output.
pub(crate) fn run_to_end(
    mut command: Command,
    prepare: impl FnOnce() + Send,
) -> (ExitStatus, String) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.process_group(0);
    // The kernel must not outlive the thread that started it.
    end_with_thread(&mut command);
    let run = || {
        prepare();
        wait_for(command)
    };
    let ended = thread::scope(|scope| scope.spawn(run).join());
    ended.expect("the boot thread does not panic")
}

fn wait_for(mut command: Command) -> (ExitStatus, String) {
    let mut child = command.spawn().expect("the kernel starts");
    let console = child.stdout.take().expect("its console");
    // The console closes when all processes of the kernel have exited.
    let reader = thread::spawn(|| std::io::read_to_string(console));
    if !has_ended(&child) {
        let group = Pid::from_child(&child);
        kill_process_group(group, Signal::KILL).expect("the kernel is killed after its time limit");
    }
    let status = child.wait().expect("the kernel has exited");
    let console = reader.join().expect("the reader");
    (status, console.unwrap_or_else(|error| error.to_string()))
}

fn has_ended(child: &Child) -> bool {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).expect("a descriptor");
    poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&DEADLINE)).expect("waited") == 1
}
