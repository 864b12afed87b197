//! Options: code, length, value padded to four bytes.

use super::block::Body;
use crate::read::error::ReadError;
use crate::read::order::ByteOrder;
use crate::read::time::Clock;

pub(super) const END: u16 = 0;
pub(super) const COMMENT: u16 = 1;

/// An option with its value as it is in the file.
///
/// The typed values are `None` where the length is not that of the type: such an option is passed
/// over like an unknown one.
#[derive(Clone, Copy)]
pub(super) struct Opt<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
    order: ByteOrder,
}

impl Opt<'_> {
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

    /// A time stamp: two words, the high one first in either byte order.
    pub(super) fn time(self, clock: Clock) -> Option<u64> {
        let value = <[u8; 8]>::try_from(self.value).ok()?;
        let [high, low] = self.order.words(&value)?;
        clock.nanoseconds(high, low)
    }

    pub(super) fn text(self) -> String {
        text(self.value)
    }
}

/// Text; what is not UTF-8 is replaced, and the closing zero of some writers is left out.
pub(super) fn text(value: &[u8]) -> String {
    let text = value.split(|octet| *octet == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Calls `see` for each option of `bytes`, which is the end of the body of `block`.
///
/// At most one call for every four bytes. Options may end with the block or with `opt_endofopt`.
#[inline]
pub(super) fn each<'a>(
    block: Body<'_>,
    mut bytes: &'a [u8],
    mut see: impl FnMut(Opt<'a>),
) -> Result<(), ReadError> {
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let [code, length] =
            [[head[0], head[1]], [head[2], head[3]]].map(|pair| block.order.u16(pair));
        if code == END {
            break;
        }
        let length = usize::from(length);
        let Some(value) = rest.get(..length) else {
            return Err(block.place().too_short("option", length, rest.len()));
        };
        see(Opt {
            code,
            value,
            order: block.order,
        });
        bytes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}
