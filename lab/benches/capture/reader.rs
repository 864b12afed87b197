//! A reader at work.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use abi::process::wait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tapline_lab::generator::pin_to_cpu;

use crate::rig::{Arrival, READER_CPU, Rig, SENDER_CPU};
use crate::tool::{Counted, Tool};

/// How long a reader may take to begin or to end.
const DEADLINE: Duration = Duration::from_secs(20);
/// How long it may take to work off its ring.
const WORK: Duration = Duration::from_millis(500);

pub struct Reader<'t> {
    tool: &'t Tool,
    child: Child,
    descriptor: OwnedFd,
    /// Where its output goes: a file, which is never full and has an end at every time.
    printed: PathBuf,
    /// What it had used when it began to wait for packets.
    start: Used,
}

#[derive(Clone, Copy, Debug)]
struct Used {
    cpu: Duration,
    waits: u64,
}

/// What became of it.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub counted: Counted,
    /// Processor time from its first wait for packets to its end.
    pub cpu: Duration,
    /// Times it waited.
    pub waits: u64,
}

impl<'t> Reader<'t> {
    /// Starts `tool` and returns when it waits for packets; it ends itself after `count` of them.
    pub fn start(tool: &'t Tool, rig: &Rig, file: &Path, count: u64) -> Self {
        let program = tool.program.as_ref().expect("it is installed");
        let program = program.to_str().expect("a path of text");
        let printed = rig.folder.path().join("printed");
        let output = File::create(&printed).expect("a file for what it prints");
        let mut command = rig.receiver.command(program);
        command.args(tool.arguments(rig, file, &count.to_string()));
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second descriptor"))
            .stderr(output);
        // A child begins where its parent is.
        pin_to_cpu(READER_CPU).expect("the reader's processor");
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        pin_to_cpu(SENDER_CPU).expect("the sender's processor");

        let id = Pid::from_child(&child);
        let descriptor = pidfd_open(id, PidfdFlags::empty()).expect("a descriptor of the reader");
        let mut reader = Self {
            tool,
            child,
            descriptor,
            printed,
            start: Used {
                cpu: Duration::ZERO,
                waits: 0,
            },
        };
        reader.wait_for_socket(rig.receiver.interface().index.0);
        reader.start = reader.used();
        reader
    }

    /// Returns when its socket receives from the interface and it sleeps in a poll of some kind.
    fn wait_for_socket(&mut self, interface: u32) {
        let deadline = Instant::now() + DEADLINE;
        let process = format!("/proc/{}", self.child.id());
        let read = |name: &str| fs::read_to_string(format!("{process}/{name}")).unwrap_or_default();
        // Columns: sk, RefCnt, Type, Proto, Iface, R(unning), …; `packet_seq_show`,
        // net/packet/af_packet.c.
        let runs = |line: &str| {
            let mut columns = line.split_whitespace().skip(4);
            let on = columns.next().and_then(|index| index.parse().ok());
            on == Some(interface) && columns.next() == Some("1")
        };
        loop {
            let is_open = match self.tool.arrival() {
                Arrival::Counted => read("net/packet").lines().any(runs),
                // Its socket is in no such list; it says when its program is attached.
                Arrival::Reader => self.printed().contains("\"start\""),
            };
            if is_open && read("wchan").contains("poll") {
                break;
            }
            let is_late = Instant::now() > deadline;
            if is_late || self.has_ended(Duration::ZERO) {
                self.fail(if is_late {
                    "is not ready"
                } else {
                    "ended at once"
                });
            }
            thread::yield_now();
        }
    }

    /// What its threads have used so far.
    fn used(&self) -> Used {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = fs::read_dir(tasks).expect("the reader's threads");
        let mut used = Used {
            cpu: Duration::ZERO,
            waits: 0,
        };
        for task in tasks {
            let task = task.expect("a thread").path();
            let read = |name: &str| fs::read_to_string(task.join(name)).unwrap_or_default();
            let nanoseconds = read("schedstat")
                .split(' ')
                .next()
                .and_then(|n| n.parse().ok());
            used.cpu += Duration::from_nanos(nanoseconds.expect("the scheduler counts"));
            let status = read("status");
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            used.waits += line.map_or(0, |count| count.trim().parse().expect("a number"));
        }
        used
    }

    /// Whether it ends within `time`.
    fn has_ended(&self, time: Duration) -> bool {
        let time = Timespec::try_from(time).expect("a short time");
        let mut descriptors = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut descriptors, Some(&time)).expect("waiting for the reader") == 1
    }

    /// Gives it time for what is in its ring, ends it if that did not, and reads off its counts.
    pub fn finish(mut self) -> Finished {
        if !self.has_ended(self.tool.block_timeout() + WORK) {
            pidfd_send_signal(&self.descriptor, Signal::INT).expect("the reader is there");
            if !self.has_ended(DEADLINE) {
                self.fail("does not end");
            }
        }
        let printed = self.printed();
        let ended = wait(self.child).expect("the reader's end");
        let counted = self.tool.counted(&printed);
        let Some(counted) = counted.filter(|_| ended.status.success()) else {
            panic!("{} ended with {}: {printed}", self.tool.name, ended.status);
        };
        Finished {
            counted,
            cpu: ended.cpu.saturating_sub(self.start.cpu),
            waits: ended.waits - self.start.waits,
        }
    }

    /// What it printed so far.
    fn printed(&self) -> String {
        let text = fs::read(&self.printed).expect("what the reader printed");
        String::from_utf8_lossy(&text).into_owned()
    }

    fn fail(&mut self, complaint: &str) -> ! {
        // It may be gone already.
        let _ = self.child.kill();
        let printed = self.printed();
        panic!("{} {complaint}: {printed}", self.tool.name);
    }
}
