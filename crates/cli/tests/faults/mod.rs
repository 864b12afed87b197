//! Every command while one system call after another fails.
//!
//! `make faults` injects TAPLINE_FAULTS faults, otherwise there are few. Which, follows from TAPLINE_SEED. It ends after
//! TAPLINE_FAULTS_SECONDS; a run with TAPLINE_FAULTS_FROM continues there. TAPLINE_FAULTS_OF and TAPLINE_FAULTS_CALL select
//! commands and system calls by a part of their text.

mod check;
mod commands;
mod limits;
mod run;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use self::check::{Expected, wrong};
use self::commands::{CASES, Case};
use self::run::{Fault, Stage, faults, output_faults, shortens, wakes};

/// Faults of an ordinary test run.
const FEW: u64 = 40;

/// Commands of an ordinary test run.
const FEW_COMMANDS: usize = 8;

/// Runs at the same time.
const WORKERS: usize = 2;

/// Results for a command, a call and a way to fail it.
#[derive(Debug, Default)]
struct Tally {
    injected: u64,
    /// Runs that ended with each status.
    statuses: BTreeMap<i32, u64>,
}

impl Tally {
    fn add(&mut self, outcome: &run::Outcome) {
        self.injected += 1;
        *self
            .statuses
            .entry(outcome.status.unwrap_or(-1))
            .or_default() += 1;
    }
}

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

/// When a campaign ends, whether or not it is complete.
fn end() -> Instant {
    Instant::now() + Duration::from_secs(number("TAPLINE_FAULTS_SECONDS", 7200))
}

/// The next number of a splitmix64 generator.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs a command without a fault; returns what others are compared with, and every fault that it can meet. Says why if the
/// command fails even so.
fn plain(stage: &Stage, case: &Case) -> Result<(Expected, Vec<Fault>), String> {
    let nothing = Case {
        line: "help",
        ..*case
    };
    let before = stage.run(&nothing, &[]).state;
    let plain = stage.run(case, &[]);
    let mut faults = faults(&plain.trace);
    faults.extend(output_faults(&plain.trace, &stage.scene.file("")));
    let expected = Expected {
        file: check::file(stage.folder()),
        bytes: check::bytes(case, stage.folder()),
        plain,
        before,
    };
    let problem = wrong(case, &expected, &expected.plain, stage.folder());
    if problem.is_some() || expected.plain.status != Some(0) {
        let said = about(&expected.plain);
        return Err(format!(
            "{}: {problem:?} without a fault\n{said}",
            case.line
        ));
    }
    Ok((expected, faults))
}

/// The commands: all of them in a campaign, otherwise some. Those with TAPLINE_FAULTS_OF in them.
fn select(seed: &mut u64) -> Vec<&'static Case> {
    let only = std::env::var("TAPLINE_FAULTS_OF").unwrap_or_default();
    let is_campaign = std::env::var_os("TAPLINE_FAULTS").is_some();
    let mut cases: Vec<_> = CASES
        .iter()
        .filter(|case| case.line.contains(&only))
        .collect();
    while !is_campaign && cases.len() > FEW_COMMANDS {
        cases.swap_remove(next(seed) as usize % cases.len());
    }
    cases
}

