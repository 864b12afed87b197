//! From block to block.

use super::block::{
    BLOCK_BYTES_MIN, Body, ENHANCED_PACKET, HEADER_BYTES, Head, INTERFACE_DESCRIPTION,
    INTERFACE_STATISTICS, PACKET, SECTION_HEADER, SIMPLE_PACKET,
};
use super::interface::{self, Port};
use super::packet::{self, Section};
use super::{section, statistics};
use crate::read::error::{ErrorKind, Place, ReadError};
use crate::read::event::{Event, Reached};
use crate::read::limits::{BLOCK_BYTES_MAX, INTERFACES_MAX};
use crate::read::order::ByteOrder;
use crate::read::source::Source;

/// Reads blocks.
#[derive(Clone)]
pub(in crate::read) struct Pcapng {
    pub(super) order: ByteOrder,
    /// Blocks read so far.
    pub(in crate::read) blocks: u64,
    /// The interfaces of the present section.
    pub(super) ports: Vec<Port>,
    /// Interfaces of the sections before.
    pub(super) earlier: u32,
}

impl Pcapng {
    /// Reads the first section header; `None` if the input is not pcapng.
    pub(in crate::read) fn open(
        source: &mut Source,
        reached: &mut Reached,
    ) -> Result<Option<Self>, ReadError> {
        if !begins_section(source.window()) {
            return Ok(None);
        }
        let mut pcapng = Self {
            order: ByteOrder::Little,
            blocks: 0,
            ports: Vec::new(),
            earlier: 0,
        };
        pcapng.step(source, reached)?;
        Ok(Some(pcapng))
    }

    /// Reads blocks into `reached` until one is of interest.
    #[inline]
    pub(in crate::read) fn advance(
        &mut self,
        source: &mut Source,
        reached: &mut Reached,
    ) -> Result<Event, ReadError> {
        loop {
            if let Some(event) = self.step(source, reached)? {
                return Ok(event);
            }
        }
    }

    /// Reads one block and moves behind it; `None` if it is passed over.
    #[inline]
    fn step(
        &mut self,
        source: &mut Source,
        reached: &mut Reached,
    ) -> Result<Option<Event>, ReadError> {
        let Some(head) = self.next_block(source)? else {
            return Ok(Some(Event::End));
        };
        let bytes = source
            .window()
            .get(HEADER_BYTES..head.bytes - 4)
            .unwrap_or_default();
        let body = Body {
            bytes,
            order: self.order,
            head,
        };
        let mark = source.mark() + HEADER_BYTES;
        let section = Section {
            ports: &self.ports,
            earlier: self.earlier,
            mark,
        };
        let event = match head.kind {
            ENHANCED_PACKET => {
                packet::enhanced(body, section, &mut reached.found)?;
                Some(Event::Packet)
            }
            SIMPLE_PACKET => {
                packet::simple(body, section, &mut reached.found)?;
                Some(Event::Packet)
            }
            PACKET => {
                packet::obsolete(body, section, &mut reached.found)?;
                Some(Event::Packet)
            }
            INTERFACE_DESCRIPTION => Some(self.add_interface(body, reached)?),
            INTERFACE_STATISTICS => self.note_statistics(body, reached)?,
            SECTION_HEADER => {
                self.begin_section(body, reached)?;
                None
            }
            _ => None,
        };
        source.consume(head.bytes);
        self.blocks += 1;
        Ok(event)
    }

    fn begin_section(&mut self, body: Body<'_>, reached: &mut Reached) -> Result<(), ReadError> {
        let interfaces = reached.interfaces.len() as u32;
        reached.header = section::read(body, interfaces)?;
        self.earlier = interfaces;
        self.ports.clear();
        Ok(())
    }

    fn add_interface(&mut self, body: Body<'_>, reached: &mut Reached) -> Result<Event, ReadError> {
        let index = reached.interfaces.len();
        if index == INTERFACES_MAX {
            let reason = "the file has more interfaces than are read";
            return Err(body.place().error(ErrorKind::Unsupported, reason));
        }
        let (interface, port) = interface::read(body)?;
        reached.interfaces.push(interface);
        self.ports.push(port);
        Ok(Event::Interface(index as u32))
    }

    fn note_statistics(
        &self,
        body: Body<'_>,
        reached: &mut Reached,
    ) -> Result<Option<Event>, ReadError> {
        let Some(mut statistics) = statistics::read(body, &self.ports)? else {
            return Ok(None);
        };
        statistics.interface += self.earlier;
        reached.statistics = statistics;
        Ok(Some(Event::Statistics))
    }

    /// Brings the next block into the window and checks its frame; `None` at the end of the input.
    #[inline]
    fn next_block(&mut self, source: &mut Source) -> Result<Option<Head>, ReadError> {
        let mut window = source.window();
        if window.len() < BLOCK_BYTES_MIN {
            if !self.begin_block(source)? {
                return Ok(None);
            }
            window = source.window();
        }
        let mut head = Head {
            kind: 0,
            bytes: 0,
            number: self.blocks + 1,
            offset: source.offset(),
        };
        if begins_section(window) {
            head.kind = SECTION_HEADER;
            self.order = section::byte_order(window, head.place())?;
        }
        let Some([kind, length]) = self.order.words(window) else {
            return Err(head.place().cut(HEADER_BYTES, window.len()));
        };
        let length = length as usize;
        head.kind = kind;
        if length < BLOCK_BYTES_MIN {
            return Err(head.place().damaged("total length", "is less than 12"));
        }
        if length > BLOCK_BYTES_MAX {
            let reason = "the block is longer than any that is read";
            return Err(head.place().error(ErrorKind::Unsupported, reason));
        }
        // Some writers leave the padding out of the length, yet write it.
        head.bytes = length.next_multiple_of(4);
        if window.len() < head.bytes {
            let available = source.fill_for(head.bytes, head.place())?;
            if available < head.bytes {
                return Err(head.place().cut(head.bytes, available));
            }
            window = source.window();
        }
        let trailer = window
            .get(head.bytes - 4..)
            .and_then(|rest| self.order.words(rest));
        if trailer.map(|[trailer]| trailer as usize) != Some(length) {
            let reason = "is not repeated at the end of the block";
            return Err(head.place().damaged("total length", reason));
        }
        Ok(Some(head))
    }

    /// Reads on at a block's beginning; `false` if the input ends right there.
    #[cold]
    fn begin_block(&self, source: &mut Source) -> Result<bool, ReadError> {
        let place = Place {
            part: "block",
            block: self.blocks + 1,
            offset: source.offset(),
        };
        match source.fill_for(BLOCK_BYTES_MIN, place)? {
            0 => Ok(false),
            BLOCK_BYTES_MIN.. => Ok(true),
            available => {
                // A length that cannot be tells of damage even if the block is not there. Of a
                // section header the byte order is not known yet.
                let words = self.order.words(source.window());
                if words.is_some_and(|[kind, length]| kind != SECTION_HEADER && length < 12) {
                    return Err(place.damaged("total length", "is less than 12"));
                }
                Err(place.cut(BLOCK_BYTES_MIN, available))
            }
        }
    }
}

/// Whether a section header begins here; its type reads the same in both byte orders.
#[inline]
fn begins_section(window: &[u8]) -> bool {
    window.starts_with(&SECTION_HEADER.to_be_bytes())
}
