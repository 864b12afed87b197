//! Clocks and time stamps: the kernel's clock source, the device's clock, and which packets get stamps.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use abi::clock::{monotonic_ns, realtime_ns};
use netlink::{Ethtool, TimeStamping};
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime_dynamic};

use crate::doctor::paths::{InterfaceContext, SystemPaths, read};
use crate::doctor::report::{Finding, Report};

const CLOCK_SOURCE: &str = "clock-source";
const CLOCK_FOLDER: &str = "devices/system/clocksource/clocksource0";
/// Clocks that are read over a bus or tick slowly.
const SLOW_CLOCKS: [&str; 5] = ["acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"];
const READS: u64 = 200;
const ROUNDS: usize = 10;
/// CPU clocks take 20 to 50 ns per read; clocks behind a system call take 200 ns or more.
const SLOW_READ_NS: u64 = 400;

pub(super) fn check_clock_source(paths: &SystemPaths, report: &mut Report) {
    let read_ns = clock_read_ns();
    let file = |name: &str| read(&paths.sys.join(CLOCK_FOLDER).join(name));
    let name = match file("current_clocksource") {
        Ok(Some(name)) => name,
        Ok(None) => {
            report.add_unknown(CLOCK_SOURCE, "the kernel does not show its clock source");
            "unknown".into()
        }
        Err(error) => {
            report.add_error(CLOCK_SOURCE, &error);
            "unknown".into()
        }
    };
    report.add_ability(CLOCK_SOURCE, format!("{name}, {read_ns} ns per read"));
    if !SLOW_CLOCKS.contains(&name.as_str()) && read_ns < SLOW_READ_NS {
        return;
    }
    let observed = format!("the clock source is {name}; a clock read takes {read_ns} ns");
    let effect = "the kernel reads the clock for every packet: throughput falls, and short delays are \
        measured too long";
    let finding = Finding::warning(CLOCK_SOURCE, observed, effect);
    let available = file("available_clocksource").ok().flatten();
    let available = available.unwrap_or_default();
    let better = available
        .split_whitespace()
        .find(|other| !SLOW_CLOCKS.contains(other) && *other != name);
    report.add(match better {
        Some(better) => finding.command(format!(
            "echo {better} > /sys/{CLOCK_FOLDER}/current_clocksource"
        )),
        None => finding,
    });
}

/// Shortest mean duration of a clock read over several rounds, nanoseconds.
fn clock_read_ns() -> u64 {
    let round = |_| {
        let start_ns = monotonic_ns();
        for _ in 0..READS {
            black_box(realtime_ns());
        }
        monotonic_ns().saturating_sub(start_ns) / READS
    };
    (0..ROUNDS).map(round).min().unwrap_or(0)
}

const DEVICE_CLOCK: &str = "device-clock";
/// TAI minus UTC since 2017, seconds.
const TAI_OFFSET_S: i64 = 37;
const SECOND_NS: i64 = 1_000_000_000;
/// A synchronised clock is off by far less.
const TOLERANCE_NS: i64 = SECOND_NS / 10;

pub(super) fn check_device_clock(context: &InterfaceContext<'_>, report: &mut Report) {
    let stamping =
        Ethtool::open().and_then(|mut ethtool| ethtool.time_stamping(context.link.ifname()));
    let Some(stamping) = report.value_or_unknown(DEVICE_CLOCK, stamping) else {
        return;
    };
    let Some(number) = stamping.and_then(|stamping| stamping.clock) else {
        return report.add_ability(DEVICE_CLOCK, "none");
    };
    let device = format!("ptp{number}");
    let offsets = clock_offsets(&context.paths.dev.join(&device));
    if let Some((utc_ns, tai_s)) = report.value_or_unknown(DEVICE_CLOCK, offsets) {
        judge_device_clock(&device, utc_ns, tai_s, report);
    }
}

/// Device clock minus UTC in nanoseconds, and the kernel's TAI minus UTC in seconds.
fn clock_offsets(device: &Path) -> io::Result<(i64, i64)> {
    let file = File::open(device)?;
    let before = clock_ns(DynamicClockId::Known(ClockId::Realtime))?;
    let device = clock_ns(DynamicClockId::Dynamic(file.as_fd()))?;
    let after = clock_ns(DynamicClockId::Known(ClockId::Realtime))?;
    let tai = clock_ns(DynamicClockId::Tai)?;
    let tai_s = (tai.saturating_sub(after) + SECOND_NS / 2) / SECOND_NS;
    Ok((device.saturating_sub(before.midpoint(after)), tai_s))
}

fn clock_ns(clock: DynamicClockId<'_>) -> io::Result<i64> {
    let Timespec { tv_sec, tv_nsec } = clock_gettime_dynamic(clock)?;
    Ok(tv_sec.saturating_mul(SECOND_NS).saturating_add(tv_nsec))
}

