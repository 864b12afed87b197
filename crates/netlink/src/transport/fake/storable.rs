//! What a fake kernel has to know of an object to store it.

use std::collections::{BTreeMap, BTreeSet};

use rustix::io::Errno;

use crate::codec::{HEADER_BYTES, Request};
use crate::object::Object;
use crate::objects::route::Route;
use crate::values::interface::IfIndex;
use crate::verb::Verb;

/// An object that other objects refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reference {
    /// The link with this index.
    Link(IfIndex),
    /// The nexthop with this id.
    Nexthop(u32),
}

/// The links and nexthops of a fake kernel, to which other objects refer.
#[derive(Debug, Default)]
pub struct Existing {
    /// The links, and whether they are up.
    links: BTreeMap<IfIndex, bool>,
    nexthops: BTreeSet<u32>,
    last_index: u32,
}

impl Existing {
    /// Whether there is such an object.
    pub fn has(&self, reference: Reference) -> bool {
        match reference {
            Reference::Link(index) => self.links.contains_key(&index),
            Reference::Nexthop(id) => self.nexthops.contains(&id),
        }
    }

    /// Whether the link exists and is up.
    pub fn is_up(&self, link: IfIndex) -> bool {
        self.links.get(&link) == Some(&true)
    }

    /// The index of a new link: the next one that is free. Indexes are not reused at once.
    ///
    /// # Source
    /// `dev_index_reserve`, net/core/dev.c.
    pub fn next_index(&mut self) -> IfIndex {
        loop {
            self.last_index = self.last_index % i32::MAX.cast_unsigned() + 1;
            let index = IfIndex(self.last_index);
            if !self.links.contains_key(&index) {
                return index;
            }
        }
    }

    pub(super) fn set_link(&mut self, link: IfIndex, is_up: bool) {
        self.links.insert(link, is_up);
    }

    pub(super) fn add(&mut self, reference: Reference) {
        match reference {
            Reference::Link(index) => _ = self.links.entry(index).or_default(),
            Reference::Nexthop(id) => _ = self.nexthops.insert(id),
        }
    }

    pub(super) fn remove(&mut self, reference: Reference) {
        match reference {
            Reference::Link(index) => _ = self.links.remove(&index),
            Reference::Nexthop(id) => _ = self.nexthops.remove(&id),
        }
    }
}

/// The effect on an object when another one is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CascadeEffect {
    /// It stays as it is.
    Unchanged,
    /// It has changed.
    Changed,
    /// It is deleted too.
    Deleted,
}

/// An object that a [`FakeKernel`](super::FakeKernel) can store.
pub trait StorableObject: Object {
    /// The error number for a missing object.
    const ABSENT: Errno;

    /// Whether the kernel stores and finds these objects in the order of [`rank`](Self::rank).
    const IS_RANKED: bool = false;

    /// Whether a change creates the object if it is missing, and a replacement only changes one that exists.
    const IS_CREATED_BY_CHANGE: bool = false;

    /// The multicast groups of its notifications.
    const NOTIFIED_GROUPS: &'static [u32] = Self::GROUPS;

    /// Checks the request `verb`, whose object this is. `held` are the objects of this kind that exist.
    ///
    /// # Errors
    /// The error number of the kernel: by default ENODEV if its link does not exist.
    fn check(&self, _verb: Verb, _held: &[Self], existing: &Existing) -> Result<(), Errno> {
        match self.link() {
            Some(link) if !existing.has(Reference::Link(link)) => Err(Errno::NODEV),
            _ => Ok(()),
        }
    }

    /// The new objects, with the values that the kernel chooses; the one of the request is the last. `held` are the
    /// objects of this kind that exist.
    fn created(self, _held: &[Self], _existing: &mut Existing) -> Vec<Self> {
        vec![self]
    }

    /// Whether the request `said` is about this object.
    fn is_identified_by(&self, said: &Self) -> bool {
        said.key().is_some() && said.key() == self.key()
    }

    /// The answer to the query `said`, whose message has `body`, for one of the `held` objects: the one that it identifies.
    ///
    /// # Errors
    /// The error number of the kernel, [`ABSENT`](Self::ABSENT) without such an object.
    fn answer(held: &[Self], said: &Self, _body: &[u8]) -> Result<Self, Errno> {
        let mut held = held.iter();
        let found = held.find(|held| held.is_identified_by(said));
        found.cloned().ok_or(Self::ABSENT)
    }

    /// Whether the request `said` deletes this object, if it is the first of which that is true.
    fn is_deleted_by(&self, said: &Self) -> bool {
        self.is_identified_by(said)
    }

    /// Its place among the objects of its kind.
    fn rank(&self) -> u32 {
        0
    }

    /// Applies `change`.
    fn apply(&mut self, change: Self) {
        self.merge(change);
    }

    /// The link that it belongs to, without which it cannot exist.
    fn link(&self) -> Option<IfIndex> {
        None
    }

    /// How other objects refer to it.
    fn reference(&self) -> Option<Reference> {
        None
    }

    /// Adapts it to the deletion of `gone`. By default it is deleted with its link.
    fn without(&mut self, gone: Reference) -> CascadeEffect {
        match self.link() {
            Some(link) if gone == Reference::Link(link) => CascadeEffect::Deleted,
            _ => CascadeEffect::Unchanged,
        }
    }

    /// Whether it is deleted with `other`, of the same kind.
    fn goes_with(&self, _other: &Self) -> bool {
        false
    }

    /// The routes that the kernel keeps for it while its link is up or down. `held` are the objects of this kind.
    fn routes(&self, _held: &[Self], _is_up: bool) -> Vec<Route> {
        Vec::new()
    }

    /// The body of a message that reports it.
    fn body(&self) -> Vec<u8> {
        let mut request = Request::default();
        match self.encode(Verb::Add, &mut request) {
            Ok(()) => request.bytes()[HEADER_BYTES..].to_vec(),
            Err(_) => Vec::new(),
        }
    }
}
