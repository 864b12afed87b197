//! Writes packets to a capture file.

use std::num::NonZeroU64;

use store::block::{Block, Options};
use store::model::{Interface, LinkType, Packet, Section, Statistics};
use store::read::Header;
use store::write::{CaptureFile, CaptureFileOptions, Format, Preface, WriteError};

use super::delivery::Destination;
use super::error::ReadError;
use super::left_out::LeftOut;
use super::summary::WrittenFiles;

/// Bytes of blocks before the first packet for which the file waits: that packet's time names it and begins its interval. More than
/// the names and secrets that every file repeats.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// The output file, or files, of a read job.
///
/// The file is created with the first packet, whose time names it, or at the end. A pcapng file keeps all
/// blocks and options of the inputs in their order. What a pcap file cannot hold is counted.
pub(super) struct FileCopy {
    state: State,
    /// The interfaces of the current section.
    interfaces: Vec<Interface>,
    /// Number of interfaces in earlier sections.
    first_interface: u32,
    /// The name of the program, for the headers of sections.
    application: Option<String>,
    /// Where packets go, if not to pcapng.
    is_pcap: bool,
    has_nanoseconds: bool,
    /// The link type of a pcap file, which has only one.
    link_type: Option<LinkType>,
    left_out: LeftOut,
    /// Whether the intervals of the rotation begin with the first packet.
    splits_from_first: bool,
}

enum State {
    /// Not created. `None` after a failure.
    Planned(Option<Box<CaptureFileOptions>>),
    Open(Box<CaptureFile>),
}

impl FileCopy {
    /// A copy to the output in `options`, with the header `section` of the inputs, and all of its options if there is
    /// one input.
    pub(super) fn new(
        mut options: CaptureFileOptions,
        section: Section,
        all: Options<'_>,
        split_ns: Option<NonZeroU64>,
    ) -> Self {
        let splits_from_first = split_ns.is_some();
        if splits_from_first {
            options.rotation.interval_ns = split_ns;
        }
        options.section = Section {
            application: options.section.application,
            ..section
        };
        options.cut_to_snaplen = false;
        options.preface = Some(Preface::new(&options.section, all));
        let is_pcap = options.format != Format::Pcapng;
        let has_nanoseconds = options.format != Format::PcapMicros;
        let mut left_out = LeftOut::default();
        if is_pcap {
            left_out.add_section(&options.section, all);
        }
        Self {
            application: options.section.application.clone(),
            state: State::Planned(Some(Box::new(options))),
            interfaces: Vec::new(),
            first_interface: 0,
            is_pcap,
            has_nanoseconds,
            link_type: None,
            left_out,
            splits_from_first,
        }
    }
}

/// A destination that is closed in the end, and says what was written.
pub(super) trait CopyDestination: Destination {
    /// Closes the file. One without packets is created only if the job has not `failed`.
    fn close(&mut self, failed: bool) -> Result<(), ReadError>;
    fn written(&self) -> WrittenFiles;
}

impl CopyDestination for FileCopy {
    fn close(&mut self, failed: bool) -> Result<(), ReadError> {
        if let State::Planned(options) = &self.state
            && (failed || options.is_none())
        {
            return Ok(());
        }
        let file = self.file(None)?;
        Ok(file.close(&[])?)
    }

    fn written(&self) -> WrittenFiles {
        match &self.state {
            State::Planned(_) => WrittenFiles::default(),
            State::Open(file) => WrittenFiles {
                packets: file.packets_written(),
                bytes: file.bytes_written(),
                paths: file.files().map(|file| file.path.clone()).collect(),
                left_out: self.left_out,
                overflow_packets: 0,
            },
        }
    }
}

impl FileCopy {
    /// Adds what is no packet: to the open file, or to the beginning of the planned one.
    fn describe(
        &mut self,
        to_file: impl FnOnce(&mut CaptureFile) -> Result<(), WriteError>,
        to_plan: impl FnOnce(&mut Preface),
    ) -> Result<(), ReadError> {
        match &mut self.state {
            State::Open(file) => to_file(file)?,
            State::Planned(Some(options)) => {
                if let Some(preface) = &mut options.preface {
                    to_plan(preface);
                    if preface.bytes() > WAITING_BYTES_MAX {
                        self.file(None)?;
                    }
                }
            }
            State::Planned(None) => {}
        }
        Ok(())
    }

    /// The file, created if needed. `first` is its first packet.
    fn file(&mut self, first: Option<&Packet<'_>>) -> Result<&mut CaptureFile, WriteError> {
        if let State::Planned(options) = &mut self.state {
            let options = options.take().ok_or(WriteError::Closed)?;
            self.state = State::Open(Box::new(self.create(*options, first)?));
        }
        match &mut self.state {
            State::Open(file) => Ok(file),
            State::Planned(_) => Err(WriteError::Closed),
        }
    }

