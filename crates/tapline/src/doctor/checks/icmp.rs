//! ICMP settings of this host: whether it answers pings, and its limits for ICMP errors.

use super::sockets::not_visible;
use crate::doctor::change::Change;
use crate::doctor::paths::{SystemPaths, is_per_namespace};
use crate::doctor::report::{Finding, Report};

/// A setting that hurts pings when it is stricter than the kernel's default.
struct Limit {
    id: &'static str,
    name: &'static str,
    default: u64,
    is_stricter: fn(u64) -> bool,
    effect: &'static str,
}

const ECHO: &str = "icmp-echo";
const RATE: &str = "icmp-rate";
const NO_REPLY: &str = "this host does not answer pings, not even on loopback";
const FEWER_ERRORS: &str = "this host sends fewer ICMP errors (unreachable, time exceeded): traceroutes \
    through it and pings of its closed ports show loss";

const LIMITS: [Limit; 5] = [
    Limit {
        id: ECHO,
        name: "net.ipv4.icmp_echo_ignore_all",
        default: 0,
        is_stricter: |value| value != 0,
        effect: NO_REPLY,
    },
    Limit {
        id: ECHO,
        name: "net.ipv6.icmp.echo_ignore_all",
        default: 0,
        is_stricter: |value| value != 0,
        effect: NO_REPLY,
    },
    Limit {
        id: RATE,
        name: "net.ipv4.icmp_msgs_per_sec",
        default: 1000,
        is_stricter: |value| value < 1000,
        effect: FEWER_ERRORS,
    },
    Limit {
        id: RATE,
        name: "net.ipv4.icmp_ratelimit",
        default: 1000,
        is_stricter: |value| value > 1000,
        effect: FEWER_ERRORS,
    },
    Limit {
        id: RATE,
        name: "net.ipv6.icmp.ratelimit",
        default: 1000,
        is_stricter: |value| value > 1000,
        effect: FEWER_ERRORS,
    },
];

pub(super) fn check(paths: &SystemPaths, report: &mut Report) {
    for id in [ECHO, RATE] {
        let mut normal = Vec::new();
        for limit in LIMITS.iter().filter(|limit| limit.id == id) {
            match paths.sysctl_number(limit.name) {
                Ok(Some(value)) if (limit.is_stricter)(value) => report.add(strict(limit, value)),
                Ok(Some(value)) => {
                    let name = limit.name.trim_start_matches("net.");
                    normal.push(format!("{name} {value}"));
                }
                Ok(None) => report.add_unknown(id, not_visible(limit.name)),
                Err(error) => report.add_error(id, &error),
            }
        }
        if !normal.is_empty() {
            report.add_ability(id, normal.join(", "));
        }
    }
}

fn strict(limit: &Limit, value: u64) -> Finding {
    let Limit { name, default, .. } = limit;
    let observed = format!("{name} is {value}; the kernel's default is {default}");
    let finding = Finding::warning(limit.id, observed, limit.effect);
    let change = Change::Sysctl {
        name: (*name).into(),
        value: default.to_string(),
    };
    // A host may be silent on purpose, so that setting is never changed here.
    if limit.id != ECHO && is_per_namespace(name) == Some(true) {
        finding.change(change)
    } else {
        finding.command(change.command())
    }
}
