//! Packets on their way to the program.

/// A packet that is lent until the next call that reads.
#[derive(Clone, Copy)]
pub struct Lent {
    /// Its bytes.
    pub data: *const u8,
    /// Number of them.
    pub captured: u32,
    /// Bytes on the wire.
    pub len: u32,
    /// Nanoseconds since 1970.
    pub time_ns: u64,
}

/// What a source has to give without waiting.
pub enum Ready {
    /// A packet.
    Packet(Lent),
    /// No packet now.
    Nothing,
    /// No packet ever.
    End,
}
