//! Whether packets can come over an interface at all.

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const ID: &str = "link";

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let link = place.link;
    let kind = match link.kind.as_deref() {
        Some(kind) => kind,
        None if link.flags.is_loopback() => "loopback",
        None => "a device",
    };
    let mtu = link
        .mtu
        .map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
    report.can(ID, format!("{}: {kind}{mtu}", link.name));
    let name = quoted(&link.name.to_string());
    if !link.flags.is_up() {
        let seen = format!("{} is down", link.name);
        let finding = Finding::new(ID, Severity::Severe, seen, "no packet comes or goes");
        report.found(finding.remedy(format!("ip link set {name} up")));
    } else if !link.flags.has_carrier() {
        let seen = format!("{} has no carrier", link.name);
        let spoils = "no packet comes or goes until the other end is there";
        let finding = Finding::new(ID, Severity::Severe, seen, spoils);
        report.found(finding.remedy(format!("ip link show {name}")));
    }
}
