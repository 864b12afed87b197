//! What is in a file, counted in one pass.

use store::model::{Interface, Packet, Statistics};
use store::read::{Compression, Format, Header, Reader};
use tapline::capture::sampling_told;

/// A file, digested.
pub struct Digest {
    pub name: String,
    /// Bytes on disk, or that arrived.
    pub size_bytes: u64,
    /// Of the file, or of its first section.
    pub header: Header,
    pub compression: Compression,
    pub traffic: Traffic,
    pub interfaces: Vec<Port>,
    /// Why it could not be read to its end.
    pub error: Option<String>,
}

/// Packets, counted.
#[derive(Debug, Default)]
pub struct Traffic {
    pub packets: u64,
    /// As captured.
    pub bytes: u64,
    /// On the wire.
    pub original_bytes: u64,
    /// The earliest time, nanoseconds since 1970 UTC.
    pub first_ns: Option<u64>,
    /// The latest.
    pub last_ns: Option<u64>,
    /// Time of the packet before.
    before_ns: u64,
    untimed: u64,
    disordered: u64,
}

/// An interface and what was found of it.
pub struct Port {
    pub interface: Interface,
    pub packets: u64,
    /// Those read last.
    pub statistics: Option<Statistics>,
    pub statistics_blocks: u64,
}

impl Port {
    /// The rate at which its packets were sampled, if that is told.
    pub fn sampling(&self) -> Option<&str> {
        sampling_told(self.interface.comment.as_deref()?)
    }
}

impl Digest {
    pub fn new(name: String, reader: &Reader) -> Self {
        Self {
            name,
            size_bytes: 0,
            header: reader.header().clone(),
            compression: reader.compression(),
            traffic: Traffic::default(),
            interfaces: Vec::new(),
            error: None,
        }
    }

    pub fn add_interface(&mut self, interface: &Interface) {
        self.interfaces.push(Port {
            interface: interface.clone(),
            packets: 0,
            statistics: None,
            statistics_blocks: 0,
        });
    }

    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.traffic.add(packet);
        self.interfaces[packet.interface as usize].packets += 1;
    }

    pub fn statistics(&mut self, statistics: &Statistics) {
        let port = &mut self.interfaces[statistics.interface as usize];
        port.statistics = Some(statistics.clone());
        port.statistics_blocks += 1;
    }

    /// The format, by the name that --format takes.
    pub fn format(&self) -> &'static str {
        let ticks = self
            .interfaces
            .first()
            .map(|port| port.interface.ticks_per_second);
        match (self.header.format, ticks) {
            (Format::Pcapng, _) => "pcapng",
            (_, Some(1_000_000_000)) => "pcap-ns",
            _ => "pcap",
        }
    }

    pub fn compression(&self) -> Option<&'static str> {
        match self.compression {
            Compression::Gzip => Some("gzip"),
            Compression::Zstd => Some("zstd"),
            _ => None,
        }
    }

    /// The largest number of bytes kept of a packet; 0 means no limit, `None` that it is not said.
    pub fn snaplen(&self) -> Option<u32> {
        let snaplens = self.interfaces.iter().map(|port| port.interface.snaplen);
        snaplens.max_by_key(|snaplen| snaplen.wrapping_sub(1))
    }
}

impl Traffic {
    #[inline]
    fn add(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        self.bytes += packet.bytes.len() as u64;
        self.original_bytes += u64::from(packet.original_len);
        let Some(ns) = packet.timestamp_ns else {
            self.untimed += 1;
            return;
        };
        self.disordered += u64::from(ns < self.before_ns);
        self.before_ns = ns;
        self.first_ns = Some(self.first_ns.map_or(ns, |first| first.min(ns)));
        self.last_ns = Some(self.last_ns.map_or(ns, |last| last.max(ns)));
    }

    /// Whether no packet is earlier than the one before it; `None` where a packet has no time.
    pub fn is_in_order(&self) -> Option<bool> {
        match (self.disordered, self.untimed) {
            (0, 0) => Some(true),
            (0, _) => None,
            _ => Some(false),
        }
    }

    pub fn duration_ns(&self) -> Option<u64> {
        Some(self.last_ns? - self.first_ns?)
    }

    /// `count` per second of the capture; `None` where it took no time.
    pub fn rate(&self, count: u64) -> Option<f64> {
        let duration_ns = self.duration_ns().filter(|&ns| ns > 0)?;
        Some(count as f64 * 1e9 / duration_ns as f64)
    }

    /// Bytes on the wire of a packet, on average.
    pub fn mean_packet_bytes(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.original_bytes as f64 / self.packets as f64)
    }
}
