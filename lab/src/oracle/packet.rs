use filter::classic::Ancillary;

/// A packet for the engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The captured bytes.
    pub bytes: Vec<u8>,
    /// Length on the wire in bytes.
    pub original_len: u32,
    /// What is known beside the bytes.
    pub ancillary: Ancillary,
}

impl Packet {
    /// A whole packet of which nothing is known beside its bytes.
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
