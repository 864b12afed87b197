//! The index file.
//!
//! ```text
//! "TLINDEX1"                                   8 bytes
//! bytes of the capture that are indexed        u64
//! checksum of its first and last 4 KiB         u32
//! number of extents                            u32
//! each extent:
//!   bytes                                      u64
//!   packets                                    u32
//!   classes of keys                            u32    bit 0 addresses, 1 ports, 2 flows
//!   times of its packets, first and last       2 × u64
//!   and if it has classes:
//!     seed                                     u64
//!     segment, segments                        2 × u32
//!     fingerprints                             segment × (segments + 2) bytes
//! CRC-32 of all bytes before                   u32
//! ```
//!
//! All numbers are little-endian. Extents follow each other from the beginning of the capture. One without packets has
//! other blocks, which every reader needs. A class that an extent lacks may be in it.

use super::fuse::Fuse;
use super::keys::Key;

/// Beginning of an index file. The digit is the version.
pub(super) const MAGIC: &[u8; 8] = b"TLINDEX1";

/// Bytes of an index file without extents.
pub(super) const FIXED_BYTES: usize = 8 + 8 + 4 + 4 + 4;

/// Bytes of an extent without keys.
pub(super) const EXTENT_BYTES: usize = 8 + 4 + 4 + 8 + 8;

/// Bytes in front of the fingerprints.
pub(super) const SET_BYTES: usize = 8 + 4 + 4;

pub(super) const ADDRESSES: u32 = 1;
pub(super) const PORTS: u32 = 2;
pub(super) const FLOWS: u32 = 4;

/// Why an index cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexDamage {
    /// It does not begin as an index, or as one of another version.
    #[error("it is no index of this version")]
    Magic,
    /// Its checksum is wrong: it was changed, or its end is missing.
    #[error("it is damaged")]
    Checksum,
    /// The capture is another one than the index describes.
    #[error("the capture has changed since it was indexed")]
    Stale,
}

/// Consecutive blocks of a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset of its first byte in the capture.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Packets in it; 0 for blocks of other types, which say how packets are to be read.
    pub packets: u32,
    /// Times of its earliest and latest packet, nanoseconds since 1970 UTC.
    pub times_ns: [u64; 2],
    pub(super) classes: u32,
    pub(super) keys: Option<Fuse>,
}

impl Extent {
    /// Whether a packet of the extent may have `key`. False only if none has it.
    pub fn may_have(&self, key: Key) -> bool {
        let class = match key {
            Key::Address(_) => ADDRESSES,
            Key::Port(_) => PORTS,
            Key::Flow(..) => FLOWS,
        };
        let keys = self.keys.as_ref().filter(|_| self.classes & class != 0);
        keys.is_none_or(|keys| keys.may_have(key.hash()))
    }
}

/// The index of one capture file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Bytes of the capture that are indexed.
    pub bytes: u64,
    pub(super) fingerprint: u32,
    /// Bytes of the index itself.
    pub encoded_bytes: u64,
    /// Its extents, in order and without gaps.
    pub extents: Vec<Extent>,
}

impl Index {
    /// Reads an index from the bytes of its file.
    ///
    /// # Errors
    /// [`IndexDamage::Magic`], [`IndexDamage::Checksum`].
    pub fn decode(file: &[u8]) -> Result<Self, IndexDamage> {
        if !file.starts_with(MAGIC) {
            return Err(IndexDamage::Magic);
        }
        let (body, sum) = file.split_last_chunk().ok_or(IndexDamage::Checksum)?;
        if crc(body) != u32::from_le_bytes(*sum) {
            return Err(IndexDamage::Checksum);
        }
        // With a right checksum, a wrong number is of a program that does not follow the format.
        let mut rest = Rest(&body[MAGIC.len()..]);
        let index = rest.index().filter(|_| rest.0.is_empty());
        let index = index.ok_or(IndexDamage::Checksum)?;
        Ok(Self {
            encoded_bytes: file.len() as u64,
            ..index
        })
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend(self.bytes.to_le_bytes());
        file.extend(self.fingerprint.to_le_bytes());
        file.extend((self.extents.len() as u32).to_le_bytes());
        for extent in &self.extents {
            file.extend(extent.bytes.to_le_bytes());
            file.extend(extent.packets.to_le_bytes());
            file.extend(extent.classes.to_le_bytes());
            for time in extent.times_ns {
                file.extend(time.to_le_bytes());
            }
            if let Some(keys) = &extent.keys {
                file.extend(keys.seed.to_le_bytes());
                file.extend(keys.segment.to_le_bytes());
                file.extend(keys.segments.to_le_bytes());
                file.extend(&keys.fingerprints);
            }
        }
        file.extend(crc(&file).to_le_bytes());
        file
    }
}

pub(super) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// What is left to decode.
struct Rest<'f>(&'f [u8]);

impl Rest<'_> {
    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*number)
    }

    fn u32(&mut self) -> Option<u32> {
        self.number().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.number().map(u64::from_le_bytes)
    }

    fn index(&mut self) -> Option<Index> {
        let bytes = self.u64()?;
        let fingerprint = self.u32()?;
        let count = self.u32()?;
        let mut extents = Vec::new();
        let mut offset = 0_u64;
        for _ in 0..count {
            let extent = self.extent(offset)?;
            offset = offset.checked_add(extent.bytes)?;
            extents.push(extent);
        }
        let index = Index {
            bytes,
            fingerprint,
            encoded_bytes: 0,
            extents,
        };
        (offset == bytes).then_some(index)
    }

    fn extent(&mut self, offset: u64) -> Option<Extent> {
        let bytes = self.u64()?;
        let packets = self.u32()?;
        let classes = self.u32()?;
        let times_ns = [self.u64()?, self.u64()?];
        let keys = match classes {
            0 => None,
            _ => Some(self.keys()?),
        };
        Some(Extent {
            offset,
            bytes,
            packets,
            times_ns,
            classes,
            keys,
        })
    }

    fn keys(&mut self) -> Option<Fuse> {
        let (seed, segment, segments) = (self.u64()?, self.u32()?, self.u32()?);
        let length = u64::from(segment).checked_mul(u64::from(segments) + 2)?;
        if !segment.is_power_of_two() || segments == 0 {
            return None;
        }
        let (fingerprints, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(Fuse {
            seed,
            segment,
            segments,
            fingerprints: fingerprints.to_vec(),
        })
    }
}
