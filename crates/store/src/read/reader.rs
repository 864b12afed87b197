//! The reader of one capture, whatever its format.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use abi::file::Mapping;

use super::compressed::{self, Compression};
use super::error::{ErrorKind, Place, ReadError};
use super::event::{Event, Reached};
use super::order::ByteOrder;
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::source::Source;
use crate::model::{Interface, Packet, Section, Statistics};

/// The format of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A file header and records.
    Pcap,
    /// Sections of blocks.
    Pcapng,
}

/// What the beginning of a file, or of a pcapng section, says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The file's format.
    pub format: Format,
    /// Byte order of its numbers; in pcapng each section has its own.
    pub byte_order: ByteOrder,
    /// Major and minor version of the format.
    pub version: (u16, u16),
    /// Place in [`Reader::interfaces`] where the interfaces of the section begin.
    pub first_interface: u32,
    /// Who wrote it; empty for pcap.
    pub section: Section,
}

impl Header {
    pub(super) const UNREAD: Self = Self {
        format: Format::Pcap,
        byte_order: ByteOrder::Little,
        version: (0, 0),
        first_interface: 0,
        section: Section {
            hardware: None,
            os: None,
            application: None,
            comment: None,
        },
    };
}

/// How a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Where a record or block ends.
    Complete,
    /// By an error of this kind, which was returned once.
    Failed(ErrorKind),
}

const MAGIC_BYTES: usize = 4;

/// One thing out of a capture, borrowed from its reader.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// An interface; the packets that follow may refer to it by `index`.
    Interface {
        /// Its place in the list of interfaces.
        index: u32,
        /// What is said of it.
        interface: &'a Interface,
    },
    /// Counters of an interface.
    Statistics(&'a Statistics),
}

/// Reads a capture from its beginning to its end.
///
/// It is read once and forwards. Interfaces are numbered through the whole file: those of a second
/// pcapng section continue the numbers of the first, in packets and statistics too. A pcap file has
/// one interface, number 0. `Send`.
pub struct Reader {
    pub(super) source: Source,
    compression: Compression,
    pub(super) format: State,
    reached: Reached,
    end: Option<End>,
}

/// What a reader knows of the capture beside its bytes.
#[derive(Clone)]
pub(super) enum State {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl State {
    /// Reads from `source` into `reached` until there is something of interest.
    #[inline]
    pub(super) fn advance(
        &mut self,
        source: &mut Source,
        reached: &mut Reached,
    ) -> Result<Event, ReadError> {
        match self {
            Self::Pcap(pcap) => pcap.advance(source, reached),
            Self::Pcapng(pcapng) => pcapng.advance(source, reached),
        }
    }

    /// How many blocks or records have been read.
    pub(super) fn blocks(&mut self) -> &mut u64 {
        match self {
            Self::Pcap(pcap) => &mut pcap.records,
            Self::Pcapng(pcapng) => &mut pcapng.blocks,
        }
    }
}

impl Reader {
    /// Opens the capture in the file at `path`.
    ///
    /// A regular file is mapped: its packets are borrowed from the page cache. If it may be
    /// shortened or overwritten while it is read (see [`Mapping`]), use [`Self::from_stream`] on
    /// the opened file instead; growing is harmless. Everything else is read as a stream.
    ///
    /// # Errors
    /// `Io` where the file cannot be opened, `NotACapture` where it is none; otherwise as
    /// [`Self::next_item`] for what is in the way of the first block.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let source = (|| {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_file() && metadata.len() > 0 {
                Ok(Source::mapped(Arc::new(Mapping::new(&file)?)))
            } else {
                Ok(Source::stream(Box::new(file)))
            }
        })();
        let source = source.map_err(|error| ReadError {
            source: Some(error),
            ..Place::INPUT.error(ErrorKind::Io, "the file cannot be opened")
        })?;
        Self::from_source(source)
    }

    /// Reads the capture that arrives on `stream` (a pipe, a socket, standard input).
    ///
    /// Reads as much as there is and waits for no more than the packet that is asked for. The
    /// buffer has 256 KiB and grows only for a longer block. The stream must block: an answer
    /// `WouldBlock` ends the reading like any other error.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_stream(stream: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Self::from_source(Source::stream(Box::new(stream)))
    }

    /// Reads the capture that `bytes` are.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::from_source(Source::memory(bytes))
    }

    fn from_source(source: Source) -> Result<Self, ReadError> {
        let (mut source, compression) = compressed::unwrap(source, Place::INPUT)?;
        let available = source.fill_for(MAGIC_BYTES, Place::INPUT)?;
        let mut reached = Reached::nothing();
        let format = if let Some(pcapng) = Pcapng::open(&mut source, &mut reached)? {
            State::Pcapng(pcapng)
        } else if let Some(pcap) = Pcap::open(&mut source, &mut reached)? {
            State::Pcap(pcap)
        } else {
            let reason = match available {
                0 => "the input is empty",
                1..MAGIC_BYTES => "the input is shorter than a magic number",
                _ => "the first four bytes are of no known format",
            };
            return Err(Place::INPUT.error(ErrorKind::NotACapture, reason));
        };
        Ok(Self {
            source,
            compression,
            format,
            reached,
            end: None,
        })
    }

    /// Lends the next packet, interface or statistics; `None` at the end.
    ///
    /// An interface is lent before its first packet. Nothing is copied and, for a packet, nothing
    /// allocated. A mapped file is read without system calls.
    ///
    /// # Errors
    /// [`ReadError`], once, at the place where the capture cannot be read further: everything
    /// before has been lent. From then on the answer is `None`.
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        Ok(match self.advance()? {
            Event::Packet => Some(Item::Packet(self.packet())),
            Event::Interface(index) => self.interface(index),
            Event::Statistics => Some(Item::Statistics(self.statistics())),
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
                Event::Packet => return Ok(Some(self.packet())),
                Event::Interface(_) | Event::Statistics => {}
                Event::End => return Ok(None),
            }
        }
    }

    /// The interfaces seen so far, those of all sections in one list.
    pub fn interfaces(&self) -> &[Interface] {
        &self.reached.interfaces
    }

    /// The interfaces seen so far of the section that is being read.
    pub fn section_interfaces(&self) -> &[Interface] {
        self.reached
            .interfaces
            .get(self.reached.header.first_interface as usize..)
            .unwrap_or_default()
    }

    /// What the file, or the section that is being read, says at its beginning.
    pub fn header(&self) -> &Header {
        &self.reached.header
    }

    /// How the file is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// How the capture ended; `None` while there may be more.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Bytes of the (uncompressed) capture that have been read.
    pub fn offset(&self) -> u64 {
        self.source.offset()
    }

    /// Finds the next thing without lending it; `End` for ever once the end or an error is met.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Event, ReadError> {
        if self.end.is_some() {
            return Ok(Event::End);
        }
        let event = self.format.advance(&mut self.source, &mut self.reached);
        match &event {
            Ok(Event::End) => self.end = Some(End::Complete),
            Err(error) => self.end = Some(End::Failed(error.kind)),
            Ok(_) => {}
        }
        event
    }

    /// Lends the packet found last.
    #[inline]
    pub(super) fn packet(&self) -> Packet<'_> {
        self.reached.found.lend(&self.source)
    }

    /// The statistics read last.
    pub(super) fn statistics(&self) -> &Statistics {
        &self.reached.statistics
    }

    fn interface(&self, index: u32) -> Option<Item<'_>> {
        let interface = self.reached.interfaces.get(index as usize)?;
        Some(Item::Interface { index, interface })
    }
}
