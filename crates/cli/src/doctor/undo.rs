//! Taking back what was changed.

use tapline::doctor::{Change, ChangeError, Roots};

use super::fix::tell;
use super::record::{Entry, Record, link_index};
use super::{json, text};
use crate::failure::{Exit, Failure};

/// What became of a change that was to be taken back.
enum Undone {
    Back,
    /// The value is neither the former one nor that of the change, or the interface is another: its
    /// owner has the last word.
    Left,
    Failed(ChangeError),
}

pub fn run(roots: &Roots, as_json: bool) -> Result<Exit, Failure> {
    let mut record = Record::open()?;
    let entries = std::mem::take(&mut record.entries);
    let (mut back, mut left, mut failed, mut unprivileged) = (0, 0, 0, 0);
    // The last one first.
    for entry in entries.into_iter().rev() {
        match undo(&entry, roots) {
            Undone::Back => {
                back += 1;
                tell(&entry.former, "undone", None, as_json)?;
            }
            Undone::Left => {
                left += 1;
                tell(&entry.made, "left", None, as_json)?;
            }
            Undone::Failed(error) => {
                failed += 1;
                unprivileged += usize::from(error.needs_privilege());
                tell(&entry.former, "failed", Some(&error), as_json)?;
                record.entries.insert(0, entry);
            }
        }
    }
    record.save()?;
    if as_json {
        json::undone(back, left, failed)?;
    } else {
        text::undone(back, left, failed)?;
    }
    Ok(match failed {
        0 => Exit::Done,
        _ if unprivileged == failed => Exit::Privilege,
        _ => Exit::Failed,
    })
}

fn undo(entry: &Entry, roots: &Roots) -> Undone {
    let is_of_link = matches!(entry.made, Change::Feature { .. });
    if is_of_link && link_index(&entry.made) != entry.link_index {
        return Undone::Left;
    }
    match entry.made.present(roots) {
        Ok(present) if present == entry.former => Undone::Back,
        Ok(present) if present == entry.made => match entry.former.make(roots) {
            Ok(()) => Undone::Back,
            Err(error) => Undone::Failed(error),
        },
        Ok(_) => Undone::Left,
        Err(error) => Undone::Failed(error),
    }
}
