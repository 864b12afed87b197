//! Writes the packets of each flow to a file of its own.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use store::block::{Block, Options, kind};
use store::model::{Interface, LinkType, Packet, Section, Statistics};
use store::output::OpenOutput;
use store::read::Header;
use store::write::{
    CaptureFile, CaptureFileOptions, Compression, Format, Output, Preface, WriteError,
};
use wire::dissect;
use wire::protocol::ip;

use super::copy::CopyDestination;
use super::delivery::Destination;
use super::error::ReadError;
use super::left_out::LeftOut;
use super::summary::WrittenFiles;

/// Files that are open at the same time.
const OPEN_MAX: usize = 512;

/// Bytes of headers, names and secrets that open files keep in memory. With longer ones, fewer files are open.
const OPEN_BYTES_MAX: usize = 128 << 20;

/// Bytes of headers, names and secrets that are repeated in other files before there is a limit.
const REPEATED_FREE: u64 = 256 << 20;

/// Then, for each byte of packets. Otherwise a small capture with long headers would fill a disk.
const REPEATED_PER_BYTE: u64 = 16;

/// Buffer of an open file.
const BUFFER_BYTES: usize = 16 << 10;

/// The number of the file for everything that belongs to no flow.
const OTHER: usize = 0;

/// Both directions between two hosts, or two of their ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Flow {
    protocol: u8,
    ends: [(IpAddr, Option<u16>); 2],
}

impl Flow {
    /// The flow of a packet, if it has one, with the source of the packet first.
    fn of(link_type: LinkType, packet: &[u8]) -> Option<Self> {
        let summary = dissect(link_type.0, packet);
        let protocol = summary.protocol?;
        let (source, destination) = summary.addresses()?;
        // Only the first fragment has ports.
        let ports = summary.ports().filter(|_| summary.fragment.is_none());
        let (from, to) = ports.unzip();
        Some(Self {
            protocol,
            ends: [(source, from), (destination, to)],
        })
    }

    /// The same for both directions.
    fn key(self) -> Self {
        let [one, two] = self.ends;
        Self {
            ends: [one.min(two), one.max(two)],
            ..self
        }
    }

    /// `tcp_192.0.2.1_443_192.0.2.2_50000`, without colons, which not every file system can have in names.
    fn name(self) -> String {
        let protocol = match self.protocol {
            ip::TCP => "tcp".to_owned(),
            ip::UDP => "udp".to_owned(),
            ip::ICMPV4 | ip::ICMPV6 => "icmp".to_owned(),
            other => format!("ip{other}"),
        };
        let end = |(address, port): (IpAddr, Option<u16>)| {
            let address = address.to_string().replace(':', "-");
            port.map_or_else(|| address.clone(), |port| format!("{address}_{port}"))
        };
        let [from, to] = self.ends.map(end);
        format!("{protocol}_{from}_{to}")
    }
}

/// The file of a flow.
struct FlowFile {
    path: PathBuf,
    /// Whether it has a beginning: then it is opened again.
    is_created: bool,
}

/// The files of a read job, one a flow. A file that is opened again gets another section.
///
/// Packets go to the file for what belongs to no flow if there are too many files already, or if so much would be repeated.
pub(super) struct FlowCopy {
    /// `dir/stem.pcapng`.
    path: PathBuf,
    compression: Compression,
    application: Option<String>,
    preface: Preface,
    interfaces: Vec<Interface>,
    /// Number of interfaces in earlier sections.
    first_interface: u32,
    flows: HashMap<Flow, usize>,
    flows_max: usize,
    /// By number; 0 is that of no flow.
    files: Vec<FlowFile>,
    /// The open ones, with the count of packets at their last one.
    open: HashMap<usize, (CaptureFile, u64)>,
    packets_seen: u64,
    packet_bytes: u64,
    repeated_bytes: u64,
    overflow_packets: u64,
    left_out: LeftOut,
    packets: u64,
    bytes: u64,
}

