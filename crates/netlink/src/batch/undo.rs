//! Rolls back the items of a batch.

use std::collections::HashMap;
use std::fmt;

use crate::error::{Action, Cause, InvalidRequest, NetlinkError};
use crate::netlink::Netlink;
use crate::object::Object;
use crate::verb::Verb;

type Change = dyn FnOnce(&mut Netlink) -> Result<(), NetlinkError> + Send;

/// Rolls back one item.
pub(super) struct Undo(Box<Change>);

impl Undo {
    pub(super) fn run(self, netlink: &mut Netlink) -> Result<(), NetlinkError> {
        (self.0)(netlink)
    }
}

impl fmt::Debug for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Undo")
    }
}

/// Rolls back `verb` on `object`, whose state was `before`. `None` if nothing has to be done. If a rollback is
/// impossible, running the result returns the reason.
pub(super) fn undo_for<O: Object>(
    verb: Verb,
    object: &O,
    before: Result<Option<O>, NetlinkError>,
) -> Option<Undo> {
    let object = object.clone();
    let before = match before {
        Ok(before) => before,
        Err(error) => return Some(Undo(Box::new(move |_| Err(error)))),
    };
    if let (Verb::Del, Some(reason)) = (verb, O::RESTORE_IMPOSSIBLE) {
        let cause = Cause::Invalid(InvalidRequest::new(reason));
        let error = NetlinkError::new(Action::Add, object.target(), cause);
        return Some(Undo(Box::new(move |_| Err(error))));
    }
    let verb = match verb {
        Verb::Add if O::IS_IDEMPOTENT => Verb::Replace,
        verb => verb,
    };
    let undo: Box<Change> = match (verb, before) {
        (Verb::Get | Verb::List, _) => return None,
        (Verb::Add | Verb::Append | Verb::Prepend, _) | (Verb::Replace, None) => {
            Box::new(move |netlink| netlink.del(&object))
        }
        (Verb::Replace, Some(before)) => {
            Box::new(move |netlink| restore(netlink, Netlink::replace, before, &object))
        }
        (Verb::Set, Some(before)) => {
            Box::new(move |netlink| netlink.set(&before.reduced_to(&object)))
        }
        (Verb::Del, Some(before)) => {
            Box::new(move |netlink| restore(netlink, Netlink::add, before, &object))
        }
        // It did not exist before.
        (Verb::Del, None) if O::IS_IDEMPOTENT => return None,
        (Verb::Set | Verb::Del, None) => {
            let error = NetlinkError::new(Action::Get, object.target(), Cause::Absent);
            Box::new(move |_| Err(error))
        }
    };
    Some(Undo(undo))
}

/// Restores the state that an object had `before` a `change`.
fn restore<O: Object>(
    netlink: &mut Netlink,
    request: fn(&mut Netlink, &O) -> Result<(), NetlinkError>,
    before: O,
    change: &O,
) -> Result<(), NetlinkError> {
    let settings = before.set_after_restore();
    request(netlink, &before.to_restore(change))?;
    settings.map_or(Ok(()), |settings| netlink.set(&settings))
}

/// Whether a rollback of `verb` needs the state before it.
pub(super) fn reads_state_before<O: Object>(verb: Verb) -> bool {
    O::IS_IDEMPOTENT || !matches!(verb, Verb::Add | Verb::Append | Verb::Prepend)
}

/// Each object that `change` stands for, with the existing object that has the same key, if there is one.
/// Objects that `change` displaces follow.
///
/// If the kernel has no lookup for this kind of object, it deletes the first that matches, whatever the rest of its key
/// (`fib_table_delete`, net/ipv4/fib\_trie.c; `fib_delrule`, net/core/fib\_rules.c).
pub(super) fn current_state<O: Object>(
    netlink: &mut Netlink,
    verb: Verb,
    change: &O,
) -> Result<Vec<(O, Option<O>)>, NetlinkError> {
    if O::HAS_GET {
        return match netlink.get(change) {
            Ok(current) => Ok(vec![(change.clone(), Some(current))]),
            Err(error) if error.is_absence() => Ok(vec![(change.clone(), None)]),
            Err(error) => Err(error),
        };
    }
    let singles = change.expanded();
    let keys = singles.iter().map(Object::key).enumerate();
    let index_of: HashMap<O::Key, usize> = keys.filter_map(|(at, key)| Some((key?, at))).collect();
    let mut states: Vec<_> = singles.into_iter().map(|single| (single, None)).collect();
    let mut displaced = Vec::new();
    let deletes_first_match = verb == Verb::Del && states.len() == 1;
    let mut first_match = None;
    // The filter is empty: the fields that the change sets do not identify the existing objects.
    netlink.each(&O::default(), |other: &O| {
        match other.key().and_then(|key| index_of.get(&key)) {
            Some(&at) => _ = states[at].1.get_or_insert_with(|| other.clone()),
            None if change.displaces(other) => {
                displaced.push((change.clone(), Some(other.clone())));
            }
            None if deletes_first_match && first_match.is_none() && other.matches(change) => {
                first_match = Some(other.clone());
            }
            None => {}
        }
    })?;
    if let [(_, state @ None)] = &mut states[..] {
        *state = first_match;
    }
    states.append(&mut displaced);
    Ok(states)
}
