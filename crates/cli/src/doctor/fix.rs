//! Making the changes that are safe, recorded before they are made.

use std::path::PathBuf;

use tapline::doctor::{Change, ChangeError, Report, Roots};

use super::record::{Entry, Record, link_index};
use super::{json, text};
use crate::failure::Failure;

/// What became of the changes.
#[derive(Debug, Default)]
pub struct Fixed {
    pub made: Vec<Change>,
    /// Changes that were refused.
    pub failed: usize,
    /// Those of them for which a privilege was missing.
    pub unprivileged: usize,
    /// Where the changes are recorded.
    pub record: Option<PathBuf>,
}

pub fn run(report: &Report, roots: &Roots, as_json: bool) -> Result<Fixed, Failure> {
    let mut fixed = Fixed::default();
    let changes: Vec<&Change> = report.findings.iter().flat_map(|one| &one.fix).collect();
    if changes.is_empty() {
        return Ok(fixed);
    }
    let mut record = Record::open()?;
    if !as_json {
        text::gap()?;
    }
    for change in changes {
        match one(change, roots, &mut record)? {
            Ok(()) => {
                fixed.made.push(change.clone());
                tell(change, "made", None, as_json)?;
            }
            Err(error) => {
                fixed.failed += 1;
                fixed.unprivileged += usize::from(error.needs_privilege());
                tell(change, "failed", Some(&error), as_json)?;
            }
        }
    }
    if !fixed.made.is_empty() {
        fixed.record = Some(record.path);
    }
    Ok(fixed)
}

/// Records the change and makes it; whatever happens in between, the record leads back.
fn one(
    change: &Change,
    roots: &Roots,
    record: &mut Record,
) -> Result<Result<(), ChangeError>, Failure> {
    let former = match change.present(roots) {
        Ok(former) => former,
        Err(error) => return Ok(Err(error)),
    };
    let before = record.entries.clone();
    record.add(Entry {
        former,
        made: change.clone(),
        link_index: link_index(change),
    });
    record.save()?;
    let made = change.make(roots);
    if made.is_err() {
        record.entries = before;
        record.save()?;
    }
    Ok(made)
}

/// Says what became of a change.
pub fn tell(
    change: &Change,
    state: &str,
    error: Option<&ChangeError>,
    as_json: bool,
) -> Result<(), Failure> {
    if as_json {
        json::change(change, state, error)?;
    } else {
        text::change(change, state, error)?;
    }
    Ok(())
}
