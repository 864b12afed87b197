//! `tapline doctor`: prints an examination, makes its safe changes, and undoes them.

mod changes;
mod json;
mod record;
mod text;

use tapline::doctor::{DoctorError, Report, Severity, SystemPaths, examine};

use self::record::FixResult;
use crate::args::DoctorArgs;
use crate::failure::{Exit, Failure, chain};

/// Runs the command.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let paths = SystemPaths::default();
    if args.undo {
        return changes::undo(&paths, args.json);
    }
    let report = examine(args.interface.as_deref(), &paths).map_err(|error| no_link(&error))?;
    if args.json {
        json::report(&report)?;
    } else {
        text::report(&report, args)?;
    }
    let result = if args.fix {
        changes::fix(&report, &paths, args.json)?
    } else {
        FixResult::default()
    };
    if args.json {
        json::summary(&report, &result, args)?;
    } else {
        text::summary(&report, &result, args)?;
    }
    Ok(exit_status(&report, &result))
}

/// 1 if a severe finding remains or a change failed; 3 if a privilege was missing; else 0.
fn exit_status(report: &Report, result: &FixResult) -> Exit {
    let severe = report.findings.iter();
    let mut severe = severe.filter(|finding| finding.severity == Severity::Severe);
    let is_left = severe.any(|finding| {
        let is_made = |change| result.made.contains(change);
        finding.changes.is_empty() || !finding.changes.iter().all(is_made)
    });
    let unknown = report.unknown.iter().any(|unknown| unknown.needs_privilege);
    if is_left || result.failed > result.unprivileged {
        Exit::Failed
    } else if unknown || result.unprivileged > 0 {
        Exit::Privilege
    } else {
        Exit::Done
    }
}

fn no_link(error: &DoctorError) -> Failure {
    let line = chain(error);
    match error {
        DoctorError::Link(source) if source.errno() == Some(libc::ENODEV) => Failure::new(
            Exit::Failed,
            format!("{line} ('ip link' lists the interfaces)"),
        ),
        _ => Failure::new(Exit::Failed, line),
    }
}
