//! System calls that many lists share. Each is made by a run here, or it is in a list of calls that runs hardly ever make. Then the
//! kernel accepts it from a restricted program. So a test fails if a call is removed from the lists.

use std::process::Command;

use super::calls::{NEW_SOCKETS, PROCESS};
use super::trace::{Calls, trace, trace_panic, trace_while};
use super::{PINGS, scene};
use crate::support::dns::{NameServer, Record};
use crate::support::run::{command, spawn};
use crate::support::{PROGRAM, Scene, has_run_with_own_mounts, output, tapline};

/// Calls of every command that no run here makes for sure, by name, and when they are made. All of them can be made without an
/// effect.
const RARE: [(&str, i64, &str); 15] = [
    ("brk", libc::SYS_brk, "the allocator, when the heap grows"),
    (
        "clock_gettime",
        libc::SYS_clock_gettime,
        "clocks that the kernel does not share: virtual machines without a stable counter",
    ),
    (
        "fstat",
        libc::SYS_fstat,
        "the C library from 2.39 on, instead of newfstatat",
    ),
    (
        "getcpu",
        libc::SYS_getcpu,
        "where the number of the CPU is not shared either",
    ),
    (
        "getpid",
        libc::SYS_getpid,
        "abort(3), in builds that abort on a panic",
    ),
    (
        "getrandom",
        libc::SYS_getrandom,
        "the seed of the first table of a thread",
    ),
    ("gettid", libc::SYS_gettid, "abort(3) and panics of threads"),
    (
        "mprotect",
        libc::SYS_mprotect,
        "the allocator, when a thread needs much memory",
    ),
    (
        "mremap",
        libc::SYS_mremap,
        "the allocator, when a large buffer grows",
    ),
    (
        "restart_syscall",
        libc::SYS_restart_syscall,
        "a wait goes on after SIGSTOP and SIGCONT",
    ),
    (
        "rt_sigaction",
        libc::SYS_rt_sigaction,
        "the C library, when it starts its first thread",
    ),
    (
        "sched_getaffinity",
        libc::SYS_sched_getaffinity,
        "the number of CPUs, for pools of threads",
    ),
    (
        "sched_yield",
        libc::SYS_sched_yield,
        "a contended queue between threads",
    ),
    (
        "tgkill",
        libc::SYS_tgkill,
        "abort(3), in builds that abort on a panic",
    ),
    (
        "uname",
        libc::SYS_uname,
        "the version of the kernel, in messages about what it refused",
    ),
];

/// The same for commands that open sockets.
const RARE_OF_SOCKETS: [(&str, i64, &str); 5] = [
    (
        "bind",
        libc::SYS_bind,
        "requests to the kernel, and the C library when it sorts several addresses",
    ),
    (
        "getpeername",
        libc::SYS_getpeername,
        "the C library, when it asks a name server over TCP",
    ),
    ("getsockname", libc::SYS_getsockname, "as bind"),
    (
        "pread64",
        libc::SYS_pread64,
        "modules of the C library that look names up, such as mdns",
    ),
    (
        "statx",
        libc::SYS_statx,
        "tables of names that this program reads itself",
    ),
];

#[test]
fn the_calls_of_every_command_are_made() {
    let scene = scene();
    let folder = scene.folder.path().to_str().expect("text");
    let host = &scene.right;
    let file = scene.write("message", "14000000 03000500 01000000 02000000 00000000");
    let mut made = trace(
        host,
        &format!("capture -i lo -w {folder}/a.pcapng.zst --queues 2 {PINGS}"),
    );
    made.add(trace(host, &format!("read {folder}/large.pcap")));
    made.add(trace_panic(host, &format!("explain {file}")));
    made.add(trace_while(host, "ping -i 0.01 -q 127.0.0.1", |pid| {
        // The restricted thread is to handle it. While strace(1) stops that one, a signal to the process goes to another.
        let pid = pid.as_raw_nonzero();
        let script = format!(
            "__import__('ctypes').CDLL(None).tgkill({pid},{pid},{})",
            libc::SIGINT
        );
        let sent = host.command("python3").args(["-c", &script]).status();
        assert!(sent.expect("it runs").success());
    }));
    assert_accounted(PROCESS, &RARE, &made);
}

/// Runs a command that makes the calls `rare` once it has restricted itself; the kernel must take them.
#[track_caller]
fn assert_taken(mut command: Command, rare: &[(&str, i64, &str)]) {
    let names: Vec<_> = rare.iter().map(|(name, ..)| *name).collect();
    command.env("TAPLINE_TEST_ATTACKER", format!("call {}", names.join(" ")));
    let ended = spawn(command).finish();
    ended.exit(0);
    for name in names {
        let start = format!("attacker: {name}: ");
        let mut lines = ended.stderr.iter();
        let line = lines.find(|line| line.starts_with(&start)).expect("a line");
        let is_missing = line.contains(&format!("code: {},", libc::ENOSYS));
        assert!(!is_missing && !line.ends_with("unknown"), "{line}");
    }
}

#[test]
fn rare_calls_are_allowed() {
    let scene = Scene::new();
    let file = scene.write("message", "14000000 03000500 01000000 02000000 00000000");
    assert_taken(command(&format!("explain {file}")), &RARE);
}

#[test]
fn rare_calls_of_lookups_are_allowed() {
    let scene = Scene::new();
    let line = "ping -q -c 1 --resolve-every 1s localhost";
    assert_taken(tapline(&scene.right, line), &RARE_OF_SOCKETS);
}

#[test]
fn the_calls_of_lookups_are_made() {
    let setup = "cd $(mktemp -d) && echo nameserver 127.0.0.1 >resolv.conf \
&& mount --bind resolv.conf /etc/resolv.conf && rm -r \"$PWD\" && cd /";
    if has_run_with_own_mounts("TAPLINE_TEST_LOOKUPS", setup) {
        return;
    }
    let scene = Scene::new();
    let server = NameServer::new(&scene.right);
    server.set("h", Record::Address([127, 0, 0, 1].into()));
    let line = "ping -q -c 20 -i 0.05 --resolve-every 100ms h.test.";
    let mut made = trace(&scene.right, line);
    // Here the C library has not looked a name up before.
    let name = format!("lookups-{}", std::process::id());
    let line = format!("capture -i lo -q --name {name}");
    made.add(trace_while(&scene.right, &line, |_| {
        let ctl = |words: &str| output(&scene.right, PROGRAM, &format!("ctl -n {name} {words}"));
        ctl("filter host h.test.");
        ctl("stop");
    }));
    assert_accounted(NEW_SOCKETS, &RARE_OF_SOCKETS, &made);
}

/// Each call of `list` is made or `rare`, and each that is rare is in `list`.
#[track_caller]
fn assert_accounted(list: &[i64], rare: &[(&str, i64, &str)], made: &Calls) {
    let is_rare = |call: &i64| rare.iter().any(|(_, known, _)| known == call);
    let is_accounted = |call: &&i64| made.made.contains_key(*call) || is_rare(call);
    let unused: Vec<_> = list.iter().filter(|call| !is_accounted(call)).collect();
    assert!(unused.is_empty(), "no run makes the calls {unused:?}");
    for (name, call, why) in rare {
        assert!(list.contains(call), "{name} is missing: {why}");
    }
}
