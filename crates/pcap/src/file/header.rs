//! The header of a pcap file, and libpcap's texts for what is wrong with it.

use std::ffi::c_int;

use crate::ffi::stream::Stream;
use crate::ffi::text::strerror;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 24;
const MAGIC_BYTES: usize = 4;

const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
const MAGIC_NANO: u32 = 0xa1b2_3c4d;
/// The magic number of files with longer packet headers.
const MAGIC_PATCHED: u32 = 0xa1b2_cd34;

/// The bits of the link-layer header type that say something else.
const EXT_BITS: u32 = 0xfc00_0000;

/// The header as it is in the file.
pub struct FileHeader {
    bytes: [u8; HEADER_BYTES],
    is_swapped: bool,
}

impl FileHeader {
    /// Reads the header of a stream, and puts it back; `None` if it is none of a pcap file.
    pub fn read(stream: &mut Stream) -> Result<Option<Self>, String> {
        let mut bytes = [0; HEADER_BYTES];
        read(stream, &mut bytes, 0, MAGIC_BYTES)?;
        let magic = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let is_swapped = match [magic, magic.swap_bytes()] {
            [MAGIC_MICRO | MAGIC_NANO | MAGIC_PATCHED, _] => false,
            [_, MAGIC_MICRO | MAGIC_NANO | MAGIC_PATCHED] => true,
            _ => {
                stream.put_back(&bytes[..MAGIC_BYTES]);
                return Ok(None);
            }
        };
        read(stream, &mut bytes, MAGIC_BYTES, HEADER_BYTES)?;
        stream.put_back(&bytes);
        let header = Self { bytes, is_swapped };
        match header.version() {
            (0 | 1, _) => Err("archaic pcap savefile format".to_owned()),
            (2, 0..=4) | (543, 0) => Ok(Some(header)),
            (major, minor) => Err(format!("unsupported pcap savefile version {major}.{minor}")),
        }
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether packets have longer headers.
    pub fn is_patched(&self) -> bool {
        self.word(&self.bytes, 0) == MAGIC_PATCHED
    }

    /// Bytes of the header of a packet.
    pub fn record_bytes(&self) -> u32 {
        if self.is_patched() { 24 } else { 16 }
    }

    /// What the link-layer header type says beside the type.
    pub fn link_type_ext(&self) -> u32 {
        self.word(&self.bytes, 20) & EXT_BITS
    }

    /// Captured bytes of a packet, by its header.
    pub fn captured(&self, record: &[u8; 16]) -> u32 {
        let [first, second] = [8, 12].map(|at| self.word(record, at));
        match self.version() {
            (2, 3) => first.min(second),
            (2, 0..=2) | (543, _) => second,
            _ => first,
        }
    }

    /// The text for a file that ends inside a packet of `needed` bytes with its header, of which `available` are there.
    pub fn truncated(&self, needed: u64, available: u64, snaplen: c_int) -> String {
        let header = u64::from(self.record_bytes());
        if available < header {
            return format!(
                "truncated dump file; tried to read {header} header bytes, only got {available}"
            );
        }
        let (captured, got) = (needed - header, available - header);
        // Bytes beyond the snaplen are skipped.
        let snaplen = u64::from(snaplen.unsigned_abs());
        let wanted = if got < snaplen {
            captured.min(snaplen)
        } else {
            captured
        };
        format!("truncated dump file; tried to read {wanted} captured bytes, only got {got}")
    }

    fn version(&self) -> (u16, u16) {
        let half = |at: usize| {
            let half = u16::from_ne_bytes([self.bytes[at], self.bytes[at + 1]]);
            if self.is_swapped {
                half.swap_bytes()
            } else {
                half
            }
        };
        (half(4), half(6))
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if self.is_swapped {
            word.swap_bytes()
        } else {
            word
        }
    }
}

/// Reads the bytes of the header from `start` to `end`.
fn read(
    stream: &mut Stream,
    bytes: &mut [u8; HEADER_BYTES],
    start: usize,
    end: usize,
) -> Result<(), String> {
    let got = stream.fill(&mut bytes[start..end]).map_err(|error| {
        let text = strerror(error.raw_os_error().unwrap_or(0));
        format!("error reading dump file: {text}")
    })?;
    if start + got < end {
        let got = start + got;
        return Err(format!(
            "truncated dump file; tried to read {end} file header bytes, only got {got}"
        ));
    }
    Ok(())
}
