//! What depends on the format: file header and end, packet lengths, record boundaries.

use super::options::Format;
use super::preface::Preface;
use super::{WriteError, pcap, pcapng};
use crate::block::Options;
use crate::model::{Interface, LinkType, Packet, Process, Statistics};

/// Maximum bytes of a packet: its block stays below 16 MiB, the limit of libpcap.
const PACKET_BYTES_MAX: usize = (16 << 20) - 128;

/// The properties that all files of a capture have in common.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    format: Format,
    pub(super) preface: Preface,
    cut_to_snaplen: bool,
    /// Maximum bytes of a packet, by interface.
    kept: Vec<usize>,
    /// Interface Statistics Blocks of each interface.
    pub(super) statistics_blocks: u32,
}

impl Encoder {
    /// Bytes of an Interface Statistics Block with everything except a comment.
    const STATISTICS_BYTES: u64 = 112;

    pub(super) fn new(
        format: Format,
        preface: Preface,
        cut_to_snaplen: bool,
    ) -> Result<Self, WriteError> {
        let mut encoder = Self {
            format,
            preface,
            cut_to_snaplen,
            kept: Vec::new(),
            statistics_blocks: 1,
        };
        let interfaces = encoder.preface.interfaces();
        encoder.kept = interfaces.iter().map(|one| encoder.most(one)).collect();
        for interface in interfaces {
            encoder.check(interface)?;
        }
        Ok(encoder)
    }

    /// Continues with another section.
    pub(super) fn begin_section(&mut self, preface: Preface) {
        self.kept = preface
            .interfaces()
            .iter()
            .map(|one| self.most(one))
            .collect();
        self.preface = preface;
    }

    /// Fails if a pcap file cannot hold packets of the interface.
    fn check(&self, interface: &Interface) -> Result<(), WriteError> {
        match self.preface.interfaces().first() {
            Some(first) if self.unit().is_some() && first.link_type != interface.link_type => {
                Err(WriteError::LinkTypeDiffers {
                    file: first.link_type,
                    interface: interface.link_type,
                })
            }
            _ => Ok(()),
        }
    }

    /// The block that describes another interface. Empty for a pcap file.
    pub(super) fn describe(
        &self,
        interface: &Interface,
        options: Options<'_>,
    ) -> Result<Vec<u8>, WriteError> {
        self.check(interface)?;
        Ok(match self.unit() {
            None => pcapng::interface(interface, options),
            Some(_) => Vec::new(),
        })
    }

    /// Adds an interface that [`describe`](Self::describe) accepted. Returns its number.
    pub(super) fn add(&mut self, interface: Interface, options: Options<'_>) -> u32 {
        let number = self.interface_count();
        self.kept.push(self.most(&interface));
        self.preface.add_interface(interface, options);
        number
    }

    /// Maximum bytes of a packet of the interface.
    fn most(&self, interface: &Interface) -> usize {
        if self.cut_to_snaplen {
            limit(interface)
        } else {
            usize::MAX
        }
    }

    /// Adds a process. Returns the block that describes it. Empty for a pcap file.
    pub(super) fn add_process(&mut self, process: &Process) -> &[u8] {
        if self.unit().is_some() {
            return &[];
        }
        self.preface.add_process(process)
    }

    /// The unit of time stamps of a pcap file, `None` for pcapng.
    #[inline]
    pub(super) fn unit(&self) -> Option<pcap::TimeUnit> {
        match self.format {
            Format::Pcapng => None,
            Format::PcapMicros => Some(pcap::TimeUnit::Micros),
            Format::PcapNanos => Some(pcap::TimeUnit::Nanos),
        }
    }

    pub(super) fn interface_count(&self) -> u32 {
        self.kept.len() as u32
    }

    fn link_type(&self) -> LinkType {
        self.preface
            .interfaces()
            .first()
            .map_or(LinkType::ETHERNET, |first| first.link_type)
    }

    /// The header of a file.
    pub(super) fn preamble(&self) -> Vec<u8> {
        let Some(unit) = self.unit() else {
            return self.preface.encode();
        };
        let interfaces = self.preface.interfaces().iter();
        let snaplens = interfaces.map(|interface| interface.snaplen);
        let unlimited = snaplens.clone().any(|snaplen| snaplen == 0);
        let snaplen = if unlimited {
            0
        } else {
            snaplens.max().unwrap_or(0)
        };
        pcap::header(unit, self.link_type(), snaplen)
    }

    /// The end of a file: the statistics of its interfaces. Empty for pcap.
    pub(super) fn epilogue(&self, statistics: &[Statistics]) -> Vec<u8> {
        let mut blocks = Vec::new();
        if self.unit().is_none() {
            let known = |counters: &&Statistics| counters.interface < self.interface_count();
            for counters in statistics.iter().filter(known) {
                blocks.extend(pcapng::statistics(counters, Options::NONE));
            }
        }
        blocks
    }

    /// Bytes to reserve for the end of a file.
    pub(super) fn epilogue_bytes(&self) -> u64 {
        if self.unit().is_some() {
            0
        } else {
            u64::from(self.interface_count()) * self.statistics_bytes()
        }
    }

    /// Bytes to reserve for the statistics of an interface.
    pub(super) fn statistics_bytes(&self) -> u64 {
        u64::from(self.statistics_blocks) * Self::STATISTICS_BYTES
    }

    /// The bytes of `packet` to write: at most its interface's snaplen.
    #[inline]
    pub(super) fn kept<'a>(&self, packet: &Packet<'a>) -> Result<&'a [u8], WriteError> {
        self.cut(packet).ok_or_else(|| self.refusal(packet))
    }

    /// As [`Self::kept`]. Returns `None` for a packet that cannot be written.
    #[inline]
    pub(super) fn cut<'a>(&self, packet: &Packet<'a>) -> Option<&'a [u8]> {
        let &most = self.kept.get(packet.interface as usize)?;
        let bytes = packet.bytes.get(..most).unwrap_or(packet.bytes);
        (bytes.len() <= PACKET_BYTES_MAX).then_some(bytes)
    }

    /// Why a packet cannot be written.
    #[cold]
    fn refusal(&self, packet: &Packet<'_>) -> WriteError {
        let interface = packet.interface;
        match self.kept.get(interface as usize) {
            None => WriteError::UnknownInterface {
                interface,
                count: self.interface_count(),
            },
            Some(&most) => WriteError::PacketTooLong {
                bytes: packet.bytes.len().min(most),
                most: PACKET_BYTES_MAX,
            },
        }
    }

    /// Whether a block without a time can store everything about `packet`.
    #[cold]
    pub(super) fn is_simple(&self, packet: &Packet<'_>, bytes: &[u8]) -> bool {
        let snaplen = self.preface.interfaces().first().map_or(usize::MAX, limit);
        pcapng::simple_fits(packet, bytes, snaplen)
    }

    /// Length of the whole records at the start of `bytes`, and their number of packets.
    pub(super) fn whole_records(&self, bytes: &[u8]) -> (usize, u64) {
        let (mut end, mut packets) = (0, 0);
        let next = |rest| match self.unit() {
            None => pcapng::first_block(rest),
            Some(_) => pcap::first_record(rest).map(|length| (length, true)),
        };
        // Bound: every record has at least 12 bytes.
        while let Some((length, is_packet)) = next(&bytes[end..]) {
            end += length;
            packets += u64::from(is_packet);
        }
        (end, packets)
    }
}

/// The interface's snaplen in bytes.
fn limit(interface: &Interface) -> usize {
    match interface.snaplen {
        0 => usize::MAX,
        snaplen => snaplen as usize,
    }
}