    #[cold]
    fn create(
        &mut self,
        mut options: CaptureFileOptions,
        first: Option<&Packet<'_>>,
    ) -> Result<CaptureFile, WriteError> {
        if self.is_pcap {
            let number = first.map_or(0, |packet| packet.interface as usize);
            let interface = self.interfaces.get(number);
            let link_type = interface.map_or(LinkType::ETHERNET, |interface| interface.link_type);
            self.link_type = Some(link_type);
            options.interfaces = vec![merged_interface(&self.interfaces, link_type)];
            options.preface = None;
        }
        let time_ns = first.and_then(|packet| packet.timestamp_ns).unwrap_or(0);
        if self.splits_from_first {
            options.rotation.interval_offset_ns = time_ns;
        }
        CaptureFile::create(options, time_ns)
    }
}

impl Destination for FileCopy {
    fn add_interface(
        &mut self,
        interface: Interface,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        self.interfaces.push(interface.clone());
        if self.is_pcap {
            self.left_out.add_interface(options);
            return Ok(());
        }
        let copy = interface.clone();
        self.describe(
            |file| file.copy_interface(interface, options).map(|_| ()),
            |preface| preface.add_interface(copy, options),
        )
    }

    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ReadError> {
        if let State::Planned(_) = self.state {
            self.file(Some(packet))?;
        }
        let State::Open(file) = &mut self.state else {
            return Err(WriteError::Closed.into());
        };
        if self.link_type.is_none() && self.first_interface == 0 {
            return Ok(file.write(packet)?);
        }
        let interface = packet.interface - self.first_interface;
        if let Some(link_type) = self.link_type {
            let found = self.interfaces[packet.interface as usize].link_type;
            if found != link_type {
                return Err(ReadError::Write(WriteError::LinkTypeDiffers {
                    file: link_type,
                    interface: found,
                }));
            }
            self.left_out.add_packet(packet, self.has_nanoseconds);
        }
        let packet = Packet {
            interface: self.link_type.map_or(interface, |_| 0),
            ..*packet
        };
        Ok(file.write(&packet)?)
    }

    fn statistics(
        &mut self,
        statistics: &Statistics,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        if self.is_pcap {
            self.left_out.statistics += 1;
            return Ok(());
        }
        let statistics = Statistics {
            interface: statistics.interface - self.first_interface,
            ..statistics.clone()
        };
        self.describe(
            |file| file.copy_statistics(&statistics, options),
            |preface| preface.add_statistics(&statistics, options),
        )
    }

    fn section(&mut self, header: &Header) -> Result<(), ReadError> {
        let options = Options {
            bytes: &header.options,
            order: header.byte_order,
        };
        if self.is_pcap {
            self.left_out.add_section(&header.section, options);
            return Ok(());
        }
        let section = Section {
            application: self.application.clone(),
            ..header.section.clone()
        };
        self.first_interface += self.interfaces.len() as u32;
        self.interfaces.clear();
        let preface = Preface::new(&section, options);
        Ok(self.file(None)?.begin_section(preface)?)
    }

    fn block(&mut self, block: &Block<'_>) -> Result<(), ReadError> {
        if self.is_pcap {
            self.left_out.add_block(block.kind);
            return Ok(());
        }
        self.left_out.kept_foreign += u64::from(!block.is_convertible());
        self.describe(
            |file| file.copy_block(block),
            |preface| preface.add_block(block),
        )
    }

    fn accepts_blocks(&self) -> bool {
        match &self.state {
            State::Open(file) => file.takes_blocks(),
            State::Planned(_) => false,
        }
    }

    fn blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), ReadError> {
        match &mut self.state {
            State::Open(file) => Ok(file.write_blocks(blocks, packets)?),
            State::Planned(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        match &mut self.state {
            State::Open(file) => Ok(file.flush()?),
            State::Planned(_) => Ok(()),
        }
    }
}

/// The interface of a pcap file with packets of all interfaces of `link_type`.
fn merged_interface(interfaces: &[Interface], link_type: LinkType) -> Interface {
    let snaplens = interfaces
        .iter()
        .filter(|interface| interface.link_type == link_type)
        .map(|interface| interface.snaplen);
    // 0 means no limit.
    let snaplen = snaplens.max_by_key(|snaplen| snaplen.wrapping_sub(1));
    Interface::new(link_type, snaplen.unwrap_or(0))
}
