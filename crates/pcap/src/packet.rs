//! Packets on their way to the program.

/// A packet whose bytes are valid until the next call that reads.
#[derive(Clone, Copy)]
pub struct Packet {
    /// Its bytes.
    pub data: *const u8,
    /// Number of them.
    pub captured: u32,
    /// Bytes on the wire.
    pub len: u32,
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Whole seconds of it that the program gets with the fraction, as they are in the file.
    pub carried_s: u32,
}

/// What a source has without waiting.
pub enum Ready {
    /// A packet.
    Packet(Packet),
    /// No packet now.
    Nothing,
    /// Packets that were all refused. There may be more.
    Refused,
    /// No packet ever.
    End,
}