impl FlowCopy {
    /// Files named like the output in `options` for at most `flows_max` flows, with the header `section` of the inputs, and
    /// all of its options if there is one input.
    ///
    /// # Errors
    /// [`WriteError::CannotRotate`] if the output is no path; [`WriteError::NeedsPcapng`] for other formats.
    pub(super) fn new(
        options: CaptureFileOptions,
        section: Section,
        all: Options<'_>,
        flows_max: NonZeroUsize,
    ) -> Result<Self, WriteError> {
        let Output::Path(path) = options.output else {
            return Err(WriteError::CannotRotate);
        };
        if options.format != Format::Pcapng {
            return Err(WriteError::NeedsPcapng);
        }
        let section = Section {
            application: options.section.application,
            ..section
        };
        let mut copy = Self {
            path,
            compression: options.compression,
            application: section.application.clone(),
            preface: Preface::new(&section, all),
            interfaces: Vec::new(),
            first_interface: 0,
            flows: HashMap::new(),
            flows_max: flows_max.get(),
            files: Vec::new(),
            open: HashMap::new(),
            packets_seen: 0,
            packet_bytes: 0,
            repeated_bytes: 0,
            overflow_packets: 0,
            left_out: LeftOut::default(),
            packets: 0,
            bytes: 0,
        };
        copy.begin("other");
        Ok(copy)
    }

    /// Chooses the name of the next file. Returns its number.
    fn begin(&mut self, name: &str) -> usize {
        let number = self.files.len();
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (stem, suffix) = match file.find(".pcapng").filter(|at| *at > 0) {
            Some(at) => file.split_at(at),
            None => (&*file, ""),
        };
        let path = self
            .path
            .with_file_name(format!("{stem}_{number:05}_{name}{suffix}"));
        self.files.push(FlowFile {
            path,
            is_created: false,
        });
        number
    }

    /// The number of a packet's file.
    fn number(&mut self, packet: &Packet<'_>) -> usize {
        let place = (packet.interface - self.first_interface) as usize;
        let interface = self.interfaces.get(place);
        let flow = interface.and_then(|interface| Flow::of(interface.link_type, packet.bytes));
        let Some(flow) = flow else {
            return OTHER;
        };
        let key = flow.key();
        let known = self.flows.get(&key).copied();
        let is_open = known.is_some_and(|number| self.open.contains_key(&number));
        let is_full = known.is_none() && self.flows.len() >= self.flows_max;
        if is_full || !is_open && !self.may_repeat(self.preface.bytes()) {
            self.overflow_packets += 1;
            return OTHER;
        }
        known.unwrap_or_else(|| {
            let number = self.begin(&flow.name());
            self.flows.insert(key, number);
            number
        })
    }

    /// Whether `bytes` more may be repeated; they count then.
    fn may_repeat(&mut self, bytes: usize) -> bool {
        let repeated = self.repeated_bytes.saturating_add(bytes as u64);
        let most = REPEATED_FREE.saturating_add(REPEATED_PER_BYTE * self.packet_bytes);
        let may = repeated <= most;
        if may {
            self.repeated_bytes = repeated;
        }
        may
    }

    /// Files that may be open if each begins with `bytes`: it keeps them, and has a buffer for them.
    fn open_max(bytes: usize) -> usize {
        (OPEN_BYTES_MAX / 2 / bytes.max(1)).clamp(2, OPEN_MAX)
    }

    /// Closes the files of flows if `bytes` more cannot be repeated in each that is open.
    fn close_or_repeat(&mut self, bytes: usize) -> Result<(), WriteError> {
        let is_small = self.open.len() <= Self::open_max(self.preface.bytes() + bytes);
        if is_small && self.may_repeat(bytes.saturating_mul(self.open.len())) {
            return Ok(());
        }
        self.close_if(|number, _| number != OTHER)
    }

    /// The file with this number, opened if needed.
    fn file(&mut self, number: usize) -> Result<&mut CaptureFile, WriteError> {
        if !self.open.contains_key(&number) {
            if self.open.len() >= Self::open_max(self.preface.bytes()) {
                self.close_older_half()?;
            }
            let file = self.open(number)?;
            self.open.insert(number, (file, 0));
        }
        let seen = self.packets_seen;
        match self.open.get_mut(&number) {
            Some((file, last)) => {
                *last = seen;
                Ok(file)
            }
            None => Err(WriteError::Closed),
        }
    }

    fn open(&mut self, number: usize) -> Result<CaptureFile, WriteError> {
        let flow_file = &mut self.files[number];
        let output = if flow_file.is_created {
            let failed = |source| WriteError::Create {
                file: flow_file.path.clone(),
                source,
            };
            let file = OpenOutput::existing().open(&flow_file.path);
            let mut file = file.map_err(failed)?;
            file.seek(SeekFrom::End(0)).map_err(failed)?;
            Output::Descriptor {
                file,
                name: flow_file.path.clone(),
            }
        } else {
            Output::Path(flow_file.path.clone())
        };
        let mut options = CaptureFileOptions::new(output, Vec::new());
        options.preface = Some(self.preface.clone());
        options.compression = self.compression;
        options.cut_to_snaplen = false;
        options.buffer_bytes = BUFFER_BYTES;
        let file = CaptureFile::create(options, 0)?;
        flow_file.is_created = true;
        Ok(file)
    }

