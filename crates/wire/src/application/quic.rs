//! QUIC headers.

use std::fmt;

use crate::escaped::{Hex, u32_at};

/// QUIC version 1, RFC 9000.
const V1: u32 = 1;
/// QUIC version 2, RFC 9369.
const V2: u32 = 0x6b33_43cf;

/// A long header of QUIC.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+---+-------+-----------------------------------------------+
/// |1|1|typ| ...   |              version (32 bits)                |
/// +-+-+---+-------+---------------+-------------------------------+
/// |   version     |  id length    | destination connection id ... |
/// +---------------+---------------+-------------------------------+
/// |  id length    |            source connection id ...           |
/// +---------------+-----------------------------------------------+
/// ```
///
/// `Display` prints `v1 Initial dcid 8394c8f03e515708`.
///
/// # Source
/// RFC 9000, 17.2; RFC 8999, 5.1; RFC 9369, 3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quic<'a> {
    first: u8,
    version: u32,
    destination: &'a [u8],
    source: &'a [u8],
}

impl<'a> Quic<'a> {
    /// Parses the long header at the start of a UDP payload. `None` for short headers, which look like any data,
    /// and if the version is not one of version 1 and 2, the drafts, those that force negotiation, or 0.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let first = *bytes.first()?;
        let version = u32_at(bytes, 1)?;
        if first & 0x80 == 0 || !is_known(version) || version != 0 && first & 0x40 == 0 {
            return None;
        }
        let (destination, rest) = split_id(bytes.get(5..)?)?;
        let (source, _) = split_id(rest)?;
        Some(Self {
            first,
            version,
            destination,
            source,
        })
    }

    /// Version; 0 negotiates.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Destination connection id.
    pub fn destination(&self) -> &'a [u8] {
        self.destination
    }

    /// Source connection id.
    pub fn source(&self) -> &'a [u8] {
        self.source
    }

    fn kind(self) -> &'static str {
        const KINDS: [&str; 4] = ["Initial", "0-RTT", "Handshake", "Retry"];
        let kind = self.first >> 4 & 3;
        // Version 2 numbers them from 1 on, Retry being 0.
        let kind = if self.version == V2 {
            kind.wrapping_sub(1) & 3
        } else {
            kind
        };
        KINDS[usize::from(kind)]
    }
}

fn is_known(version: u32) -> bool {
    let is_draft = version >> 8 == 0x00ff_0000;
    let is_forced = version & 0x0f0f_0f0f == 0x0a0a_0a0a;
    matches!(version, 0 | V1 | V2) || is_draft || is_forced
}

/// A connection id of at most 20 bytes, behind its length.
fn split_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    (len <= 20).then(|| rest.split_at_checked(usize::from(len)))?
}

impl fmt::Display for Quic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            0 => f.write_str("version negotiation")?,
            V1 => write!(f, "v1 {}", self.kind())?,
            V2 => write!(f, "v2 {}", self.kind())?,
            draft if draft >> 8 == 0x00ff_0000 => {
                write!(f, "draft-{} {}", draft & 0xff, self.kind())?;
            }
            other => write!(f, "version {other:#010x}")?,
        }
        for (word, id) in [("dcid", self.destination), ("scid", self.source)] {
            if !id.is_empty() {
                write!(f, " {word} {}", Hex(id))?;
            }
        }
        Ok(())
    }
}
