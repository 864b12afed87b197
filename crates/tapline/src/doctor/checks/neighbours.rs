//! The tables of neighbours, which bound how many hosts of the own network can be spoken to.

use netlink::{NeighbourTable, Netlink};

use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "neighbour-table";
/// What Linux begins with.
const USUAL: u32 = 1024;
/// Room for the hosts of a /18.
const ENOUGH: u32 = 16_384;

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let told = Netlink::open().and_then(|mut netlink| netlink.neighbour_tables());
    let Some(tables) = report.known(ID, told) else {
        return;
    };
    for (table, protocol, key) in [
        ("arp_cache", "IPv4", "ipv4"),
        ("ndisc_cache", "IPv6", "ipv6"),
    ] {
        let Some(table) = tables.items.iter().find(|known| known.name == table) else {
            report.unknown(ID, format!("the kernel has no {protocol} neighbour table"));
            continue;
        };
        let setting = format!("net.{key}.neigh.default.gc_thresh");
        // Most namespaces do not show the file; all show the table.
        let limit = match roots.number(&format!("{setting}3")) {
            Ok(Some(limit)) => u32::try_from(limit).ok(),
            _ => table.limit,
        };
        match limit {
            Some(limit) => judge(table, limit, protocol, &setting, report),
            None => report.unknown(ID, format!("the {protocol} table does not tell its limit")),
        }
    }
}

fn judge(table: &NeighbourTable, limit: u32, protocol: &str, setting: &str, report: &mut Report) {
    let entries = table.entries.unwrap_or(0);
    report.can(
        ID,
        format!("{protocol}: {entries} of {limit} in use, by all namespaces"),
    );
    let is_full = u64::from(entries) * 10 >= u64::from(limit) * 9;
    if limit >= ENOUGH && !is_full {
        return;
    }
    let severity = if limit < USUAL || is_full {
        Severity::Warning
    } else {
        Severity::Info
    };
    let seen =
        format!("the {protocol} neighbour table holds {limit} hosts, {entries} now ({setting}3)");
    let spoils = "to more hosts than that on the own network nothing is sent: probes of a sweep are \
        refused (ENOBUFS), which looks like absent hosts; hosts behind a router are not concerned";
    let mut finding = Finding::new(ID, severity, seen, spoils);
    for (number, factor) in [(3, 4), (2, 2), (1, 1)] {
        finding = finding.remedy(format!("sysctl -w {setting}{number}={}", ENOUGH * factor));
    }
    report.found(finding);
}
