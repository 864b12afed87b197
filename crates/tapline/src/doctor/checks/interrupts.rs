//! Interrupts of a device: how long it delays them, whether the kernel polls instead, and which CPUs
//! handle them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use netlink::{Coalescing, Ethtool, NapiInstance, NetDevices};
use rustix::io::Errno;

use crate::doctor::change::shell_quote;
use crate::doctor::paths::{InterfaceContext, SystemPaths, read};
use crate::doctor::report::{Finding, Report};

const COALESCING: &str = "coalescing";
/// Half of the 200 us that the default adaptive delivery allows.
const LONG_DELAY_US: u32 = 100;

pub(super) fn check_coalescing(context: &InterfaceContext<'_>, report: &mut Report) {
    let name = context.link.ifname();
    let coalescing = Ethtool::open().and_then(|mut ethtool| ethtool.coalescing(name));
    match report.value_or_unknown(COALESCING, coalescing) {
        Some(Some(coalescing)) => judge_coalescing(&name.to_string(), &coalescing, report),
        Some(None) => report.add_ability(COALESCING, "none"),
        None => {}
    }
}

fn judge_coalescing(name: &str, coalescing: &Coalescing, report: &mut Report) {
    let is_adaptive = coalescing.adaptive == Some(true);
    let adaptive = if is_adaptive { ", adaptive" } else { "" };
    let Some(delay_us) = coalescing.receive_us else {
        let why = "the driver does not report how long it delays interrupts";
        return report.add_unknown(COALESCING, why);
    };
    report.add_ability(
        COALESCING,
        format!("interrupts after {delay_us} us{adaptive}"),
    );
    if delay_us > LONG_DELAY_US {
        let observed = format!("{name} delays receive interrupts by up to {delay_us} us{adaptive}");
        let effect = "the kernel stamps packets late, by varying amounts: latencies and round trips are \
            measured too long";
        // The kernel rejects the whole request if the driver does not know one of the settings.
        let adaptive = if is_adaptive { " adaptive-rx off" } else { "" };
        let command = format!("ethtool -C {}{adaptive} rx-usecs 10", shell_quote(name));
        report.add(Finding::warning(COALESCING, observed, effect).command(command));
    }
}

const POLLING: &str = "polling";
const LONG_POLL_NS: u64 = 50_000;

/// Checks whether the kernel polls the device by a timer instead of waiting for its interrupts.
pub(super) fn check_polling(context: &InterfaceContext<'_>, report: &mut Report) {
    let index = context.link.ifindex();
    match NetDevices::open().and_then(|mut devices| devices.napi_instances(index)) {
        Ok(listing) => judge_instances(context, &listing.items, report),
        Err(error) if is_unsupported(error.errno()) => {
            judge_polling(context, sysfs_settings(context).as_slice(), report);
        }
        Err(error) => report.add_error(POLLING, &error),
    }
}

