//! Who stamps the time of packets.

use netlink::{Ethtool, TimeStamping};

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "timestamps";

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let name = place.link.ifname();
    let told = Ethtool::open().and_then(|mut ethtool| ethtool.time_stamping(name));
    match report.known(ID, told) {
        Some(Some(stamping)) => judge(&name.to_string(), &stamping, report),
        Some(None) => report.unknown(ID, "the driver does not tell"),
        None => {}
    }
}

fn judge(name: &str, stamping: &TimeStamping, report: &mut Report) {
    let can = |capability: &str| {
        stamping
            .capabilities
            .iter()
            .any(|known| known == capability)
    };
    let all = stamping
        .receive_filters
        .iter()
        .any(|filter| filter == "all");
    let receive = match (can("hardware-receive"), all) {
        (true, true) => "received by the device (--timestamp hardware) or the kernel",
        (true, false) => "received by the kernel; by the device for some packets only",
        (false, _) => "received by the kernel",
    };
    let sent = match (can("hardware-transmit"), can("software-transmit")) {
        (true, _) => "sent by the device",
        (false, true) => "sent by the driver",
        (false, false) => "sent: none",
    };
    report.can(ID, format!("{receive}; {sent}"));
    if can("hardware-receive") && !all {
        let filters = stamping.receive_filters.join(", ");
        let seen = format!("{name} stamps some received packets only: {filters}");
        let spoils = "--timestamp hardware is refused or leaves packets with the kernel's stamp";
        let finding = Finding::new(ID, Severity::Info, seen, spoils);
        report.found(finding.advice("leave it to the kernel: --timestamp kernel, the default"));
    }
    if !can("hardware-transmit") && !can("software-transmit") {
        let seen = format!("the driver of {name} does not stamp packets it sends");
        let spoils =
            "round trips are measured from the kernel's queue on: its wait is part of them";
        let finding = Finding::new(ID, Severity::Info, seen, spoils);
        report.found(finding.advice("probe over an interface whose driver does (ethtool -T IF)"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_some_packets_are_no_stamps_of_all() {
        let mut stamping = TimeStamping::default();
        let count = |stamping: &TimeStamping| {
            let mut report = Report::default();
            judge("eth0", stamping, &mut report);
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
