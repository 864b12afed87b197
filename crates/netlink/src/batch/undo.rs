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
    let undo: Box<Change> = match (verb, before) {
        (Verb::Get | Verb::List, _) => return None,
        (Verb::Add | Verb::Append, _) | (Verb::Replace, None) => {
            Box::new(move |netlink| netlink.del(&object))
        }
        (Verb::Replace, Some(before)) => {
            Box::new(move |netlink| netlink.replace(&before.settable()))
        }
        (Verb::Set, Some(before)) => {
            Box::new(move |netlink| netlink.set(&before.restricted(&object)))
        }
        (Verb::Del, Some(before)) => Box::new(move |netlink| netlink.add(&before.settable())),
        (Verb::Set | Verb::Del, None) => {
            let error = NetlinkError::new(Action::Get, object.subject(), Cause::Absent);
            Box::new(move |_| Err(error))
        }
    };
    Some(Undo(undo))
}
