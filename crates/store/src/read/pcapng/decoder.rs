//! Decodes block after block.

use super::block::{
    BLOCK_BYTES_MIN, BlockHead, Body, ENHANCED_PACKET, HEADER_BYTES, INTERFACE_DESCRIPTION,
    INTERFACE_STATISTICS, PACKET, SECTION_HEADER, SIMPLE_PACKET,
};
use super::descriptions::{self, PacketInterface};
use super::packet::{self, PacketSection};
use crate::read::error::{ErrorKind, Location, ReadError};
use crate::read::format::{
    BLOCK_BYTES_MAX, ByteOrder, Decoded, Event, INTERFACES_BYTES_MAX, INTERFACES_MAX, LocatedBlock,
};
use crate::read::input::Input;

/// Decodes blocks.
#[derive(Clone)]
pub(in crate::read) struct Pcapng {
    pub(super) order: ByteOrder,
    /// Number of blocks decoded.
    pub(in crate::read) blocks: u64,
    /// The interfaces of the current section.
    pub(super) interfaces: Vec<PacketInterface>,
    /// Number of interfaces in earlier sections.
    pub(super) first_interface: u32,
    /// Of the descriptions of all interfaces in the file.
    interface_bytes: usize,
}

impl Pcapng {
    /// Decodes the first section header. Returns `None` if the input is not pcapng.
    pub(in crate::read) fn open(
        input: &mut Input,
        decoded: &mut Decoded,
    ) -> Result<Option<Self>, ReadError> {
        if !begins_section(input.window()) {
            return Ok(None);
        }
        let mut pcapng = Self {
            order: ByteOrder::Little,
            blocks: 0,
            interfaces: Vec::new(),
            first_interface: 0,
            interface_bytes: 0,
        };
        pcapng.step(input, decoded)?;
        Ok(Some(pcapng))
    }

    /// Decodes blocks into `decoded` until there is an event.
    #[inline]
    pub(in crate::read) fn advance(
        &mut self,
        input: &mut Input,
        decoded: &mut Decoded,
    ) -> Result<Event, ReadError> {
        loop {
            if let Some(event) = self.step(input, decoded)? {
                return Ok(event);
            }
        }
    }