    /// Closes the files of flows that were not written to for the longest time.
    fn close_older_half(&mut self) -> Result<(), WriteError> {
        let mut lasts: Vec<u64> = self.open.values().map(|(_, last)| *last).collect();
        let middle = lasts.len() / 2;
        let (_, &mut limit, _) = lasts.select_nth_unstable(middle);
        self.close_if(|number, last| number != OTHER && last < limit)
    }

    /// Closes files by their number, and the count of packets at their last one.
    fn close_if(&mut self, is_chosen: impl Fn(usize, u64) -> bool) -> Result<(), WriteError> {
        let open = self
            .open
            .extract_if(|number, (_, last)| is_chosen(*number, *last));
        let chosen: Vec<_> = open.map(|(_, (file, _))| file).collect();
        self.close_files(chosen.into_iter())
    }

    fn close_all(&mut self) -> Result<(), WriteError> {
        let open = std::mem::take(&mut self.open);
        self.close_files(open.into_values().map(|(file, _)| file))
    }

    /// Closes all of `files`; the first error counts.
    fn close_files(&mut self, files: impl Iterator<Item = CaptureFile>) -> Result<(), WriteError> {
        let mut result = Ok(());
        for mut file in files {
            let closed = file.close(&[]);
            self.packets += file.packets_written();
            self.bytes += file.bytes_written();
            result = result.and(closed);
        }
        result
    }
}

impl CopyDestination for FlowCopy {
    fn close(&mut self, _failed: bool) -> Result<(), ReadError> {
        Ok(self.close_all()?)
    }

    fn written(&self) -> WrittenFiles {
        let created = self.files.iter().filter(|file| file.is_created);
        WrittenFiles {
            packets: self.packets,
            bytes: self.bytes,
            paths: created.map(|file| file.path.clone()).collect(),
            overflow_packets: self.overflow_packets,
            left_out: self.left_out,
        }
    }
}

impl Destination for FlowCopy {
    fn add_interface(
        &mut self,
        interface: Interface,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        let before = self.preface.bytes();
        self.preface.add_interface(interface.clone(), options);
        self.close_or_repeat(self.preface.bytes() - before)?;
        for (file, _) in self.open.values_mut() {
            file.copy_interface(interface.clone(), options)?;
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ReadError> {
        self.packets_seen += 1;
        self.packet_bytes += packet.bytes.len() as u64;
        let number = self.number(packet);
        let packet = Packet {
            interface: packet.interface - self.first_interface,
            ..*packet
        };
        Ok(self.file(number)?.write(&packet)?)
    }

    fn statistics(
        &mut self,
        statistics: &Statistics,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        let statistics = Statistics {
            interface: statistics.interface - self.first_interface,
            ..statistics.clone()
        };
        Ok(self.file(OTHER)?.copy_statistics(&statistics, options)?)
    }

    fn section(&mut self, header: &Header) -> Result<(), ReadError> {
        self.close_all()?;
        let options = Options {
            bytes: &header.options,
            order: header.byte_order,
        };
        let section = Section {
            application: self.application.clone(),
            ..header.section.clone()
        };
        self.first_interface += self.interfaces.len() as u32;
        self.interfaces.clear();
        self.preface = Preface::new(&section, options);
        Ok(())
    }

    /// Names and secrets concern every flow: each open file gets them, and each that is opened later. Those beyond the limit of
    /// what files repeat are in the open files and in that of no flow.
    fn block(&mut self, block: &Block<'_>) -> Result<(), ReadError> {
        self.left_out.kept_foreign += u64::from(!block.is_convertible());
        let is_for_all = matches!(block.kind, kind::NAMES | kind::SECRETS);
        if is_for_all {
            self.close_or_repeat(block.body.len())?;
            for (&number, (file, _)) in &mut self.open {
                if number != OTHER {
                    file.copy_block(block)?;
                }
            }
        }
        let has_other = self.open.contains_key(&OTHER);
        let is_repeated = is_for_all && self.preface.add_repeated(block);
        if has_other || !is_repeated {
            self.file(OTHER)?.copy_block(block)?;
        }
        Ok(())
    }

    fn accepts_blocks(&self) -> bool {
        false
    }

    fn blocks(&mut self, _: &[u8], _: u64) -> Result<(), ReadError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        for (file, _) in self.open.values_mut() {
            file.flush()?;
        }
        Ok(())
    }
}
