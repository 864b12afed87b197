//! The three blocks that hold a packet: enhanced, simple, and the obsolete one.

use super::block::Body;
use super::interface::Port;
use super::options;
use crate::model::{Checksum, Direction, Packet, Reception};
use crate::read::error::ReadError;
use crate::read::event::{Found, blank};

const FLAGS: u16 = 2;
const DROP_COUNT: u16 = 4;
const PACKET_ID: u16 = 5;
const QUEUE: u16 = 6;

/// The drop count of a Packet Block that does not know it.
const DROPS_UNKNOWN: u16 = 0xffff;

/// What the packet blocks of a section have in common.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    /// Its interfaces.
    pub(super) ports: &'a [Port],
    /// Interfaces of the sections before it.
    pub(super) earlier: u32,
    /// The mark of the block's body in the source.
    pub(super) mark: usize,
}

/// Enhanced Packet Block.
#[inline]
pub(super) fn enhanced(
    body: Body<'_>,
    section: Section<'_>,
    found: &mut Found,
) -> Result<(), ReadError> {
    let ([interface, high, low, captured, original_len], rest) = body.words::<5>()?;
    let (port, options) = check(body, section.ports, interface, captured, rest)?;
    *found = Found {
        packet: blank(
            section.earlier + interface,
            port.clock.nanoseconds(high, low),
            original_len,
        ),
        mark: section.mark + 20,
        captured: captured as usize,
    };
    if options.is_empty() {
        return Ok(());
    }
    let packet = &mut found.packet;
    options::each(body, options, |option| match option.code {
        FLAGS => apply_flags(packet, option.u32().unwrap_or(0)),
        DROP_COUNT => packet.drop_count = option.u64(),
        PACKET_ID => packet.packet_id = option.u64(),
        QUEUE => packet.queue = option.u32(),
        _ => {}
    })
}

/// The obsolete Packet Block: 16-bit interface and drop count, otherwise as the enhanced one.
pub(super) fn obsolete(
    body: Body<'_>,
    section: Section<'_>,
    found: &mut Found,
) -> Result<(), ReadError> {
    let ([interface_drops, high, low, captured, original_len], rest) = body.words::<5>()?;
    let (interface, drops) = body.order.halves(interface_drops);
    let interface = u32::from(interface);
    let (port, options) = check(body, section.ports, interface, captured, rest)?;
    *found = Found {
        packet: blank(
            section.earlier + interface,
            port.clock.nanoseconds(high, low),
            original_len,
        ),
        mark: section.mark + 20,
        captured: captured as usize,
    };
    let packet = &mut found.packet;
    packet.drop_count = (drops != DROPS_UNKNOWN).then_some(u64::from(drops));
    options::each(body, options, |option| {
        if option.code == FLAGS {
            apply_flags(packet, option.u32().unwrap_or(0));
        }
    })
}

/// Simple Packet Block: interface 0, no time; cut at the snaplen.
pub(super) fn simple(
    body: Body<'_>,
    section: Section<'_>,
    found: &mut Found,
) -> Result<(), ReadError> {
    let ([original_len], rest) = body.words::<1>()?;
    let snaplen = section.ports.first().map_or(u32::MAX, |port| port.snaplen);
    let captured = original_len.min(snaplen);
    check(body, section.ports, 0, captured, rest)?;
    *found = Found {
        packet: blank(section.earlier, None, original_len),
        mark: section.mark + 4,
        captured: captured as usize,
    };
    Ok(())
}

/// Checks a packet's interface and length; gives its interface and the options after its padding.
#[inline]
fn check<'a, 'b>(
    body: Body<'_>,
    ports: &'b [Port],
    interface: u32,
    captured: u32,
    rest: &'a [u8],
) -> Result<(&'b Port, &'a [u8]), ReadError> {
    let captured = captured as usize;
    let Some(port) = ports.get(interface as usize) else {
        return Err(body
            .place()
            .damaged("interface", "is not described in this section"));
    };
    if captured > port.captured_max {
        let reason = "is larger than any packet of this link type";
        return Err(body.place().damaged("captured length", reason));
    }
    if captured > rest.len() {
        return Err(body.place().too_short("packet", captured, rest.len()));
    }
    Ok((
        port,
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
