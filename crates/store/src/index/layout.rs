//! The index file.
//!
//! ```text
//! "TLINDEX2"                                   8 bytes
//! each extent:
//!   bytes                                      u64
//!   packets                                    u32
//!   classes of keys                            u32    bit 0 addresses, 1 ports, 2 flows
//!   times of its packets, first and last       2 × u64
//!   checksum of the first 4 KiB of the capture
//!   and of the last 4 KiB up to its end        u32
//!   and if it has classes:
//!     seed                                     u64
//!     segment, segments                        2 × u32
//!     fingerprints                             segment × (segments + 2) bytes, at most those of 87 982 keys
//!   CRC-32 of all bytes of the index before    u32
//! ```
//!
//! All numbers are little-endian. Extents follow each other from the beginning of the capture. One without packets has
//! other blocks, which every reader needs; an extent without classes and of all times may have some, too. A class that an
//! extent lacks may be in it.
//!
//! An index grows by whole extents while its capture is written. One that ends within an extent is that of a writer that was
//! killed: its whole extents describe the beginning of the capture.

use std::io::{self, Read};

use flate2::Crc;

use super::fuse::{self, Fuse};
use super::keys::Key;

/// Beginning of an index file. The digit is the version.
pub(super) const MAGIC: &[u8; 8] = b"TLINDEX2";

/// An extent of this size ends, whether its keys fit or not.
pub(super) const EXTENT_BYTES_MAX: u64 = 32 << 20;

/// An index takes at most one byte for so many bytes of the capture: 0.25 %.
pub(super) const BYTES_PER_INDEX_BYTE: u64 = 400;

/// A small index may be larger.
pub(super) const SMALL_BYTES: u64 = 4 << 10;

/// Most keys of an extent, to bound the memory. More could fit only after a long part of the capture with few keys.
pub(super) const KEYS_MAX: usize =
    (EXTENT_BYTES_MAX / BYTES_PER_INDEX_BYTE) as usize + SMALL_BYTES as usize;

/// Bytes of an extent in front of its keys.
const FIXED_BYTES: usize = 8 + 4 + 4 + 8 + 8 + 4;

/// Bytes of a checksum.
const SUM_BYTES: usize = 4;

/// Bytes of an extent without keys.
pub(super) const EXTENT_BYTES: usize = FIXED_BYTES + SUM_BYTES;

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
    #[error("it is not an index of this version")]
    Magic,
    /// A checksum is wrong: it was changed.
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
    /// Checksum of the first bytes of the capture and of the last ones up to the end of the extent.
    pub(super) fingerprint: u32,
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

/// How long an index is, and what it describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexLengths {
    /// Bytes of the capture that are indexed: fewer than it has while it is being written.
    pub capture_bytes: u64,
    /// Bytes of the index, up to its last whole extent.
    pub index_bytes: u64,
}

/// The index of one capture file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Bytes of the capture that are indexed: fewer than it has while it is being written.
    pub bytes: u64,
    /// Bytes of the index itself.
    pub encoded_bytes: u64,
    /// Its extents, in order and without gaps.
    pub extents: Vec<Extent>,
}

impl Index {
    /// Reads an index from the bytes of its file, up to its last whole extent.
    ///
    /// # Errors
    /// [`IndexDamage::Magic`], [`IndexDamage::Checksum`].
    pub fn decode(file: &[u8]) -> Result<Self, IndexDamage> {
        let mut extents = Vec::new();
        let decoded = decode_each(file, file.len() as u64, |extent| extents.push(extent));
        match decoded {
            Ok(lengths) => Ok(Self {
                bytes: lengths.capture_bytes,
                encoded_bytes: lengths.index_bytes,
                extents,
            }),
            Err(DecodeError::Damaged(damage)) => Err(damage),
            // Reading memory does not fail.
            Err(DecodeError::Io(_)) => Err(IndexDamage::Checksum),
        }
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        let mut file = MAGIC.to_vec();
        for extent in &self.extents {
            encoder.append(extent, &mut file);
        }
        file
    }
}

/// Whether a file with these bytes is that of a writer that was killed before it had written the beginning.
pub(super) fn is_unbegun(file: &[u8]) -> bool {
    file.len() < MAGIC.len() && MAGIC.starts_with(file)
}

/// Encodes the extents of one index, each behind the one before.
pub(super) struct Encoder {
    crc: Crc,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { crc: begun_crc() }
    }
}

