//! How a capture ended.

use std::sync::Arc;
use std::time::Duration;

use bpf::socket_filter::CountingFilterError;
use bpf::{XdpAttachError, XdpMode};
use ring::TimestampSource;

use super::account::Account;
use super::consumer::ConsumerError;
use super::filter::FilterPlace;
use super::intake::FallBack;
use super::reader_time::ReaderTime;
use super::sockets::Sockets;

/// What ended a capture.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// It was asked to stop.
    Stopped,
    /// As many packets as asked for were delivered.
    Packets,
    /// The time was over.
    Duration,
    /// An interface went down.
    LinkDown {
        /// Its name.
        link: String,
    },
    /// An interface was removed.
    LinkRemoved {
        /// Its name.
        link: String,
    },
    /// The consumer failed.
    Consumer(ConsumerError),
    /// The kernel refused to let it wait for packets.
    Wait(std::io::Error),
}

/// The account of one interface. What the consumer took and lost later is known for all interfaces
/// together only; if there are several, it counts here as delivered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkAccount {
    /// Its name.
    pub name: String,
    /// What became of its packets.
    pub account: Account,
    /// Where its filter ran; `None` without one.
    pub filter: Option<FilterPlace>,
    /// Number of its rings.
    pub rings: usize,
    /// Where the XDP program ran, if there was one.
    pub xdp_mode: Option<XdpMode>,
    /// How its AF_XDP sockets received, if it had such.
    pub sockets: Option<Sockets>,
    /// Why it had them, where memory that the program fills would have suited.
    pub fall_back: Option<FallBack>,
    /// Why the XDP program did not run in the driver, if that was tried first.
    pub native_refusal: Option<Arc<XdpAttachError>>,
    /// Why its filter did not count what it refused, if that is so: [`Account::filtered`] is unknown then.
    pub uncounted: Option<Arc<CountingFilterError>>,
}

/// How a capture ended and what it saw.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What ended it.
    pub ended: Ended,
    /// What became of the packets.
    pub account: Account,
    /// The same by interface.
    pub links: Vec<LinkAccount>,
    /// From the first moment packets were taken to the moment they no longer were.
    pub duration: Duration,
    /// How the reading thread was treated meanwhile; `None` where the kernel does not tell.
    pub reader_time: Option<ReaderTime>,
    /// Who stamped the packets' time: [`TimestampSource::Reader`] if any was not stamped in the kernel.
    pub timestamp_source: TimestampSource,
}

impl Outcome {
    /// Where the filter ran: split if it was on any interface, `None` without one.
    pub fn filter(&self) -> Option<FilterPlace> {
        let mut places = self.links.iter().filter_map(|link| link.filter);
        let first = places.next()?;
        let is_split = |place| place == FilterPlace::Split;
        Some(if is_split(first) || places.any(is_split) {
            FilterPlace::Split
        } else {
            FilterPlace::Kernel
        })
    }

    /// Number of rings, of all interfaces.
    pub fn rings(&self) -> usize {
        self.links.iter().map(|link| link.rings).sum()
    }

    /// How the AF_XDP sockets of all interfaces received; `None` if there were none.
    pub fn sockets(&self) -> Option<Sockets> {
        let sockets = self.links.iter().filter_map(|link| link.sockets);
        sockets.reduce(Sockets::and)
    }

    /// Why there were any, where memory that the program fills would have suited: of the first interface
    /// of which that is true.
    pub fn fall_back(&self) -> Option<FallBack> {
        self.links.iter().find_map(|link| link.fall_back)
    }

    /// Why an XDP program did not run in the driver: of the first interface of which that is true.
    pub fn native_refusal(&self) -> Option<&XdpAttachError> {
        (self.links.iter()).find_map(|link| link.native_refusal.as_deref())
    }

    /// Where the XDP programs ran: generic if one did, `None` if there were none.
    pub fn xdp_mode(&self) -> Option<XdpMode> {
        let mut modes = self.links.iter().filter_map(|link| link.xdp_mode);
        let first = modes.next()?;
        Some(if modes.any(|mode| mode == XdpMode::Generic) {
            XdpMode::Generic
        } else {
            first
        })
    }
}
