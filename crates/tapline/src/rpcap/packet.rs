//! A packet as a message.
//!
//! ```text
//! header │ seconds │ microseconds │ captured │ length on the wire │ number │ bytes
//!    8   │    4    │      4       │    4     │         4          │   4    │
//! ```
//!
//! # Source
//! `struct rpcap_pkthdr`, `rpcap-protocol.h` of libpcap.

use super::error::MessageError;
use super::message::Header;

/// Type of the message.
const KIND: u8 = 7;

/// Length of the fields.
const FIELD_BYTES: usize = 20;

/// A packet that a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMessage<'a> {
    /// Seconds since 1970 UTC; until 2106.
    pub seconds: u32,
    /// Microseconds.
    pub micros: u32,
    /// Length on the wire, bytes.
    pub original_len: u32,
    /// The first packet that the server sent has number 1.
    pub number: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

impl<'a> PacketMessage<'a> {
    /// Bytes in front of those of the packet.
    pub const HEADER_BYTES: usize = Header::BYTES + FIELD_BYTES;

    /// Splits the first packet from `bytes`; `None` if it is not complete. `max_bytes` bounds the captured bytes.
    ///
    /// # Errors
    /// [`MessageError`] as soon as the beginning is no packet.
    pub fn split(
        bytes: &'a [u8],
        max_bytes: usize,
    ) -> Result<Option<(Self, &'a [u8])>, MessageError> {
        let Some((header, rest)) = bytes.split_first_chunk() else {
            return Ok(None);
        };
        let header = Header::parse(*header);
        if header.kind != KIND || header.version != 0 {
            return Err(MessageError::Unknown { kind: header.kind });
        }
        let max = max_bytes.saturating_add(FIELD_BYTES);
        let payload = usize::try_from(header.payload_bytes).unwrap_or(usize::MAX);
        if payload > max {
            let bytes = header.payload_bytes;
            return Err(MessageError::TooLong { bytes, max });
        }
        let Some((payload, rest)) = rest.split_at_checked(payload) else {
            return Ok(None);
        };
        Self::parse(payload).map(|packet| Some((packet, rest)))
    }

    fn parse(payload: &'a [u8]) -> Result<Self, MessageError> {
        let Some((fields, bytes)) = payload.split_first_chunk::<FIELD_BYTES>() else {
            return Err(MessageError::Packet);
        };
        let (fields, _) = fields.as_chunks::<4>();
        let field = |place: usize| u32::from_be_bytes(fields[place]);
        let packet = Self {
            seconds: field(0),
            micros: field(1),
            original_len: field(3),
            number: field(4),
            bytes,
        };
        let is_whole = usize::try_from(field(2)) == Ok(bytes.len());
        if !is_whole || field(2) > packet.original_len || packet.micros >= 1_000_000 {
            return Err(MessageError::Packet);
        }
        Ok(packet)
    }

    /// Appends the message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        let captured = self.bytes.len() as u32;
        let header = Header {
            version: 0,
            kind: KIND,
            value: 0,
            payload_bytes: FIELD_BYTES as u32 + captured,
        };
        out.extend(header.bytes());
        let fields = [
            self.seconds,
            self.micros,
            captured,
            self.original_len,
            self.number,
        ];
        out.extend(fields.map(u32::to_be_bytes).as_flattened());
        out.extend_from_slice(self.bytes);
    }

    /// Nanoseconds since 1970 UTC.
    pub fn timestamp_ns(&self) -> u64 {
        u64::from(self.seconds) * 1_000_000_000 + u64::from(self.micros) * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: PacketMessage<'_> = PacketMessage {
        seconds: 0x65_00_00_01,
        micros: 999_999,
        original_len: 60,
        number: 7,
        bytes: b"abcd",
    };

    #[test]
    fn a_packet_has_the_layout_of_the_protocol() {
        let mut bytes = Vec::new();
        PACKET.put(&mut bytes);
        assert_eq!(
            bytes,
            b"\0\x07\0\0\0\0\0\x18\x65\0\0\x01\0\x0f\x42\x3f\0\0\0\x04\0\0\0\x3c\0\0\0\x07abcd"
        );
    }

    #[test]
    fn a_stream_is_split_at_its_packets() {
        let mut bytes = Vec::new();
        PACKET.put(&mut bytes);
        for end in 0..bytes.len() {
            assert_eq!(PacketMessage::split(&bytes[..end], 4), Ok(None), "{end}");
        }
        bytes.push(b'x');
        assert_eq!(
            PacketMessage::split(&bytes, 4),
            Ok(Some((PACKET, &b"x"[..])))
        );
        assert!(PacketMessage::split(&bytes, 3).is_err(), "too long");
    }

    #[test]
    fn lengths_that_contradict_each_other_are_refused() {
        let mut good = Vec::new();
        PACKET.put(&mut good);
        // The captured length, the length on the wire, and the microseconds.
        for (at, value) in [(19, 3), (19, 5), (23, 3), (13, 0xff)] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let split = PacketMessage::split(&bytes, 100);
            assert_eq!(split, Err(MessageError::Packet), "{at}");
        }
    }
}
