//! The mark in generated packets from which a receiver derives loss, reordering, duplication and one-way delay.
//!
//! A stamp is the last 18 bytes of the outermost IP packet, whatever headers are in it. So it is found at the same place
//! behind UDP, TCP and ICMP headers, and in tunnels whose inner packet ends with the outer one.
//!
//! ```text
//!  byte  0      4      6          10                  18
//!        +------+------+----------+-------------------+
//!        | magic|stream| sequence |     send time     |
//!        +------+------+----------+-------------------+
//! ```
//!
//! All numbers are big-endian. The sequence starts at 0 in each stream and wraps at 2^32. The send time is in
//! nanoseconds since 1970 UTC (`CLOCK_REALTIME`).

use crate::checksum::{Change, Sum, udp_field};
use crate::dissect;

/// A stamp. Its layout is that of the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The stream that the sequence numbers belong to.
    pub stream: u16,
    /// The packet's number in the stream, modulo 2^32.
    pub sequence: u32,
    /// When it was sent, nanoseconds since 1970 UTC.
    pub time_ns: u64,
}

impl Stamp {
    /// Length, bytes.
    pub const LEN: usize = 18;
    /// The first four bytes. Chosen at random.
    pub const MAGIC: u32 = 0xd5b1_7a9e;
    /// Length of the send time, the last field.
    const TIME_LEN: usize = 8;

    /// Encodes the stamp.
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&Self::MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.stream.to_be_bytes());
        bytes[6..10].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[10..].copy_from_slice(&self.time_ns.to_be_bytes());
        bytes
    }

    /// Parses a stamp; `None` without the magic.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let (stream, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (time, _) = rest.split_first_chunk()?;
        (*magic == Self::MAGIC.to_be_bytes()).then(|| Self {
            stream: u16::from_be_bytes(*stream),
            sequence: u32::from_be_bytes(*sequence),
            time_ns: u64::from_be_bytes(*time),
        })
    }

    /// The stamp of `packet`, which has this link type (`LINKTYPE_*`). A fragment and a packet whose end was not
    /// captured have none.
    pub fn find(link_type: u16, packet: &[u8]) -> Option<Self> {
        let summary = dissect(link_type, packet);
        // The payload ends with the IP packet.
        let bytes = summary.payload.last_chunk()?;
        let stamp = Self::parse(bytes)?;
        (summary.fragment.is_none() && summary.addresses().is_some()).then_some(stamp)
    }
}

/// Offsets for writing the send time of a stamp at the end of a frame, and for the checksum that covers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampOffsets {
    /// Offset of the transport checksum.
    pub checksum_at: usize,
    /// Offset of the transport header, from which the checksum counts its bytes.
    pub transport_at: usize,
    /// The checksum is that of UDP, where 0 has another meaning.
    pub is_udp: bool,
}

impl StampOffsets {
    /// Writes the send time into `frame`, where it was 0, and corrects the checksum. A frame that is too short stays
    /// as it is.
    #[inline]
    pub fn set_time(self, frame: &mut [u8], time_ns: u64) {
        let Some(time_at) = frame.len().checked_sub(Stamp::TIME_LEN) else {
            return;
        };
        let Some(time) = frame.last_chunk_mut() else {
            return;
        };
        *time = time_ns.to_be_bytes();
        let mut sum = Sum::new().bytes(&time_ns.to_be_bytes());
        if (time_at - self.transport_at.min(time_at)) % 2 == 1 {
            sum = sum.at_odd_offset();
        }
        let field = frame.get_mut(self.checksum_at..self.checksum_at + 2);
        let Some(Ok(field)) = field.map(<&mut [u8; 2]>::try_from) else {
            return;
        };
        let mut checksum = Change::added(sum).apply(u16::from_be_bytes(*field));
        if self.is_udp {
            checksum = udp_field(checksum);
        }
        *field = checksum.to_be_bytes();
    }
}
