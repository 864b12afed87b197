//! The system calls of a command after it has restricted itself, as strace(1) sees them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use lab::{Host, wait};
use rustix::process::{Pid, Signal, kill_process};

use super::calls::{COMMAND, IPFIX, List, METRICS, PROCESSES, SERVE, SIGNALS, UPLOADS};
use crate::support::objects::use_server;
use crate::support::run::{spawn, takes_another};
use crate::support::{PROGRAM, words};

/// What a restricted thread called.
#[derive(Debug, Default)]
pub struct Calls {
    /// Numbers, with a line of the trace for each.
    pub made: BTreeMap<i64, String>,
    /// Commands of bpf(2), by name.
    pub bpf_commands: BTreeSet<String>,
}

impl Calls {
    pub fn add(&mut self, other: Self) {
        self.made.extend(other.made);
        self.bpf_commands.extend(other.bpf_commands);
    }
}

/// Threads with lists of their own.
static THREADS: [&List; 6] = [&COMMAND, &IPFIX, &METRICS, &PROCESSES, &SIGNALS, &UPLOADS];

/// Runs `tapline LINE` under strace at `host`; it must succeed. Returns the calls without those of threads that have lists of
/// their own.
#[track_caller]
pub fn trace(host: &Host, line: &str) -> Calls {
    restricted(&log(host, line, |_| {}), None)
}

/// Like [`trace`], for the thread of a list.
#[track_caller]
pub fn trace_thread(host: &Host, list: &List, line: &str) -> Calls {
    restricted(&log(host, line, |_| {}), Some(list.name))
}

/// Like [`trace`]. Once the command has restricted itself, `act` runs, with its process.
#[track_caller]
pub fn trace_while(host: &Host, line: &str, act: impl FnOnce(Pid)) -> Calls {
    restricted(&log(host, line, act), None)
}

/// Like [`trace_thread`], for the sessions of a server. `act` runs when it listens, with its process, and ends it.
#[track_caller]
pub fn trace_sessions(host: &Host, line: &str, act: impl FnOnce(Pid)) -> Calls {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("trace");
    let mut running = spawn(strace(host, line, folder.path(), &log));
    running.ready();
    act(first_process(&log));
    running.finish().exit(0);
    restricted(&read(&log), Some(SERVE.name))
}

/// Like [`trace_thread`], of a command that two signals end. `act` runs before, and sees to it that one does not end it.
#[track_caller]
pub fn trace_signals(host: &Host, line: &str, act: impl FnOnce()) -> Calls {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("trace");
    let running = spawn(strace(host, line, folder.path(), &log));
    wait::until("the command has restricted itself", || {
        has_restricted_itself(&log)
    });
    act();
    let process = first_process(&log);
    kill_process(process, Signal::INT).expect("it runs");
    takes_another(process);
    kill_process(process, Signal::TERM).expect("it runs");
    assert_eq!(running.finish().status.code(), Some(130));
    restricted(&read(&log), Some(SIGNALS.name))
}

/// The process that is traced.
fn first_process(log: &Path) -> Pid {
    let log = read(log);
    let pid = log.lines().find_map(|line| Some(Line::parse(line)?.thread));
    let pid = pid.and_then(|pid| Pid::from_raw(pid.cast_signed()));
    pid.expect("its process")
}

/// Like [`trace`], of a command that panics once it has restricted itself.
#[track_caller]
pub fn trace_panic(host: &Host, line: &str) -> Calls {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("trace");
    let mut command = strace(host, line, folder.path(), &log);
    command.env("TAPLINE_TEST_ATTACKER", "panic");
    // It prints paths relative to the current directory.
    command.env("RUST_BACKTRACE", "1");
    let ended = spawn(command).finish();
    ended.assert_mentions("taken over");
    assert_ne!(
        ended.status.signal(),
        Some(libc::SIGSYS),
        "the list lacks a call of a panic"
    );
    restricted(&read(&log), None)
}

#[track_caller]
fn log(host: &Host, line: &str, act: impl FnOnce(Pid)) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("trace");
    let running = spawn(strace(host, line, folder.path(), &log));
    wait::until("the command has restricted itself", || {
        has_restricted_itself(&log)
    });
    act(first_process(&log));
    running.finish().exit(0);
    read(&log)
}

/// Whether a thread without a list of its own has restricted itself.
pub fn has_restricted_itself(log: &Path) -> bool {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().filter_map(Line::parse).collect();
    let beside = beside(&lines);
    let mut lines = lines.iter();
    lines.any(|line| line.text.starts_with("seccomp(") && !beside.contains(&line.thread))
}