fn is_unsupported(errno: Option<i32>) -> bool {
    let unsupported = [Errno::NOENT, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    errno.is_some_and(|errno| unsupported.contains(&errno))
}

/// How the kernel polls.
struct PollSettings {
    /// Empty polls before the kernel enables interrupts again (`napi_defer_hard_irqs`).
    deferred_interrupts: u64,
    /// Time between two polls, nanoseconds (`gro_flush_timeout`).
    interval_ns: u64,
}

/// The settings of the whole interface in sysfs, which older kernels have instead of per-instance
/// settings. `None` if sysfs shows none, or belongs to another network namespace.
fn sysfs_settings(context: &InterfaceContext<'_>) -> Option<PollSettings> {
    let folder = context
        .paths
        .sys
        .join("class/net")
        .join(context.link.ifname().to_string());
    let number = |file: &str| read(&folder.join(file)).ok()??.parse::<u64>().ok();
    let is_same_link = number("ifindex")? == u64::from(context.link.ifindex().0);
    is_same_link.then_some(PollSettings {
        deferred_interrupts: number("napi_defer_hard_irqs")?,
        interval_ns: number("gro_flush_timeout")?,
    })
}

fn judge_instances(
    context: &InterfaceContext<'_>,
    instances: &[NapiInstance],
    report: &mut Report,
) {
    if instances.is_empty() {
        return report.add_ability(POLLING, "none");
    }
    let settings = instances.iter().filter_map(|napi| {
        Some(PollSettings {
            deferred_interrupts: napi.defer_hard_irqs?.into(),
            interval_ns: napi.gro_flush_timeout_ns?,
        })
    });
    let mut settings: Vec<PollSettings> = settings.collect();
    if settings.is_empty() {
        settings.extend(sysfs_settings(context));
    }
    judge_polling(context, &settings, report);
}

fn judge_polling(context: &InterfaceContext<'_>, settings: &[PollSettings], report: &mut Report) {
    if settings.is_empty() {
        let why = "neither the kernel (needs Linux 6.13) nor sysfs reports how it polls";
        return report.add_unknown(POLLING, why);
    }
    let name = context.link.ifname().to_string();
    // The kernel defers interrupts only if both are set.
    let deferring = settings.iter().filter(|one| one.deferred_interrupts > 0);
    let wait_ns = deferring.map(|one| one.interval_ns).max().unwrap_or(0);
    let wait_us = wait_ns / 1000;
    report.add_ability(POLLING, format!("interrupts deferred by {wait_us} us"));
    if wait_ns > LONG_POLL_NS {
        let observed = format!(
            "the kernel polls {name} every {wait_us} us instead of using interrupts \
            (napi_defer_hard_irqs, gro_flush_timeout)"
        );
        let effect = "a single packet waits that long before the kernel stamps it, unless its reader \
            busy-polls";
        let command = |file: &str| {
            let path = format!("/sys/class/net/{name}/{file}");
            format!("echo 0 > {}", shell_quote(&path))
        };
        let finding = Finding::warning(POLLING, observed, effect);
        let finding = finding.command(command("napi_defer_hard_irqs"));
        report.add(finding.command(command("gro_flush_timeout")));
    }
}

const INTERRUPTS: &str = "interrupts";
const BOUND_THREADS: &str = "bound-threads";
/// Threads to examine, at most.
const MAX_THREADS: usize = 65_536;
/// Highest CPU number in a list.
const MAX_CPU: usize = 8192;
/// Threads that a report names, at most.
const MAX_NAMED: usize = 5;

/// A thread that may run on one CPU only.
#[derive(Debug, PartialEq, Eq)]
struct BoundThread {
    name: String,
    id: u32,
    cpu: usize,
}

/// Checks which CPUs handle the device's interrupts, and which threads are bound to them.
pub(super) fn check_affinity(context: &InterfaceContext<'_>, report: &mut Report) {
    let index = context.link.ifindex();
    let listing = match NetDevices::open().and_then(|mut kernel| kernel.napi_instances(index)) {
        Ok(listing) => listing,
        Err(error) if is_unsupported(error.errno()) => {
            let why = "the kernel does not report them (needs Linux 6.8)";
            return report.add_unknown(INTERRUPTS, why);
        }
        Err(error) => return report.add_error(INTERRUPTS, &error),
    };
    let numbers = listing.items.iter().filter_map(|napi| napi.interrupt);
    let numbers: BTreeSet<u32> = numbers.collect();
    if numbers.is_empty() {
        let is_virtual = context.link.kind_name().is_some() || context.link.is_loopback();
        return report_no_interrupts(is_virtual, report);
    }
    let cpus = numbers
        .iter()
        .map(|number| interrupt_cpus(context.paths, *number));
    let cpus: io::Result<Vec<_>> = cpus.collect();
    let Some(cpus) = report.value_or_unknown(INTERRUPTS, cpus) else {
        return;
    };
    let cpus: BTreeSet<usize> = cpus.into_iter().flatten().collect();
    let name = context.link.ifname().to_string();
    let cpu_count = std::thread::available_parallelism().map_or(1, usize::from);
    judge_affinity(&name, &numbers, &cpus, cpu_count, report);
    let bound = bound_threads(&context.paths.proc);
    if let Some(bound) = report.value_or_unknown(BOUND_THREADS, bound) {
        let online = read(&context.paths.sys.join("devices/system/cpu/online"));
        let online = online.ok().flatten().unwrap_or_default();
        let others = &cpu_list(&online) - &cpus;
        judge_bound_threads(&name, &cpus, &others, &bound, report);
    }
}

/// A virtual interface has no interrupts. The driver of a device may not report them.
fn report_no_interrupts(is_virtual: bool, report: &mut Report) {
    if is_virtual {
        report.add_ability(INTERRUPTS, "none");
    } else {
        report.add_unknown(INTERRUPTS, "the driver does not report them");
    }
}

/// The CPUs that handle an interrupt.
fn interrupt_cpus(paths: &SystemPaths, number: u32) -> io::Result<BTreeSet<usize>> {
    let folder = paths.proc.join("irq").join(number.to_string());
    for file in ["effective_affinity_list", "smp_affinity_list"] {
        if let Some(text) = read(&folder.join(file))? {
            return Ok(cpu_list(&text));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Parses a list of CPUs such as `0-3,8`.
fn cpu_list(text: &str) -> BTreeSet<usize> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) {
            cpus.extend(first..=last.min(MAX_CPU));
        }
    }
    cpus
}

fn judge_affinity(
    name: &str,
    numbers: &BTreeSet<u32>,
    cpus: &BTreeSet<usize>,
    cpu_count: usize,
    report: &mut Report,
) {
    let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    let list = list.join(", ");
    let count = numbers.len();
    report.add_ability(INTERRUPTS, format!("{count} interrupts, on CPUs {list}"));
    if count > 1 && cpus.len() == 1 && cpu_count > 1 {
        let observed = format!("CPU {list} handles all {count} interrupts of {name}");
        let effect = "one CPU receives all packets of the device";
        let finding = Finding::warning(INTERRUPTS, observed, effect);
        let commands = numbers.iter().enumerate().map(|(position, number)| {
            let cpu = position % cpu_count;
            format!("echo {cpu} > /proc/irq/{number}/smp_affinity_list")
        });
        report.add(commands.fold(finding, Finding::command));
    }
}

/// Reports threads that are bound to `cpus` and could run on `others`.
fn judge_bound_threads(
    name: &str,
    cpus: &BTreeSet<usize>,
    others: &BTreeSet<usize>,
    bound: &[BoundThread],
    report: &mut Report,
) {
    let bound = bound.iter().filter(|thread| cpus.contains(&thread.cpu));
    let bound: Vec<&BoundThread> = bound.collect();
    if bound.is_empty() {
        return report.add_ability(BOUND_THREADS, "none");
    }
    let named = &bound[..bound.len().min(MAX_NAMED)];
    let list = named.iter().map(|thread| {
        format!(
            "{} (thread {}) to CPU {}",
            thread.name, thread.id, thread.cpu
        )
    });
    let list = list.collect::<Vec<_>>().join(", ");
    let more = match bound.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let observed = format!("bound to CPUs that handle interrupts of {name}: {list}{more}");
    let effect = "these threads stop while packets arrive, and packets wait while they run";
    let finding = Finding::info(BOUND_THREADS, observed, effect);
    if others.is_empty() {
        let advice = "all CPUs handle the interrupts: use fewer CPUs for them (smp_affinity_list)";
        return report.add(finding.advice(advice));
    }
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    let others = others.join(",");
    report.add(named.iter().fold(finding, |finding, thread| {
        finding.command(format!("taskset -pc {others} {}", thread.id))
    }));
}

/// Lists threads of programs, not of the kernel, that are bound to one CPU.
fn bound_threads(proc: &Path) -> io::Result<Vec<BoundThread>> {
    let mut bound = Vec::new();
    let mut examined = 0;
    for process in fs::read_dir(proc)? {
        // Entries that are not processes, and processes that have ended, have no such directory.
        let Ok(tasks) = fs::read_dir(process?.path().join("task")) else {
            continue;
        };
        for task in tasks.flatten() {
            examined += 1;
            if examined > MAX_THREADS {
                return Ok(bound);
            }
            let status = fs::read_to_string(task.path().join("status"));
            bound.extend(status.ok().and_then(|status| parse_bound_thread(&status)));
        }
    }
    bound.sort_by_key(|thread| thread.id);
    Ok(bound)
}

/// Parses `/proc/PID/task/TID/status`; `None` unless the thread is bound to one CPU. Kernel threads
/// have no memory of their own and are skipped.
fn parse_bound_thread(status: &str) -> Option<BoundThread> {
    let field = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.strip_prefix(':').map(str::trim)
    };
    field("VmSize")?;
    let cpus = cpu_list(field("Cpus_allowed_list")?);
    let id = field("Pid")?.parse().ok()?;
    let name = field("Name")?.to_owned();
    let cpu = *cpus.first()?;
    (cpus.len() == 1).then_some(BoundThread { name, id, cpu })
}

