use std::collections::HashMap;
use std::fmt;

use crate::error::{Action, Cause, NetlinkError};
use crate::handle::Netlink;
use crate::object::{Object, Unfit, Verb};

type Change = dyn FnOnce(&mut Netlink) -> Result<(), NetlinkError> + Send;

/// What takes an item back.
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

/// What takes back that `verb` was done with `object`, which was like `before`; `None` for a question. Where that
/// cannot be done, trying it is an error.
pub(super) fn undo_of<O: Object>(
    verb: Verb,
    object: &O,
    before: Result<Option<O>, NetlinkError>,
) -> Option<Undo> {
    let object = object.clone();
    let before = match before {
        Ok(before) => before,
        Err(error) => return Some(Undo(Box::new(move |_| Err(error)))),
    };
    if let (Verb::Del, Some(reason)) = (verb, O::IRRETRIEVABLE) {
        let cause = Cause::Unfit(Unfit::new(reason));
        let error = NetlinkError::new(Action::Add, object.subject(), cause);
        return Some(Undo(Box::new(move |_| Err(error))));
    }
    let verb = match verb {
        Verb::Add if O::IDEMPOTENT => Verb::Replace,
        verb => verb,
    };
    let undo: Box<Change> = match (verb, before) {
        (Verb::Get | Verb::List, _) => return None,
        (Verb::Add | Verb::Append, _) | (Verb::Replace, None) => {
            Box::new(move |netlink| netlink.del(&object))
        }
        (Verb::Replace, Some(before)) => {
            Box::new(move |netlink| bring_back(netlink, Netlink::replace, before, &object))
        }
        (Verb::Set, Some(before)) => {
            Box::new(move |netlink| netlink.set(&before.restricted(&object)))
        }
        (Verb::Del, Some(before)) => {
            Box::new(move |netlink| bring_back(netlink, Netlink::add, before, &object))
        }
        // It was not there either.
        (Verb::Del, None) if O::IDEMPOTENT => return None,
        (Verb::Set | Verb::Del, None) => {
            let error = NetlinkError::new(Action::Get, object.subject(), Cause::Absent);
            Box::new(move |_| Err(error))
        }
    };
    Some(Undo(undo))
}

/// Makes or changes an object so that it is as it was `before` something was `said` of it.
fn bring_back<O: Object>(
    netlink: &mut Netlink,
    make: fn(&mut Netlink, &O) -> Result<(), NetlinkError>,
    before: O,
    said: &O,
) -> Result<(), NetlinkError> {
    let rest = before.set_afterwards();
    make(netlink, &before.brought_back(said))?;
    rest.map_or(Ok(()), |rest| netlink.set(&rest))
}

/// Whether how things are has to be known to take back what `verb` does.
pub(super) fn asks_before<O: Object>(verb: Verb) -> bool {
    O::IDEMPOTENT || !matches!(verb, Verb::Add | Verb::Append)
}

/// Each object that is said and the one of the same key as it is now; `None` when there is none. Those that it
/// takes something from follow.
///
/// Where the kernel cannot be asked for one, it removes the first that is as said, whatever its key has beside
/// (`fib_table_delete`, net/ipv4/fib\_trie.c; `fib_delrule`, net/core/fib\_rules.c).
pub(super) fn held<O: Object>(
    netlink: &mut Netlink,
    verb: Verb,
    said: &O,
) -> Result<Vec<(O, Option<O>)>, NetlinkError> {
    if O::HAS_GET {
        return match netlink.get(said) {
            Ok(held) => Ok(vec![(said.clone(), Some(held))]),
            Err(error) if error.is_absence() => Ok(vec![(said.clone(), None)]),
            Err(error) => Err(error),
        };
    }
    let singles = said.singles();
    let keys = singles.iter().map(Object::key).enumerate();
    let places: HashMap<O::Key, usize> = keys.filter_map(|(at, key)| Some((key?, at))).collect();
    let mut held: Vec<_> = singles.into_iter().map(|single| (single, None)).collect();
    let mut displaced = Vec::new();
    let is_loose = verb == Verb::Del && held.len() == 1;
    let mut first_like_it = None;
    // What is new about them is not what they are found by.
    netlink.each(&O::default(), |other: &O| {
        match other.key().and_then(|key| places.get(&key)) {
            Some(&at) => _ = held[at].1.get_or_insert_with(|| other.clone()),
            None if said.displaces(other) => displaced.push((said.clone(), Some(other.clone()))),
            None if is_loose && first_like_it.is_none() && other.matches(said) => {
                first_like_it = Some(other.clone());
            }
            None => {}
        }
    })?;
    if let [(_, place @ None)] = &mut held[..] {
        *place = first_like_it;
    }
    held.append(&mut displaced);
    Ok(held)
}
