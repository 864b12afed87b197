//! Helpers for the doctor's tests.

use lab::Host;
use tapline::doctor::{Finding, Report, Severity, SystemPaths, examine};

/// Examines the machine and the host's first interface.
#[track_caller]
pub fn look(host: &Host) -> Report {
    look_with(host, &SystemPaths::default())
}

#[track_caller]
pub fn look_with(host: &Host, paths: &SystemPaths) -> Report {
    let name = host.interface().name.to_string();
    let report = host.run(|| examine(Some(&name), paths));
    report.expect("the interface is there")
}

/// The findings that are at least warnings.
pub fn faults(report: &Report) -> Vec<(&'static str, Severity)> {
    let faults = report.findings.iter();
    let faults = faults.filter(|finding| finding.severity > Severity::Info);
    faults
        .map(|finding| (finding.id, finding.severity))
        .collect()
}

#[track_caller]
pub fn finding<'a>(report: &'a Report, id: &str) -> &'a Finding {
    let found = report.findings.iter().find(|finding| finding.id == id);
    found.unwrap_or_else(|| panic!("{id} in {report:?}"))
}