#[cfg(test)]
mod tests {
    use lab::Net;
    use rustix::thread::{CpuSet, gettid, sched_setaffinity};

    use super::*;

    #[test]
    fn a_long_interrupt_delay_is_a_finding() {
        let count = |receive_us| {
            let mut coalescing = Coalescing::default();
            coalescing.receive_us = receive_us;
            let mut report = Report::default();
            judge_coalescing("eth0", &coalescing, &mut report);
            (report.findings.len(), report.unknown.len())
        };
        assert_eq!(count(Some(500)), (1, 0));
        assert_eq!(count(Some(8)), (0, 0));
        assert_eq!(count(None), (0, 1));
    }

    #[test]
    fn the_command_sets_nothing_that_the_driver_lacks() {
        for (adaptive, command) in [
            (None, "ethtool -C eth0 rx-usecs 10"),
            (Some(false), "ethtool -C eth0 rx-usecs 10"),
            (Some(true), "ethtool -C eth0 adaptive-rx off rx-usecs 10"),
        ] {
            let mut coalescing = Coalescing::default();
            (coalescing.receive_us, coalescing.adaptive) = (Some(500), adaptive);
            let mut report = Report::default();
            judge_coalescing("eth0", &coalescing, &mut report);
            assert_eq!(report.findings[0].remedy, [command]);
        }
    }

