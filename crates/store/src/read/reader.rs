//! The reader of one capture in either format.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::{ErrorKind, Location, ReadError};
use super::format::{Decoded, Event, Header, LocatedBlock};
use super::input::{BUFFER_BYTES, DetectedCompression, Input, RegularFile};
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use crate::block::{Block, Options};
use crate::model::{Interface, Packet, Statistics};

const MAGIC_BYTES: usize = 4;

/// How reading a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadEnd {
    /// At a record or block boundary.
    Complete,
    /// With an error of this kind, which was returned once.
    Failed(ErrorKind),
}

/// One item of a capture, borrowed from its reader.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// An interface. Later packets refer to it by `index`.
    Interface {
        /// Its index in the list of interfaces.
        index: u32,
        /// Its description.
        interface: &'a Interface,
        /// All options of its block, as in the file.
        options: Options<'a>,
    },
    /// Counters of an interface.
    Statistics {
        /// The counters.
        statistics: &'a Statistics,
        /// All options of their block, as in the file.
        options: Options<'a>,
    },
    /// Another section began, whose header this is. The first one has no item.
    Section(&'a Header),
    /// A block of another type: names, secrets, a journal, custom and unknown ones.
    Block(Block<'a>),
}

/// Reads a capture from its beginning to its end.
///
/// Interfaces are numbered through the whole file: a second pcapng section continues the numbers of
/// the first, also in packets and statistics. A pcap file has one interface, number 0. `Send`.
pub struct Reader {
    pub(super) input: Input,
    compression: DetectedCompression,
    pub(super) decoder: Decoder,
    decoded: Decoded,
    end: Option<ReadEnd>,
}

/// The decoder of one format, with what it knows of the capture so far.
#[derive(Clone)]
pub(super) enum Decoder {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Decoder {
    /// Decodes blocks of `input` into `decoded` until there is an event.
    #[inline]
    pub(super) fn advance(
        &mut self,
        input: &mut Input,
        decoded: &mut Decoded,
    ) -> Result<Event, ReadError> {
        match self {
            Self::Pcap(pcap) => pcap.advance(input, decoded),
            Self::Pcapng(pcapng) => pcapng.advance(input, decoded),
        }
    }

    /// Decodes one block. Returns `None` if it is skipped.
    pub(super) fn step(
        &mut self,
        input: &mut Input,
        decoded: &mut Decoded,
    ) -> Result<Option<Event>, ReadError> {
        match self {
            Self::Pcap(pcap) => pcap.advance(input, decoded).map(Some),
            Self::Pcapng(pcapng) => pcapng.step(input, decoded),
        }
    }

    /// Length of the next block or record, as far as its beginning says.
    fn next_bytes(&self, window: &[u8]) -> usize {
        match self {
            Self::Pcap(pcap) => pcap.next_bytes(window),
            Self::Pcapng(pcapng) => pcapng.next_bytes(window),
        }
    }

    /// Number of blocks or records decoded.
    pub(super) fn blocks(&mut self) -> &mut u64 {
        match self {
            Self::Pcap(pcap) => &mut pcap.records,
            Self::Pcapng(pcapng) => &mut pcapng.blocks,
        }
    }
}

impl Reader {
    /// Opens the capture file at `path`.
    ///
    /// # Errors
    /// `Io` if the file cannot be opened, `NotACapture` if its format is unknown; otherwise as
    /// [`Self::next_item`] for the first block.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::from_file(File::open(path).map_err(open_error)?)
    }

    /// Reads the capture in an open file.
    ///
    /// A regular file is read from its first byte to the end it has now; bytes appended later are
    /// ignored. If another process truncates it meanwhile, reading ends with a `Truncated` error.
    /// Everything else (a pipe, a device) is read as a stream.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_file(file: File) -> Result<Self, ReadError> {
        Self::from_file_through(file, BUFFER_BYTES)
    }

    /// As [`Self::from_file`]; a regular file is read through a buffer of `buffer_bytes`.
    pub(crate) fn from_file_through(file: File, buffer_bytes: usize) -> Result<Self, ReadError> {
        let metadata = file.metadata().map_err(open_error)?;
        // Files of procfs have no length.
        Self::from_input(if metadata.is_file() && metadata.len() > 0 {
            Input::file(RegularFile::new(file, metadata.len()), buffer_bytes)
        } else {
            Input::stream(Box::new(file))
        })
    }

    /// Closes the file if all of it is in the buffer, as for files of up to 256 KiB after opening.
    ///
    /// Saves descriptors when many files are merged. The reader then has no
    /// [`part_scanner`](Self::part_scanner).
    pub fn close_if_buffered(&mut self) {
        self.input.close_if_buffered();
    }

    /// Reads the capture that arrives on `stream` (a pipe, a socket, standard input).
    ///
    /// Reads what is available and waits only for the next packet. The buffer has 256 KiB and grows
    /// only for a longer block. The stream must be blocking: `WouldBlock` ends the reading like any
    /// other error.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_stream(stream: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Self::from_input(Input::stream(Box::new(stream)))
    }

    /// Reads the capture in `bytes`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::from_input(Input::memory(bytes))
    }

    /// Continues a capture in memory, all of which has been read, with `blocks` that follow it.
    pub(crate) fn continue_with(&mut self, blocks: &[u8]) {
        self.input.continue_memory(blocks);
        if self.end == Some(ReadEnd::Complete) {
            self.end = None;
        }
    }

    fn from_input(input: Input) -> Result<Self, ReadError> {
        let (mut input, compression) = input.decompressed(Location::INPUT)?;
        let available = input.fill_for(MAGIC_BYTES, Location::INPUT)?;
        let mut decoded = Decoded::empty();
        let decoder = if let Some(pcapng) = Pcapng::open(&mut input, &mut decoded)? {
            Decoder::Pcapng(pcapng)
        } else if let Some(pcap) = Pcap::open(&mut input, &mut decoded)? {
            Decoder::Pcap(pcap)
        } else {
            let reason = match available {
                0 => "the input is empty",
                1..MAGIC_BYTES => "the input is shorter than a magic number",
                _ => "the first four bytes match no known format (pcap, pcapng, gzip, zstd)",
            };
            return Err(Location::INPUT.error(ErrorKind::NotACapture, reason));
        };
        Ok(Self {
            input,
            compression,
            decoder,
            decoded,
            end: None,
        })
    }

    /// Lends the next packet, interface or statistics. Returns `None` at the end.
    ///
    /// An interface is lent before its first packet. A packet is lent from the read buffer, without
    /// a copy or an allocation.
    ///
    /// # Errors
    /// [`ReadError`], once, where the capture cannot be read further. Later calls return `None`.
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        Ok(match self.advance()? {
            Event::Packet => Some(Item::Packet(self.last_packet())),
            Event::Interface(index) => self.interface(index),
            Event::Statistics => Some(Item::Statistics {
                statistics: self.statistics(),
                options: self.last_options(),
            }),
            Event::Section => Some(Item::Section(self.header())),
            Event::Block => Some(Item::Block(self.last_block())),
            Event::End => None,
        })
    }

    /// Lends the next packet and passes over everything else; `None` at the end.
    ///
    /// # Errors
    /// As [`Self::next_item`].
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        loop {
            match self.advance()? {
                Event::Packet => return Ok(Some(self.last_packet())),
                Event::Interface(_) | Event::Statistics | Event::Section | Event::Block => {}
                Event::End => return Ok(None),
            }
        }
    }

    /// Lends the packet that [`Self::next_item`] or [`Self::next_packet`] returned last, again.
    #[inline]
    pub fn last_packet(&self) -> Packet<'_> {
        self.decoded.packet.lend(&self.input)
    }

    /// Whole seconds that the fraction of the last packet's time has in a pcap file, where it should be less than one. The
    /// time of the packet includes them.
    #[inline]
    pub fn carried_seconds(&self) -> u32 {
        self.decoded.carried_s
    }

    /// The interfaces read so far, of all sections.
    pub fn interfaces(&self) -> &[Interface] {
        &self.decoded.interfaces
    }

    /// The interfaces read so far in the current section.
    pub fn section_interfaces(&self) -> &[Interface] {
        self.decoded
            .interfaces
            .get(self.decoded.header.first_interface as usize..)
            .unwrap_or_default()
    }

    /// The header of the file or of the current section.
    pub fn header(&self) -> &Header {
        &self.decoded.header
    }

    /// The compression of the file.
    pub fn compression(&self) -> DetectedCompression {
        self.compression
    }

    /// How reading ended, or `None` before the end.
    pub fn end(&self) -> Option<ReadEnd> {
        self.end
    }

    /// Whether the next item is not completely there yet: reading it waits, unless more has arrived on the stream meanwhile.
    /// `false` for files, and for compressed streams, of which this is not known.
    #[inline]
    pub fn must_wait(&self) -> bool {
        self.end.is_none() && self.input.is_live() && {
            let window = self.input.window();
            window.len() < self.decoder.next_bytes(window)
        }
    }

    /// Bytes of the (uncompressed) capture read so far.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Whether [`Self::advance`] returns nothing more.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Decodes the next item without lending it. Returns `End` again after the end or an error.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Event, ReadError> {
        if self.end.is_some() {
            return Ok(Event::End);
        }
        let event = self.decoder.advance(&mut self.input, &mut self.decoded);
        match &event {
            Ok(Event::End) => self.end = Some(ReadEnd::Complete),
            Err(error) => self.end = Some(ReadEnd::Failed(error.kind)),
            Ok(_) => {}
        }
        event
    }

    /// The statistics decoded last.
    pub(super) fn statistics(&self) -> &Statistics {
        &self.decoded.statistics
    }

    /// The block decoded last that is no packet.
    pub(super) fn last_block(&self) -> Block<'_> {
        let LocatedBlock { kind, index, bytes } = self.decoded.block;
        Block {
            kind,
            order: self.decoded.header.byte_order,
            body: self.input.slice(index, bytes),
        }
    }

    /// The options of the interface or statistics decoded last.
    pub(super) fn last_options(&self) -> Options<'_> {
        let block = self.last_block();
        Options::parse(block.body, block.order)
    }

    fn interface(&self, index: u32) -> Option<Item<'_>> {
        let interface = self.decoded.interfaces.get(index as usize)?;
        Some(Item::Interface {
            index,
            interface,
            options: self.last_options(),
        })
    }
}

fn open_error(error: io::Error) -> ReadError {
    ReadError {
        source: Some(error),
        ..Location::INPUT.error(ErrorKind::Io, "the file cannot be opened")
    }
}
