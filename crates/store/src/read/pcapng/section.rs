//! The Section Header Block: byte order, version, and who wrote the section.

use super::block::{BLOCK_BYTES_MIN, Body};
use super::options::{self, COMMENT};
use crate::model::Section;
use crate::read::error::{ErrorKind, Place, ReadError};
use crate::read::order::ByteOrder;
use crate::read::reader::{Format, Header};

const MAGIC: u32 = 0x1a2b_3c4d;
const HARDWARE: u16 = 2;
const OS: u16 = 3;
const APPLICATION: u16 = 4;

/// The byte order that a section's first twelve bytes announce.
pub(super) fn byte_order(window: &[u8], place: Place) -> Result<ByteOrder, ReadError> {
    let magic = window.get(8..BLOCK_BYTES_MIN).and_then(<[u8]>::first_chunk);
    match magic.map(|magic| ByteOrder::Little.u32(*magic)) {
        Some(MAGIC) => Ok(ByteOrder::Little),
        Some(magic) if magic.swap_bytes() == MAGIC => Ok(ByteOrder::Big),
        _ => Err(place.damaged("byte-order magic", "is neither of the two that exist")),
    }
}

/// Reads the block; the section's interfaces begin at `first_interface`.
pub(super) fn read(body: Body<'_>, first_interface: u32) -> Result<Header, ReadError> {
    let ([_magic, version, _, _], rest) = body.words::<4>()?;
    let version = body.order.halves(version);
    if version.0 != 1 {
        let reason = "only version 1 of the format is read";
        return Err(body.place().error(ErrorKind::Unsupported, reason));
    }
    let mut section = Section::default();
    options::each(body, rest, |option| match option.code {
        COMMENT => add_comment(&mut section.comment, option.text()),
        HARDWARE => section.hardware = Some(option.text()),
        OS => section.os = Some(option.text()),
        APPLICATION => section.application = Some(option.text()),
        _ => {}
    })?;
    Ok(Header {
        format: Format::Pcapng,
        byte_order: body.order,
        version,
        first_interface,
        section,
    })
}

/// Several comments become lines of one.
fn add_comment(comment: &mut Option<String>, text: String) {
    match comment {
        Some(lines) => {
            lines.push('\n');
            lines.push_str(&text);
        }
        None => *comment = Some(text),
    }
}
