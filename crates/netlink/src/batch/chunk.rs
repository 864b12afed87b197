//! The items of a batch that are sent together.

use super::undo::Undo;
use crate::error::RequestTarget;
use crate::object::Object;
use crate::schema::AttributeSpec;
use crate::verb::Verb;

/// Items that were not sent or acknowledged yet. For most of them the message alone is enough to report an
/// error; `contexts` has the properties of the others.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    items: Vec<Item>,
    /// The index of the first item in the batch.
    first: usize,
    contexts: Vec<ItemContext>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    /// Where its message begins in the requests.
    start: usize,
    verb: Verb,
    codec: &'static ItemCodec,
}

/// Properties of an item besides its message.
#[derive(Debug)]
struct ItemContext {
    /// Index of the item in the chunk.
    at: usize,
    /// What it is about, if its message cannot be decoded.
    target: Option<RequestTarget>,
    undo: Option<Undo>,
}

/// How to report a failed item, whatever kind of object it is.
#[derive(Debug)]
pub(super) struct ItemCodec {
    pub layout: fn(Verb) -> (usize, &'static [AttributeSpec]),
    /// Decodes the target from the body of a message.
    pub target: fn(&[u8]) -> RequestTarget,
}

impl ItemCodec {
    /// The functions for objects of type `O`.
    pub fn of<O: Object>() -> &'static Self {
        const {
            &Self {
                layout: O::request_layout,
                target: |body| match O::decode(body) {
                    Ok(Some(object)) => object.target(),
                    _ => O::default().target(),
                },
            }
        }
    }
}

impl Chunk {
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The index of its first item in the batch.
    pub fn first_item(&self) -> usize {
        self.first
    }

    /// Stores more about the item that is pushed next.
    pub fn attach_to_next(&mut self, target: Option<RequestTarget>, undo: Option<Undo>) {
        let at = self.items.len();
        self.contexts.push(ItemContext { at, target, undo });
    }

    /// Adds item `item` of the batch, whose message begins at `start`.
    #[inline]
    pub fn push(&mut self, item: usize, start: usize, verb: Verb, codec: &'static ItemCodec) {
        if self.items.is_empty() {
            self.first = item;
        }
        self.items.push(Item { start, verb, codec });
    }

    pub fn verb(&self, at: usize) -> Verb {
        self.items[at].verb
    }

    pub fn codec(&self, at: usize) -> &'static ItemCodec {
        self.items[at].codec
    }

    /// What the item is about, if that was stored.
    pub fn target(&self, at: usize) -> Option<RequestTarget> {
        let found = self
            .contexts
            .binary_search_by_key(&at, |extra| extra.at)
            .ok()?;
        self.contexts[found].target.clone()
    }

    /// The item's message in `requests`.
    pub fn message<'r>(&self, at: usize, requests: &'r [u8]) -> &'r [u8] {
        let next = self.items.get(at + 1);
        let end = next.map_or(requests.len(), |next| next.start);
        &requests[self.items[at].start..end]
    }

    /// Removes and returns the undo actions, with the indices of their items.
    pub fn take_undo(&mut self) -> Vec<(usize, Undo)> {
        let contexts = self.contexts.drain(..);
        contexts
            .filter_map(|extra| Some((extra.at, extra.undo?)))
            .collect()
    }

    pub fn clear(&mut self) {
        self.items.clear();
        self.contexts.clear();
    }
}
