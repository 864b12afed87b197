//! The neighbour tables, which limit how many on-link hosts this host can talk to.

use netlink::Netlink;

use crate::doctor::paths::SystemPaths;
use crate::doctor::report::{Finding, Report, Severity};

const ID: &str = "neighbour-table";
/// The kernel's default of `gc_thresh3`.
const DEFAULT_ENTRIES: u32 = 1024;
/// Room for the hosts of a /18.
const ENOUGH_ENTRIES: u32 = 16_384;

/// The table of one protocol.
struct Table {
    protocol: &'static str,
    /// Sysctl name without the number: `net.ipv4.neigh.default.gc_thresh`.
    setting: String,
    limit: u32,
    entries: u32,
}

impl Table {
    fn is_nearly_full(&self) -> bool {
        u64::from(self.entries) * 10 >= u64::from(self.limit) * 9
    }

    fn is_small(&self) -> bool {
        self.limit < ENOUGH_ENTRIES || self.is_nearly_full()
    }
}

pub(super) fn check(paths: &SystemPaths, report: &mut Report) {
    let tables = Netlink::open().and_then(|mut netlink| netlink.neighbour_tables());
    let Some(listing) = report.value_or_unknown(ID, tables) else {
        return;
    };
    let mut tables = Vec::new();
    for (name, protocol, family) in [
        ("arp_cache", "IPv4", "ipv4"),
        ("ndisc_cache", "IPv6", "ipv6"),
    ] {
        let table = listing.items.iter().find(|table| table.name == name);
        let setting = format!("net.{family}.neigh.default.gc_thresh");
        // Most namespaces do not show the file; all of them show the table.
        let limit = match paths.sysctl_number(&format!("{setting}3")) {
            Ok(Some(limit)) => u32::try_from(limit).ok(),
            _ => table.and_then(|table| table.limit),
        };
        if let (Some(limit), Some(entries)) = (limit, table.and_then(|table| table.entries)) {
            tables.push(Table {
                protocol,
                setting,
                limit,
                entries,
            });
        } else {
            let why = format!("the kernel does not report its {protocol} neighbour table");
            report.add_unknown(ID, why);
        }
    }
    let used = |table: &Table| format!("{} {} of {}", table.protocol, table.entries, table.limit);
    let used: Vec<_> = tables.iter().map(used).collect();
    if !used.is_empty() {
        let value = format!("{} in use, all namespaces together", used.join(", "));
        report.add_ability(ID, value);
    }
    tables.retain(Table::is_small);
    if !tables.is_empty() {
        report.add(too_small(&tables, paths));
    }
}

fn too_small(tables: &[Table], paths: &SystemPaths) -> Finding {
    let is_urgent = |table: &Table| table.limit < DEFAULT_ENTRIES || table.is_nearly_full();
    let severity = if tables.iter().any(is_urgent) {
        Severity::Warning
    } else {
        Severity::Info
    };
    let limits = tables
        .iter()
        .map(|table| format!("{} {}", table.limit, table.protocol));
    let limits = limits.collect::<Vec<_>>().join(" and ");
    let observed = format!("the neighbour tables hold {limits} on-link hosts");
    let effect = "the kernel rejects packets to more hosts than that (ENOBUFS), so a sweep reports them as \
        absent; hosts behind a router are not affected";
    let mut finding = Finding::new(ID, severity, observed, effect);
    for table in tables {
        let name = |number: u8| format!("{}{number}", table.setting);
        let names = [name(3), name(2), name(1)];
        let values = [4, 2, 1].map(|factor| u64::from(ENOUGH_ENTRIES * factor));
        let settings: Vec<_> = names.iter().map(String::as_str).zip(values).collect();
        finding = finding.command(paths.set_host_sysctls(&settings));
    }
    finding
}
