//! Packets cut to a length.

use store::model::{Interface, Packet};

/// What -s asks for.
#[derive(Clone, Copy)]
pub struct Cut {
    /// Bytes kept of a packet at most.
    most: Option<u32>,
}

impl Cut {
    /// 0 means no limit, as everywhere.
    pub fn new(snaplen: Option<u32>) -> Self {
        Self {
            most: snaplen.filter(|&bytes| bytes > 0),
        }
    }

    /// Whether packets stay whole.
    pub fn is_none(self) -> bool {
        self.most.is_none()
    }

    /// The packet with at most so many bytes; its original length stays.
    #[inline]
    pub fn packet(self, packet: Packet<'_>) -> Packet<'_> {
        let most = self.most.map_or(usize::MAX, |bytes| bytes as usize);
        Packet {
            bytes: packet.bytes.get(..most).unwrap_or(packet.bytes),
            ..packet
        }
    }

    /// The interface as it is to be described.
    pub fn interface(self, interface: &Interface) -> Interface {
        let snaplen = match (self.most, interface.snaplen) {
            (None, snaplen) => snaplen,
            (Some(most), 0) => most,
            (Some(most), snaplen) => most.min(snaplen),
        };
        Interface {
            snaplen,
            ..interface.clone()
        }
    }
}
