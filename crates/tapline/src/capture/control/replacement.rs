//! Rings that replace others, of all readers of a capture together.

use ring::RingOpenError;

use super::error::ChangeError;
use super::hand_over::{Replacement, RunOptions};
use super::member::Member;
use super::pending::{PendingChanges, Step};
use super::requested::Change;

/// The rings of one reader that are ready to take over, with the places of their interfaces.
struct Prepared<'m> {
    pending: &'m PendingChanges,
    replacements: Vec<(usize, Box<dyn Replacement + 'm>)>,
}

/// A change of an option that is ready to take effect. Dropping it changes nothing.
pub struct PreparedChange<'m> {
    readers: Vec<Prepared<'m>>,
    /// The options after it.
    options: RunOptions,
    is_of_filter: bool,
    now: &'m mut RunOptions,
}

impl<'m> PreparedChange<'m> {
    /// Opens the rings that are to take over for `change`, after which `options` hold instead of `now`. Call it in the network
    /// namespace of the rings.
    pub fn prepare(
        members: &'m mut [Member],
        change: &Change,
        options: RunOptions,
        now: &'m mut RunOptions,
    ) -> Result<Self, ChangeError> {
        let readers = members.iter_mut();
        let readers = readers.map(|member| prepare(member, &options, change));
        Ok(Self {
            readers: readers.collect::<Result<_, _>>()?,
            is_of_filter: change.is_of_filter(),
            options,
            now,
        })
    }

    /// Lets all rings take over, or those of the interfaces before one that fails. The readers must not close theirs meanwhile
    /// ([`PendingChanges::begin_change`]).
    pub fn take_over(self) -> Result<(), ChangeError> {
        let Self {
            readers,
            options,
            is_of_filter,
            now,
        } = self;
        let pending: Vec<_> = readers.iter().map(|one| one.pending).collect();
        let (steps, result) = take_over(readers);
        if result.is_ok() {
            *now = options;
        } else if is_of_filter {
            // An interface may have the new filter: with a number of its own, the filter before is another one again.
            now.filter_version = options.filter_version + 1;
        }
        for (pending, steps) in pending.into_iter().zip(steps) {
            pending.add(now.delivery, now.spin, steps);
        }
        result
    }
}

fn prepare<'m>(
    member: &'m mut Member,
    options: &RunOptions,
    change: &Change,
) -> Result<Prepared<'m>, ChangeError> {
    let is_busy = member.pending.is_settling();
    let mut replacements = Vec::new();
    for (place, slot) in member.interfaces.iter_mut().enumerate() {
        let Some(Ok(hand_over)) = &mut slot.hand_over else {
            continue;
        };
        if !change.replaces(hand_over.backend()) {
            continue;
        }
        if is_busy {
            let link = hand_over.link().to_owned();
            return Err(RingOpenError::Busy { link }.into());
        }
        replacements.push((place, hand_over.prepare(change, options)?));
    }
    Ok(Prepared {
        pending: &member.pending,
        replacements,
    })
}

/// Lets the rings take over, one interface after another, until one fails. Returns the steps of each reader.
///
/// The first ring of an interface directs the packets to those of all readers, so the rings of the other readers follow
/// before the next interface: a reader has to read whatever gets packets.
fn take_over(prepared: Vec<Prepared<'_>>) -> (Vec<Vec<Step>>, Result<(), ChangeError>) {
    let mut steps: Vec<Vec<Step>> = prepared.iter().map(|_| Vec::new()).collect();
    let replacements = prepared.into_iter().enumerate();
    let mut replacements: Vec<_> = replacements
        .flat_map(|(reader, one)| {
            (one.replacements.into_iter()).map(move |(place, ready)| (place, reader, ready))
        })
        .collect();
    replacements.sort_by_key(|&(place, reader, _)| (place, reader));
    let mut failed: Option<(usize, ChangeError)> = None;
    for (place, reader, ready) in replacements {
        if failed.as_ref().is_some_and(|&(at, _)| at < place) {
            break;
        }
        match ready.take_over() {
            Ok(new) => steps[reader].push(Step::Rings(place, new)),
            // The rings that receive packets already have to be read, so the readers behind it follow.
            Err(error) => failed = failed.or(Some((place, error))),
        }
    }
    (steps, failed.map_or(Ok(()), |(_, error)| Err(error)))
}

#[cfg(test)]
mod tests;
