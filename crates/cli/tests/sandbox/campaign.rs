//! Each call of each list is missed: without it, a test fails.
//!
//! `make sandbox-calls` leaves out one call after another, and prints what noticed it. Otherwise the calls of lists with short
//! commands are left out. TAPLINE_SANDBOX_CALLS selects lists by name, or `all`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::calls::{
    CAPTURE, IPFIX, LATENCY, List, NEW_SOCKETS, PING, PING_XDP, PROCESS, START_THREAD, UPLOADS,
};
use super::untraced_calls::UNTRACED_CALLS;
use super::{LISTS, TRACED};

/// Lists of an ordinary run.
const FEW: &str = "ctl extcap filter index";

/// Tests that run longer do not end: without a call left out, each takes less than half of it.
const LIMIT_SECONDS: &str = "120";

/// The same for tests that boot a kernel.
const BOOT_LIMIT_SECONDS: &str = "500";

/// Modules whose tests boot a kernel.
const BOOTS: [&str; 2] = ["kernels::hwtstamp::", "kernels::old_kernel::"];

/// Runs at the same time.
const WORKERS: usize = 2;

/// Tests of the calls that every command has.
const EVERY: &[&str] = &[
    "ping::live::a_suspended_run_gives_the_terminal_back",
    "sandbox::shared::rare_calls_are_allowed",
    "sandbox::shared::the_calls_of_every_command_are_made",
];

/// Tests of the calls of commands that open sockets.
const SOCKETS: &[&str] = &[
    "sandbox::shared::rare_calls_of_lookups_are_allowed",
    "sandbox::shared::the_calls_of_lookups_are_made",
];

/// A call that is left out, and the tests of it.
#[derive(Clone, Debug)]
struct Removal {
    /// A list, `every` or `sockets`.
    list: &'static str,
    /// The number of a call, or `bpf` and the number of a command.
    what: String,
    tests: &'static [&'static str],
}

/// How the tests end without a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// One fails.
    Failed,
    /// They do not end.
    Hung,
    /// One fails if calls that are not allowed end the process: a command makes the call, and goes on without it.
    Refused,
    /// They need something that this machine lacks.
    Skipped,
    Passed,
}

impl End {
    const fn words(self) -> &'static str {
        match self {
            Self::Failed => "a test fails",
            Self::Refused => "made, and the command goes on without",
            Self::Hung => "A TEST DOES NOT END",
            Self::Skipped => "SKIPPED HERE",
            Self::Passed => "NOTHING NOTICED",
        }
    }

    /// Whether a test failed. One that is ended from outside, or does not run, says nothing about the call.
    const fn is_noticed(self) -> bool {
        matches!(self, Self::Failed | Self::Refused)
    }
}

/// Every call that can be left out of the list, `every` or `sockets`.
fn removals(list: &List) -> Vec<Removal> {
    let traced = TRACED.iter().find(|(name, _)| *name == list.name);
    let (_, traced) = traced.expect("the test of each list");
    let mut calls: Vec<i64> = list.calls.iter().copied().flatten().copied().collect();
    calls.sort_unstable();
    calls.dedup();
    // Which of those a run makes depends on the memory that is left, and on how its threads run.
    calls.retain(|call| !PROCESS.contains(call));
    let removal = |what: String, tests| Removal {
        list: list.name,
        what,
        tests,
    };
    let calls = calls.into_iter().map(|call| {
        let mut elsewhere = UNTRACED_CALLS.iter();
        let made = elsewhere.find(|made| made.list == list.name && made.calls.contains(&call));
        removal(call.to_string(), made.map_or(*traced, |made| made.tests))
    });
    let commands = list.bpf_commands.iter();
    let commands = commands.map(|command| removal(format!("bpf {command}"), traced));
    calls.chain(commands).collect()
}

/// The removals of all lists that are selected.
fn selected(names: &str) -> Vec<Removal> {
    let is_selected = |name: &str| names == "all" || names.split(' ').any(|one| one == name);
    let lists = LISTS.iter().filter(|list| is_selected(list.name));
    let mut removals: Vec<_> = lists.copied().flat_map(removals).collect();
    let every = PROCESS.iter().chain([&START_THREAD, &libc::SYS_kill]);
    let shared = [
        ("every", every.copied().collect::<Vec<_>>(), EVERY),
        ("sockets", NEW_SOCKETS.to_vec(), SOCKETS),
    ];
    for (list, calls, tests) in shared {
        if is_selected(list) {
            removals.extend(calls.into_iter().map(|call| Removal {
                list,
                what: call.to_string(),
                tests,
            }));
        }
    }
    removals
}

/// Runs the tests without the call; if `is_strict`, a call that is not allowed ends the process that makes it.
fn run(removal: &Removal, is_strict: bool) -> End {
    let skips = tempfile::NamedTempFile::new().expect("a file");
    let mut command = Command::new("unshare");
    // All that a test has started ends with it. Names of captures are its own.
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    let script = "mount -t tmpfs tmpfs /run && exec \"$@\"";
    command.args(["sh", "-c", script, "sh"]);
    let boots = |test: &&str| BOOTS.iter().any(|module| test.starts_with(module));
    let limit = if removal.tests.iter().any(boots) {
        BOOT_LIMIT_SECONDS
    } else {
        LIMIT_SECONDS
    };
    command.args(["timeout", "--signal", "KILL", limit]);
    command
        .arg(lab::rerun::program())
        .args(["--exact", "--test-threads=1"])
        .args(removal.tests)
        .env("TAPLINE_SKIPS", skips.path())
        .env(
            "TAPLINE_TEST_WITHOUT",
            format!("{} {}", removal.list, removal.what),
        );
    if is_strict {
        command.env("TAPLINE_TEST_STRICT", "1");
    } else {
        command.env_remove("TAPLINE_TEST_STRICT");
    }
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    // None is unknown.
    let have_begun = said.contains(&format!("running {} test", removal.tests.len()));
    assert!(have_begun, "{removal:?}: {output:?}");
    match output.status.code() {
        Some(0) if fs::read(skips.path()).is_ok_and(|skipped| !skipped.is_empty()) => End::Skipped,
        Some(0) => End::Passed,
        Some(101) => End::Failed,
        Some(137) => End::Hung,
        code => panic!("{removal:?}: {code:?} {output:?}"),
    }
}

