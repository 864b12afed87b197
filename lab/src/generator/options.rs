//! Options of a [`Generator`](super::Generator).

use netlink::IfIndex;

/// What to send, and where.
#[derive(Clone, Debug)]
pub struct GeneratorOptions {
    /// Egress interface.
    pub out: IfIndex,
    /// The frame, starting with its Ethernet header, without frame check sequence. From 14 to about 3500 bytes (a page
    /// minus the kernel's overhead).
    pub frame: Vec<u8>,
    /// Offset at which to write the frame's number (8 bytes, big endian, starting at 0), if any. Use
    /// [`SEQUENCE_AT`](super::SEQUENCE_AT) for a [`udp_frame`](super::udp_frame). The number counts sent frames, so a
    /// dropped frame leaves a gap at the receiver.
    pub sequence_at: Option<u16>,
    /// Frames per batch, 1 to 256. The receiving queue of a veth holds 256.
    pub batch_frames: u32,
}

impl GeneratorOptions {
    /// Sends `frame` through interface `out`, unnumbered, in batches of 64.
    pub fn new(out: IfIndex, frame: Vec<u8>) -> Self {
        Self {
            out,
            frame,
            sequence_at: None,
            batch_frames: 64,
        }
    }
}
