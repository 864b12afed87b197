//! A packet that filters run on.

use filter::classic::Ancillary;

/// A packet to run the engines on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The captured bytes.
    pub bytes: Vec<u8>,
    /// Length on the wire in bytes.
    pub original_len: u32,
    /// Ancillary data of the packet.
    pub ancillary: Ancillary,
}

impl Packet {
    /// A fully captured packet without ancillary data.
    pub fn whole(bytes: Vec<u8>) -> Self {
        Self {
            original_len: bytes.len() as u32,
            bytes,
            ancillary: Ancillary::default(),
        }
    }

    /// Whether all bytes of the packet were captured.
    pub fn is_whole(&self) -> bool {
        self.bytes.len() == self.original_len as usize
    }
}
