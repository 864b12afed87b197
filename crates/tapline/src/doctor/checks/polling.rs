//! The kernel's polling of a device: whether packets may wait for a timer.

use netlink::{NapiInstance, NetDevices};
use rustix::io::Errno;

use super::super::place::{Place, read};
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const ID: &str = "polling";
const LONG_NS: u64 = 50_000;

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let index = place.link.ifindex();
    let told = NetDevices::open().and_then(|mut devices| devices.napi_instances(index));
    match told {
        Ok(listing) => judge(place, &listing.items, report),
        Err(error) if is_unsupported(error.errno()) => {
            judge_told(place, of_files(place).as_slice(), report);
        }
        Err(error) => report.failed(ID, &error),
    }
}

/// Empty polls before interrupts are switched on again, and nanoseconds from one poll to the next.
type Told = (u64, u64);

/// What sysfs says of all of an interface's instances, which older kernels do not tell one by one; `None`
/// where it says nothing, or is that of another network namespace.
fn of_files(place: &Place<'_>) -> Option<Told> {
    let folder = place
        .roots
        .sys
        .join("class/net")
        .join(place.link.ifname().to_string());
    let number = |file: &str| read(&folder.join(file)).ok()??.parse::<u64>().ok();
    let is_own = number("ifindex")? == u64::from(place.link.ifindex().0);
    is_own.then_some((
        number("napi_defer_hard_irqs")?,
        number("gro_flush_timeout")?,
    ))
}

pub(super) fn is_unsupported(errno: Option<i32>) -> bool {
    let known = [Errno::NOENT, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    errno.is_some_and(|errno| known.contains(&errno))
}

fn judge(place: &Place<'_>, instances: &[NapiInstance], report: &mut Report) {
    if instances.is_empty() {
        return report.can(ID, "none");
    }
    let told = instances
        .iter()
        .filter_map(|napi| Some((napi.defer_hard_irqs?.into(), napi.gro_flush_timeout_ns?)));
    let mut told: Vec<Told> = told.collect();
    if told.is_empty() {
        told.extend(of_files(place));
    }
    judge_told(place, &told, report);
}

fn judge_told(place: &Place<'_>, told: &[Told], report: &mut Report) {
    if told.is_empty() {
        return report.unknown(
            ID,
            "neither the kernel (needs Linux 6.13) nor its sysfs here tells how it polls",
        );
    }
    let name = place.link.ifname().to_string();
    // Interrupts are put off only where both are set.
    let waits = told
        .iter()
        .filter(|(defer, _)| *defer > 0)
        .map(|(_, timeout_ns)| *timeout_ns);
    let wait_ns = waits.max().unwrap_or(0);
    report.can(ID, format!("interrupts put off for {} us", wait_ns / 1000));
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
    use std::fs;

    use lab::Net;

    use super::super::super::place::Roots;
    use super::*;

    /// A link of a test host, and a folder in place of `/sys` in which it has these files.
    fn found(instances: &[NapiInstance], files: &[(&str, &str)]) -> Report {
        let [_left, right] = Net::new().pair();
        let link = right.link();
        let sys = tempfile::tempdir().unwrap();
        let folder = sys.path().join("class/net").join(link.ifname().to_string());
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            let text = text.replace("INDEX", &link.ifindex().0.to_string());
            fs::write(folder.join(name), text).unwrap();
        }
        let roots = Roots {
            sys: sys.path().into(),
            ..Roots::default()
        };
        let place = Place {
            roots: &roots,
            link: &link,
        };
        let mut report = Report::default();
        judge(&place, instances, &mut report);
        report
    }

    #[test]
    fn a_timer_counts_where_interrupts_are_put_off() {
        let found = |defer, timeout_ns| {
            let mut napi = NapiInstance::default();
            (napi.defer_hard_irqs, napi.gro_flush_timeout_ns) = (defer, timeout_ns);
            let report = found(&[NapiInstance::default(), napi], &[]);
            (report.findings.len(), report.unknown.len())
        };
        assert_eq!(found(Some(2), Some(200_000)), (1, 0));
        assert_eq!(found(Some(0), Some(200_000)), (0, 0));
        assert_eq!(found(Some(2), Some(20_000)), (0, 0));
        assert_eq!(found(None, None), (0, 1));
    }

    /// As before Linux 6.13.
    #[test]
    fn files_tell_what_the_instances_do_not() {
        let defer = ("napi_defer_hard_irqs", "2\n");
        let timeout = ("gro_flush_timeout", "200000\n");
        let found = |index| {
            let report = found(
                &[NapiInstance::default()],
                &[("ifindex", index), defer, timeout],
            );
            (report.findings.len(), report.unknown.len())
        };
        assert_eq!(found("INDEX\n"), (1, 0));
        // The files are those of an interface of another namespace.
        assert_eq!(found("1INDEX\n"), (0, 1));
    }
}
