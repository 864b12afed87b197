//! Which processors take a device's interrupts, and who else is bound to them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use netlink::NetDevices;

use super::super::place::{Place, Roots, read};
use super::super::report::{Finding, Report, Severity};
use super::polling::is_unsupported;

const ID: &str = "interrupts";
const READERS: &str = "bound-threads";
/// Threads that are looked at, of those that there are.
const MAX_THREADS: usize = 65_536;
/// Processors that are told apart.
const MAX_PROCESSORS: usize = 8192;
/// Threads that a report names.
const MAX_NAMED: usize = 5;

/// A thread that may run on one processor only.
#[derive(Debug, PartialEq, Eq)]
struct Bound {
    name: String,
    id: u32,
    processor: usize,
}

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let told =
        NetDevices::open().and_then(|mut kernel| kernel.napi_instances(place.link.ifindex()));
    let listing = match told {
        Ok(listing) => listing,
        Err(error) if is_unsupported(error.errno()) => {
            return report.unknown(ID, "the kernel does not tell (needs Linux 6.8)");
        }
        Err(error) => return report.failed(ID, &error),
    };
    let numbers: BTreeSet<u32> = listing
        .items
        .iter()
        .filter_map(|napi| napi.interrupt)
        .collect();
    if numbers.is_empty() {
        let is_software = place.link.kind_name().is_some() || place.link.is_loopback();
        return judge_untold(is_software, report);
    }
    let told = numbers
        .iter()
        .map(|number| processors_of(place.roots, *number));
    let told: io::Result<Vec<_>> = told.collect();
    let Some(told) = report.known(ID, told) else {
        return;
    };
    let all: BTreeSet<usize> = told.iter().flatten().copied().collect();
    let name = place.link.ifname().to_string();
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    judge(&name, &numbers, &all, count, report);
    if let Some(bound) = report.known(READERS, bound_threads(&place.roots.proc)) {
        let online = read(&place.roots.sys.join("devices/system/cpu/online"));
        let online = online.ok().flatten().unwrap_or_default();
        let others = &processors(&online) - &all;
        judge_bound(&name, &all, &others, &bound, report);
    }
}

/// What is software has no interrupts; the driver of a device need not tell which are its own.
fn judge_untold(is_software: bool, report: &mut Report) {
    if is_software {
        report.can(ID, "none");
    } else {
        report.unknown(ID, "the driver does not tell which are the device's");
    }
}

