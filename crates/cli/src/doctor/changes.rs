//! Makes the safe changes of a report and undoes them.

use std::error::Error;

use tapline::doctor::{Change, ChangeError, Report, SystemPaths};
use tapline::{hwtstamp, irq, steering};

use super::record::{FixResult, Record, RecordedChange};
use super::{json, text};
use crate::failure::{Exit, Failure};

/// Makes every safe change of the report. Each change is recorded before it is made.
pub fn fix(report: &Report, paths: &SystemPaths, as_json: bool) -> Result<FixResult, Failure> {
    let mut result = FixResult::default();
    let findings = report.findings.iter();
    let changes: Vec<&Change> = findings.flat_map(|finding| &finding.changes).collect();
    if changes.is_empty() {
        return Ok(result);
    }
    let mut record = Record::open()?;
    if !as_json {
        text::blank_line()?;
    }
    for change in changes {
        match make(change, paths, &mut record)? {
            Ok(()) => {
                result.made.push(change.clone());
                print(change, "made", None, as_json)?;
            }
            Err(error) => {
                result.failed += 1;
                result.unprivileged += usize::from(error.needs_privilege());
                print(change, "failed", Some(&error), as_json)?;
            }
        }
    }
    if !result.made.is_empty() {
        result.record = Some(record.path);
    }
    Ok(result)
}

/// Records the change, then makes it, so that it can be undone even if the program is killed in between.
fn make(
    change: &Change,
    paths: &SystemPaths,
    record: &mut Record,
) -> Result<Result<(), ChangeError>, Failure> {
    let former = match change.present(paths) {
        Ok(former) => former,
        Err(error) => return Ok(Err(error)),
    };
    let before = record.changes.clone();
    record.add(RecordedChange {
        former,
        made: change.clone(),
        link_index: change.link_index(),
    });
    record.save()?;
    let made = change.make(paths);
    if made.is_err() {
        record.changes = before;
        record.save()?;
    }
    Ok(made)
}

/// The result of undoing one change.
enum Undone<E> {
    Restored,
    /// Somebody has set another value since, or the interface is a different one of the same name.
    Left,
    Failed(E),
}

/// A setting that a killed capture left behind.
struct Leftover {
    /// The command that restores it.
    command: String,
    /// With the error, and whether a privilege is missing.
    state: Undone<(Box<dyn Error>, bool)>,
}

impl Leftover {
    /// Records that cannot be read.
    fn unread(error: Box<dyn Error>, is_unprivileged: bool) -> Self {
        Self {
            command: "tapline doctor --undo".to_owned(),
            state: Undone::Failed((error, is_unprivileged)),
        }
    }
}

/// Restores what captures left behind when they were killed: hardware time stamps, pinned interrupts and receive
/// steering. One that fails
/// does not keep the others from being restored.
fn leftovers() -> Vec<Leftover> {
    let mut found = Vec::new();
    let stamps = hwtstamp::restore_leftovers().unwrap_or_else(|error| {
        let is_unprivileged = error.needs_privilege();
        found.push(Leftover::unread(error.into(), is_unprivileged));
        Vec::new()
    });
    for one in stamps {
        found.push(Leftover {
            command: one.command(),
            state: match one.restored {
                hwtstamp::RestoreOutcome::Done => Undone::Restored,
                hwtstamp::RestoreOutcome::Failed(error) => {
                    let is_unprivileged = error.needs_privilege();
                    Undone::Failed((error.into(), is_unprivileged))
                }
                _ => Undone::Left,
            },
        });
    }
    let irqs = irq::restore_leftovers().unwrap_or_else(|error| {
        let is_unprivileged = error.needs_privilege();
        found.push(Leftover::unread(error.into(), is_unprivileged));
        Vec::new()
    });
    for one in irqs {
        found.push(Leftover {
            command: one.command(),
            state: match one.restored {
                irq::RestoreOutcome::Done => Undone::Restored,
                irq::RestoreOutcome::Failed(error) => {
                    let is_unprivileged = error.needs_privilege();
                    Undone::Failed((error.into(), is_unprivileged))
                }
                _ => Undone::Left,
            },
        });
    }
    let settings = steering::restore_leftovers().unwrap_or_else(|error| {
        let is_unprivileged = error.needs_privilege();
        found.push(Leftover::unread(error.into(), is_unprivileged));
        Vec::new()
    });
    for one in settings {
        found.push(Leftover {
            command: one.command(),
            state: match one.restored {
                steering::RestoreOutcome::Done => Undone::Restored,
                steering::RestoreOutcome::Failed(error) => {
                    let is_unprivileged = error.needs_privilege();
                    Undone::Failed((error.into(), is_unprivileged))
                }
                _ => Undone::Left,
            },
        });
    }
    found
}

/// Undoes the recorded changes of this network namespace, the latest first, and what captures left behind when they
/// were killed.
pub fn undo(paths: &SystemPaths, as_json: bool) -> Result<Exit, Failure> {
    let mut record = Record::open()?;
    let changes = std::mem::take(&mut record.changes);
    let (mut restored, mut left, mut failed, mut unprivileged) = (0, 0, 0, 0);
    for change in changes.into_iter().rev() {
        match restore(&change, paths) {
            Undone::Restored => {
                restored += 1;
                print(&change.former, "undone", None, as_json)?;
            }
            Undone::Left => {
                left += 1;
                print(&change.made, "left", None, as_json)?;
            }
            Undone::Failed(error) => {
                failed += 1;
                unprivileged += usize::from(error.needs_privilege());
                print(&change.former, "failed", Some(&error), as_json)?;
                record.changes.insert(0, change);
            }
        }
    }
    record.save()?;
    for one in leftovers() {
        let state = match one.state {
            Undone::Restored => {
                restored += 1;
                "undone"
            }
            Undone::Failed(_) => {
                failed += 1;
                "failed"
            }
            Undone::Left => {
                left += 1;
                "left"
            }
        };
        let error = match &one.state {
            Undone::Failed((error, is_unprivileged)) => {
                unprivileged += usize::from(*is_unprivileged);
                Some(&**error)
            }
            _ => None,
        };
        if as_json {
            json::change(&one.command, state, error)?;
        } else {
            text::change(&one.command, state, error)?;
        }
    }
    if as_json {
        json::undone(restored, left, failed)?;
    } else {
        text::undone(restored, left, failed)?;
    }
    Ok(match failed {
        0 => Exit::Done,
        _ if unprivileged == failed => Exit::Privilege,
        _ => Exit::Failed,
    })
}

fn restore(change: &RecordedChange, paths: &SystemPaths) -> Undone<ChangeError> {
    let is_of_link = matches!(change.made, Change::Feature { .. });
    if is_of_link && change.made.link_index() != change.link_index {
        return Undone::Left;
    }
    match change.made.present(paths) {
        Ok(present) if present == change.former => Undone::Restored,
        Ok(present) if present == change.made => match change.former.make(paths) {
            Ok(()) => Undone::Restored,
            Err(error) => Undone::Failed(error),
        },
        Ok(_) => Undone::Left,
        Err(error) => Undone::Failed(error),
    }
}

/// Prints what happened to a change.
fn print(
    change: &Change,
    state: &str,
    error: Option<&ChangeError>,
    as_json: bool,
) -> Result<(), Failure> {
    let command = change.command();
    let error = error.map(|error| error as &(dyn Error + 'static));
    if as_json {
        json::change(&command, state, error)?;
    } else {
        text::change(&command, state, error)?;
    }
    Ok(())
}