/// What notices that the call is left out. An ordinary run is strict, which is fast.
fn notice(removal: &Removal, is_whole: bool) -> End {
    if !is_whole {
        return run(removal, true);
    }
    match run(removal, false) {
        // A command that waits for something that does not come says less than one that is ended.
        End::Passed | End::Hung => match run(removal, true) {
            End::Failed => End::Refused,
            other => other,
        },
        other => other,
    }
}

/// Names of system calls by number, as far as the C library's headers are there.
fn names() -> BTreeMap<String, String> {
    let header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
    let text = fs::read_to_string(header).unwrap_or_default();
    let names = text.lines().filter_map(|line| {
        let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
        Some((number.to_owned(), name.to_owned()))
    });
    names.collect()
}

/// A line for each list and end: the calls.
fn table(ends: &BTreeMap<(&str, End), Vec<String>>) -> String {
    let mut text = String::new();
    let mut last = "";
    for ((list, end), calls) in ends {
        if *list != last {
            writeln!(text, "{list}").expect("text");
            last = list;
        }
        writeln!(text, "  {:38} {}", end.words(), calls.join(" ")).expect("text");
    }
    text
}

#[test]
fn only_a_failed_test_counts_as_noticed() {
    let ends = [
        End::Failed,
        End::Refused,
        End::Hung,
        End::Skipped,
        End::Passed,
    ];
    let noticed: Vec<_> = ends.into_iter().filter(|end| end.is_noticed()).collect();
    assert_eq!(noticed, [End::Failed, End::Refused]);
}

/// The whole campaign, which runs by hand, ends at a name that is wrong.
#[test]
fn every_test_that_is_named_exists() {
    let mut command = Command::new(lab::rerun::program());
    let output = command.arg("--list").output().expect("it runs");
    let listed = String::from_utf8_lossy(&output.stdout);
    let lines = listed.lines();
    let existing: Vec<&str> = lines
        .filter_map(|line| line.strip_suffix(": test"))
        .collect();
    let elsewhere = UNTRACED_CALLS.iter().map(|made| made.tests);
    let named = TRACED.iter().map(|(_, tests)| *tests);
    let named = named.chain(elsewhere).chain([EVERY, SOCKETS]).flatten();
    let missing: Vec<_> = named.filter(|test| !existing.contains(test)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Lists of commands that open sockets.
const OPEN_SOCKETS: [&List; 6] = [&CAPTURE, &IPFIX, &LATENCY, &PING, &PING_XDP, &UPLOADS];

/// Each entry of a group allows some list a call that nothing else in that list allows: a line that is removed from the source
/// is a call that is left out.
#[test]
fn no_entry_of_a_list_is_superfluous() {
    let has_other = |list: &List, group: &[i64], call: &i64| {
        let mut others = list.calls.iter().filter(|other| **other != group);
        others.any(|other| other.contains(call))
    };
    for group in LISTS.iter().flat_map(|list| list.calls) {
        let lists: Vec<_> = LISTS
            .iter()
            .filter(|list| list.calls.contains(group))
            .collect();
        let is_superfluous = |call: &&i64| lists.iter().all(|list| has_other(list, group, call));
        let found: Vec<_> = group.iter().filter(is_superfluous).collect();
        assert!(found.is_empty(), "{found:?} of {group:?}");
    }
    let is_superfluous = |call: &&i64| {
        let mut lists = OPEN_SOCKETS.iter();
        lists.all(|list| has_other(list, NEW_SOCKETS, call))
    };
    let found: Vec<_> = NEW_SOCKETS.iter().filter(is_superfluous).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn no_call_can_be_left_out_unnoticed() {
    let names_of_lists = std::env::var("TAPLINE_SANDBOX_CALLS").ok();
    let is_whole = names_of_lists.is_some();
    let removals = selected(names_of_lists.as_deref().unwrap_or(FEW));
    assert!(!removals.is_empty(), "an unknown list");
    let names = names();
    let cursor = AtomicUsize::new(0);
    let ends = Mutex::new(BTreeMap::<_, Vec<String>>::new());
    let work = || {
        while let Some(removal) = removals.get(cursor.fetch_add(1, Ordering::Relaxed)) {
            let end = notice(removal, is_whole);
            let name = names.get(&removal.what).unwrap_or(&removal.what).clone();
            if is_whole {
                println!("{} {name}: {}", removal.list, end.words());
            }
            let mut ends = ends.lock().expect("the ends");
            ends.entry((removal.list, end)).or_default().push(name);
        }
    };
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
    });
    let ends = ends.into_inner().expect("the ends");
    let table = table(&ends);
    println!("{} calls left out, one at a time\n{table}", removals.len());
    let unnoticed = ends.keys().filter(|(_, end)| !end.is_noticed());
    assert_eq!(unnoticed.count(), 0, "\n{table}");
}
