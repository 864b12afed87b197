//! Whether packets can come over an interface at all.

use netlink::LinkFlags;

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const ID: &str = "link";

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let link = place.link;
    let kind = match link.kind_name() {
        Some(kind) => kind,
        None if link.is_loopback() => "loopback",
        None => "a device",
    };
    let mtu = link
        .mtu
        .map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
    report.can(ID, format!("{}: {kind}{mtu}", link.ifname()));
    let name = quoted(&link.ifname().to_string());
    if link.up != Some(true) {
        let seen = format!("{} is down", link.ifname());
        let finding = Finding::new(ID, Severity::Severe, seen, "no packet comes or goes");
        report.found(finding.remedy(format!("ip link set {name} up")));
    } else if !link.flags.is_some_and(LinkFlags::has_carrier) {
        let seen = format!("{} has no carrier", link.ifname());
        let spoils = "no packet comes or goes until the other end is there";
        let finding = Finding::new(ID, Severity::Severe, seen, spoils);
        report.found(finding.remedy(format!("ip link show {name}")));
    }
}