    /// Judges `instances` of a test link, with these sysfs files of it. `INDEX` in a file stands for the
    /// link's index.
    fn judge_with_files(instances: &[NapiInstance], files: &[(&str, &str)]) -> Report {
        let [_left, right] = Net::new().pair();
        let link = right.link();
        let sys = tempfile::tempdir().unwrap();
        let folder = sys.path().join("class/net").join(link.ifname().to_string());
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            let text = text.replace("INDEX", &link.ifindex().0.to_string());
            fs::write(folder.join(name), text).unwrap();
        }
        let paths = SystemPaths {
            sys: sys.path().into(),
            ..SystemPaths::default()
        };
        let context = InterfaceContext {
            paths: &paths,
            link: &link,
        };
        let mut report = Report::default();
        judge_instances(&context, instances, &mut report);
        report
    }

    #[test]
    fn the_poll_timer_counts_only_if_interrupts_are_deferred() {
        for (defer, timeout_ns, counts) in [
            (Some(2), Some(200_000), (1, 0)),
            (Some(0), Some(200_000), (0, 0)),
            (Some(2), Some(20_000), (0, 0)),
            (None, None, (0, 1)),
        ] {
            let mut napi = NapiInstance::default();
            (napi.defer_hard_irqs, napi.gro_flush_timeout_ns) = (defer, timeout_ns);
            let report = judge_with_files(&[NapiInstance::default(), napi], &[]);
            assert_eq!((report.findings.len(), report.unknown.len()), counts);
        }
    }

    /// As before Linux 6.13.
    #[test]
    fn sysfs_is_used_if_instances_report_nothing() {
        for (index, counts) in [
            ("INDEX\n", (1, 0)),
            // Another index: the files belong to an interface of another namespace.
            ("1INDEX\n", (0, 1)),
        ] {
            let files = [
                ("ifindex", index),
                ("napi_defer_hard_irqs", "2\n"),
                ("gro_flush_timeout", "200000\n"),
            ];
            let report = judge_with_files(&[NapiInstance::default()], &files);
            assert_eq!((report.findings.len(), report.unknown.len()), counts);
        }
    }

    #[test]
    fn cpu_lists_are_parsed() {
        assert_eq!(cpu_list("0-2,5\n"), BTreeSet::from([0, 1, 2, 5]));
        assert_eq!(cpu_list(""), BTreeSet::new());
        assert_eq!(cpu_list("3-1,x,7"), BTreeSet::from([7]));
        assert!(cpu_list("0-99999999999").len() <= MAX_CPU + 1);
    }

    #[test]
    fn interrupts_on_a_single_cpu_are_a_finding() {
        for (cpus, findings) in [(&[2][..], 1), (&[0, 2], 0)] {
            let cpus = cpus.iter().copied().collect();
            let mut report = Report::default();
            judge_affinity("eth0", &BTreeSet::from([40, 41]), &cpus, 4, &mut report);
            assert_eq!(report.findings.len(), findings);
        }
    }

    #[test]
    fn a_device_without_reported_interrupts_is_unknown() {
        for (is_virtual, counts) in [(true, (1, 0)), (false, (0, 1))] {
            let mut report = Report::default();
            report_no_interrupts(is_virtual, &mut report);
            assert_eq!((report.abilities.len(), report.unknown.len()), counts);
        }
    }

    #[test]
    fn a_bound_thread_is_found() {
        let (bound, own) = std::thread::spawn(|| {
            let mut cpus = CpuSet::new();
            cpus.set(0);
            sched_setaffinity(None, &cpus).unwrap();
            (bound_threads(Path::new("/proc")).unwrap(), gettid())
        })
        .join()
        .unwrap();
        let own = own.as_raw_nonzero().get().cast_unsigned();
        let found = bound.iter().find(|thread| thread.id == own);
        let found = found.expect("the thread is bound");
        assert_eq!(found.cpu, 0);
        let judged = |on: &[usize], others: &[usize]| {
            let [on, others] = [on, others].map(|cpus| cpus.iter().copied().collect());
            let mut report = Report::default();
            judge_bound_threads("eth0", &on, &others, &bound, &mut report);
            report.findings.pop()
        };
        let finding = judged(&[0], &[1, 3]).expect("a finding");
        assert_eq!(finding.id, "bound-threads");
        let command = format!("taskset -pc 1,3 {}", found.id);
        let is_truncated = bound.iter().filter(|thread| thread.cpu == 0).count() > MAX_NAMED;
        assert!(
            is_truncated || finding.remedy.contains(&command),
            "{finding:?}"
        );
        let advice = judged(&[0], &[]).expect("a finding");
        assert!(advice.remedy[0].starts_with("# "));
        assert_eq!(judged(&[9000], &[1]), None);
    }
}
