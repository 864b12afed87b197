//! Whether a packet passes: the part of the selection that threads share.

use std::sync::Arc;

use filter::classic::{Ancillary, Program};
use store::model::{Direction, Packet, Reception};

use super::matcher::Matcher;

/// The conditions that a packet has to meet, all of them.
#[derive(Clone)]
pub struct Judge {
    /// From the first time on, before the second, nanoseconds since 1970 UTC.
    pub times: Option<(u64, u64)>,
    pub program: Option<Arc<Program>>,
    /// What is asked of the packets of each interface.
    pub interfaces: Vec<Verdict>,
}

/// What is asked of the packets of an interface, beside times and program.
#[derive(Clone)]
pub enum Verdict {
    Pass,
    Refuse,
    Match(Arc<Matcher>),
}

impl Judge {
    #[inline]
    pub fn passes(&self, packet: &Packet<'_>) -> bool {
        if let Some((from, to)) = self.times
            && !packet.timestamp_ns.is_some_and(|ns| from <= ns && ns < to)
        {
            return false;
        }
        let passes = match &self.interfaces[packet.interface as usize] {
            Verdict::Pass => true,
            Verdict::Refuse => false,
            Verdict::Match(matcher) => matcher.matches(packet.bytes, packet.original_len),
        };
        passes
            && self.program.as_ref().is_none_or(|program| {
                program.run_with(packet.bytes, packet.original_len, &ancillary(packet)) != 0
            })
    }
}

/// What the file knows of a packet beside its bytes, so that a program gives the verdict that it
/// gave while capturing.
fn ancillary(packet: &Packet<'_>) -> Ancillary {
    let packet_type = match (packet.direction, packet.reception) {
        (Some(Direction::Out), _) => Some(PACKET_OUTGOING),
        (_, Some(Reception::Broadcast)) => Some(PACKET_BROADCAST),
        (_, Some(Reception::Multicast)) => Some(PACKET_MULTICAST),
        (_, Some(Reception::Promiscuous)) => Some(PACKET_OTHERHOST),
        // Where it is not known to whom: that it came in decides "inbound" and "outbound".
        (_, Some(Reception::Unicast)) | (Some(Direction::In), None) => Some(PACKET_HOST),
        (None, None) => None,
    };
    Ancillary {
        packet_type,
        queue: packet.queue,
        ..Ancillary::default()
    }
}

// include/uapi/linux/if_packet.h
const PACKET_HOST: u8 = 0;
const PACKET_BROADCAST: u8 = 1;
const PACKET_MULTICAST: u8 = 2;
const PACKET_OTHERHOST: u8 = 3;
const PACKET_OUTGOING: u8 = 4;
