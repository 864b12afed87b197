//! One run of a command under strace(1), which makes a system call fail.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::Stdio;

use super::commands::{BATCH, Case, Check};
use netlink::Gro;

use crate::support::files::capture;
use crate::support::{PROGRAM, Scene, words};

/// A run that takes longer hangs: without a fault, none takes a second.
pub const LIMIT: &str = "60";

/// Runs `"$@"`, and writes down what it leaves: files below /run, which is its own, and the settings of the network.
const SCRIPT: &str = "mount -t tmpfs none /run || exit 99
ip link set lo up
timeout -s KILL $LIMIT \"$@\" >$DIR/stdout 2>$DIR/stderr &
group=$!
wait $group
status=$?
[ $status != 137 ] || for i in $(seq 500); do kill -0 -$group 2>/dev/null || break; sleep 0.01; done
{ echo /run/*/*; printf 'link\\naddress\\nroute show table all\\nrule\\nnexthop\\n' | ip -d -batch - | grep -v _timer; tc qdisc; } >$DIR/state 2>&1
kill -0 -$group 2>/dev/null && echo a process >>$DIR/state
exit $status";

/// Calls of one kind that fail in turns: `generate` writes 15 000 times.
const CALLS_MAX: usize = 200;

/// How a run ended, and what it left.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// `None` if it did not end.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// What [`SCRIPT`] writes down.
    pub state: String,
    /// Packets that the left host has received.
    pub arrived: u64,
    pub trace: String,
}

/// Two hosts, and a folder for the files of a run.
pub struct Stage {
    pub scene: Scene,
    send: String,
}

impl Stage {
    pub fn new() -> Self {
        let scene = Scene::new();
        // Live frames need it at the receiver.
        scene.left.set_gro(Gro::On);
        let left = scene.left.namespace().as_fd().as_raw_fd();
        let process = std::process::id();
        let send = format!(
            "nsenter --net=/proc/{process}/fd/{left} bash -c 'for i in {{1..20}}; do echo x >/dev/udp/10.1.0.2/9; done'"
        );
        Self { scene, send }
    }

    pub fn folder(&self) -> &Path {
        self.scene.folder.path()
    }

    /// Packets that the left host has received, 0 without its interface.
    fn arrived(&self) -> u64 {
        let namespace = self.scene.left.namespace();
        let table = namespace.run(|| fs::read_to_string("/proc/thread-self/net/dev"));
        let table = table.expect("the namespace").expect("its interfaces");
        let counters = table
            .lines()
            .find_map(|line| line.trim().strip_prefix("left0:"));
        let packets = counters.and_then(|counters| counters.split_whitespace().nth(1));
        packets.map_or(0, |packets| packets.parse().expect("a number"))
    }

    /// Runs a command under strace with these options, from an empty folder.
    pub fn run(&self, case: &Case, options: &[&str]) -> Outcome {
        let trace = self.scene.file("trace");
        let strace = [
            "strace",
            "-f",
            "-y",
            "-qq",
            "-e",
            "signal=none",
            "-o",
            &trace,
        ];
        // Other programs that it starts are left alone, or it is stopped for the traced calls only.
        let scope: &[_] = if case.line.contains(" -- ") {
            &["-b", "execve"]
        } else {
            &["--seccomp-bpf"]
        };
        self.run_by(case, &[&strace, scope, options].concat(), LIMIT)
    }

    /// Runs a command in which a call fails.
    pub fn run_with(&self, case: &Case, fault: &Fault) -> Outcome {
        let options = fault.options(&self.scene.file(""));
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        self.run(case, &options)
    }

    /// Runs a command by another program, given its arguments. Ends it after `limit` seconds.
    pub fn run_by(&self, case: &Case, by: &[&str], limit: &str) -> Outcome {
        let folder = &self.scene.file("");
        for entry in fs::read_dir(self.folder()).expect("the folder") {
            let path = entry.expect("an entry").path();
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.expect("it is removed");
        }
        self.scene.write("batch", BATCH);
        let corpus = capture("802.1w_rapid_STP.pcap");
        for (name, from) in [
            ("in.pcap", &corpus),
            ("ip.pcap", &capture("accecn_handshake.pcap")),
        ] {
            fs::copy(from, self.scene.file(name)).expect("copied");
        }
        self.scene
            .write("message", "14000000 03000500 01000000 02000000 00000000");
        let line = case
            .line
            .replace("SEND", &self.send)
            .replace("CTL", &format!("{PROGRAM} ctl"))
            .replace("CORPUS", &corpus)
            .replace("DIR/", folder);
        let before = self.arrived();
        let mut command = self.scene.right.command("unshare");
        command.arg("--mount");
        if matches!(case.check, Check::Configures | Check::Undoes) {
            command.arg("--net");
        }
        command
            .args(["sh", "-c", SCRIPT, "sh"])
            .args(by)
            .arg(PROGRAM)
            .args(words(&line));
        command
            .env("DIR", folder)
            .env("LIMIT", limit)
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let status = command.status().expect("it runs").code();
        let read = |name| {
            let bytes = fs::read(self.folder().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        assert!(status != Some(99), "the mount failed");
        Outcome {
            status: status.filter(|status| *status != 137),
            stdout: read("stdout"),
            stderr: read("stderr"),
            state: read("state"),
            arrived: self.arrived().saturating_sub(before),
            trace: read("trace"),
        }
    }
}

/// Which call of a thread fails, the first is 1, and how: a word of strace's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub call: String,
    pub number: u32,
    pub how: &'static str,
    /// Only calls with this file of the folder count.
    pub file: Option<String>,
}

impl Fault {
    /// Options of strace. The file is in `folder`.
    pub fn options(&self, folder: &str) -> Vec<String> {
        let Self {
            call, number, how, ..
        } = self;
        let inject = format!("inject={call}:{how}:when={number}");
        let mut options = vec!["-e".into(), format!("trace={call}"), "-e".into(), inject];
        if let Some(file) = &self.file {
            options.extend(["-P".into(), format!("{folder}{file}")]);
        }
        options
    }

    /// The call, and its file.
    pub fn what(&self) -> String {
        match &self.file {
            Some(file) => format!("{} to {file}", self.call),
            None => self.call.clone(),
        }
    }
}

/// Whether a line of a trace wakes a thread. Such a write cannot fail unless the reader is awake already: the pipe is full.
pub fn wakes(line: &str) -> bool {
    let is_write = line.contains(" write(");
    // Both forms of a line: strace splits the call if another thread makes one meanwhile.
    let is_octet = line.contains(", 1) ") || line.contains(", 1 <unfinished");
    is_write && (line.contains("<pipe:[") && is_octet || line.contains("[eventfd]>"))
}

/// Whether a line of a trace is the injected end of [`BATCH`], which is then a shorter file: no failure.
pub fn shortens(line: &str) -> bool {
    line.contains("/batch>, \"\"") && line.contains(" = 0 (INJECTED)")
}

#[test]
fn wake_ups_are_known_by_their_line() {
    let line = r#"26129 write(4<pipe:[1700883]>, "s", 1)  = -1 EINTR (Interrupted system call) (INJECTED)"#;
    assert!(wakes(line));
    assert!(!wakes(&line.replace(", 1) ", ", 2) ")));
    let line = r#"9815  read(3</tmp/x/batch>, "", 65536) = 0 (INJECTED)"#;
    assert!(shortens(line));
    assert!(!shortens(&line.replace("= 0", "= -1 EIO")));
}

/// Calls with a descriptor of an output.
const OUTPUT_CALLS: [&str; 6] = [
    "write",
    "pwrite64",
    "writev",
    "ftruncate",
    "fsync",
    "fdatasync",
];

/// What is not an output of the command.
const OTHER_FILES: [&str; 3] = ["stderr", "state", "trace"];

/// Every fault of the outputs of a traced run: the files in `folder`, and standard output. Wake-ups do not count here, so that
/// writes behind them fail, too.
pub fn output_faults(trace: &str, folder: &str) -> Vec<Fault> {
    let mut made: BTreeMap<(&str, &str), BTreeMap<&str, u32>> = BTreeMap::new();
    for line in trace.lines() {
        let Some((thread, text)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let Some((call, rest)) = text.trim_start().split_once('(') else {
            continue;
        };
        let file = rest
            .split_once('<')
            .filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|(_, rest)| rest.split_once('>')?.0.strip_prefix(folder))
            .filter(|file| !OTHER_FILES.contains(file));
        if let Some(file) = file
            && OUTPUT_CALLS.contains(&call)
        {
            *made
                .entry((call, file))
                .or_default()
                .entry(thread)
                .or_default() += 1;
        }
    }
    let mut faults = Vec::new();
    for ((call, file), threads) in made {
        let most = threads.into_values().max().unwrap_or(0);
        for number in (1..=most).take(CALLS_MAX) {
            faults.extend(ways(call).iter().map(|how| Fault {
                call: call.to_owned(),
                number,
                how,
                file: Some(file.to_owned()),
            }));
        }
    }
    faults
}

#[test]
fn faults_of_outputs_are_those_of_the_folder() {
    let trace = "\
7 write(4</tmp/x/a.pcapng>, \"\", 96) = 96
7 write(4</tmp/x/a.pcapng>, \"\", 96) = 96
8 write(4</tmp/x/a.pcapng>, \"\", 96) = 96
7 write(2</tmp/x/stderr>, \"\", 96) = 96
7 write(5<pipe:[1]>, \"\", 1) = 1
7 fsync(4</tmp/x/a.pcapng>) = 0
7 read(4</tmp/x/a.pcapng>, \"\", 96) = 0
";
    let faults = output_faults(trace, "/tmp/x/");
    let with = |call: &str, number: u32| {
        let mut all = faults.iter();
        all.any(|fault| fault.call == call && fault.number == number && fault.how == "error=ENOSPC")
    };
    assert!(with("write", 1) && with("write", 2) && with("fsync", 1));
    assert!(!with("write", 3) && !with("read", 1));
    assert!(
        faults
            .iter()
            .all(|fault| fault.file.as_deref() == Some("a.pcapng"))
    );
    let options = faults[0].options("/tmp/y/");
    assert_eq!(options[4..], ["-P", "/tmp/y/a.pcapng"]);
}

/// Every fault of a traced run: each call of each thread, in each way. Calls that the loader and Rust's runtime make before the
/// program's first line are not the program's.
pub fn faults(trace: &str) -> Vec<Fault> {
    let mut made: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    let mut before: BTreeMap<&str, u32> = BTreeMap::new();
    let first = trace.split_whitespace().next().unwrap_or_default();
    let mut waking: BTreeMap<&str, u32> = BTreeMap::new();
    let mut stacks = 0;
    for line in trace.lines() {
        let Some((thread, text)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let Some((call, _)) = text.trim_start().split_once('(') else {
            continue;
        };
        if !call.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let number = made.entry(call).or_default().entry(thread).or_default();
        *number += 1;
        if wakes(line) {
            let first = waking.entry(call).or_insert(u32::MAX);
            *first = (*first).min(*number);
        }
        if thread == first && stacks < 2 {
            *before.entry(call).or_default() += 1;
            // Rust's runtime ends with a stack for signals.
            stacks += u32::from(call == "sigaltstack");
        }
    }
    let mut faults = Vec::new();
    for (call, threads) in made {
        let most = threads.into_values().max().unwrap_or(0);
        let begin = before.get(call).copied().unwrap_or(0) + 1;
        // Runs differ in the number of the write that wakes. None from there on fails.
        let most = waking.get(call).map_or(most, |first| most.min(first - 1));
        for number in (begin..=most).take(CALLS_MAX) {
            faults.extend(ways(call).iter().map(|how| Fault {
                call: call.to_owned(),
                number,
                how,
                file: None,
            }));
        }
    }
    faults
}

/// How a call can fail.
fn ways(call: &str) -> &'static [&'static str] {
    match call {
        // These cannot, or only if the program is wrong, and the C library ends the process then.
        "futex" | "prlimit64" | "clock_gettime" | "getrandom" | "uname" | "execve" | "munmap"
        | "rt_sigaction" | "rt_sigprocmask" | "rt_sigreturn" | "sigaltstack" | "gettid"
        | "getpid" | "getppid" | "geteuid" | "getuid" | "set_robust_list" | "rseq" | "exit"
        | "exit_group" | "arch_prctl" | "set_tid_address" | "restart_syscall" | "tgkill"
        | "sched_yield" => &[],
        "brk" => &["retval=0"],
        "mmap" | "mprotect" | "mremap" | "madvise" => {
            &["error=ENOMEM", "error=EAGAIN", "error=EPERM"]
        }
        "clone" | "clone3" | "fork" | "vfork" => &["error=ENOMEM", "error=EAGAIN", "error=EPERM"],
        // Rust's library panics on another failure of a folder's.
        "close" | "nanosleep" | "clock_nanosleep" => &["error=EINTR"],
        "poll" | "ppoll" | "epoll_pwait" | "epoll_wait" | "wait4" | "waitid" => {
            &["error=EINTR", "error=ENOMEM"]
        }
        // Nothing is read: the end.
        "read" | "pread64" => &["error=EINTR", "error=EAGAIN", "error=EIO", "retval=0"],
        // Nothing is written.
        "write" | "writev" | "pwrite64" => &[
            "error=EINTR",
            "error=EAGAIN",
            "error=EIO",
            "error=ENOSPC",
            "retval=0",
        ],
        "openat"
        | "socket"
        | "socketpair"
        | "pipe2"
        | "eventfd2"
        | "epoll_create1"
        | "timerfd_create"
        | "memfd_create"
        | "fcntl"
        | "dup"
        | "dup3"
        | "accept4"
        | "bpf"
        | "perf_event_open"
        | "inotify_init1"
        | "landlock_create_ruleset"
        | "pidfd_open" => &[
            "error=EINTR",
            "error=EAGAIN",
            "error=EIO",
            "error=EPERM",
            "error=ENOMEM",
            "error=ENOSPC",
            "error=EMFILE",
        ],
        _ => &[
            "error=EINTR",
            "error=EAGAIN",
            "error=EIO",
            "error=EPERM",
            "error=ENOMEM",
            "error=ENOSPC",
        ],
    }
}

#[test]
fn faults_begin_behind_the_runtime() {
    let trace = "\
7 execve(\"x\") = 0
7 mmap(NULL) = 1
7 sigaltstack(NULL) = 0
7 sigaltstack({}) = 0
7 mmap(NULL) = 2
8 mmap(NULL) = 3
8 <... mmap resumed>) = 3
7 close(3) = 0
7 +++ exited with 0 +++
";
    let faults = faults(trace);
    let calls: Vec<_> = faults
        .iter()
        .map(|fault| (&fault.call[..], fault.number))
        .collect();
    let mapped = ("mmap", 2);
    assert_eq!(calls, [("close", 1), mapped, mapped, mapped]);
}
