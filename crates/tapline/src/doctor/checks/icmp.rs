//! ICMP of this host: what it answers, and how often, when it is probed or passes probes on.

use super::super::change::Change;
use super::super::place::{Roots, is_of_namespace};
use super::super::report::{Finding, Report, Severity};

/// A limit that spoils probing when it is tighter than what Linux begins with.
struct Limit {
    id: &'static str,
    name: &'static str,
    usual: u64,
    is_tighter: fn(u64) -> bool,
    spoils: &'static str,
}

const SILENT_ID: &str = "icmp-echo";
const SILENT: &str = "probes of this host, and of its loopback, get no reply";
const FEWER: &str = "this host says less often that something is unreachable or that a packet's \
    time to live is over: traceroutes through it and probes of its closed ports see losses";

const LIMITS: [Limit; 5] = [
    Limit {
        id: SILENT_ID,
        name: "net.ipv4.icmp_echo_ignore_all",
        usual: 0,
        is_tighter: |value| value != 0,
        spoils: SILENT,
    },
    Limit {
        id: SILENT_ID,
        name: "net.ipv6.icmp.echo_ignore_all",
        usual: 0,
        is_tighter: |value| value != 0,
        spoils: SILENT,
    },
    Limit {
        id: "icmp-rate",
        name: "net.ipv4.icmp_msgs_per_sec",
        usual: 1000,
        is_tighter: |value| value < 1000,
        spoils: FEWER,
    },
    Limit {
        id: "icmp-rate",
        name: "net.ipv4.icmp_ratelimit",
        usual: 1000,
        is_tighter: |value| value > 1000,
        spoils: FEWER,
    },
    Limit {
        id: "icmp-rate",
        name: "net.ipv6.icmp.ratelimit",
        usual: 1000,
        is_tighter: |value| value > 1000,
        spoils: FEWER,
    },
];

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let mut usual: [(&str, Vec<String>); 2] = [(SILENT_ID, vec![]), ("icmp-rate", vec![])];
    for limit in &LIMITS {
        match roots.number(limit.name) {
            Ok(Some(value)) if (limit.is_tighter)(value) => report.found(tight(limit, value)),
            Ok(Some(value)) => {
                let of_it = usual.iter_mut().filter(|(id, _)| *id == limit.id);
                let file = limit.name.trim_start_matches("net.");
                of_it.for_each(|(_, shown)| shown.push(format!("{file} {value}")));
            }
            Ok(None) => {
                let why = format!("{} is not shown in this namespace", limit.name);
                report.unknown(limit.id, why);
            }
            Err(error) => report.failed(limit.id, &error),
        }
    }
    for (id, shown) in usual.into_iter().filter(|(_, shown)| !shown.is_empty()) {
        report.can(id, shown.join(", "));
    }
}

fn tight(limit: &Limit, value: u64) -> Finding {
    let Limit {
        id,
        name,
        usual,
        spoils,
        ..
    } = limit;
    let seen = format!("{name} is {value}; Linux begins with {usual}");
    let finding = Finding::new(id, Severity::Warning, seen, *spoils);
    let change = Change::Sysctl {
        name: (*name).into(),
        value: usual.to_string(),
    };
    // Who has a host keep silent may mean it.
    if *id != SILENT_ID && is_of_namespace(name) == Some(true) {
        finding.fix(change)
    } else {
        finding.remedy(change.command())
    }
}