fn judge_device_clock(device: &str, utc_ns: i64, tai_s: i64, report: &mut Report) {
    let is_near =
        |seconds: i64| utc_ns.abs_diff(seconds * SECOND_NS) < TOLERANCE_NS.cast_unsigned();
    let offset = format!("{:.6} s", utc_ns as f64 / SECOND_NS as f64);
    if is_near(0) {
        return report.add_ability(
            DEVICE_CLOCK,
            format!("{device} runs on UTC (offset {offset})"),
        );
    }
    if tai_s != 0 && is_near(tai_s) {
        let value = format!("{device} runs on TAI (offset from UTC {offset})");
        return report.add_ability(DEVICE_CLOCK, value);
    }
    let (observed, effect, tai_offset_s) = if is_near(TAI_OFFSET_S) {
        (
            format!("{device} runs on TAI, and the kernel does not know the TAI offset"),
            "the device's time stamps are 37 s ahead of the kernel's",
            TAI_OFFSET_S,
        )
    } else {
        (
            format!("{device} is {offset} ahead of UTC: nothing synchronises it"),
            "the device's time stamps cannot be compared with the kernel's or with other hosts'",
            0,
        )
    };
    let command = format!("phc2sys -s CLOCK_REALTIME -c /dev/{device} -O {tai_offset_s}");
    report.add(Finding::warning(DEVICE_CLOCK, observed, effect).command(command));
}

const TIME_STAMPS: &str = "timestamps";

pub(super) fn check_time_stamping(context: &InterfaceContext<'_>, report: &mut Report) {
    let name = context.link.ifname();
    let stamping = Ethtool::open().and_then(|mut ethtool| ethtool.time_stamping(name));
    match report.value_or_unknown(TIME_STAMPS, stamping) {
        Some(Some(stamping)) => judge_time_stamping(&name.to_string(), &stamping, report),
        Some(None) => report.add_unknown(TIME_STAMPS, "the driver does not report it"),
        None => {}
    }
}

fn judge_time_stamping(name: &str, stamping: &TimeStamping, report: &mut Report) {
    let can = |capability: &str| stamping.capabilities.iter().any(|one| one == capability);
    let stamps_all = stamping.receive_filters.iter().any(|one| one == "all");
    let receive = match (can("hardware-receive"), stamps_all) {
        (true, true) => "received packets: hardware or kernel",
        (true, false) => "received packets: kernel (hardware for some only)",
        (false, _) => "received packets: kernel",
    };
    let transmit = match (can("hardware-transmit"), can("software-transmit")) {
        (true, _) => "sent packets: hardware",
        (false, true) => "sent packets: driver",
        (false, false) => "sent packets: none",
    };
    report.add_ability(TIME_STAMPS, format!("{receive}; {transmit}"));
    if can("hardware-receive") && !stamps_all {
        let filters = stamping.receive_filters.join(", ");
        let observed = format!("{name} stamps only some received packets in hardware: {filters}");
        let effect =
            "captures with hardware time stamps fail, or some packets have the kernel's stamp";
        let finding = Finding::info(TIME_STAMPS, observed, effect);
        report.add(finding.advice("capture with kernel time stamps (the default)"));
    }
    if !can("hardware-transmit") && !can("software-transmit") {
        let observed = format!("the driver of {name} does not stamp sent packets");
        let effect = "round-trip times include the time that a request waits in the kernel's queue";
        let finding = Finding::info(TIME_STAMPS, observed, effect);
        report.add(finding.advice("ping through an interface whose driver does (ethtool -T IF)"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_clock_may_run_on_utc_or_a_known_tai() {
        for (utc_ns, tai_s, findings) in [
            (-20_000, 0, 0),
            (37 * SECOND_NS + 400, 37, 0),
            (37 * SECOND_NS + 400, 0, 1),
            (-1_700_000_000 * SECOND_NS, 37, 1),
            (i64::MIN, 0, 1),
        ] {
            let mut report = Report::default();
            judge_device_clock("ptp0", utc_ns, tai_s, &mut report);
            assert_eq!(report.findings.len(), findings, "{utc_ns} {tai_s}");
        }
    }

    #[test]
    fn hardware_stamps_for_some_packets_are_a_finding() {
        let mut stamping = TimeStamping::default();
        let count = |stamping: &TimeStamping| {
            let mut report = Report::default();
            judge_time_stamping("eth0", stamping, &mut report);
            report.findings.len()
        };
        stamping.capabilities = vec!["software-transmit".into(), "hardware-receive".into()];
        stamping.receive_filters = vec!["none".into(), "ptpv2-l4-event".into()];
        assert_eq!(count(&stamping), 1);
        stamping.receive_filters.push("all".into());
        assert_eq!(count(&stamping), 0);
        assert_eq!(count(&TimeStamping::default()), 1);
    }
}