/// The threads with lists of their own, and those that start tshark.
fn beside(lines: &[Line<'_>]) -> HashSet<u32> {
    let names = THREADS.iter().map(|list| list.name).chain(["start"]);
    names.flat_map(|name| named(lines, name)).collect()
}

/// The threads with this name.
fn named(lines: &[Line<'_>], name: &str) -> HashSet<u32> {
    let name = format!("prctl(PR_SET_NAME, \"{name}\"");
    let names = lines.iter().filter(|line| line.text.starts_with(&name));
    names.map(|line| line.thread).collect()
}

pub fn strace(host: &Host, line: &str, folder: &Path, log: &Path) -> Command {
    let mut command = host.command("strace");
    command.env("PATH", fake_ssh(folder));
    use_server(&mut command, "localhost");
    command.args(["-f", "-n", "-qq", "-o"]).arg(log);
    command.arg(PROGRAM).args(words(line));
    command
}

fn read(log: &Path) -> String {
    let log = fs::read(log).expect("the trace");
    String::from_utf8_lossy(&log).into_owned()
}

/// A search path with an ssh(1) that is another host with one interface.
pub fn fake_ssh(folder: &Path) -> String {
    let program = folder.join("ssh");
    fs::write(&program, "#!/bin/sh\necho '{\"name\":\"eth0\"}'\n").expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", folder.display())
}

/// The calls after the last seccomp(2) of a thread, and of the threads that it started behind that: of the threads with this name,
/// or of those without a list of their own. Other programs that the command starts are not its calls. No time zone is read then.
fn restricted(log: &str, of: Option<&str>) -> Calls {
    let lines: Vec<_> = log.lines().filter_map(Line::parse).collect();
    let chosen: HashSet<_> = match of {
        Some(name) => named(&lines, name),
        None => beside(&lines),
    };
    let others = other_programs(&lines);
    let restricts = |line: &&Line<'_>| {
        line.text.starts_with("seccomp(")
            && chosen.contains(&line.thread) == of.is_some()
            && (of.is_some() || !others.contains(&line.thread))
    };
    let threads: HashSet<_> = lines
        .iter()
        .filter(restricts)
        .map(|line| line.thread)
        .collect();
    let last = |thread| {
        lines
            .iter()
            .rposition(|line| line.thread == thread && restricts(&line))
    };
    let begin = |thread| Some((thread, last(thread)? + 1));
    let mut from: Vec<_> = threads.into_iter().filter_map(begin).collect();
    let mut calls = Calls::default();
    while let Some((thread, begin)) = from.pop() {
        for line in lines
            .iter()
            .skip(begin)
            .filter(|line| line.thread == thread)
        {
            // Any process may have such a file open, which a search for processes sees.
            let is_of_process = line.text.starts_with("readlink(\"/proc/");
            assert!(
                is_of_process
                    || !["zoneinfo", "/etc/localtime"]
                        .iter()
                        .any(|file| line.text.contains(file)),
                "the time zone is read in the sandbox: {}",
                line.text
            );
            if let Some(child) = line.child() {
                from.push((child, 0));
            }
            if !line.text.starts_with("<...") {
                calls
                    .made
                    .entry(line.number)
                    .or_insert_with(|| line.text.to_owned());
            }
            if let Some(command) = line.text.strip_prefix("bpf(") {
                let end = command.find([',', ' ']).unwrap_or(command.len());
                calls.bpf_commands.insert(command[..end].to_owned());
            }
        }
    }
    calls
}

/// The threads of programs that the first one started.
fn other_programs(lines: &[Line<'_>]) -> HashSet<u32> {
    let first = lines.first().map(|line| line.thread);
    let mut others = HashSet::new();
    for line in lines {
        let is_program = line.text.starts_with("execve(") && Some(line.thread) != first;
        if is_program {
            others.insert(line.thread);
        }
        if let Some(child) = line.child().filter(|_| others.contains(&line.thread)) {
            others.insert(child);
        }
    }
    others
}

/// A line of `strace -f -n`: a call, its end, or both.
struct Line<'l> {
    thread: u32,
    number: i64,
    text: &'l str,
}

impl<'l> Line<'l> {
    /// `None` for signals and exits.
    fn parse(line: &'l str) -> Option<Self> {
        let (thread, rest) = line.split_once(char::is_whitespace)?;
        let (number, text) = rest.trim_start().strip_prefix('[')?.split_once("] ")?;
        Some(Self {
            thread: thread.parse().ok()?,
            number: number.trim().parse().ok()?,
            text,
        })
    }

    /// The thread that it started.
    fn child(&self) -> Option<u32> {
        let name = self.text.strip_prefix("<... ").unwrap_or(self.text);
        if !name.starts_with("clone") {
            return None;
        }
        let result = self.text.rsplit(" = ").next()?;
        result.split(' ').next()?.parse().ok()
    }
}

#[test]
fn a_trace_has_the_calls_behind_the_last_seccomp() {
    let log = "\
10 [   1] write(1, \"a\", 1) = 1
10 [ 317] seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=9}) = 0
10 [ 157] prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) = 0
10 [ 317] seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=9}) = 0
11 [   3] close(7) = 0
10 [ 435] clone3({flags=CLONE_VM}, 88 <unfinished ...>
12 [   0] read(3,  <unfinished ...>
10 [ 435] <... clone3 resumed> => {parent_tid=[12]}, 88) = 12
12 [   0] <... read resumed>\"\", 1) = 0
12 [ 273] set_robust_list(0x7f, 24) = 0
10 [ 321] bpf(BPF_MAP_LOOKUP_ELEM, {map_fd=4}, 32) = 0
13 [ 157] prctl(PR_SET_NAME, \"metrics\") = 0
13 [ 317] seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=9}) = 0
13 [ 288] accept4(3, NULL, NULL, SOCK_CLOEXEC) = 4
10 +++ exited with 0 +++
";
    let calls = restricted(log, None);
    let numbers: Vec<_> = calls.made.keys().copied().collect();
    assert_eq!(numbers, [0, 273, 321, 435]);
    assert!(calls.bpf_commands.iter().eq(["BPF_MAP_LOOKUP_ELEM"]));
    assert!(restricted(log, Some("metrics")).made.into_keys().eq([288]));
}
