//! Blocks (type, length, body, length) and options (code, length, value padded to four bytes).

use crate::read::clock::Clock;
use crate::read::error::{Location, ReadError};
use crate::read::format::ByteOrder;

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

/// `opt_endofopt`.
const END: u16 = 0;
/// `opt_comment`.
pub(super) const COMMENT: u16 = 1;

/// The name of a block type in errors.
pub(super) fn name(kind: u32) -> &'static str {
    match kind {
        SECTION_HEADER => "section header block",
        INTERFACE_DESCRIPTION => "interface description block",
        PACKET => "packet block",
        SIMPLE_PACKET => "simple packet block",
        INTERFACE_STATISTICS => "interface statistics block",
        ENHANCED_PACKET => "enhanced packet block",
        4 => "name resolution block",
        9 => "systemd journal export block",
        10 => "decryption secrets block",
        0x0bad | 0x4000_0bad => "custom block",
        _ => "block of unknown type",
    }
}

/// The body of a complete block.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: ByteOrder,
    pub(super) head: BlockHead,
}

/// Type, size and location of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockHead {
    pub(super) kind: u32,
    /// Length in the file, a multiple of 4 and at least [`BLOCK_BYTES_MIN`].
    pub(super) bytes: usize,
    /// Its number in the file, counted from 1.
    pub(super) number: u64,
    /// Its offset in the file.
    pub(super) offset: u64,
}

impl BlockHead {
    #[cold]
    pub(super) fn location(self) -> Location {
        Location {
            part: name(self.kind),
            block: self.number,
            offset: self.offset,
        }
    }
}

impl<'a> Body<'a> {
    /// The first `N` words, and the rest.
    #[inline]
    pub(super) fn words<const N: usize>(self) -> Result<([u32; N], &'a [u8]), ReadError> {
        match (self.order.words(self.bytes), self.bytes.get(N * 4..)) {
            (Some(words), Some(rest)) => Ok((words, rest)),
            _ => Err(self
                .location()
                .too_short("fixed part", N * 4, self.bytes.len())),
        }
    }

    #[cold]
    pub(super) fn location(self) -> Location {
        self.head.location()
    }
}

/// An option with its value as in the file.
///
/// A typed value is `None` if the length differs from the type's. Such an option is ignored, like an
/// unknown one.
#[derive(Clone, Copy)]
pub(super) struct BlockOption<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
    order: ByteOrder,
}

impl BlockOption<'_> {
    pub(super) fn u8(self) -> Option<u8> {
        <[u8; 1]>::try_from(self.value).ok().map(|[octet]| octet)
    }

    pub(super) fn u32(self) -> Option<u32> {
        self.value
            .try_into()
            .ok()
            .map(|value| self.order.u32(value))
    }

    pub(super) fn u64(self) -> Option<u64> {
        self.value
            .try_into()
            .ok()
            .map(|value| self.order.u64(value))
    }

    /// A time stamp: two words, the high one first in both byte orders.
    pub(super) fn time(self, clock: Clock) -> Option<u64> {
        let value = <[u8; 8]>::try_from(self.value).ok()?;
        let [high, low] = self.order.words(&value)?;
        clock.nanoseconds(high, low)
    }

    pub(super) fn text(self) -> String {
        text(self.value)
    }
}

/// Text without the terminating zero of some writers. Invalid UTF-8 is replaced.
pub(super) fn text(value: &[u8]) -> String {
    let text = value.split(|octet| *octet == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Calls `see` for each option in `bytes`, the end of the body of `block`.
///
/// Options end with the block or with `opt_endofopt`. Returns their length without that.
#[inline]
pub(super) fn each_option<'a>(
    block: Body<'_>,
    mut bytes: &'a [u8],
    mut see: impl FnMut(BlockOption<'a>),
) -> Result<usize, ReadError> {
    let all = bytes.len();
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let [code, length] =
            [[head[0], head[1]], [head[2], head[3]]].map(|pair| block.order.u16(pair));
        if code == END {
            break;
        }
        let length = usize::from(length);
        let Some(value) = rest.get(..length) else {
            return Err(block.location().too_short("option", length, rest.len()));
        };
        see(BlockOption {
            code,
            value,
            order: block.order,
        });
        bytes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(all - bytes.len())
}
