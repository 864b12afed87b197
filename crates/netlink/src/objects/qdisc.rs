//! The queueing disciplines of links.

use std::fmt;

use crate::codec::{Malformed, Message, Request, attributes};
use crate::error::{Action, NetlinkError, RequestTarget};
use crate::header::TrafficHeader;
use crate::netlink::Netlink;
use crate::socket::Listing;
use crate::uapi::{RTM_GETQDISC, RTM_NEWQDISC, TCA_DUMP_INVISIBLE, TCA_KIND};
use crate::values::interface::IfIndex;

/// A queueing discipline of a link. Equals a line of `tc qdisc show`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Qdisc {
    /// Its kind, e.g. `fq`.
    pub kind: String,
    /// Its handle; 0 for one that the kernel made by default.
    pub handle: TrafficHandle,
    /// The class of another discipline of the link that it is attached to, or [`TrafficHandle::ROOT`].
    pub parent: TrafficHandle,
}

/// The handle of a queueing discipline (`major:`) or of one of its classes (`major:minor`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrafficHandle(pub u32);

impl TrafficHandle {
    /// The link itself.
    #[doc(alias = "TC_H_ROOT")]
    pub const ROOT: Self = Self(u32::MAX);
    /// Incoming packets.
    #[doc(alias = "TC_H_INGRESS")]
    pub const INGRESS: Self = Self(0xffff_fff1);

    /// The number of the discipline, of which this is the handle or a class.
    pub fn major(self) -> u16 {
        (self.0 >> 16) as u16
    }
}

impl fmt::Display for TrafficHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{:x}", self.major(), self.0 & 0xffff)
    }
}

impl Netlink {
    /// The queueing disciplines of link `index`, as `tc qdisc show dev DEV invisible`: also those that the kernel made by
    /// default.
    ///
    /// # Errors
    /// [`NetlinkError`] if the kernel's reply is lost or cannot be decoded.
    /// # Source
    /// `tc_dump_qdisc`, net/sched/sch_api.c.
    #[doc(alias = "RTM_GETQDISC")]
    pub fn qdiscs(&mut self, index: IfIndex) -> Result<Listing<Qdisc>, NetlinkError> {
        let header = TrafficHeader {
            index: index.0,
            ..TrafficHeader::default()
        };
        let mut request = Request::dump(RTM_GETQDISC, &header.emit());
        request.attribute(TCA_DUMP_INVISIBLE, &[]);
        let about = NetlinkError::about(Action::List, RequestTarget::Qdiscs(index));
        let decode = |message: Message<'_>| decode(message, index);
        self.list_messages(request, decode).map_err(about)
    }
}

/// `None` for a discipline of another link: the kernel lists all of them.
fn decode(message: Message<'_>, index: IfIndex) -> Result<Option<Qdisc>, Malformed> {
    if message.kind != RTM_NEWQDISC {
        return Ok(None);
    }
    let (header, rest) = TrafficHeader::split(message.body)?;
    if header.index != index.0 {
        return Ok(None);
    }
    let mut qdisc = Qdisc {
        kind: String::new(),
        handle: TrafficHandle(header.handle),
        parent: TrafficHandle(header.parent),
    };
    for attribute in attributes(rest, TrafficHeader::BYTES) {
        let attribute = attribute?;
        if attribute.kind == TCA_KIND {
            qdisc.kind = attribute.text();
        }
    }
    Ok(Some(qdisc))
}
