//! A filter expression compiled for one link type, run on packets in this process.

use filter::classic::{Ancillary, ClassicProgram};
use filter::{Filter, native};
use wire::metadata::{Direction, Reception};

// include/uapi/linux/if_packet.h
const PACKET_HOST: u8 = 0;
const PACKET_BROADCAST: u8 = 1;
const PACKET_MULTICAST: u8 = 2;
const PACKET_OTHERHOST: u8 = 3;
const PACKET_OUTGOING: u8 = 4;

/// The fastest form of a filter on this machine.
pub(crate) enum CompiledFilter {
    Native(native::NativeProgram),
    /// For processors without native code.
    Interpreted(Box<Filter>),
    /// A program that was given as such.
    Classic(ClassicProgram),
}

impl CompiledFilter {
    pub(crate) fn new(filter: Filter) -> Self {
        match filter.native() {
            Ok(program) => Self::Native(program),
            Err(_) => Self::Interpreted(Box::new(filter)),
        }
    }

    /// Whether the filter accepts a packet of which only the bytes are known.
    #[inline]
    pub(crate) fn accepts(&self, bytes: &[u8], original_len: u32) -> bool {
        let kept = match self {
            Self::Native(program) => program.run(bytes, original_len),
            Self::Interpreted(filter) => filter.run(bytes, original_len, &Ancillary::default()),
            Self::Classic(program) => program.run(bytes, original_len),
        };
        kept != 0
    }

    /// Whether the filter accepts a packet with the metadata that a socket has.
    #[inline]
    pub(crate) fn accepts_with(
        &self,
        bytes: &[u8],
        original_len: u32,
        ancillary: &Ancillary,
    ) -> bool {
        let kept = match self {
            Self::Native(program) => program.run_with(bytes, original_len, ancillary),
            Self::Interpreted(filter) => filter.run(bytes, original_len, ancillary),
            Self::Classic(program) => program.run_with(bytes, original_len, ancillary),
        };
        kept != 0
    }
}

/// The kernel's packet type, `PACKET_HOST` and so on. `None` if neither value is known.
///
/// A packet with a known direction and an unknown reception counts as one to this host.
#[inline]
pub(crate) fn packet_type(
    direction: Option<Direction>,
    reception: Option<Reception>,
) -> Option<u8> {
    match (direction, reception) {
        (Some(Direction::Out), _) => Some(PACKET_OUTGOING),
        (_, Some(Reception::Broadcast)) => Some(PACKET_BROADCAST),
        (_, Some(Reception::Multicast)) => Some(PACKET_MULTICAST),
        (_, Some(Reception::Promiscuous)) => Some(PACKET_OTHERHOST),
        (_, Some(Reception::Unicast)) | (Some(Direction::In), None) => Some(PACKET_HOST),
        (None, None) => None,
    }
}
