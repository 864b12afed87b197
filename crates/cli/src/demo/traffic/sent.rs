//! What was sent, and what all senders share.

use std::time::Duration;

use super::kind::Kind;
use crate::demo::hosts::InterfaceCounters;

/// Pause between two bursts, or two requests.
pub const SEND_INTERVAL: Duration = Duration::from_millis(10);

/// Traffic of one kind that was sent and has arrived.
pub struct Sent {
    pub kind: Kind,
    /// What was sent, in words.
    pub description: String,
    /// Packets in both directions, if known without the interface's counters.
    pub packets: Option<u64>,
    /// Frames to find in the file byte for byte, in order.
    pub frames: SentFrames,
    /// What the left interface counted.
    pub counted: InterfaceCounters,
}

/// Frames sent through packet sockets, by direction as the right host sees it.
#[derive(Default)]
pub struct SentFrames {
    pub received: Vec<Vec<u8>>,
    pub transmitted: Vec<Vec<u8>>,
}

impl Sent {
    pub fn new(kind: Kind, description: String, packets: Option<u64>) -> Self {
        Self {
            kind,
            description,
            packets,
            frames: SentFrames::default(),
            counted: InterfaceCounters::default(),
        }
    }
}

/// `bytes` of text as payload, the same each time.
pub fn payload(bytes: usize) -> Vec<u8> {
    let text = b"Sent by one test host to the other, to be found again in the file. ";
    text.iter().copied().cycle().take(bytes).collect()
}
