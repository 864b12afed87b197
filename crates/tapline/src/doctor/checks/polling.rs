//! The kernel's polling of a device: whether packets may wait for a timer.

use netlink::{NapiInstance, NetDevices};
use rustix::io::Errno;

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const ID: &str = "polling";
const LONG_NS: u64 = 50_000;

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let index = place.link.ifindex();
    let told = NetDevices::open().and_then(|mut devices| devices.napi_instances(index));
    match told {
        Ok(listing) => judge(&place.link.ifname().to_string(), &listing.items, report),
        Err(error) if is_unsupported(error.errno()) => {
            report.unknown(ID, "the kernel does not tell (needs Linux 6.8)");
        }
        Err(error) => report.failed(ID, &error),
    }
}

pub(super) fn is_unsupported(errno: Option<i32>) -> bool {
    let known = [Errno::NOENT, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    errno.is_some_and(|errno| known.contains(&errno))
}

fn judge(name: &str, instances: &[NapiInstance], report: &mut Report) {
    if instances.is_empty() {
        return report.can(ID, "none");
    }
    let told = instances
        .iter()
        .filter_map(|napi| Some((napi.defer_hard_irqs?, napi.gro_flush_timeout_ns?)));
    let told: Vec<_> = told.collect();
    if told.is_empty() {
        return report.unknown(
            ID,
            "the kernel does not tell how it polls (needs Linux 6.13)",
        );
    }
    // Interrupts are put off only where both are set.
    let waits = told
        .iter()
        .filter(|(defer, _)| *defer > 0)
        .map(|(_, timeout_ns)| *timeout_ns);
    let wait_ns = waits.max().unwrap_or(0);
    report.can(
        ID,
        format!(
            "interrupts put off for {} us ({} polled)",
            wait_ns / 1000,
            instances.len()
        ),
    );
    if wait_ns > LONG_NS {
        let seen = format!(
            "{name} is polled every {} us instead of interrupting (napi_defer_hard_irqs, \
            gro_flush_timeout)",
            wait_ns / 1000
        );
        let spoils = "a packet that comes alone waits that long before the kernel stamps it, unless \
            its reader polls busily itself";
        let folder = format!("/sys/class/net/{name}");
        let finding = Finding::new(ID, Severity::Warning, seen, spoils);
        let command = |file: &str| format!("echo 0 > {}", quoted(&format!("{folder}/{file}")));
        let finding = finding.remedy(command("napi_defer_hard_irqs"));
        report.found(finding.remedy(command("gro_flush_timeout")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_counts_where_interrupts_are_put_off() {
        let found = |defer, timeout_ns| {
            let mut napi = NapiInstance::default();
            (napi.defer_hard_irqs, napi.gro_flush_timeout_ns) = (defer, timeout_ns);
            let mut report = Report::default();
            judge("eth0", &[NapiInstance::default(), napi], &mut report);
            (report.findings.len(), report.unknown.len())
        };
        assert_eq!(found(Some(2), Some(200_000)), (1, 0));
        assert_eq!(found(Some(0), Some(200_000)), (0, 0));
        assert_eq!(found(Some(2), Some(20_000)), (0, 0));
        assert_eq!(found(None, None), (0, 1));
    }
}
