//! How long a device holds packets back to interrupt less often.

use netlink::{Coalescing, Ethtool};

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const ID: &str = "coalescing";
/// Half of what delivery takes at its best in batches of 200 us.
const LONG_US: u32 = 100;

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let name = place.link.ifname();
    let told = Ethtool::open().and_then(|mut ethtool| ethtool.coalescing(name));
    match report.known(ID, told) {
        Some(Some(held)) => judge(&name.to_string(), &held, report),
        Some(None) => report.can(ID, "none"),
        None => {}
    }
}

fn judge(name: &str, held: &Coalescing, report: &mut Report) {
    let adaptive = if held.adaptive == Some(true) {
        ", adaptive"
    } else {
        ""
    };
    let Some(wait_us) = held.receive_us else {
        return report.unknown(
            ID,
            "the driver does not tell how long it holds packets back",
        );
    };
    report.can(ID, format!("interrupts after {wait_us} us{adaptive}"));
    if wait_us > LONG_US {
        let seen = format!("{name} holds received packets back for up to {wait_us} us{adaptive}");
        let spoils = "the kernel stamps packets that much later than they came, unevenly: delays and \
            round trips are measured too long";
        let finding = Finding::new(ID, Severity::Warning, seen, spoils);
        // The kernel refuses all of it for one that the driver does not know.
        let adaptive = match held.adaptive {
            Some(true) => " adaptive-rx off",
            Some(false) | None => "",
        };
        let command = format!("ethtool -C {}{adaptive} rx-usecs 10", quoted(name));
        report.found(finding.remedy(command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_held_back_for_long_are_found_in_given_values() {
        let count = |receive_us| {
            let mut held = Coalescing::default();
            held.receive_us = receive_us;
            let mut report = Report::default();
            judge("eth0", &held, &mut report);
            (report.findings.len(), report.unknown.len())
        };
        assert_eq!(count(Some(500)), (1, 0));
        assert_eq!(count(Some(8)), (0, 0));
        assert_eq!(count(None), (0, 1));
    }

    #[test]
    fn the_command_asks_for_nothing_that_the_driver_lacks() {
        let command = |adaptive| {
            let mut held = Coalescing::default();
            (held.receive_us, held.adaptive) = (Some(500), adaptive);
            let mut report = Report::default();
            judge("eth0", &held, &mut report);
            report.findings.remove(0).remedy
        };
        let (plain, whole) = (
            "ethtool -C eth0 rx-usecs 10",
            "ethtool -C eth0 adaptive-rx off rx-usecs 10",
        );
        assert_eq!(command(None), [plain]);
        assert_eq!(command(Some(false)), [plain]);
        assert_eq!(command(Some(true)), [whole]);
    }
}
