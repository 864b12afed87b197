//! The clock of a device, and what it is ahead of UTC.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use netlink::Ethtool;
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime_dynamic};

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "device-clock";
/// Seconds that International Atomic Time has been ahead of UTC since 2017.
const TAI_S: i64 = 37;
const SECOND_NS: i64 = 1_000_000_000;
/// A clock that is kept is off by far less.
const TOLERANCE_NS: i64 = SECOND_NS / 10;

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let told = Ethtool::open().and_then(|mut ethtool| ethtool.time_stamping(place.link.ifname()));
    let Some(stamping) = report.known(ID, told) else {
        return;
    };
    let Some(number) = stamping.and_then(|stamping| stamping.clock) else {
        return report.can(ID, "none");
    };
    let device = format!("ptp{number}");
    if let Some((ahead_ns, tai_s)) = report.known(ID, read(&place.roots.dev.join(&device))) {
        judge(&device, ahead_ns, tai_s, report);
    }
}

/// What the clock is ahead of UTC in nanoseconds, and the kernel's own idea of TAI in seconds.
fn read(path: &Path) -> io::Result<(i64, i64)> {
    let file = File::open(path)?;
    let before = nanoseconds(DynamicClockId::Known(ClockId::Realtime))?;
    let device = nanoseconds(DynamicClockId::Dynamic(file.as_fd()))?;
    let after = nanoseconds(DynamicClockId::Known(ClockId::Realtime))?;
    let tai = nanoseconds(DynamicClockId::Tai)?;
    let tai_s = (tai.saturating_sub(after) + SECOND_NS / 2) / SECOND_NS;
    Ok((device.saturating_sub(before.midpoint(after)), tai_s))
}

fn nanoseconds(clock: DynamicClockId<'_>) -> io::Result<i64> {
    let Timespec { tv_sec, tv_nsec } = clock_gettime_dynamic(clock)?;
    Ok(tv_sec.saturating_mul(SECOND_NS).saturating_add(tv_nsec))
}

fn judge(device: &str, ahead_ns: i64, tai_s: i64, report: &mut Report) {
    let near = |seconds: i64| ahead_ns.abs_diff(seconds * SECOND_NS) < TOLERANCE_NS.cast_unsigned();
    let shown = format!("{:.6} s", ahead_ns as f64 / SECOND_NS as f64);
    if near(0) {
        return report.can(ID, format!("{device} keeps UTC ({shown} ahead)"));
    }
    if tai_s != 0 && near(tai_s) {
        return report.can(ID, format!("{device} keeps TAI ({shown} ahead of UTC)"));
    }
    let finding = if near(TAI_S) {
        let seen =
            format!("{device} keeps TAI, and the kernel does not know what that is ahead of UTC");
        let spoils = "the device's time stamps are 37 s ahead of the kernel's";
        Finding::new(ID, Severity::Warning, seen, spoils)
            .remedy(format!("phc2sys -s CLOCK_REALTIME -c /dev/{device} -O 37"))
    } else {
        let seen = format!("{device} is {shown} ahead of UTC: nothing sets it");
        let spoils = "the device's time stamps cannot be compared with the kernel's, nor with those of \
            other hosts";
        Finding::new(ID, Severity::Warning, seen, spoils)
            .remedy(format!("phc2sys -s CLOCK_REALTIME -c /dev/{device} -O 0"))
    };
    report.found(finding);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(ahead_ns: i64, tai_s: i64) -> usize {
        let mut report = Report::default();
        judge("ptp0", ahead_ns, tai_s, &mut report);
        report.findings.len()
    }

    #[test]
    fn a_clock_may_keep_utc_or_a_known_tai() {
        assert_eq!(findings(-20_000, 0), 0);
        assert_eq!(findings(37 * SECOND_NS + 400, 37), 0);
        assert_eq!(findings(37 * SECOND_NS + 400, 0), 1);
        assert_eq!(findings(-1_700_000_000 * SECOND_NS, 37), 1);
        assert_eq!(findings(i64::MIN, 0), 1);
    }
}
