//! Writes packets to a capture file.

use std::collections::BTreeMap;

use store::model::{Interface, LinkType, Packet, Section, Statistics};
use store::write::{CaptureFile, CaptureFileOptions, Format, WriteError};

use super::delivery::Destination;
use super::error::ReadError;
use super::summary::WrittenFiles;

/// The output file, or files, of a read job.
///
/// The file is created with the first packet, whose time names it, or at the end. It ends with the
/// last statistics of each interface.
pub(super) struct FileCopy {
    state: State,
    interfaces: Vec<Interface>,
    /// The link type of a pcap file, which has only one.
    link_type: Option<LinkType>,
    statistics: BTreeMap<u32, Statistics>,
}

enum State {
    /// Not created. `None` after a failure.
    Planned(Option<Box<CaptureFileOptions>>),
    Open(Box<CaptureFile>),
}

impl FileCopy {
    /// A copy to the output in `options`, with the header `section` of the inputs.
    pub(super) fn new(mut options: CaptureFileOptions, section: Section) -> Self {
        options.section = Section {
            application: options.section.application,
            ..section
        };
        options.cut_to_snaplen = false;
        Self {
            state: State::Planned(Some(Box::new(options))),
            interfaces: Vec::new(),
            link_type: None,
            statistics: BTreeMap::new(),
        }
    }

    /// Closes the file. One without packets is created only if the job has not `failed`.
    pub(super) fn close(&mut self, failed: bool) -> Result<(), ReadError> {
        if let State::Planned(options) = &self.state
            && (failed || options.is_none())
        {
            return Ok(());
        }
        let statistics: Vec<_> = self.statistics.values().cloned().collect();
        let file = self.file(None)?;
        Ok(file.close(&statistics)?)
    }

    pub(super) fn written(&self) -> WrittenFiles {
        match &self.state {
            State::Planned(_) => WrittenFiles::default(),
            State::Open(file) => WrittenFiles {
                packets: file.packets_written(),
                bytes: file.bytes_written(),
                paths: file.files().map(|file| file.path.clone()).collect(),
            },
        }
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
        options.interfaces = if options.format == Format::Pcapng {
            self.interfaces.clone()
        } else {
            let number = first.map_or(0, |packet| packet.interface as usize);
            let interface = self.interfaces.get(number);
            let link_type = interface.map_or(LinkType::ETHERNET, |interface| interface.link_type);
            self.link_type = Some(link_type);
            vec![merged_interface(&self.interfaces, link_type)]
        };
        let time_ns = first.and_then(|packet| packet.timestamp_ns).unwrap_or(0);
        CaptureFile::create(options, time_ns)
    }
}

impl Destination for FileCopy {
    fn add_interface(&mut self, interface: Interface) -> Result<(), ReadError> {
        if let (State::Open(file), None) = (&mut self.state, self.link_type) {
            file.add_interface(interface.clone())?;
        }
        self.interfaces.push(interface);
        Ok(())
    }

    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ReadError> {
        if let State::Planned(_) = self.state {
            self.file(Some(packet))?;
        }
        let State::Open(file) = &mut self.state else {
            return Err(WriteError::Closed.into());
        };
        let Some(link_type) = self.link_type else {
            return Ok(file.write(packet)?);
        };
        let found = self.interfaces[packet.interface as usize].link_type;
        if found != link_type {
            return Err(ReadError::Write(WriteError::LinkTypeDiffers {
                file: link_type,
                interface: found,
            }));
        }
        let packet = Packet {
            interface: 0,
            ..*packet
        };
        Ok(file.write(&packet)?)
    }

    fn statistics(&mut self, statistics: &Statistics) {
        self.statistics
            .insert(statistics.interface, statistics.clone());
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
