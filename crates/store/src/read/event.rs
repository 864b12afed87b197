//! What a format's reader has reached, before it is lent out.

use super::reader::Header;
use super::source::Source;
use crate::model::{Checksum, Interface, Packet, Statistics};

/// What the next thing in a file is; its contents are in [`Reached`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Packet,
    /// An interface was added to the list, at this place.
    Interface(u32),
    Statistics,
    /// The input ended where it may end.
    End,
}

/// What the formats' readers write and [`super::Reader`] lends.
///
/// It is filled in place: packets go through no return value, so none is copied on its way.
pub(super) struct Reached {
    pub(super) header: Header,
    pub(super) interfaces: Vec<Interface>,
    /// The statistics read last.
    pub(super) statistics: Statistics,
    /// The packet found last.
    pub(super) found: Found,
}

/// A packet whose bytes lie in the source, not borrowed yet.
pub(super) struct Found {
    /// Everything but the bytes.
    pub(super) packet: Packet<'static>,
    /// Where the bytes begin, a mark of the source.
    pub(super) mark: usize,
    /// How many they are.
    pub(super) captured: usize,
}

impl Found {
    /// The packet with its bytes.
    #[inline]
    pub(super) fn lend<'a>(&self, source: &'a Source) -> Packet<'a> {
        Packet {
            bytes: source.slice(self.mark, self.captured),
            ..self.packet
        }
    }
}

impl Reached {
    pub(super) fn nothing() -> Self {
        Self {
            header: Header::UNREAD,
            interfaces: Vec::new(),
            statistics: Statistics::default(),
            found: Found {
                packet: blank(0, None, 0),
                mark: 0,
                captured: 0,
            },
        }
    }
}

/// A packet of which no more is known.
#[inline]
pub(super) fn blank(
    interface: u32,
    timestamp_ns: Option<u64>,
    original_len: u32,
) -> Packet<'static> {
    Packet {
        interface,
        timestamp_ns,
        bytes: &[],
        original_len,
        direction: None,
        reception: None,
        checksum: Checksum::Unknown,
        queue: None,
        drop_count: None,
        packet_id: None,
    }
}