impl Encoder {
    /// Appends the next extent to `file`.
    pub(super) fn append(&mut self, extent: &Extent, file: &mut Vec<u8>) {
        let start = file.len();
        file.extend(extent.bytes.to_le_bytes());
        file.extend(extent.packets.to_le_bytes());
        file.extend(extent.classes.to_le_bytes());
        for time in extent.times_ns {
            file.extend(time.to_le_bytes());
        }
        file.extend(extent.fingerprint.to_le_bytes());
        if let Some(keys) = &extent.keys {
            file.extend(keys.seed.to_le_bytes());
            file.extend(keys.segment.to_le_bytes());
            file.extend(keys.segments.to_le_bytes());
            file.extend(&keys.fingerprints);
        }
        self.crc.update(&file[start..]);
        let sum = self.crc.sum().to_le_bytes();
        self.crc.update(&sum);
        file.extend(sum);
    }
}

/// The checksum of these bytes, one part after another.
pub(super) fn crc_of(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc::new();
    for part in parts {
        crc.update(part);
    }
    crc.sum()
}

fn begun_crc() -> Crc {
    let mut crc = Crc::new();
    crc.update(MAGIC);
    crc
}

/// Why the next extent cannot be decoded.
pub(super) enum DecodeError {
    Io(io::Error),
    Damaged(IndexDamage),
}

impl From<io::Error> for DecodeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<IndexDamage> for DecodeError {
    fn from(damage: IndexDamage) -> Self {
        Self::Damaged(damage)
    }
}

/// Decodes an index of `length` bytes, and passes its extents to `each`.
pub(super) fn decode_each(
    index: impl Read,
    length: u64,
    mut each: impl FnMut(Extent),
) -> Result<IndexLengths, DecodeError> {
    let mut decoder = Decoder::new(index, length)?;
    while let Some(extent) = decoder.next_extent()? {
        each(extent);
    }
    Ok(decoder.lengths)
}

/// Decodes an extent at a time.
struct Decoder<R> {
    input: R,
    /// Bytes of the input that were not read.
    left: u64,
    crc: Crc,
    /// Up to the end of the last extent.
    lengths: IndexLengths,
    /// The bytes of one extent.
    extent: Vec<u8>,
}

impl<R: Read> Decoder<R> {
    /// For an input of `length` bytes.
    fn new(input: R, length: u64) -> Result<Self, DecodeError> {
        let mut decoder = Self {
            input,
            left: length,
            crc: begun_crc(),
            lengths: IndexLengths {
                capture_bytes: 0,
                index_bytes: MAGIC.len() as u64,
            },
            extent: Vec::new(),
        };
        if decoder.fill(MAGIC.len() as u64)? && decoder.extent == MAGIC {
            Ok(decoder)
        } else {
            Err(IndexDamage::Magic.into())
        }
    }

    /// The next extent. `None` if it is missing, or its end is.
    fn next_extent(&mut self) -> Result<Option<Extent>, DecodeError> {
        self.extent.clear();
        if !self.fill(FIXED_BYTES as u64)? {
            return Ok(None);
        }
        let Some(mut extent) = ExtentFields(&self.extent).extent(self.lengths.capture_bytes) else {
            return Ok(None);
        };
        if extent.classes != 0 {
            let Some(keys) = self.keys()? else {
                return Ok(None);
            };
            extent.keys = Some(keys);
        }
        let length = self.extent.len();
        if !self.fill(SUM_BYTES as u64)? {
            return Ok(None);
        }
        let (body, sum) = self.extent.split_at(length);
        self.crc.update(body);
        if sum != self.crc.sum().to_le_bytes() {
            return Err(IndexDamage::Checksum.into());
        }
        self.crc.update(sum);
        self.lengths.index_bytes += self.extent.len() as u64;
        // The checksum is right, so the program that wrote this number does not follow the format.
        let end = self.lengths.capture_bytes.checked_add(extent.bytes);
        self.lengths.capture_bytes = end.ok_or(IndexDamage::Checksum)?;
        Ok(Some(extent))
    }

    /// The keys of the extent, whose other fields have been read. `None` if their end is missing.
    fn keys(&mut self) -> Result<Option<Fuse>, DecodeError> {
        if !self.fill(SET_BYTES as u64)? {
            return Ok(None);
        }
        let Some((seed, segment, segments)) = ExtentFields(&self.extent[FIXED_BYTES..]).shape()
        else {
            return Ok(None);
        };
        if !segment.is_power_of_two() || segments == 0 {
            return Err(IndexDamage::Checksum.into());
        }
        let bytes = u64::from(segment) * (u64::from(segments) + 2);
        // The checksum is behind them.
        if bytes > fuse::bytes(KEYS_MAX) as u64 {
            return Err(IndexDamage::Checksum.into());
        }
        if !self.fill(bytes)? {
            return Ok(None);
        }
        Ok(Some(Fuse {
            seed,
            segment,
            segments,
            fingerprints: self.extent[FIXED_BYTES + SET_BYTES..].to_vec(),
        }))
    }

