//! Commands without descriptors and memory, killed at any moment, and without their interface.

use std::sync::Mutex;

use super::check::{Expected, unreadable, wrong};
use super::commands::{Case, Check};
use super::run::{LIMIT, Outcome, Stage};
use super::{about, next, number, select};

/// What happens to a command.
#[derive(Debug)]
struct Way {
    what: &'static str,
    /// The program that runs it, with arguments.
    by: String,
    /// When it is killed, in seconds.
    limit: String,
}

impl Way {
    fn new(number: u64, seed: &mut u64) -> Self {
        let mut way = Self {
            what: "killed",
            by: "env".to_owned(),
            limit: LIMIT.to_owned(),
        };
        match number % 4 {
            // The loader needs one.
            0 => {
                way.what = "descriptors";
                way.by = format!("prlimit --nofile={}", 4 + next(seed) % 40);
            }
            // The program itself takes 33 MiB; with less, the loader cannot start it.
            1 => {
                way.what = "memory";
                way.by = format!("prlimit --as={}", (34 + next(seed) % 120) << 20);
            }
            2 => {
                way.what = "locked memory";
                way.by = format!("prlimit --memlock={}", (next(seed) % 64) << 10);
            }
            _ => way.limit = format!("0.{:03}", 1 + next(seed) % 150),
        }
        way
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
        // Files end behind a whole block, and nothing stays attached.
        ("killed", None) => unreadable(stage.folder()).or_else(|| {
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
    let runs = number("TAPLINE_FAULTS", 240) / 10;
    let mut seed = number("TAPLINE_SEED", 1);
    println!("seed {seed}");
    let cases: Vec<_> = select(&mut seed);
    let mut jobs = Vec::new();
    for at in 0..runs {
        let case = cases[next(&mut seed) as usize % cases.len()];
        jobs.push((case, Way::new(at, &mut seed)));
    }
    let plans = super::plans(&cases);
    let (jobs, wrong) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    super::each_worker(|stage| {
        loop {
            let Some((case, way)) = jobs.lock().expect("a list").pop() else {
                return;
            };
            let (_, expected, _) = plans
                .iter()
                .find(|(planned, ..)| planned.line == case.line)
                .expect("its plan");
            let words: Vec<_> = way.by.split(' ').collect();
            let outcome = stage.run_by(case, &words, &way.limit);
            if let Some(problem) = problem(way.what, case, expected, &outcome, stage) {
                let line = format!("{} under {way:?}: {problem}", case.line);
                println!("{line}\n{}", about(&outcome));
                wrong.lock().expect("a list").push(line);
            }
        }
    });
    let wrong = wrong.into_inner().expect("a list");
    println!("{runs} runs with limits or kills, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
