//! The machine, its load, and the date.

use std::fs;
use std::thread::available_parallelism;
use std::time::Duration;

use jiff::Timestamp;

/// The machine, in one line.
pub fn machine() -> String {
    let cpuinfo = read("/proc/cpuinfo");
    let field = |name: &str| {
        let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find_map(|(key, value)| (key.trim() == name).then(|| value.trim().to_owned()))
    };
    let processor = field("model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let flags = field("flags").unwrap_or_default();
    let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor");
    format!(
        "{processor}, {} CPUs{}; Linux {}",
        available_parallelism().map_or(1, usize::from),
        if is_virtual { ", virtual machine" } else { "" },
        read("/proc/sys/kernel/osrelease").trim(),
    )
}

/// The time of the measurement.
pub fn date() -> String {
    Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Load of the machine: how many threads were running or ready to run, on average over a minute.
pub fn load() -> String {
    let text = read("/proc/loadavg");
    text.split(' ').next().unwrap_or_default().into()
}

/// Steal time: how long a hypervisor ran others while a CPU had work here, in steps of a hundredth of a second. `cpu` is
/// `cpu1` for one CPU, or `cpu` for the mean of all of them.
pub fn stolen(cpu: &str) -> Duration {
    let text = read("/proc/stat");
    let mut lines = text.lines().map(str::split_whitespace);
    let fields = lines.find_map(|mut fields| (fields.next()? == cpu).then_some(fields));
    let field = fields.and_then(|mut fields| fields.nth(7));
    let hundredths = field.and_then(|field| field.parse().ok()).unwrap_or(0);
    let cpus = if cpu == "cpu" { cpu_count(&text) } else { 1 };
    Duration::from_millis(10 * hundredths) / cpus
}

/// CPUs in the text of /proc/stat.
fn cpu_count(text: &str) -> u32 {
    let lines = text.lines().filter(|line| line.starts_with("cpu"));
    // The first line is of all of them.
    lines.count().saturating_sub(1).max(1) as u32
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
