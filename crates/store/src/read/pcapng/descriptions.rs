//! The blocks that describe the capture: section header, interface description, interface statistics.

use super::block::{BLOCK_BYTES_MIN, Body, COMMENT, each_option, text};
use crate::model::{Interface, LinkType, Section, Statistics};
use crate::read::clock::Clock;
use crate::read::error::{ErrorKind, Location, ReadError};
use crate::read::format::{ByteOrder, DetectedFormat, Header, packet_bytes_max};

/// Byte-order magic of a section header.
const MAGIC: u32 = 0x1a2b_3c4d;

/// Option codes of the Section Header Block.
mod section_option {
    pub(super) const HARDWARE: u16 = 2;
    pub(super) const OS: u16 = 3;
    pub(super) const APPLICATION: u16 = 4;
}

/// Option codes of the Interface Description Block.
mod interface_option {
    pub(super) const NAME: u16 = 2;
    pub(super) const DESCRIPTION: u16 = 3;
    pub(super) const MAC: u16 = 6;
    pub(super) const SPEED: u16 = 8;
    pub(super) const TSRESOL: u16 = 9;
    pub(super) const FILTER: u16 = 11;
    pub(super) const OS: u16 = 12;
    pub(super) const TSOFFSET: u16 = 14;
    pub(super) const HARDWARE: u16 = 15;
}

/// Option codes of the Interface Statistics Block.
mod statistics_option {
    pub(super) const START: u16 = 2;
    pub(super) const END: u16 = 3;
    pub(super) const RECEIVED: u16 = 4;
    pub(super) const INTERFACE_DROPPED: u16 = 5;
    pub(super) const FILTER_ACCEPTED: u16 = 6;
    pub(super) const OS_DROPPED: u16 = 7;
    pub(super) const DELIVERED: u16 = 8;
}

/// The first octet of `if_filter` if the rest is text.
const FILTER_IS_TEXT: u8 = 0;
/// The default of `if_tsresol`.
const MICROSECONDS: u8 = 6;

/// The byte order in a section's first twelve bytes.
pub(super) fn byte_order(window: &[u8], location: Location) -> Result<ByteOrder, ReadError> {
    let magic = window.get(8..BLOCK_BYTES_MIN).and_then(<[u8]>::first_chunk);
    match magic.map(|magic| ByteOrder::Little.u32(*magic)) {
        Some(MAGIC) => Ok(ByteOrder::Little),
        Some(magic) if magic.swap_bytes() == MAGIC => Ok(ByteOrder::Big),
        _ => Err(location.corrupt("byte-order magic", "is unknown")),
    }
}

/// Decodes a Section Header Block. The section's interfaces begin at `first_interface`.
pub(super) fn section(body: Body<'_>, first_interface: u32) -> Result<Header, ReadError> {
    let ([_magic, version, _, _], rest) = body.words::<4>()?;
    let version = body.order.halves(version);
    if version.0 != 1 {
        let reason = "only version 1 of the format is supported";
        return Err(body.location().error(ErrorKind::Unsupported, reason));
    }
    let mut section = Section::default();
    let length = each_option(body, rest, |option| match option.code {
        COMMENT => add_comment(&mut section.comment, option.text()),
        section_option::HARDWARE => section.hardware = Some(option.text()),
        section_option::OS => section.os = Some(option.text()),
        section_option::APPLICATION => section.application = Some(option.text()),
        _ => {}
    })?;
    Ok(Header {
        format: DetectedFormat::Pcapng,
        byte_order: body.order,
        version,
        first_interface,
        section,
        options: rest.get(..length).unwrap_or_default().to_vec(),
    })
}

/// Joins several comments by line feeds.
fn add_comment(comment: &mut Option<String>, text: String) {
    match comment {
        Some(lines) => {
            lines.push('\n');
            lines.push_str(&text);
        }
        None => *comment = Some(text),
    }
}

/// The properties of an interface that packets depend on.
#[derive(Clone, Copy)]
pub(super) struct PacketInterface {
    pub(super) clock: Clock,
    /// Maximum captured bytes of its link type.
    pub(super) captured_max: usize,
    /// The snaplen, or `u32::MAX` without a limit.
    pub(super) snaplen: u32,
}

/// Decodes an Interface Description Block.
pub(super) fn interface(body: Body<'_>) -> Result<(Interface, PacketInterface), ReadError> {
    let ([link_type, snaplen], rest) = body.words::<2>()?;
    let mut interface = Interface::new(LinkType(body.order.halves(link_type).0), snaplen);
    let (mut resolution, mut offset_s) = (None, None);
    each_option(body, rest, |option| match option.code {
        COMMENT => interface.comment = Some(option.text()),
        interface_option::NAME => interface.name = Some(option.text()),
        interface_option::DESCRIPTION => interface.description = Some(option.text()),
        interface_option::MAC => interface.mac = option.value.try_into().ok().or(interface.mac),
        interface_option::SPEED => interface.speed_bps = option.u64().or(interface.speed_bps),
        // The first of several counts, as in other readers.
        interface_option::TSRESOL => resolution = resolution.or(option.u8()),
        interface_option::FILTER => {
            if let Some((&FILTER_IS_TEXT, filter)) = option.value.split_first() {
                interface.filter = Some(text(filter));
            }
        }
        interface_option::OS => interface.os = Some(option.text()),
        interface_option::TSOFFSET => offset_s = offset_s.or(option.u64()),
        interface_option::HARDWARE => interface.hardware = Some(option.text()),
        _ => {}
    })?;
    interface.offset_s = offset_s.unwrap_or(0).cast_signed();
    let clock =
        Clock::from_resolution(resolution.unwrap_or(MICROSECONDS)).with_offset(interface.offset_s);
    interface.ticks_per_second = clock.ticks_per_second();
    let packet_interface = PacketInterface {
        clock,
        captured_max: packet_bytes_max(interface.link_type),
        snaplen: if snaplen == 0 { u32::MAX } else { snaplen },
    };
    Ok((interface, packet_interface))
}

/// Decodes an Interface Statistics Block, with the interface numbered within its section.
///
/// `None` if the section has no such interface: the unit of the time stamps is then unknown.
pub(super) fn statistics(
    body: Body<'_>,
    interfaces: &[PacketInterface],
) -> Result<Option<Statistics>, ReadError> {
    let ([interface, high, low], rest) = body.words::<3>()?;
    let Some(&PacketInterface { clock, .. }) = interfaces.get(interface as usize) else {
        return Ok(None);
    };
    let mut statistics = Statistics {
        interface,
        timestamp_ns: clock.nanoseconds(high, low),
        ..Statistics::default()
    };
    each_option(body, rest, |option| match option.code {
        COMMENT => statistics.comment = Some(option.text()),
        statistics_option::START => statistics.start_ns = option.time(clock),
        statistics_option::END => statistics.end_ns = option.time(clock),
        statistics_option::RECEIVED => statistics.received = option.u64(),
        statistics_option::INTERFACE_DROPPED => statistics.interface_dropped = option.u64(),
        statistics_option::FILTER_ACCEPTED => statistics.filter_accepted = option.u64(),
        statistics_option::OS_DROPPED => statistics.os_dropped = option.u64(),
        statistics_option::DELIVERED => statistics.delivered = option.u64(),
        _ => {}
    })?;
    Ok(Some(statistics))
}
