//! Watches objects of a namespace for changes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::mem::replace;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use abi::namespace::NetNamespace;
use foldhash::fast::RandomState;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::codec::{Malformed, Message};
use crate::error::{Action, Cause, NetlinkError, Syscall};
use crate::netlink::Netlink;
use crate::object::Object;
use crate::socket::Socket;
use crate::transport::{Transport, Wait};

/// Maximum number of datagrams to read per call without returning an event. Later datagrams stay readable.
const DATAGRAMS_PER_CALL: usize = 256;
/// More datagrams than the socket's buffer can hold.
const MAX_UNREAD_DATAGRAMS: usize = 65_536;

/// A change of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<O> {
    /// The object is new.
    Added(O),
    /// The object may have changed.
    Changed {
        /// The last known state.
        before: O,
        /// The current state.
        after: O,
    },
    /// The object was deleted. Contains its last known state.
    Removed(O),
    /// Notifications were lost because the buffer overflowed. The following events report the difference to
    /// the current state; changes that were reverted meanwhile are not reported.
    Overrun,
}

/// Watches the objects of one kind in a namespace: first those that exist, then every change, without a gap.
///
/// Its descriptor is readable when notifications are. Before a wait for the descriptor, call [`try_next`](Self::try_next)
/// until it returns `None`, or ask [`has_pending`](Self::has_pending): the first events, and those of a list after an
/// overrun, come without a notification. Holds two sockets and the last state of each object. Equals `ip monitor OBJECT`.
#[derive(Debug)]
pub struct Watch<O: Object> {
    notifications: Socket,
    netlink: Netlink,
    filter: O,
    known: HashMap<O::Key, Known<O>, RandomState>,
    pending: VecDeque<Event<O>>,
    comparison: Option<Comparison<O>>,
    /// Number of lists requested so far.
    list_count: u64,
    /// The last list was inconsistent, or a notification implied unreported changes. The watch lists again when
    /// no event is pending.
    needs_list: bool,
}

/// The last known state of an object.
#[derive(Debug)]
struct Known<O> {
    object: O,
    /// The last list that contained it, or after which it was reported.
    list: u64,
}

/// A list that is being compared with the known objects, one object at a time, so that at most one event is
/// pending.
#[derive(Debug)]
struct Comparison<O> {
    items: IntoIter<O>,
    /// Whether objects that it lacks were deleted.
    is_consistent: bool,
}

impl<O: Object> Watch<O> {
    /// Watches the objects of the calling thread's namespace that match `filter`. The first events report the
    /// existing objects as `Added`.
    ///
    /// # Errors
    /// As [`Netlink::open`] and [`Netlink::list`].
    pub fn open(filter: O) -> Result<Self, NetlinkError> {
        // Subscribe before listing: changes in between are in the list or arrive as notifications.
        let notifications = Socket::subscribe(O::GROUPS).map_err(about(&filter))?;
        Self::start(notifications, Netlink::open()?, filter)
    }

    /// Watches the objects of `namespace`. The calling thread stays in its own namespace.
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

    /// Watches through `notifications`, a transport that is subscribed to the groups of `O`. `netlink` must be a
    /// handle on the same kernel.
    ///
    /// # Errors
    /// As [`Netlink::list`].
    pub fn over(
        notifications: impl Transport + 'static,
        netlink: Netlink,
        filter: O,
    ) -> Result<Self, NetlinkError> {
        Self::start(Socket::over(Box::new(notifications)), netlink, filter)
    }

