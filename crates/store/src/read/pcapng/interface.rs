//! The Interface Description Block.

use super::block::Body;
use super::options::{self, COMMENT};
use crate::model::{Interface, LinkType};
use crate::read::error::ReadError;
use crate::read::limits::packet_bytes_max;
use crate::read::time::Clock;

const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const MAC: u16 = 6;
const SPEED: u16 = 8;
const TSRESOL: u16 = 9;
const FILTER: u16 = 11;
const OS: u16 = 12;
const TSOFFSET: u16 = 14;
const HARDWARE: u16 = 15;

/// The first octet of `if_filter` if the rest is text.
const FILTER_IS_TEXT: u8 = 0;
/// The `if_tsresol` of an interface that has none.
const MICROSECONDS: u8 = 6;

/// What packets need of their interface.
#[derive(Clone, Copy)]
pub(super) struct Port {
    pub(super) clock: Clock,
    /// Captured bytes at most, by the link type.
    pub(super) captured_max: usize,
    /// The snaplen, or the largest number if there is none.
    pub(super) snaplen: u32,
}

pub(super) fn read(body: Body<'_>) -> Result<(Interface, Port), ReadError> {
    let ([link_type, snaplen], rest) = body.words::<2>()?;
    let mut interface = Interface::new(LinkType(body.order.halves(link_type).0), snaplen);
    let (mut resolution, mut offset_s) = (None, None);
    options::each(body, rest, |option| match option.code {
        COMMENT => interface.comment = Some(option.text()),
        NAME => interface.name = Some(option.text()),
        DESCRIPTION => interface.description = Some(option.text()),
        MAC => interface.mac = option.value.try_into().ok().or(interface.mac),
        SPEED => interface.speed_bps = option.u64().or(interface.speed_bps),
        // Of several the first counts, as it does for other readers.
        TSRESOL => resolution = resolution.or(option.u8()),
        FILTER => {
            if let Some((&FILTER_IS_TEXT, text)) = option.value.split_first() {
                interface.filter = Some(options::text(text));
            }
        }
        OS => interface.os = Some(option.text()),
        TSOFFSET => offset_s = offset_s.or(option.u64()),
        HARDWARE => interface.hardware = Some(option.text()),
        _ => {}
    })?;
    interface.offset_s = offset_s.unwrap_or(0).cast_signed();
    let clock =
        Clock::from_resolution(resolution.unwrap_or(MICROSECONDS)).with_offset(interface.offset_s);
    interface.ticks_per_second = clock.ticks_per_second();
    let port = Port {
        clock,
        captured_max: packet_bytes_max(interface.link_type),
        snaplen: if snaplen == 0 { u32::MAX } else { snaplen },
    };
    Ok((interface, port))
}
