//! The clock that packets are stamped with: which one, and what a look at it costs.

use std::hint::black_box;

use abi::clock::{monotonic_ns, realtime_ns};

use super::super::place::{Roots, read};
use super::super::report::{Finding, Report, Severity};

const ID: &str = "clock-source";
const FOLDER: &str = "devices/system/clocksource/clocksource0";
/// Clocks that are read over a bus or tick slowly.
const SLOW: [&str; 5] = ["acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"];
const LOOKS: u64 = 200;
const ROUNDS: usize = 10;
/// Clocks of the processor are read in some 20 to 50 ns, those behind a system call in 200 and more.
const COSTLY_NS: u64 = 400;

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let cost_ns = cost_ns();
    let file = |name: &str| read(&roots.sys.join(FOLDER).join(name));
    let name = match file("current_clocksource") {
        Ok(Some(name)) => name,
        Ok(None) => {
            report.unknown(ID, "the kernel does not show its clock source");
            "unknown".into()
        }
        Err(error) => {
            report.failed(ID, &error);
            "unknown".into()
        }
    };
    report.can(ID, format!("{name}, {cost_ns} ns a look"));
    let is_slow = SLOW.contains(&name.as_str());
    if !is_slow && cost_ns < COSTLY_NS {
        return;
    }
    let seen = format!("the clock source is {name}; a look at the clock takes {cost_ns} ns");
    let spoils = "the kernel looks at it for every packet: fewer of them get through, and small \
        delays are measured too long";
    let finding = Finding::new(ID, Severity::Warning, seen, spoils);
    let others = file("available_clocksource")
        .ok()
        .flatten()
        .unwrap_or_default();
    let better = others
        .split_whitespace()
        .find(|other| !SLOW.contains(other) && *other != name);
    report.found(match better {
        Some(better) => {
            finding.remedy(format!("echo {better} > /sys/{FOLDER}/current_clocksource"))
        }
        None => finding,
    });
}

/// What a look at the clock takes at best, nanoseconds.
fn cost_ns() -> u64 {
    let round = |_| {
        let start_ns = monotonic_ns();
        for _ in 0..LOOKS {
            black_box(realtime_ns());
        }
        monotonic_ns().saturating_sub(start_ns) / LOOKS
    };
    (0..ROUNDS).map(round).min().unwrap_or(0)
}
