//! The items of a batch that go to the kernel together.

use std::marker::PhantomData;

use super::undo::Undo;
use crate::error::Subject;
use crate::object::{Object, Verb};
use crate::table::Entry;

/// Items that wait to be sent, or for their answers. Most need nothing but their messages to be told of; what others
/// need lies beside.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    items: Vec<Item>,
    /// The number of the first of them.
    first: usize,
    beside: Vec<Beside>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    /// Where its message begins among the requests.
    start: usize,
    verb: Verb,
    about: &'static About,
}

/// What is kept of an item in memory of its own.
#[derive(Debug)]
struct Beside {
    /// Which of the chunk it is.
    at: usize,
    /// What it speaks of, where the message does not tell.
    subject: Option<Subject>,
    undo: Option<Undo>,
}

/// What has to be known of an object to tell of its failure.
#[derive(Debug)]
pub(super) struct About {
    pub layout: fn(Verb) -> (usize, &'static [Entry]),
    /// What a message's body speaks of.
    pub subject: fn(&[u8]) -> Subject,
}

pub(super) struct Of<O>(PhantomData<O>);

impl<O: Object> Of<O> {
    pub const ABOUT: About = About {
        layout: O::layout,
        subject: |body| match O::parse(body) {
            Ok(Some(object)) => object.subject(),
            _ => O::default().subject(),
        },
    };
}

impl Chunk {
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The number of its first item.
    pub fn first_item(&self) -> usize {
        self.first
    }

    /// Keeps more of the item that is added next.
    pub fn note_beside(&mut self, subject: Option<Subject>, undo: Option<Undo>) {
        let at = self.items.len();
        self.beside.push(Beside { at, subject, undo });
    }

    /// Adds item number `item`, whose message begins at `start`.
    #[inline]
    pub fn push(&mut self, item: usize, start: usize, verb: Verb, about: &'static About) {
        if self.items.is_empty() {
            self.first = item;
        }
        self.items.push(Item { start, verb, about });
    }

    pub fn verb(&self, at: usize) -> Verb {
        self.items[at].verb
    }

    pub fn about(&self, at: usize) -> &'static About {
        self.items[at].about
    }

    /// What the item speaks of, where that was kept.
    pub fn subject(&self, at: usize) -> Option<Subject> {
        let beside = self.beside.binary_search_by_key(&at, |it| it.at).ok()?;
        self.beside[beside].subject.clone()
    }

    /// The item's message among `requests`.
    pub fn message<'r>(&self, at: usize, requests: &'r [u8]) -> &'r [u8] {
        let next = self.items.get(at + 1);
        let end = next.map_or(requests.len(), |next| next.start);
        &requests[self.items[at].start..end]
    }

    /// What takes items back, with their places.
    pub fn take_undo(&mut self) -> Vec<(usize, Undo)> {
        let beside = self.beside.drain(..);
        beside
            .filter_map(|beside| Some((beside.at, beside.undo?)))
            .collect()
    }

    pub fn clear(&mut self) {
        self.items.clear();
        self.beside.clear();
    }
}
