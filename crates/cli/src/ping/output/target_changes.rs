//! Changes of the targets, as lines on standard error.

use tapline::ping::{ProbeCounts, Prober, TargetChange};

use super::warnings::warn;
use super::{account, figures};

/// Reports a change of a target.
pub fn changed(statistics: &Prober, target: u32, change: &TargetChange) {
    let targets = statistics.targets();
    let name = figures::name(targets, target);
    let address = figures::shown_address(targets, target);
    let account = |counts: &ProbeCounts| account::probes(counts);
    let line = match change {
        TargetChange::Added if targets.name(target).is_some() => {
            format!("{name} ({address}) added")
        }
        TargetChange::Added => format!("{name} added"),
        TargetChange::Removed { account: counts } => {
            format!("{name} removed: {}", account(counts))
        }
        TargetChange::Address {
            from: None,
            to: Some(to),
            ..
        } => format!("{name} has the address {to}"),
        TargetChange::Address {
            from: Some(from),
            to: Some(to),
            account: counts,
            ..
        } => format!(
            "{name} changed its address from {from} to {to}; {from}: {}",
            account(counts)
        ),
        TargetChange::Address {
            from: Some(from),
            failure,
            account: counts,
            ..
        } => {
            let why = failure
                .as_ref()
                .map_or_else(String::new, |why| format!(" ({why})"));
            format!(
                "{name} has no address any more{why} and is not pinged; {from}: {}",
                account(counts)
            )
        }
        TargetChange::LookupFailed { failure } => {
            format!("cannot resolve {name}: {failure}; {address} is still pinged")
        }
        other => format!("{name}: {other}"),
    };
    warn(&line);
}

/// Reports that the list was read again.
pub fn replaced(added: u32, removed: u32, unchanged: u32) {
    warn(&format!(
        "targets read again: {added} added, {removed} removed, {unchanged} unchanged"
    ));
}
