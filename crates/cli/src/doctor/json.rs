//! Prints an examination as JSON Lines.

use std::error::Error;
use std::io;

use serde_json::json;
use tapline::doctor::{Report, Severity};

use super::record::FixResult;
use crate::args::DoctorArgs;
use crate::failure::chain;
use crate::output::json::print;

pub fn report(report: &Report) -> io::Result<()> {
    for ability in &report.abilities {
        print(&json!({ "event": "ability", "id": ability.id, "value": ability.value }))?;
    }
    for finding in &report.findings {
        print(&json!({
            "event": "finding",
            "id": finding.id,
            "severity": finding.severity.name(),
            "seen": finding.observed,
            "effect": finding.effect,
            "remedy": finding.remedy,
            "fixable": !finding.changes.is_empty(),
        }))?;
    }
    for unknown in &report.unknown {
        print(&json!({
            "event": "unknown",
            "id": unknown.id,
            "why": unknown.why,
            "needs_privilege": unknown.needs_privilege,
        }))?;
    }
    Ok(())
}

pub fn change(command: &str, state: &str, error: Option<&(dyn Error + 'static)>) -> io::Result<()> {
    print(&json!({
        "event": "change",
        "command": command,
        "state": state,
        "error": error.map(chain),
    }))
}

pub fn summary(report: &Report, result: &FixResult, args: &DoctorArgs) -> io::Result<()> {
    print(&json!({
        "event": "summary",
        "interface": args.interface,
        "severe": report.count(Severity::Severe),
        "warning": report.count(Severity::Warning),
        "info": report.count(Severity::Info),
        "unknown": report.unknown.len(),
        "changed": result.made.len(),
        "failed": result.failed,
        "record": result.record,
    }))
}

pub fn undone(restored: usize, left: usize, failed: usize) -> io::Result<()> {
    print(&json!({ "event": "summary", "undone": restored, "left": left, "failed": failed }))
}