    fn start(notifications: Socket, netlink: Netlink, filter: O) -> Result<Self, NetlinkError> {
        let mut watch = Self {
            notifications,
            netlink,
            filter,
            known: HashMap::default(),
            pending: VecDeque::new(),
            comparison: None,
            list_count: 0,
            needs_list: false,
        };
        watch.list_again()?;
        Ok(watch)
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// As [`try_next`](Self::try_next).
    #[expect(
        clippy::should_implement_trait,
        reason = "every job of this workspace has a fallible `next`"
    )]
    pub fn next(&mut self) -> Result<Event<O>, NetlinkError> {
        loop {
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            self.wait(None)?;
        }
    }

    /// Waits up to `timeout` for an event and returns all events that are available then. Empty if there was
    /// none in time.
    ///
    /// # Errors
    /// As [`try_next`](Self::try_next).
    pub fn next_batch(&mut self, timeout: Duration) -> Result<Vec<Event<O>>, NetlinkError> {
        let deadline = Instant::now() + timeout;
        let mut events = Vec::new();
        loop {
            while let Some(event) = self.try_next()? {
                events.push(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
            self.wait(Some(left))?;
        }
    }

    /// The next event, oldest first; `None` if none is available. Does not block.
    ///
    /// # Errors
    /// [`Cause::Malformed`] if a notification cannot be decoded: the watch skips it and continues.
    /// [`Cause::System`] if the socket fails.
    pub fn try_next(&mut self) -> Result<Option<Event<O>>, NetlinkError> {
        for _ in 0..DATAGRAMS_PER_CALL {
            if let Some(event) = self.pending.pop_front().or_else(|| self.compare()) {
                return Ok(Some(event));
            }
            match self.read_datagram() {
                Ok(true) => {}
                Ok(false) if self.needs_list => self.list_again()?,
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

    /// The objects according to the events so far, in no particular order.
    pub fn known(&self) -> impl ExactSizeIterator<Item = &O> {
        self.known.values().map(|known| &known.object)
    }

    /// Whether [`try_next`](Self::try_next) has work although the descriptor may not be readable.
    pub fn has_pending(&self) -> bool {
        self.needs_list || self.comparison.is_some() || !self.pending.is_empty()
    }

    /// Waits until there may be an event.
    fn wait(&self, timeout: Option<Duration>) -> Result<(), NetlinkError> {
        if self.has_pending() {
            return Ok(());
        }
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut descriptors = [PollFd::from_borrowed_fd(
            self.notifications.descriptor(),
            PollFlags::IN,
        )];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(about(&self.filter)(Cause::system(Syscall::Receive)(errno))),
        }
    }

    /// Turns the next datagram into events; false if none is available.
    fn read_datagram(&mut self) -> Result<bool, Cause> {
        let Self {
            notifications,
            filter,
            known,
            pending,
            list_count,
            needs_list,
            ..
        } = self;
        notifications.receive(Wait::No, |message| {
            *needs_list |= apply(message, filter, *list_count, known, pending)?;
            Ok(())
        })
    }

    /// Discards the notifications that were queued before an overrun: they are older than the list to come,
    /// and later corrections to them are lost.
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

    /// Lists the objects, for comparison with the known ones.
    fn list_again(&mut self) -> Result<(), NetlinkError> {
        self.needs_list = true;
        let listing = self.netlink.list(&self.filter)?;
        self.needs_list = listing.interrupted;
        self.list_count += 1;
        let new = listing.items.len().saturating_sub(self.known.len());
        let reserved = self.known.try_reserve(new);
        reserved.map_err(|_| about(&self.filter)(Cause::no_memory()))?;
        self.comparison = Some(Comparison {
            items: listing.items.into_iter(),
            is_consistent: !listing.interrupted,
        });
        Ok(())
    }

    /// Compares the list with the known objects up to the next difference.
    fn compare(&mut self) -> Option<Event<O>> {
        let comparison = self.comparison.as_mut()?;
        let list = self.list_count;
        for object in comparison.items.by_ref() {
            let Some(key) = object.key() else { continue };
            match self.known.entry(key) {
                Entry::Vacant(entry) => {
                    let added = object.clone();
                    entry.insert(Known { object, list });
                    return Some(Event::Added(added));
                }
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    known.list = list;
                    let after = object.clone();
                    let before = replace(&mut known.object, object);
                    if !before.has_same_configuration(&after) {
                        return Some(Event::Changed { before, after });
                    }
                }
            }
        }
        // An inconsistent list may lack existing objects, so it does not prove a deletion.
        if comparison.is_consistent {
            let gone = self.known.extract_if(|_, known| known.list != list);
            let removed = gone.map(|(_, known)| Event::Removed(known.object));
            self.pending.extend(removed);
        }
        self.comparison = None;
        self.pending.pop_front()
    }
}

/// Applies a notification to the `known` objects and queues its events. Returns whether it may imply changes that
/// it does not report.
fn apply<O: Object>(
    message: Message<'_>,
    filter: &O,
    list: u64,
    known: &mut HashMap<O::Key, Known<O>, RandomState>,
    pending: &mut VecDeque<Event<O>>,
) -> Result<bool, Malformed> {
    let is_new = message.kind == O::MESSAGES.new;
    let mut needs_list = O::requires_relist(message);
    if !is_new && message.kind != O::MESSAGES.del {
        return Ok(needs_list);
    }
    O::default().decode_each(message.body, |object| {
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
                .is_some_and(|known| known.object.may_survive(&object))
        {
            needs_list = true;
            None
        } else {
            // It was deleted, or does not match the filter any more.
            known.remove(&key).map(|known| Event::Removed(known.object))
        });
    })?;
    Ok(needs_list)
}

fn about<O: Object>(filter: &O) -> impl FnOnce(Cause) -> NetlinkError + use<O> {
    NetlinkError::about(Action::Watch, filter.target())
}

impl<O: Object> AsFd for Watch<O> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifications.descriptor()
    }
}