/// A command, what its runs are compared with, and its faults.
type Plan = (&'static Case, Expected, Vec<Fault>);

/// Runs each command without a fault.
fn plans(cases: &[&'static Case]) -> Vec<Plan> {
    let cursor = AtomicUsize::new(0);
    let results = Mutex::new((Vec::new(), Vec::new()));
    each_worker(|stage| {
        while let Some(case) = cases.get(cursor.fetch_add(1, Ordering::Relaxed)) {
            let result = plain(stage, case);
            let mut results = results.lock().expect("results");
            match result {
                Ok((expected, faults)) => results.0.push((*case, expected, faults)),
                Err(failure) => results.1.push(failure),
            }
        }
    });
    let (mut plans, failures) = results.into_inner().expect("results");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    plans.sort_by_key(|(case, ..)| case.line);
    plans
}

#[test]
fn commands_survive_each_failing_call() {
    let wanted = number("TAPLINE_FAULTS", FEW) as usize;
    let mut seed = number("TAPLINE_SEED", 1);
    println!("seed {seed}");
    let plans = plans(&select(&mut seed));
    let only = std::env::var("TAPLINE_FAULTS_CALL").unwrap_or_default();
    let mut jobs: Vec<(usize, &Fault)> = Vec::new();
    for (plan, (.., faults)) in plans.iter().enumerate() {
        let faults = faults.iter().filter(|fault| fault.call.contains(&only));
        jobs.extend(faults.map(|fault| (plan, fault)));
    }
    println!("{} commands can meet {} faults", plans.len(), jobs.len());
    // Shuffled: a prefix is a sample.
    for at in (1..jobs.len()).rev() {
        jobs.swap(at, next(&mut seed) as usize % (at + 1));
    }
    let from = number("TAPLINE_FAULTS_FROM", 0) as usize;
    let (cursor, injected) = (AtomicUsize::new(from), AtomicUsize::new(0));
    let end = end();
    let results = Mutex::new((Table::new(), Vec::new()));
    each_worker(|stage| {
        while injected.load(Ordering::Relaxed) < wanted
            && Instant::now() < end
            && let Some((plan, fault)) = jobs.get(cursor.fetch_add(1, Ordering::Relaxed))
        {
            let (case, expected, _) = &plans[*plan];
            let outcome = stage.run_with(case, fault);
            let mut failed = outcome.trace.lines().filter(|l| l.contains("INJECTED"));
            if failed.clone().next().is_none()
                || failed.any(|l| wakes(l) || shortens(l) || l.contains("<... write resumed>"))
            {
                continue;
            }
            let count = injected.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_multiple_of(1000) {
                println!("{count} faults injected");
            }
            let problem = wrong(case, expected, &outcome, stage.folder());
            let mut results = results.lock().expect("results");
            let tally = results
                .0
                .entry((case.line, fault.what(), fault.how))
                .or_default();
            tally.add(&outcome);
            if let Some(problem) = problem {
                let line = format!(
                    "{}: {}, {} of call {}: {problem}",
                    case.line,
                    fault.what(),
                    fault.how,
                    fault.number
                );
                println!("{line}\n{}", about(&outcome));
                results.1.push(line);
            }
        }
    });
    let (table, wrong) = results.into_inner().expect("results");
    println!("{}", printed(&table));
    let injected = injected.into_inner();
    let next = cursor.into_inner().min(jobs.len());
    println!(
        "{injected} faults injected, {} wrong; TAPLINE_FAULTS_FROM={next} continues",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_capture_that_cannot_begin_leaves_nothing_and_says_what_failed() {
    let (stage, case) = (Stage::new(), &CASES[0]);
    let (expected, faults) = plain(&stage, case).expect("it works");
    // The guard of the command, the control socket, and the handlers of signals.
    let calls = [
        ("pidfd_open", "error=EINTR"),
        ("bind", "error=EPERM"),
        ("socketpair", "error=EMFILE"),
    ];
    for (call, how) in calls {
        let chosen = |fault: &&Fault| fault.call == call && fault.how == how;
        let mut runs = 0;
        for fault in faults.iter().filter(chosen) {
            let outcome = stage.run_with(case, fault);
            let problem = wrong(case, &expected, &outcome, stage.folder());
            assert_eq!(problem, None, "{fault:?} {}", about(&outcome));
            let errors = outcome.stderr.lines();
            let bare =
                errors.filter(|line| line.starts_with("tapline: ") && !line.contains("cannot"));
            assert_eq!(bare.count(), 0, "{fault:?} {}", about(&outcome));
            runs += 1;
        }
        assert!(runs > 0, "no {call}");
    }
}

/// Runs `job` on each worker's own hosts.
fn each_worker(job: impl Fn(&Stage) + Sync) {
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| job(&Stage::new()));
        }
    });
}

/// What a wrong run printed, and the call that failed.
fn about(outcome: &run::Outcome) -> String {
    let failed = outcome
        .trace
        .lines()
        .filter(|line| line.contains("INJECTED"));
    let failed: Vec<_> = failed.take(3).collect();
    let tail: Vec<_> = outcome.stderr.lines().rev().take(6).collect();
    format!("    {failed:?}\n    status {:?} {tail:?}", outcome.status)
}

/// What was injected, by command, what failed, and how.
type Table = BTreeMap<(&'static str, String, &'static str), Tally>;

/// How often, for each command; and for each thing that failed in it and each way, with the exit statuses.
fn printed(table: &Table) -> String {
    let mut text = String::new();
    let mut last = "";
    for ((line, call, how), tally) in table {
        if *line != last {
            let all = table.iter().filter(|((other, ..), _)| other == line);
            let count: u64 = all.map(|(_, tally)| tally.injected).sum();
            writeln!(text, "{line}: {count}").expect("text");
            last = line;
        }
        let Tally { injected, statuses } = tally;
        writeln!(text, "  {call:24} {how:14} {injected:5}  exit {statuses:?}").expect("text");
    }
    text
}