    /// Appends the next `count` bytes to those of the extent. Returns false if there are fewer.
    fn fill(&mut self, count: u64) -> io::Result<bool> {
        if self.left < count {
            return Ok(false);
        }
        let mut next = Read::by_ref(&mut self.input).take(count);
        let read = next.read_to_end(&mut self.extent)? as u64;
        self.left -= read;
        Ok(read == count)
    }
}

/// The bytes of an extent that are not decoded yet.
struct ExtentFields<'f>(&'f [u8]);

impl ExtentFields<'_> {
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

    /// The extent, without its keys.
    fn extent(&mut self, offset: u64) -> Option<Extent> {
        Some(Extent {
            offset,
            bytes: self.u64()?,
            packets: self.u32()?,
            classes: self.u32()?,
            times_ns: [self.u64()?, self.u64()?],
            fingerprint: self.u32()?,
            keys: None,
        })
    }

    /// Seed, segment and number of segments of a set.
    fn shape(&mut self) -> Option<(u64, u32, u32)> {
        Some((self.u64()?, self.u32()?, self.u32()?))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::super::fuse::Workspace;
    use super::*;

    fn set(hashes: Range<u64>) -> Option<Fuse> {
        Fuse::new(&mut hashes.collect(), &mut Workspace::default())
    }

    fn index() -> Index {
        let extent = |offset, keys: Option<Fuse>| Extent {
            offset,
            bytes: 1000,
            packets: u32::from(keys.is_some()),
            times_ns: [1, 2],
            fingerprint: offset as u32 + 7,
            classes: keys.as_ref().map_or(0, |_| ADDRESSES | PORTS),
            keys,
        };
        let mut index = Index {
            bytes: 3000,
            extents: vec![
                extent(0, None),
                extent(1000, set(1..4)),
                extent(2000, set(0..500)),
            ],
            ..Index::default()
        };
        index.encoded_bytes = index.encode().len() as u64;
        index
    }

    #[test]
    fn an_index_that_ends_early_describes_the_beginning() {
        let index = index();
        let file = index.encode();
        assert_eq!(Index::decode(&file).as_ref(), Ok(&index));
        let mut seen = [0; 4];
        for end in MAGIC.len()..=file.len() {
            let part = Index::decode(&file[..end]).unwrap();
            seen[part.extents.len()] += 1;
            assert_eq!(part.extents, index.extents[..part.extents.len()]);
            assert_eq!(part.bytes, 1000 * part.extents.len() as u64);
            assert_eq!(part.encode(), file[..part.encoded_bytes as usize]);
        }
        // The whole one once; the others at each of the bytes that follow.
        assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
        assert_eq!(seen[3], 1);
        for end in 0..MAGIC.len() {
            assert!(is_unbegun(&file[..end]));
            assert_eq!(Index::decode(&file[..end]), Err(IndexDamage::Magic));
        }
        assert!(!is_unbegun(&file) && !is_unbegun(b"X"));
    }

    #[test]
    fn no_changed_bit_is_believed() {
        let index = index();
        let file = index.encode();
        for at in 0..file.len() * 8 {
            let mut changed = file.clone();
            changed[at / 8] ^= 1 << (at % 8);
            // A longer set than there is looks like one whose end is missing: nothing from there on is used.
            match Index::decode(&changed) {
                Err(damage) => assert_eq!(damage == IndexDamage::Magic, at < 64),
                Ok(part) => {
                    assert!(part.extents.len() < index.extents.len(), "{at}");
                    assert_eq!(part.extents, index.extents[..part.extents.len()]);
                }
            }
        }
    }

    #[test]
    fn a_set_larger_than_that_of_any_extent_is_not_read() {
        let mut file = index().encode();
        let segments = MAGIC.len() + EXTENT_BYTES + FIXED_BYTES + SET_BYTES - 4;
        file[segments..segments + 4].copy_from_slice(&(1_u32 << 20).to_le_bytes());
        // As a sparse file.
        let sparse = file.as_slice().chain(io::repeat(0));
        let decoded = decode_each(sparse, 4 << 30, |_| {});
        assert!(matches!(
            decoded,
            Err(DecodeError::Damaged(IndexDamage::Checksum))
        ));
    }
}
