//! Changes of objects, as they happen.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::mem::replace;
use std::os::fd::{AsFd, BorrowedFd};
use std::vec::IntoIter;

use abi::namespace::NetNamespace;
use foldhash::fast::RandomState;

use crate::codec::{Malformed, Message};
use crate::error::{Action, Cause, NetlinkError};
use crate::handle::Netlink;
use crate::object::Object;
use crate::socket::Socket;
use crate::transport::{Transport, Wait};

/// Datagrams read in one call before it returns without an event; those after stay readable.
const DATAGRAMS_PER_CALL: usize = 256;
/// More than the socket's buffer holds.
const MAX_UNREAD_DATAGRAMS: usize = 65_536;

/// What happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<O> {
    /// It is new.
    Added(O),
    /// Something about it may be different now.
    Changed {
        /// What was known of it.
        before: O,
        /// What is known now.
        after: O,
    },
    /// It is there no more; this is the last that was known of it.
    Removed(O),
    /// The kernel had more to tell than there was room for. The events that follow bring what is
    /// known up to date; changes that were undone meanwhile are not among them.
    Overrun,
}

/// Follows the objects of a kind in a namespace: those that are there, and then each change, without a gap.
///
/// The descriptor is readable when there may be an event. Holds two sockets, and the last state of each
/// object. Equals `ip monitor OBJECT`.
#[derive(Debug)]
pub struct Watch<O: Object> {
    notifications: Socket,
    netlink: Netlink,
    filter: O,
    known: HashMap<O::Key, Known<O>, RandomState>,
    pending: VecDeque<Event<O>>,
    listed: Option<Listed<O>>,
    /// How many lists were made, this one included.
    lists: u64,
    /// The last list was not whole, or more may have changed than was told: it is asked for again when there is
    /// nothing else to tell.
    unsure: bool,
}

/// What is known of an object.
#[derive(Debug)]
struct Known<O> {
    object: O,
    /// The number of the list that had it, or after which it was told.
    list: u64,
}

/// A list that is compared with what is known: an object at a time, so that no more than one event waits to be
/// taken.
#[derive(Debug)]
struct Listed<O> {
    items: IntoIter<O>,
    /// Objects that it lacks are there no more.
    is_whole: bool,
}

impl<O: Object> Watch<O> {
    /// Begins to follow the objects of the calling thread's namespace that are like `filter`. The first
    /// events are those that are there, as `Added`.
    ///
    /// # Errors
    /// As [`Netlink::open`] and [`Netlink::list`].
    pub fn open(filter: O) -> Result<Self, NetlinkError> {
        // Subscribed before listed: what changes in between is in the list or comes as an event.
        let notifications = Socket::subscribe(O::GROUPS).map_err(about(&filter))?;
        Self::begin(notifications, Netlink::open()?, filter)
    }

    /// Begins to follow the objects of `namespace`; the calling thread stays where it is.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Cause::Namespace`].
    /// # Privileges
    /// `CAP_SYS_ADMIN`, to enter the namespace.
    pub fn open_in(namespace: &NetNamespace, filter: O) -> Result<Self, NetlinkError> {
        let about = about(&filter);
        let opened = namespace.run(|| Self::open(filter));
        opened.map_err(|error| about(Cause::Namespace(error)))?
    }

    /// Follows what `notifications` brings, a transport that is subscribed to the groups of `O`; `netlink`
    /// answers for the same kernel.
    ///
    /// # Errors
    /// As [`Netlink::list`].
    pub fn over(
        notifications: impl Transport + 'static,
        netlink: Netlink,
        filter: O,
    ) -> Result<Self, NetlinkError> {
        Self::begin(Socket::over(Box::new(notifications)), netlink, filter)
    }

    fn begin(notifications: Socket, netlink: Netlink, filter: O) -> Result<Self, NetlinkError> {
        let mut watch = Self {
            notifications,
            netlink,
            filter,
            known: HashMap::default(),
            pending: VecDeque::new(),
            listed: None,
            lists: 0,
            unsure: false,
        };
        watch.list_again()?;
        Ok(watch)
    }

    /// The next event, oldest first; `None` when there is none now. Does not block.
    ///
    /// # Errors
    /// [`Cause::Malformed`] when a notification cannot be read: it is passed over, and the watch goes
    /// on. [`Cause::System`] when the socket fails.
    pub fn next_event(&mut self) -> Result<Option<Event<O>>, NetlinkError> {
        for _ in 0..DATAGRAMS_PER_CALL {
            if let Some(event) = self.pending.pop_front().or_else(|| self.compare()) {
                return Ok(Some(event));
            }
            match self.take_datagram() {
                Ok(true) => {}
                Ok(false) if self.unsure => self.list_again()?,
                Ok(false) => return Ok(None),
                Err(cause) if cause.is_overrun() => {
                    self.pending.push_back(Event::Overrun);
                    self.discard_unread()?;
                    self.list_again()?;
                }
                Err(cause) => return Err(about(&self.filter)(cause)),
            }
        }
        Ok(self.pending.pop_front().or_else(|| self.compare()))
    }

