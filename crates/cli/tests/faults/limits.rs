//! Commands without descriptors and memory, with short reads and writes, clock steps, kills, and interfaces that
//! disappear.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use super::check::{Expected, misbehaves, unreadable, wrong};
use super::commands::{Case, Check};
use super::run::{LIMIT, Outcome, Stage};
use super::{Table, about, next, number, select};
use crate::support::PROGRAM;

/// What happens to a command.
#[derive(Debug)]
struct Way {
    what: &'static str,
    /// The program that runs it, with arguments.
    by: Vec<String>,
    /// When it is killed, in seconds.
    limit: String,
}

/// Short reads and writes, and clocks that step.
const INJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/inject.py");

/// Removes or stops the interface in the midst of a run, after `$1` seconds: what `$2` does.
const LATER: &str = "later=$1 what=$2; shift 2; (sleep $later; eval \"$what\") & exec \"$@\"";

const INTERFACE: [&str; 3] = [
    "ip link del right0",
    "ip link set right0 down",
    "ip link set right0 down; ip link set right0 up",
];

/// A control group with `$1` bytes of memory.
const CGROUP: &str = "group=/sys/fs/cgroup/memory/tapline-faults-$$; mkdir $group || exit
echo $1 >$group/memory.limit_in_bytes; echo $$ >$group/cgroup.procs; shift; \"$@\"; status=$?
echo $$ >/sys/fs/cgroup/memory/cgroup.procs; rmdir $group; exit $status";

/// Where a control group for memory can be made.
const CGROUPS: &str = "/sys/fs/cgroup/memory/cgroup.procs";

fn shell(script: &str, arguments: &[String]) -> Vec<String> {
    let words = ["sh", "-c", script, "sh"].map(str::to_owned);
    words.into_iter().chain(arguments.iter().cloned()).collect()
}

/// The least address space, in MiB, in which the program starts: with less the loader cannot load it.
fn least_mib() -> u64 {
    static LEAST: OnceLock<u64> = OnceLock::new();
    let starts = |mib: &u64| {
        let limit = format!("--as={}", mib << 20);
        let output = Command::new("prlimit")
            .args([&limit, PROGRAM, "--version"])
            .output();
        output.expect("prlimit").status.success()
    };
    *LEAST.get_or_init(|| (16..512).step_by(2).find(starts).expect("a start"))
}

impl Way {
    fn new(number: u64, seed: &mut u64, folder: &str) -> Self {
        let random = next(seed);
        let is_traceable = cfg!(target_arch = "x86_64");
        let inject = |mode| format!("python3 {INJECT} {mode} {} {folder}trace", random >> 32);
        let (what, by) = match number % 10 {
            // The loader needs one.
            0 => (
                "descriptors",
                format!("prlimit --nofile={}", 4 + random % 40),
            ),
            1 => (
                "memory",
                format!("prlimit --as={}", (least_mib() + 1 + random % 120) << 20),
            ),
            2 => (
                "locked memory",
                format!("prlimit --memlock={}", (random % 64) << 10),
            ),
            // A write that reaches the limit is short, the next one fails.
            3 => ("file size", format!("prlimit --fsize={}", random % 6000)),
            4 => ("interface", String::new()),
            5 if Path::new(CGROUPS).exists() => ("control group", String::new()),
            6 | 7 if is_traceable => ("short", inject("short")),
            8 if is_traceable => ("clock", inject("clock")),
            _ => ("killed", "env".to_owned()),
        };
        let moment = format!("0.{:03}", 1 + random % 150);
        let by = match what {
            "interface" => {
                let change = INTERFACE[(random >> 32) as usize % INTERFACE.len()];
                shell(LATER, &[moment.clone(), change.to_owned()])
            }
            "control group" => shell(CGROUP, &[((1 + random % 24) << 20).to_string()]),
            _ => by.split(' ').map(str::to_owned).collect(),
        };
        let limit = if what == "killed" { &moment } else { LIMIT };
        let limit = limit.to_owned();
        Self { what, by, limit }
    }
}

