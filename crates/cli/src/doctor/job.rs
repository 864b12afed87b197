//! From flags to an examination, and to its end.

use tapline::doctor::{DoctorError, Report, Roots, Severity, examine};

use super::fix::{self, Fixed};
use super::{json, text, undo};
use crate::args::DoctorArgs;
use crate::failure::{Exit, Failure, chain};

pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let roots = Roots::default();
    if args.undo {
        return undo::run(&roots, args.json);
    }
    let report = examine(args.interface.as_deref(), &roots).map_err(|error| refused(&error))?;
    if args.json {
        json::report(&report)?;
    } else {
        text::report(&report, args)?;
    }
    let fixed = if args.fix {
        fix::run(&report, &roots, args.json)?
    } else {
        Fixed::default()
    };
    if args.json {
        json::summary(&report, &fixed, args)?;
    } else {
        text::summary(&report, &fixed, args)?;
    }
    Ok(exit(&report, &fixed))
}

/// What is severe and is still there, and what could not be looked at or changed.
fn exit(report: &Report, fixed: &Fixed) -> Exit {
    let severe = report.findings.iter();
    let mut severe = severe.filter(|finding| finding.severity == Severity::Severe);
    let is_left = severe.any(|finding| {
        finding.fix.is_empty() || !finding.fix.iter().all(|change| fixed.made.contains(change))
    });
    let blind = report.unknown.iter().any(|unknown| unknown.needs_privilege);
    if is_left || fixed.failed > fixed.unprivileged {
        Exit::Failed
    } else if blind || fixed.unprivileged > 0 {
        Exit::Privilege
    } else {
        Exit::Done
    }
}

fn refused(error: &DoctorError) -> Failure {
    let line = chain(error);
    match error {
        DoctorError::Link(source) if source.errno() == Some(libc::ENODEV) => Failure::new(
            Exit::Failed,
            format!("{line} ('ip link' lists the interfaces)"),
        ),
        _ => Failure::new(Exit::Failed, line),
    }
}
