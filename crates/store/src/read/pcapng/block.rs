//! A block: type, length, body, length again.

use crate::read::error::{Place, ReadError};
use crate::read::order::ByteOrder;

/// The smallest block: a type and two lengths.
pub(super) const BLOCK_BYTES_MIN: usize = 12;
/// The type and the first length.
pub(super) const HEADER_BYTES: usize = 8;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const PACKET: u32 = 2;
pub(super) const SIMPLE_PACKET: u32 = 3;
pub(super) const INTERFACE_STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;

/// How errors speak of a block of this type.
pub(super) fn name(kind: u32) -> &'static str {
    match kind {
        SECTION_HEADER => "section header block",
        INTERFACE_DESCRIPTION => "interface description block",
        PACKET => "packet block",
        SIMPLE_PACKET => "simple packet block",
        INTERFACE_STATISTICS => "interface statistics block",
        ENHANCED_PACKET => "enhanced packet block",
        4 => "name resolution block",
        10 => "decryption secrets block",
        0x0bad | 0x4000_0bad => "custom block",
        _ => "block of unknown type",
    }
}

/// The body of a block that is there in full.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: ByteOrder,
    pub(super) head: Head,
}

/// Which block it is, and where.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) kind: u32,
    /// Length in the file, a multiple of 4 and at least [`BLOCK_BYTES_MIN`].
    pub(super) bytes: usize,
    /// Its number in the file, from 1.
    pub(super) number: u64,
    /// Where it begins in the file.
    pub(super) offset: u64,
}

impl Head {
    #[cold]
    pub(super) fn place(self) -> Place {
        Place {
            part: name(self.kind),
            block: self.number,
            offset: self.offset,
        }
    }
}

impl<'a> Body<'a> {
    /// The first `N` words and what follows them.
    #[inline]
    pub(super) fn words<const N: usize>(self) -> Result<([u32; N], &'a [u8]), ReadError> {
        match (self.order.words(self.bytes), self.bytes.get(N * 4..)) {
            (Some(words), Some(rest)) => Ok((words, rest)),
            _ => Err(self
                .place()
                .too_short("fixed part", N * 4, self.bytes.len())),
        }
    }

    #[cold]
    pub(super) fn place(self) -> Place {
        self.head.place()
    }
}