    /// Length of the next block, or of the shortest one if its beginning is not there.
    pub(in crate::read) fn next_bytes(&self, window: &[u8]) -> usize {
        match self.order.words(window) {
            // A section header may have another byte order; it is short.
            Some([kind, length]) if kind != SECTION_HEADER => {
                (length as usize).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)
            }
            _ => BLOCK_BYTES_MIN,
        }
    }

    /// Decodes and consumes one block. Returns `None` if it is skipped.
    #[inline]
    pub(in crate::read) fn step(
        &mut self,
        input: &mut Input,
        decoded: &mut Decoded,
    ) -> Result<Option<Event>, ReadError> {
        let Some(head) = self.next_block(input)? else {
            return Ok(Some(Event::End));
        };
        let bytes = input
            .window()
            .get(HEADER_BYTES..head.bytes - 4)
            .unwrap_or_default();
        let body = Body {
            bytes,
            order: self.order,
            head,
        };
        let index = input.index() + HEADER_BYTES;
        let section = PacketSection {
            interfaces: &self.interfaces,
            first_interface: self.first_interface,
            index,
        };
        let event = match head.kind {
            ENHANCED_PACKET => {
                packet::enhanced(body, section, &mut decoded.packet)?;
                Some(Event::Packet)
            }
            SIMPLE_PACKET => {
                packet::simple(body, section, &mut decoded.packet)?;
                Some(Event::Packet)
            }
            PACKET => {
                packet::obsolete(body, section, &mut decoded.packet)?;
                Some(Event::Packet)
            }
            INTERFACE_DESCRIPTION => Some(self.add_interface(body, decoded)?),
            INTERFACE_STATISTICS => self.note_statistics(body, decoded)?,
            SECTION_HEADER => {
                self.begin_section(body, decoded)?;
                Some(Event::Section)
            }
            _ => Some(Event::Block),
        };
        // Options follow a fixed part; other blocks are lent as a whole.
        let fixed = match head.kind {
            INTERFACE_DESCRIPTION => 8,
            INTERFACE_STATISTICS => 12,
            _ => 0,
        };
        if !matches!(event, Some(Event::Packet)) {
            decoded.block = LocatedBlock {
                kind: head.kind,
                index: index + fixed,
                bytes: bytes.len().saturating_sub(fixed),
            };
        }
        input.consume(head.bytes);
        self.blocks += 1;
        Ok(event)
    }

    fn begin_section(&mut self, body: Body<'_>, decoded: &mut Decoded) -> Result<(), ReadError> {
        let interfaces = decoded.interfaces.len() as u32;
        decoded.header = descriptions::section(body, interfaces)?;
        self.first_interface = interfaces;
        self.interfaces.clear();
        Ok(())
    }

    fn add_interface(&mut self, body: Body<'_>, decoded: &mut Decoded) -> Result<Event, ReadError> {
        let index = decoded.interfaces.len();
        if index == INTERFACES_MAX {
            let reason = "the file has more interfaces than supported";
            return Err(body.location().error(ErrorKind::Unsupported, reason));
        }
        self.interface_bytes += body.bytes.len();
        if self.interface_bytes > INTERFACES_BYTES_MAX {
            let reason = "the descriptions of the interfaces are longer than supported";
            return Err(body.location().error(ErrorKind::Unsupported, reason));
        }
        let (interface, packet_interface) = descriptions::interface(body)?;
        decoded.interfaces.push(interface);
        self.interfaces.push(packet_interface);
        Ok(Event::Interface(index as u32))
    }

    fn note_statistics(
        &self,
        body: Body<'_>,
        decoded: &mut Decoded,
    ) -> Result<Option<Event>, ReadError> {
        let Some(mut statistics) = descriptions::statistics(body, &self.interfaces)? else {
            return Ok(None);
        };
        statistics.interface += self.first_interface;
        decoded.statistics = statistics;
        Ok(Some(Event::Statistics))
    }

    /// Fills the window with the next block and checks its two lengths. Returns `None` at the end.
    #[inline]
    fn next_block(&mut self, input: &mut Input) -> Result<Option<BlockHead>, ReadError> {
        let mut window = input.window();
        if window.len() < BLOCK_BYTES_MIN {
            if !self.begin_block(input)? {
                return Ok(None);
            }
            window = input.window();
        }
        let mut head = BlockHead {
            kind: 0,
            bytes: 0,
            number: self.blocks + 1,
            offset: input.offset(),
        };
        if begins_section(window) {
            head.kind = SECTION_HEADER;
            self.order = descriptions::byte_order(window, head.location())?;
        }
        let Some([kind, length]) = self.order.words(window) else {
            return Err(head.location().truncated(HEADER_BYTES, window.len()));
        };
        let length = length as usize;
        head.kind = kind;
        if length < BLOCK_BYTES_MIN {
            return Err(head.location().corrupt("total length", "is less than 12"));
        }
        if length > BLOCK_BYTES_MAX {
            let reason = "the block is longer than supported";
            return Err(head.location().error(ErrorKind::Unsupported, reason));
        }
        // Some writers add padding without counting it.
        head.bytes = length.next_multiple_of(4);
        if window.len() < head.bytes {
            let available = input.fill_for(head.bytes, head.location())?;
            if available < head.bytes {
                return Err(head.location().truncated(head.bytes, available));
            }
            window = input.window();
        }
        let trailer = window
            .get(head.bytes - 4..)
            .and_then(|rest| self.order.words(rest));
        if trailer.map(|[trailer]| trailer as usize) != Some(length) {
            let reason = "is not repeated at the end of the block";
            return Err(head.location().corrupt("total length", reason));
        }
        Ok(Some(head))
    }

    /// Fills the window with the start of a block. Returns `false` if the input ends before it.
    #[cold]
    fn begin_block(&self, input: &mut Input) -> Result<bool, ReadError> {
        let location = Location {
            part: "block",
            block: self.blocks + 1,
            offset: input.offset(),
        };
        match input.fill_for(BLOCK_BYTES_MIN, location)? {
            0 => Ok(false),
            BLOCK_BYTES_MIN.. => Ok(true),
            available => {
                // An invalid length means corruption even if the rest is missing. The byte order of
                // a section header is not known yet.
                let words = self.order.words(input.window());
                if words.is_some_and(|[kind, length]| kind != SECTION_HEADER && length < 12) {
                    return Err(location.corrupt("total length", "is less than 12"));
                }
                Err(location.truncated(BLOCK_BYTES_MIN, available))
            }
        }
    }
}

/// Whether a section header begins here. Its type is the same in both byte orders.
#[inline]
pub(in crate::read) fn begins_section(window: &[u8]) -> bool {
    window.starts_with(&SECTION_HEADER.to_be_bytes())
}