/// What is wrong with a run.
fn problem(
    what: &str,
    case: &Case,
    expected: &Expected,
    outcome: &Outcome,
    stage: &Stage,
) -> Option<String> {
    match (what, outcome.status) {
        // Files end behind a whole block, and nothing stays attached. The kernel kills for want of memory.
        ("killed" | "control group", None) => unreadable(stage.folder()).or_else(|| {
            let is_new = matches!(case.check, Check::Configures | Check::Undoes);
            let is_left = |line: &&str| {
                let mut known = expected.plain.state.lines();
                !line.starts_with("/run") && !known.any(|other| other == *line)
            };
            let left = outcome.state.lines().find(is_left).filter(|_| !is_new)?;
            Some(format!("left: {left}"))
        }),
        // What Rust and the loader do without memory.
        ("memory", _)
            if ["memory allocation of", "loading shared libraries"]
                .iter()
                .any(|said| outcome.stderr.contains(said)) =>
        {
            unreadable(stage.folder())
        }
        ("descriptors", Some(127)) if outcome.stderr.contains("loading shared libraries") => None,
        // Standard output and standard error are files, too; and packets do not arrive.
        ("file size" | "interface", _) => misbehaves(case, outcome, stage.folder()),
        _ => wrong(case, expected, outcome, stage.folder()),
    }
}

#[test]
fn a_client_of_a_capture_without_descriptors_does_not_wait() {
    let stage = Stage::new();
    let line = "capture -i right0 -q --name faults -- CTL filter -n faults udp";
    let check = Check::Ends;
    let case = Case { line, check };
    let mut statuses = Vec::new();
    // From too few for the control socket's client to enough for a second ring.
    for limit in 20..40 {
        let by = format!("--nofile={limit}");
        let outcome = stage.run_by(&case, &["prlimit", &by], LIMIT);
        assert!(outcome.status.is_some(), "{by} hangs");
        let bare = ["tapline: Too many open files"];
        assert!(
            !outcome.stderr.lines().any(|line| bare.contains(&line)),
            "{by} {}",
            about(&outcome)
        );
        statuses.push(outcome.status);
    }
    assert!(
        statuses.contains(&Some(0)) && statuses.contains(&Some(1)),
        "{statuses:?}"
    );
}

#[test]
fn commands_survive_limits_and_kills() {
    let runs = number("TAPLINE_FAULTS", 400) / 10;
    let mut seed = number("TAPLINE_SEED", 1);
    println!("seed {seed}");
    let cases: Vec<_> = select(&mut seed);
    let plans = super::plans(&cases);
    let end = super::end();
    let (numbers, wrong) = (Mutex::new(0..runs), Mutex::new(Vec::new()));
    let table = Mutex::new(Table::new());
    super::each_worker(|stage| {
        while Instant::now() < end
            && let Some(at) = numbers.lock().expect("numbers").next()
        {
            let mut seed = seed ^ at;
            let (case, expected, _) = &plans[next(&mut seed) as usize % plans.len()];
            // It ends with the interface.
            let own = (at % 10 == 4).then(Stage::new);
            let stage = own.as_ref().unwrap_or(stage);
            let way = Way::new(at, &mut seed, &stage.scene.file(""));
            let words: Vec<_> = way.by.iter().map(String::as_str).collect();
            let outcome = stage.run_by(case, &words, &way.limit);
            let mut table = table.lock().expect("a table");
            table
                .entry((case.line, way.what.to_owned(), ""))
                .or_default()
                .add(&outcome);
            if let Some(problem) = problem(way.what, case, expected, &outcome, stage) {
                let line = format!("{} under {way:?}: {problem}", case.line);
                println!("{line}\n{}", about(&outcome));
                wrong.lock().expect("a list").push(line);
            }
        }
    });
    let (table, wrong) = (table.into_inner(), wrong.into_inner());
    let (table, wrong) = (table.expect("a table"), wrong.expect("a list"));
    println!("{}", super::printed(&table));
    let done: u64 = table.values().map(|tally| tally.injected).sum();
    println!(
        "{done} runs with limits, short reads and writes, clock steps, interfaces that go, or kills; {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
