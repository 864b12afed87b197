//! The three blocks that hold a packet: enhanced, simple and obsolete.

use super::block::{Body, each_option};
use super::descriptions::PacketInterface;
use crate::model::{Checksum, Direction, Packet, Reception};
use crate::read::error::ReadError;
use crate::read::format::{LocatedPacket, plain_packet};

const COMMENT: u16 = 1;
const FLAGS: u16 = 2;
const HASH: u16 = 3;
const DROP_COUNT: u16 = 4;
const PACKET_ID: u16 = 5;
const QUEUE: u16 = 6;
const PROCESS: u16 = 8;

/// The kind of a hash of the device: Toeplitz.
const TOEPLITZ: u8 = 5;

/// The unknown drop count of a Packet Block.
const DROPS_UNKNOWN: u16 = 0xffff;

/// The section of a packet block, and the block's location.
#[derive(Clone, Copy)]
pub(super) struct PacketSection<'a> {
    pub(super) interfaces: &'a [PacketInterface],
    /// Number of interfaces in earlier sections.
    pub(super) first_interface: u32,
    /// Index of the block's body in the input.
    pub(super) index: usize,
}

/// Enhanced Packet Block.
#[inline]
pub(super) fn enhanced(
    body: Body<'_>,
    section: PacketSection<'_>,
    located: &mut LocatedPacket,
) -> Result<(), ReadError> {
    let ([interface, high, low, captured, original_len], rest) = body.words::<5>()?;
    let (packet_interface, options) = check(body, section.interfaces, interface, captured, rest)?;
    *located = LocatedPacket {
        packet: plain_packet(
            section.first_interface + interface,
            packet_interface.clock.nanoseconds(high, low),
            original_len,
        ),
        index: section.index + 20,
        captured: captured as usize,
        comment: (0, 0),
        options: (0, 0),
    };
    if options.is_empty() {
        return Ok(());
    }
    let LocatedPacket {
        packet, comment, ..
    } = located;
    let length = each_option(body, options, |option| match option.code {
        FLAGS => apply_flags(packet, option.u32().unwrap_or(0)),
        DROP_COUNT => packet.drop_count = option.u64(),
        PACKET_ID => packet.packet_id = option.u64(),
        QUEUE => packet.queue = option.u32(),
        HASH => packet.toeplitz = toeplitz(option.value, body).or(packet.toeplitz),
        // 0: not known.
        PROCESS => packet.process_id = process(option.value, body).filter(|&process| process != 0),
        COMMENT => {
            let at = option.value.as_ptr().addr() - body.bytes.as_ptr().addr();
            *comment = (section.index + at, option.value.len());
        }
        _ => {}
    })?;
    note_options(located, section, body, options, length);
    Ok(())
}

/// Remembers where the first `length` bytes of `options` are.
#[inline]
fn note_options(
    located: &mut LocatedPacket,
    section: PacketSection<'_>,
    body: Body<'_>,
    options: &[u8],
    length: usize,
) {
    let at = options.as_ptr().addr() - body.bytes.as_ptr().addr();
    located.options = (section.index + at, length);
    located.packet.options.order = body.order;
}

/// The hash, if it is a Toeplitz one: a packet may have several of other kinds.
fn toeplitz(value: &[u8], body: Body<'_>) -> Option<u32> {
    match *value {
        [TOEPLITZ, a, b, c, d] => Some(body.order.u32([a, b, c, d])),
        _ => None,
    }
}

/// The number of the process; that of the thread follows.
fn process(value: &[u8], body: Body<'_>) -> Option<u32> {
    let [process, _thread] = body.order.words(value)?;
    Some(process)
}

/// Obsolete Packet Block: as the enhanced one, with a 16-bit interface and drop count.
pub(super) fn obsolete(
    body: Body<'_>,
    section: PacketSection<'_>,
    located: &mut LocatedPacket,
) -> Result<(), ReadError> {
    let ([interface_drops, high, low, captured, original_len], rest) = body.words::<5>()?;
    let (interface, drops) = body.order.halves(interface_drops);
    let interface = u32::from(interface);
    let (packet_interface, options) = check(body, section.interfaces, interface, captured, rest)?;
    *located = LocatedPacket {
        packet: plain_packet(
            section.first_interface + interface,
            packet_interface.clock.nanoseconds(high, low),
            original_len,
        ),
        index: section.index + 20,
        captured: captured as usize,
        comment: (0, 0),
        options: (0, 0),
    };
    let packet = &mut located.packet;
    packet.drop_count = (drops != DROPS_UNKNOWN).then_some(u64::from(drops));
    let length = each_option(body, options, |option| {
        if option.code == FLAGS {
            apply_flags(packet, option.u32().unwrap_or(0));
        }
    })?;
    note_options(located, section, body, options, length);
    Ok(())
}

/// Simple Packet Block: interface 0, no time, truncated to the snaplen.
pub(super) fn simple(
    body: Body<'_>,
    section: PacketSection<'_>,
    located: &mut LocatedPacket,
) -> Result<(), ReadError> {
    let ([original_len], rest) = body.words::<1>()?;
    let snaplen = section
        .interfaces
        .first()
        .map_or(u32::MAX, |interface| interface.snaplen);
    let captured = original_len.min(snaplen);
    check(body, section.interfaces, 0, captured, rest)?;
    *located = LocatedPacket {
        packet: plain_packet(section.first_interface, None, original_len),
        index: section.index + 4,
        captured: captured as usize,
        comment: (0, 0),
        options: (0, 0),
    };
    Ok(())
}

/// Checks a packet's interface and length. Returns its interface and the options behind its padding.
#[inline]
fn check<'a, 'b>(
    body: Body<'_>,
    interfaces: &'b [PacketInterface],
    interface: u32,
    captured: u32,
    rest: &'a [u8],
) -> Result<(&'b PacketInterface, &'a [u8]), ReadError> {
    let captured = captured as usize;
    let Some(packet_interface) = interfaces.get(interface as usize) else {
        return Err(body
            .location()
            .corrupt("interface", "is not described in this section"));
    };
    if captured > packet_interface.captured_max {
        let reason = "is larger than any packet of this link type";
        return Err(body.location().corrupt("captured length", reason));
    }
    if captured > rest.len() {
        return Err(body.location().too_short("packet", captured, rest.len()));
    }
    Ok((
        packet_interface,
        rest.get(captured.next_multiple_of(4)..).unwrap_or_default(),
    ))
}

/// `epb_flags`: bits 0–1 direction, 2–4 reception, 9 checksum not ready, 10 checksum valid.
#[inline]
fn apply_flags(packet: &mut Packet<'_>, flags: u32) {
    packet.direction = match flags & 3 {
        1 => Some(Direction::In),
        2 => Some(Direction::Out),
        _ => None,
    };
    packet.reception = match flags >> 2 & 7 {
        1 => Some(Reception::Unicast),
        2 => Some(Reception::Multicast),
        3 => Some(Reception::Broadcast),
        4 => Some(Reception::Promiscuous),
        _ => None,
    };
    packet.checksum = match flags >> 9 & 3 {
        1 => Checksum::NotReady,
        2 => Checksum::Valid,
        _ => Checksum::Unknown,
    };
}
