//! What processes use: CPU time and context switches.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use abi::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use tapline_lab::generator::pin_to_cpu;

/// Time limit for a program to start or to exit.
const DEADLINE: Duration = Duration::from_secs(20);

/// What a process used: CPU time of its threads, and number of context switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    pub cpu: Duration,
    pub waits: u64,
}

impl Used {
    pub fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            waits: self.waits.saturating_sub(before.waits),
        }
    }
}

/// Usage of all threads of a process so far.
pub fn cpu_of(process: u32) -> Used {
    let mut used = Used::default();
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let schedstat = read("schedstat");
        let ns = schedstat.split(' ').next().and_then(|ns| ns.parse().ok());
        used.cpu += Duration::from_nanos(ns.unwrap_or(0));
        let status = read("status");
        let mut lines = status.lines();
        let waits = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        used.waits += waits.map_or(0, |count| count.trim().parse().unwrap_or(0));
    }
    used
}

/// The kernel's thread that takes over softirqs of `cpu`.
pub fn softirq_thread(cpu: usize) -> u32 {
    let name = format!("ksoftirqd/{cpu}\n");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let named = |process: &fs::DirEntry| {
        fs::read_to_string(process.path().join("comm")).is_ok_and(|comm| comm == name)
    };
    let found = processes.into_iter().find(named).expect("the thread");
    let number = found.file_name();
    let number = number.to_str().and_then(|number| number.parse().ok());
    number.expect("a number")
}

/// CPU time so far of the threads that take over softirqs, of all CPUs.
pub fn softirq_time() -> Duration {
    static THREADS: LazyLock<Vec<u32>> = LazyLock::new(|| {
        let cpus = available_parallelism().map_or(1, usize::from);
        (0..cpus).map(softirq_thread).collect()
    });
    THREADS.iter().map(|&thread| cpu_of(thread).cpu).sum()
}

/// CPU time of this thread.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("no negative time")
}

/// CPU time of this thread since `start`.
pub fn thread_time_since(start: Duration) -> Duration {
    thread_time().saturating_sub(start)
}

/// Runs `job` on `cpu`. Children inherit the CPU of the thread that creates them.
pub fn on_cpu<T>(cpu: usize, job: impl FnOnce() -> T) -> T {
    let before = sched_getaffinity(None).expect("the CPUs of this thread");
    pin_to_cpu(cpu).expect("two CPUs, 0 and 1");
    let done = job();
    sched_setaffinity(None, &before).expect("the CPUs it had before");
    done
}

pub fn pause(time: Duration) {
    let time = Timespec::try_from(time).expect("a short time");
    poll(&mut [], Some(&time)).expect("it can wait");
}

/// The first lines of a program's version output.
pub fn version(program: &Path, flag: &str, lines: usize) -> Option<String> {
    version_of(&mut Command::new(program), flag, lines)
}

/// The first lines of the version output of a command.
pub fn version_of(command: &mut Command, flag: &str, lines: usize) -> Option<String> {
    let output = command.arg(flag).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().take(lines).map(str::trim).collect();
    Some(lines.join(", "))
}

/// A running program. Its output goes to a file, which never blocks it and can be read at any time.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    descriptor: OwnedFd,
    printed: File,
}

/// Output and usage of a program that has exited.
#[derive(Clone, Debug)]
pub struct Finished {
    pub text: String,
    pub used: Used,
    pub status: ExitStatus,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let printed = tempfile::tempfile_in("/dev/shm").expect("a file for what it prints");
        command.stdout(printed.try_clone().expect("a second descriptor"));
        Self::spawn(command, printed, Stdio::null())
    }

    /// Like `start`, but standard input is `input`.
    pub fn start_with_input(mut command: Command, input: impl Into<Stdio>) -> Self {
        let printed = tempfile::tempfile_in("/dev/shm").expect("a file for what it prints");
        command.stdout(printed.try_clone().expect("a second descriptor"));
        Self::spawn(command, printed, input.into())
    }

    /// Like `start`, but standard output is a pipe.
    pub fn start_piped(mut command: Command) -> (Self, ChildStdout) {
        let printed = tempfile::tempfile_in("/dev/shm").expect("a file for what it prints");
        command.stdout(Stdio::piped());
        let mut running = Self::spawn(command, printed, Stdio::null());
        let output = running.child.stdout.take().expect("a pipe");
        (running, output)
    }

    fn spawn(mut command: Command, printed: File, input: Stdio) -> Self {
        let name = command.get_program().display().to_string();
        command.env("LC_ALL", "C").stdin(input);
        command.stderr(printed.try_clone().expect("a second descriptor"));
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let id = Pid::from_child(&child);
        Self {
            name,
            child,
            descriptor: pidfd_open(id, PidfdFlags::empty()).expect("a descriptor of it"),
            printed,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Usage of its threads so far.
    pub fn used(&self) -> Used {
        cpu_of(self.id())
    }

    /// Its output so far.
    pub fn printed(&self) -> String {
        let bytes = self.printed.metadata().expect("its length").len();
        let mut text = vec![0; bytes as usize];
        self.printed.read_exact_at(&mut text, 0).expect("its text");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Waits until `is_ready` accepts its output.
    pub fn wait_until(&mut self, is_ready: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_ready(&self.printed()) {
            if Instant::now() > deadline || self.has_ended(Duration::ZERO) {
                self.fail("does not start");
            }
            std::thread::yield_now();
        }
    }

    /// Whether it exits within `time`.
    pub fn has_ended(&self, time: Duration) -> bool {
        let time = Timespec::try_from(time).expect("a short time");
        let mut descriptors = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut descriptors, Some(&time)).expect("waiting for it") == 1
    }

    pub fn interrupt(&self) {
        pidfd_send_signal(&self.descriptor, Signal::INT).expect("the process exists");
    }

    /// Ends it at once.
    pub fn kill(&self) {
        pidfd_send_signal(&self.descriptor, Signal::KILL).expect("the process exists");
    }

    /// Returns a function that interrupts it.
    pub fn interrupter(&self) -> impl FnOnce() + Send + use<> {
        let descriptor = self.descriptor.try_clone().expect("a descriptor of it");
        move || pidfd_send_signal(&descriptor, Signal::INT).expect("the process exists")
    }

    /// Waits for it to exit.
    pub fn finish(mut self) -> Finished {
        if !self.has_ended(10 * DEADLINE) {
            self.fail("does not exit");
        }
        let text = self.printed();
        let ended = process::wait(self.child).expect("its end");
        let used = Used {
            cpu: ended.cpu,
            waits: ended.waits,
        };
        Finished {
            text,
            used,
            status: ended.status,
        }
    }

    fn fail(&mut self, complaint: &str) -> ! {
        // It may have exited already.
        let _ = self.child.kill();
        panic!("{} {complaint}: {}", self.name, self.printed());
    }
}