/// Where an interrupt goes.
fn processors_of(roots: &Roots, number: u32) -> io::Result<BTreeSet<usize>> {
    let folder = roots.proc.join("irq").join(number.to_string());
    for file in ["effective_affinity_list", "smp_affinity_list"] {
        if let Some(text) = read(&folder.join(file))? {
            return Ok(processors(&text));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Reads a list of processors: `0-3,8`.
fn processors(text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) {
            found.extend(first..=last.min(MAX_PROCESSORS));
        }
    }
    found
}

fn judge(
    name: &str,
    numbers: &BTreeSet<u32>,
    processors: &BTreeSet<usize>,
    count: usize,
    report: &mut Report,
) {
    let shown: Vec<String> = processors.iter().map(ToString::to_string).collect();
    report.can(
        ID,
        format!(
            "{} of the device, on processors {}",
            numbers.len(),
            shown.join(", ")
        ),
    );
    if numbers.len() > 1 && processors.len() == 1 && count > 1 {
        let seen = format!(
            "all {} interrupts of {name} go to processor {}",
            numbers.len(),
            shown.join(", ")
        );
        let spoils = "it takes all packets off the device, whatever the others do";
        let mut finding = Finding::new(ID, Severity::Warning, seen, spoils);
        for (place, number) in numbers.iter().enumerate() {
            let command = format!(
                "echo {} > /proc/irq/{number}/smp_affinity_list",
                place % count
            );
            finding = finding.remedy(command);
        }
        report.found(finding);
    }
}

/// Threads on `processors`, which could be on `others`.
fn judge_bound(
    name: &str,
    processors: &BTreeSet<usize>,
    others: &BTreeSet<usize>,
    bound: &[Bound],
    report: &mut Report,
) {
    let there: Vec<_> = bound
        .iter()
        .filter(|thread| processors.contains(&thread.processor))
        .collect();
    if there.is_empty() {
        return report.can(READERS, "none");
    }
    let shown = there.iter().take(MAX_NAMED);
    let shown = shown.map(|thread| {
        format!(
            "{} (thread {}) to processor {}",
            thread.name, thread.id, thread.processor
        )
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = match there.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let seen = format!("bound to where the interrupts of {name} go: {shown}{more}");
    let spoils = "while packets come these threads stand still, and packets wait while they run";
    let finding = Finding::new(READERS, Severity::Info, seen, spoils);
    if others.is_empty() {
        let words = "the interrupts go to all processors: give them fewer (smp_affinity_list)";
        return report.found(finding.advice(words));
    }
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    let others = others.join(",");
    let commands = there.iter().take(MAX_NAMED);
    report.found(commands.fold(finding, |finding, thread| {
        finding.remedy(format!("taskset -pc {others} {}", thread.id))
    }));
}

/// Threads of programs, not of the kernel, that are bound to one processor.
fn bound_threads(proc: &Path) -> io::Result<Vec<Bound>> {
    let mut bound = Vec::new();
    let mut seen = 0;
    for process in fs::read_dir(proc)? {
        let tasks = process?.path().join("task");
        // What is no process has no such folder, and one that has ended has none any more.
        let Ok(tasks) = fs::read_dir(tasks) else {
            continue;
        };
        for task in tasks.flatten() {
            seen += 1;
            if seen > MAX_THREADS {
                return Ok(bound);
            }
            let status = fs::read_to_string(task.path().join("status"));
            bound.extend(status.ok().and_then(|status| of_status(&status)));
        }
    }
    bound.sort_by_key(|thread| thread.id);
    Ok(bound)
}

/// The thread, if it is bound. Those of the kernel have no memory of their own.
fn of_status(status: &str) -> Option<Bound> {
    let field = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.strip_prefix(':').map(str::trim)
    };
    field("VmSize")?;
    let allowed = processors(field("Cpus_allowed_list")?);
    let id = field("Pid")?.parse().ok()?;
    let name = field("Name")?.to_owned();
    match allowed.len() {
        1 => allowed.first().map(|processor| Bound {
            name,
            id,
            processor: *processor,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CpuSet, gettid, sched_setaffinity};

    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(processors("0-2,5\n"), BTreeSet::from([0, 1, 2, 5]));
        assert_eq!(processors(""), BTreeSet::new());
        assert_eq!(processors("3-1,x,7"), BTreeSet::from([7]));
        assert!(processors("0-99999999999").len() <= MAX_PROCESSORS + 1);
    }

    #[test]
    fn interrupts_on_one_processor_are_found_in_given_values() {
        let count = |on: &[usize]| {
            let mut report = Report::default();
            let processors = on.iter().copied().collect();
            judge(
                "eth0",
                &BTreeSet::from([40, 41]),
                &processors,
                4,
                &mut report,
            );
            report.findings.len()
        };
        assert_eq!(count(&[2]), 1);
        assert_eq!(count(&[0, 2]), 0);
    }

    #[test]
    fn a_device_whose_driver_tells_none_is_not_said_to_have_none() {
        let told = |is_software| {
            let mut report = Report::default();
            judge_untold(is_software, &mut report);
            (report.abilities.len(), report.unknown.len())
        };
        assert_eq!((told(true), told(false)), ((1, 0), (0, 1)));
    }

    #[test]
    fn a_bound_thread_is_found() {
        let (bound, own) = std::thread::spawn(|| {
            let mut processors = CpuSet::new();
            processors.set(0);
            sched_setaffinity(None, &processors).unwrap();
            (bound_threads(Path::new("/proc")).unwrap(), gettid())
        })
        .join()
        .unwrap();
        let own = own.as_raw_nonzero().get().cast_unsigned();
        let found = bound.iter().find(|thread| thread.id == own);
        assert_eq!(found.expect("it is bound").processor, 0);
        let judged = |on: &[usize], others: &[usize]| {
            let [on, others] = [on, others].map(|them| them.iter().copied().collect());
            let mut report = Report::default();
            judge_bound("eth0", &on, &others, &bound, &mut report);
            report.findings.pop()
        };
        let finding = judged(&[0], &[1, 3]).expect("it is found");
        assert_eq!(finding.id, "bound-threads");
        let command = format!("taskset -pc 1,3 {}", found.expect("it is bound").id);
        let is_named = bound.iter().filter(|thread| thread.processor == 0).count() > MAX_NAMED;
        assert!(is_named || finding.remedy.contains(&command), "{finding:?}");
        assert!(judged(&[0], &[]).expect("it is found").remedy[0].starts_with("# "));
        assert_eq!(judged(&[9000], &[1]), None);
    }
}
