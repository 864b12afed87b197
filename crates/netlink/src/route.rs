//! Routes, as they come and go.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use crate::codec::{Attribute, Malformed, Message, attributes, split};
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::interface::IfIndex;
use crate::prefix::Prefix;
use crate::socket::Socket;
use crate::transport::Wait;
use crate::uapi::{
    AF_INET, AF_INET6, RTA_DST, RTA_GATEWAY, RTA_OIF, RTA_TABLE, RTM_DELROUTE, RTM_NEWROUTE,
    RTN_LOCAL, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
};

const HEADER_BYTES: usize = 12;

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Route {
    /// Where it leads to; the prefix of 0 bits is the default.
    pub destination: Prefix,
    /// The next hop; `None` when the destination is on the link, or there are several.
    pub gateway: Option<IpAddr>,
    /// The interface it leaves by; `None` when there are several.
    pub output: Option<IfIndex>,
    /// Its table (`RT_TABLE_*`): 254 main, 255 local.
    pub table: u32,
    /// What it is (`RTN_*`): 1 unicast, 2 local …
    pub kind: u8,
}

impl Route {
    /// It leads to this host itself.
    #[doc(alias = "RTN_LOCAL")]
    pub fn is_local(&self) -> bool {
        self.kind == RTN_LOCAL
    }

    /// Reads the body of an `RTM_NEWROUTE` or `RTM_DELROUTE`; `None` for a family other than IPv4 and
    /// IPv6. Attributes it does not know are passed over.
    ///
    /// # Errors
    /// [`Malformed`] when the message ends too early.
    /// # Source
    /// `fib_dump_info`, net/ipv4/fib\_semantics.c; `rt6_fill_node`, net/ipv6/route.c.
    pub fn parse(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("route header", 0, body)?;
        let [family, prefix_len, _, _, table, _, _, kind, ..] = *header;
        if family != AF_INET && family != AF_INET6 {
            return Ok(None);
        }
        let mut route = Self {
            destination: Prefix {
                ip: unspecified(family),
                len: prefix_len,
            },
            gateway: None,
            output: None,
            table: table.into(),
            kind,
        };
        for attribute in attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                RTA_DST => route.destination.ip = ip(family, attribute)?,
                RTA_GATEWAY => route.gateway = Some(ip(family, attribute)?),
                RTA_OIF => route.output = Some(IfIndex(attribute.u32()?)),
                RTA_TABLE => route.table = attribute.u32()?,
                _ => {}
            }
        }
        Ok(Some(route))
    }
}

/// What happened to a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouteEvent {
    /// It is in force.
    Added(Route),
    /// It is no more.
    Removed(Route),
    /// The kernel had more to tell than there was room for: events are missing here.
    Overrun,
}

/// Follows the IPv4 and IPv6 routes of a namespace from now on.
///
/// The descriptor ([`AsFd`]) is readable when there may be an event. Equals `ip monitor route`.
#[derive(Debug)]
pub struct RouteWatch {
    notifications: Socket,
    pending: VecDeque<RouteEvent>,
}

impl RouteWatch {
    /// Begins to follow the routes of the calling thread's namespace.
    ///
    /// # Errors
    /// [`Cause::System`] with the step that failed.
    pub fn open() -> Result<Self, NetlinkError> {
        let notifications = Socket::subscribe(&[RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE]);
        let notifications = notifications.map_err(about_watch())?;
        Ok(Self {
            notifications,
            pending: VecDeque::new(),
        })
    }

    /// The next event, oldest first; `None` when there is none now. Does not block.
    ///
    /// # Errors
    /// [`Cause::Malformed`] when a notification cannot be read: it is passed over, and the watch goes
    /// on. [`Cause::System`] when the socket fails.
    pub fn next_event(&mut self) -> Result<Option<RouteEvent>, NetlinkError> {
        if self.pending.is_empty() {
            let pending = &mut self.pending;
            let took = self.notifications.receive(Wait::No, |message| {
                pending.extend(event(message)?);
                Ok(())
            });
            match took {
                Ok(_) => {}
                Err(Cause::System { source, .. })
                    if Errno::from_io_error(&source) == Some(Errno::NOBUFS) =>
                {
                    self.pending.push_back(RouteEvent::Overrun);
                }
                Err(cause) => return Err(about_watch()(cause)),
            }
        }
        Ok(self.pending.pop_front())
    }
}

fn event(message: Message<'_>) -> Result<Option<RouteEvent>, Malformed> {
    match message.kind {
        RTM_NEWROUTE => Ok(Route::parse(message.body)?.map(RouteEvent::Added)),
        RTM_DELROUTE => Ok(Route::parse(message.body)?.map(RouteEvent::Removed)),
        _ => Ok(None),
    }
}

fn about_watch() -> impl FnOnce(Cause) -> NetlinkError {
    NetlinkError::about(Action::Watch, Subject::Routes)
}

impl AsFd for RouteWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifications.descriptor()
    }
}

/// The address of `family` that is none.
fn unspecified(family: u8) -> IpAddr {
    match family {
        AF_INET => Ipv4Addr::UNSPECIFIED.into(),
        _ => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn ip(family: u8, attribute: Attribute<'_>) -> Result<IpAddr, Malformed> {
    match family {
        AF_INET => attribute.array::<4>().map(IpAddr::from),
        _ => attribute.array::<16>().map(IpAddr::from),
    }
}
