//! Changes of links, as they happen.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};

use abi::namespace::NetNamespace;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::codec::{Malformed, Message, messages};
use crate::error::{Action, Cause, NetlinkError, Object, Step};
use crate::handle::Netlink;
use crate::interface::IfIndex;
use crate::link::{Link, link_message};
use crate::socket::Socket;
use crate::uapi::{AF_UNSPEC, RTM_DELLINK, RTMGRP_LINK};

/// Datagrams read in one call before it returns without an event; those after stay readable.
const DATAGRAMS_PER_CALL: usize = 256;
/// More than the socket's buffer holds.
const MAX_UNREAD_DATAGRAMS: usize = 65_536;

/// What happened to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// It is new in the namespace.
    Added(Link),
    /// Something about it may be different now.
    Changed(Link),
    /// It has left the namespace; this is the last that was known of it.
    Removed(Link),
    /// The kernel had more to tell than there was room for. The events that follow bring what is
    /// known up to date; changes that were undone meanwhile are not among them.
    Overrun,
}

/// Follows the links of a namespace, without a gap.
///
/// The descriptor ([`AsFd`]) is readable when there may be an event. Holds two sockets, and of each
/// link the last state. Equals `ip monitor link`.
#[derive(Debug)]
pub struct LinkWatch {
    notifications: Socket,
    netlink: Netlink,
    known: BTreeMap<IfIndex, Link>,
    pending: VecDeque<LinkEvent>,
}

impl LinkWatch {
    /// Begins to follow the links of the calling thread's namespace. The first events are the links
    /// that are there, as `Added`.
    ///
    /// # Errors
    /// As [`Netlink::open`] and [`Netlink::links`].
    pub fn open() -> Result<Self, NetlinkError> {
        // Subscribed before listed: what changes in between is in the list or comes as an event.
        let notifications = Socket::subscribe(RTMGRP_LINK).map_err(about_watch())?;
        let netlink = Netlink::open()?;
        let (known, pending) = Default::default();
        let mut watch = Self {
            notifications,
            netlink,
            known,
            pending,
        };
        watch.list_again()?;
        Ok(watch)
    }

    /// Begins to follow the links of `namespace`; the calling thread stays where it is.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Cause::Namespace`].
    /// # Privileges
    /// `CAP_SYS_ADMIN`, to enter the namespace.
    pub fn open_in(namespace: &NetNamespace) -> Result<Self, NetlinkError> {
        let opened = namespace.run(Self::open);
        opened.map_err(|error| about_watch()(Cause::Namespace(error)))?
    }

    /// The next event, oldest first; `None` when there is none now. Does not block.
    ///
    /// # Errors
    /// [`Cause::Malformed`] when a notification cannot be read: it is passed over, and the watch goes
    /// on. [`Cause::System`] when the socket fails.
    pub fn next_event(&mut self) -> Result<Option<LinkEvent>, NetlinkError> {
        for _ in 0..DATAGRAMS_PER_CALL {
            if let Some(event) = self.pending.pop_front() {
                return Ok(Some(event));
            }
            match self.notifications.receive(RecvFlags::DONTWAIT) {
                Ok(datagram) => {
                    let (known, pending) = (&mut self.known, &mut self.pending);
                    note_all(datagram, known, pending)
                        .map_err(|malformed| about_watch()(Cause::Malformed(malformed)))?;
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::NOBUFS) => {
                    self.pending.push_back(LinkEvent::Overrun);
                    self.discard_unread()?;
                    self.list_again()?;
                }
                Err(errno) => return Err(about_watch()(Cause::system(Step::Receive)(errno))),
            }
        }
        Ok(self.pending.pop_front())
    }

    /// Throws away what was queued before the overrun: it is older than the list to come, and what
    /// would have corrected it is lost.
    fn discard_unread(&mut self) -> Result<(), NetlinkError> {
        for _ in 0..MAX_UNREAD_DATAGRAMS {
            match self.notifications.receive(RecvFlags::DONTWAIT) {
                Ok(_) | Err(Errno::NOBUFS) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(about_watch()(Cause::system(Step::Receive)(errno))),
            }
        }
        Ok(())
    }

    /// Compares what is known with what is there, and makes the events in between.
    fn list_again(&mut self) -> Result<(), NetlinkError> {
        let listing = self.netlink.links()?;
        let mut missing = std::mem::take(&mut self.known);
        for link in listing.items {
            match missing.remove(&link.index) {
                None => self.pending.push_back(LinkEvent::Added(link.clone())),
                Some(before) if same_but_counters(&before, &link) => {}
                Some(_) => self.pending.push_back(LinkEvent::Changed(link.clone())),
            }
            self.known.insert(link.index, link);
        }
        // A list that was interrupted may lack links that are there: each is asked for alone.
        for (index, before) in missing {
            match self.netlink.link(index) {
                Ok(link) => {
                    self.pending.push_back(LinkEvent::Changed(link.clone()));
                    self.known.insert(index, link);
                }
                Err(error) if error.errno() == Some(Errno::NODEV.raw_os_error()) => {
                    self.pending.push_back(LinkEvent::Removed(before));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn same_but_counters(one: &Link, other: &Link) -> bool {
    *one == Link {
        statistics: one.statistics,
        ..other.clone()
    }
}

/// Turns the notifications of a datagram into events.
fn note_all(
    datagram: &[u8],
    known: &mut BTreeMap<IfIndex, Link>,
    events: &mut VecDeque<LinkEvent>,
) -> Result<(), Malformed> {
    for message in messages(datagram) {
        events.extend(note(message?, known)?);
    }
    Ok(())
}

fn note(
    message: Message<'_>,
    known: &mut BTreeMap<IfIndex, Link>,
) -> Result<Option<LinkEvent>, Malformed> {
    if let Some(link) = link_message(message)? {
        return Ok(Some(match known.insert(link.index, link.clone()) {
            Some(_) => LinkEvent::Changed(link),
            None => LinkEvent::Added(link),
        }));
    }
    // A bridge tells of a port that left it by the same message in its own family.
    if message.kind != RTM_DELLINK || message.body.first() != Some(&AF_UNSPEC) {
        return Ok(None);
    }
    let link = Link::parse(message.body)?;
    known.remove(&link.index);
    Ok(Some(LinkEvent::Removed(link)))
}

fn about_watch() -> impl FnOnce(Cause) -> NetlinkError {
    NetlinkError::about(Action::Watch, Object::Links)
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifications.as_fd()
    }
}
