//! The tables of neighbours, which bound how many hosts of the own network can be spoken to.

use netlink::Netlink;

use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "neighbour-table";
/// What Linux begins with.
const USUAL: u32 = 1024;
/// Room for the hosts of a /18.
const ENOUGH: u32 = 16_384;

/// A table, as it is told.
struct Table {
    protocol: &'static str,
    setting: String,
    limit: u32,
    entries: u32,
}

impl Table {
    fn is_full(&self) -> bool {
        u64::from(self.entries) * 10 >= u64::from(self.limit) * 9
    }

    fn is_small(&self) -> bool {
        self.limit < ENOUGH || self.is_full()
    }
}

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let told = Netlink::open().and_then(|mut netlink| netlink.neighbour_tables());
    let Some(listing) = report.known(ID, told) else {
        return;
    };
    let mut tables = Vec::new();
    for (name, protocol, key) in [
        ("arp_cache", "IPv4", "ipv4"),
        ("ndisc_cache", "IPv6", "ipv6"),
    ] {
        let found = listing.items.iter().find(|table| table.name == name);
        let setting = format!("net.{key}.neigh.default.gc_thresh");
        // Most namespaces do not show the file; all show the table.
        let limit = match roots.number(&format!("{setting}3")) {
            Ok(Some(limit)) => u32::try_from(limit).ok(),
            _ => found.and_then(|table| table.limit),
        };
        match (limit, found.and_then(|table| table.entries)) {
            (Some(limit), Some(entries)) => tables.push(Table {
                protocol,
                setting,
                limit,
                entries,
            }),
            _ => report.unknown(
                ID,
                format!("the kernel does not tell of {protocol} neighbours"),
            ),
        }
    }
    let shown = tables.iter().map(|table| {
        let Table {
            protocol,
            limit,
            entries,
            ..
        } = table;
        format!("{protocol} {entries} of {limit}")
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if !shown.is_empty() {
        report.can(ID, format!("{shown} in use, by all namespaces"));
    }
    tables.retain(Table::is_small);
    judge(&tables, roots, report);
}

fn judge(small: &[Table], roots: &Roots, report: &mut Report) {
    if small.is_empty() {
        return;
    }
    let is_spoiled = |table: &Table| table.limit < USUAL || table.is_full();
    let severity = if small.iter().any(is_spoiled) {
        Severity::Warning
    } else {
        Severity::Info
    };
    let limits = small
        .iter()
        .map(|table| format!("{} {}", table.limit, table.protocol));
    let limits = limits.collect::<Vec<_>>().join(" and ");
    let seen = format!("the neighbour tables hold {limits} hosts of own networks");
    let spoils = "to more than that nothing is sent: probes of a sweep are refused (ENOBUFS), which \
        looks like absent hosts; hosts behind a router are not concerned";
    let mut finding = Finding::new(ID, severity, seen, spoils);
    for table in small {
        let values = [(3, 4), (2, 2), (1, 1)].map(|(number, factor): (u8, u32)| {
            let name = format!("{}{number}", table.setting);
            (name, u64::from(ENOUGH * factor))
        });
        let values = values
            .each_ref()
            .map(|(name, value)| (name.as_str(), *value));
        finding = finding.remedy(roots.set_for_all(&values));
    }
    report.found(finding);
}
