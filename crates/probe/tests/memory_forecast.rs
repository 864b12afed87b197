//! Memory use of a run, measured in a separate process.

use std::fs;

use lab::rerun;

use crate::support::{MS, SECOND, plan, targets};
use tapline_probe::{ProbePlan, Prober};

/// The heap grows by pages and may have had free space.
const SLACK: u64 = 1 << 19;

/// Size of this process's writable memory (`VmData` in proc_pid_status(5)).
fn data_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("a status");
    let data = text.lines().find_map(|line| line.strip_prefix("VmData:"));
    let data = data.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: u64 = data.expect("data").parse().expect("a number");
    kibibytes * 1024
}

#[test]
fn statistics_take_the_memory_that_is_forecast() {
    if rerun::has_run_alone() {
        return;
    }
    for (prefix, interval_ns, histograms) in [
        ("10.0.0.0/12", SECOND, false),
        ("10.0.0.0/16", SECOND, true),
        // Thousands of probes to each are in flight.
        ("10.0.0.0/20", MS / 10, false),
    ] {
        let targets = targets(prefix);
        let plan = ProbePlan {
            interval_ns,
            histograms,
            ..plan(1_000_000)
        };
        let forecast = plan.forecast(targets.len()).expect("a plan").memory_bytes;
        let before = data_bytes();
        let prober = Prober::new(&plan, targets).expect("a prober");
        let taken = data_bytes() - before;
        assert!(
            taken.abs_diff(forecast) < SLACK,
            "{prefix}: {taken} bytes instead of {forecast}"
        );
        drop(prober);
    }
}
