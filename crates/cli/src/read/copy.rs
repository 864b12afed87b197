//! Packets into a capture file of their own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use store::model::{Interface, LinkType, Packet, Section, Statistics};
use store::write::{CaptureFile, Format, WriteError};

use super::input::Input;
use crate::args::OutputArgs;
use crate::failure::{Failure, is_closed_output};
use crate::output::{self, Written};

/// The file that is written, or the row of files.
///
/// It is made with the first packet, whose time names it, or at the end.
/// Of each interface the statistics read last are written at its end.
pub struct FileCopy<'a> {
    plan: Plan<'a>,
    file: Option<CaptureFile>,
    statistics: BTreeMap<u32, Statistics>,
}

/// What the file is made of.
struct Plan<'a> {
    args: &'a OutputArgs,
    path: PathBuf,
    section: Section,
    interfaces: Vec<Interface>,
    /// The only link type of a pcap file that is made.
    only: Option<LinkType>,
}

impl<'a> FileCopy<'a> {
    pub fn new(args: &'a OutputArgs, path: PathBuf, inputs: &[Input]) -> Self {
        Self {
            plan: Plan {
                args,
                path,
                section: section(inputs),
                interfaces: Vec::new(),
                only: None,
            },
            file: None,
            statistics: BTreeMap::new(),
        }
    }

    /// Packets name it by the number of interfaces added before.
    pub fn add_interface(&mut self, interface: Interface) -> Result<(), Failure> {
        if let (Some(file), None) = (&mut self.file, self.plan.only) {
            file.add_interface(interface.clone())
                .map_err(|error| failure(&error))?;
        }
        self.plan.interfaces.push(interface);
        Ok(())
    }

    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.plan.make(Some(packet))?),
        };
        let Some(link_type) = self.plan.only else {
            return file.write(packet).map_err(|error| failure(&error));
        };
        let found = self.plan.interfaces[packet.interface as usize].link_type;
        if found != link_type {
            return Err(several_link_types(link_type, found));
        }
        let packet = Packet {
            interface: 0,
            ..*packet
        };
        file.write(&packet).map_err(|error| failure(&error))
    }

    /// Whether packets may come as blocks: the file is made, and numbers its interfaces as its only
    /// input does.
    pub fn takes_blocks(&self) -> bool {
        self.file.as_ref().is_some_and(CaptureFile::takes_blocks)
    }

    pub fn blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), Failure> {
        match &mut self.file {
            Some(file) => file
                .write_blocks(blocks, packets)
                .map_err(|error| failure(&error)),
            None => Ok(()),
        }
    }

    pub fn statistics(&mut self, statistics: &Statistics) {
        self.statistics
            .insert(statistics.interface, statistics.clone());
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.file {
            Some(file) => file.flush().map_err(|error| failure(&error)),
            None => Ok(()),
        }
    }

    /// Ends the file. One without packets is made only if nothing has `failed`.
    pub fn finish(&mut self, failed: bool) -> Result<(), Failure> {
        let file = match &mut self.file {
            None if failed => return Ok(()),
            Some(file) => file,
            none => none.insert(self.plan.make(None)?),
        };
        let statistics: Vec<_> = self.statistics.values().cloned().collect();
        file.close(&statistics).map_err(|error| failure(&error))
    }

    pub fn written(&self) -> Written {
        self.file.as_ref().map(Written::from).unwrap_or_default()
    }

    /// Packets that were taken and are not written.
    pub fn lost(&self, taken: u64) -> u64 {
        taken - self.file.as_ref().map_or(0, CaptureFile::packets_written)
    }
}

impl Plan<'_> {
    /// Makes the file; `first` is the packet it begins with.
    #[cold]
    fn make(&mut self, first: Option<&Packet<'_>>) -> Result<CaptureFile, Failure> {
        let interfaces = if output::format(self.args, &self.path) == Format::Pcapng {
            self.interfaces.clone()
        } else {
            let number = first.map_or(0, |packet| packet.interface as usize);
            let link_type = self.interfaces.get(number).map(|one| one.link_type);
            let link_type = link_type.unwrap_or(LinkType::ETHERNET);
            self.only = Some(link_type);
            vec![only_interface(&self.interfaces, link_type)]
        };
        let section = self.section.clone();
        let mut options = output::options(self.args, &self.path, section, interfaces)?;
        options.cut_to_snaplen = false;
        let time_ns = first.and_then(|packet| packet.timestamp_ns).unwrap_or(0);
        CaptureFile::create(options, time_ns).map_err(|error| failure(&error))
    }
}

/// The interface that stands for all of `link_type`, in a file that can describe but one.
fn only_interface(interfaces: &[Interface], link_type: LinkType) -> Interface {
    let snaplens = interfaces
        .iter()
        .filter(|interface| interface.link_type == link_type)
        .map(|interface| interface.snaplen);
    // 0 means no limit.
    let snaplen = snaplens.max_by_key(|snaplen| snaplen.wrapping_sub(1));
    Interface::new(link_type, snaplen.unwrap_or(0))
}

/// What the inputs say of their capture, as far as all say the same. Comments of one file are kept.
fn section(inputs: &[Input]) -> Section {
    let mut sections = inputs.iter().map(|input| &input.reader.header().section);
    let Some(first) = sections.next() else {
        return Section::default();
    };
    let mut common = first.clone();
    for section in sections {
        common.os = common.os.filter(|_| first.os == section.os);
        common.hardware = common
            .hardware
            .filter(|_| first.hardware == section.hardware);
        common.comment = None;
    }
    common
}

#[cold]
fn failure(error: &WriteError) -> Failure {
    if is_closed_output(error) {
        return Failure::closed();
    }
    let mut failure = Failure::job(error);
    if let WriteError::TimeOutOfRange { .. } = error {
        failure.line.push_str(" (use --format pcapng)");
    }
    failure
}

#[cold]
fn several_link_types(file: LinkType, packet: LinkType) -> Failure {
    let error = WriteError::LinkTypeDiffers {
        file,
        interface: packet,
    };
    let mut failure = Failure::job(&error);
    failure
        .line
        .push_str(" (use --format pcapng, or choose interfaces with -i)");
    failure
}