    /// The objects as the events up to now told of them, in no order.
    pub fn known(&self) -> impl ExactSizeIterator<Item = &O> {
        self.known.values().map(|known| &known.object)
    }

    /// Turns the next datagram into events; false when there is none.
    fn take_datagram(&mut self) -> Result<bool, Cause> {
        let Self {
            notifications,
            filter,
            known,
            pending,
            lists,
            unsure,
            ..
        } = self;
        notifications.receive(Wait::No, |message| {
            *unsure |= note(message, filter, *lists, known, pending)?;
            Ok(())
        })
    }

    /// Throws away what was queued before the overrun: it is older than the list to come, and what
    /// would have corrected it is lost.
    fn discard_unread(&mut self) -> Result<(), NetlinkError> {
        for _ in 0..MAX_UNREAD_DATAGRAMS {
            match self.notifications.receive(Wait::No, |_| Ok(())) {
                Ok(true) | Err(Cause::Malformed(_)) => {}
                Ok(false) => break,
                Err(cause) if cause.is_overrun() => {}
                Err(cause) => return Err(about(&self.filter)(cause)),
            }
        }
        Ok(())
    }

    /// Asks for what is there, to be compared with what is known.
    fn list_again(&mut self) -> Result<(), NetlinkError> {
        self.unsure = true;
        let listing = self.netlink.list(&self.filter)?;
        self.unsure = listing.interrupted;
        self.lists += 1;
        let new = listing.items.len().saturating_sub(self.known.len());
        self.known.reserve(new);
        self.listed = Some(Listed {
            items: listing.items.into_iter(),
            is_whole: !listing.interrupted,
        });
        Ok(())
    }

    /// Compares the list with what is known, up to the next difference.
    fn compare(&mut self) -> Option<Event<O>> {
        let listed = self.listed.as_mut()?;
        let list = self.lists;
        for object in listed.items.by_ref() {
            let Some(key) = object.key() else { continue };
            match self.known.entry(key) {
                Entry::Vacant(place) => {
                    let added = object.clone();
                    place.insert(Known { object, list });
                    return Some(Event::Added(added));
                }
                Entry::Occupied(mut place) => {
                    let known = place.get_mut();
                    known.list = list;
                    let after = object.clone();
                    let before = replace(&mut known.object, object);
                    if !before.is_same(&after) {
                        return Some(Event::Changed { before, after });
                    }
                }
            }
        }
        // A list that was interrupted may lack objects that are there: none is taken for removed by it.
        if listed.is_whole {
            let gone = self.known.extract_if(|_, known| known.list != list);
            let removed = gone.map(|(_, known)| Event::Removed(known.object));
            self.pending.extend(removed);
        }
        self.listed = None;
        self.pending.pop_front()
    }
}

/// What a notification says, as events, and notes it among what is `known`; true when more may have changed
/// than it says.
fn note<O: Object>(
    message: Message<'_>,
    filter: &O,
    list: u64,
    known: &mut HashMap<O::Key, Known<O>, RandomState>,
    pending: &mut VecDeque<Event<O>>,
) -> Result<bool, Malformed> {
    let is_new = message.kind == O::MESSAGES.new;
    let mut doubt = O::is_upset_by(message);
    if !is_new && message.kind != O::MESSAGES.del {
        return Ok(doubt);
    }
    O::default().parse_each(message.body, |object| {
        let object = std::mem::take(object);
        let Some(key) = object.key() else { return };
        pending.extend(if is_new && object.matches(filter) {
            let after = object.clone();
            Some(match known.insert(key, Known { object, list }) {
                Some(Known { object: before, .. }) => Event::Changed { before, after },
                None => Event::Added(after),
            })
        } else if !is_new
            && known
                .get(&key)
                .is_some_and(|it| it.object.outlives(&object))
        {
            doubt = true;
            None
        } else {
            // It is gone, or is no longer like the filter.
            known.remove(&key).map(|it| Event::Removed(it.object))
        });
    })?;
    Ok(doubt)
}

fn about<O: Object>(filter: &O) -> impl FnOnce(Cause) -> NetlinkError + use<O> {
    NetlinkError::about(Action::Watch, filter.subject())
}

impl<O: Object> AsFd for Watch<O> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifications.descriptor()
    }
}
