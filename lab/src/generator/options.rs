//! Options of a [`Generator`](super::Generator).

use netlink::IfIndex;

/// What is sent, and where.
#[derive(Clone, Debug)]
pub struct GeneratorOptions {
    /// Interface the frames leave by.
    pub out: IfIndex,
    /// The frame, from its Ethernet header on, without frame check sequence: 14 bytes to about 3500
    /// (a page less what the kernel keeps in it).
    pub frame: Vec<u8>,
    /// Where the number of the frame is written (8 bytes, big endian, from 0), if anywhere;
    /// [`SEQUENCE_AT`](super::SEQUENCE_AT) for a [`udp_frame`](super::udp_frame). The number
    /// counts frames sent, so one that was dropped is missing at the far end.
    pub sequence_at: Option<u16>,
    /// Frames handed on together, 1 to 256. The receiving queue of a veth holds 256.
    pub batch_frames: u32,
}

impl GeneratorOptions {
    /// `frame` out of interface `out`, unnumbered, in batches of 64.
    pub fn new(out: IfIndex, frame: Vec<u8>) -> Self {
        Self {
            out,
            frame,
            sequence_at: None,
            batch_frames: 64,
        }
    }
}
