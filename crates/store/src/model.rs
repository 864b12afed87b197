//! The contents of a capture file, independent of its format.

pub use crate::block::Options;
pub use wire::metadata::{Checksum, Direction, Reception};

/// A link-layer header type as registered for capture files (`LINKTYPE_*`).
///
/// # Source
/// draft-ietf-opsawg-pcaplinktype; <https://www.tcpdump.org/linktypes.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a 4-byte protocol family in the byte order of the capturing machine.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// IPv4 or IPv6 without a link-layer header.
    pub const RAW: Self = Self(101);
    /// Linux "cooked" capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

/// A packet with borrowed bytes.
///
/// `bytes` are the captured bytes (at most the snaplen), `original_len` is the length on the wire. The
/// optional fields are options of pcapng's Enhanced Packet Block; pcap files have none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Index of the packet's interface in the list of the file's (or section's) interfaces.
    pub interface: u32,
    /// Nanoseconds since 1970-01-01 00:00 UTC. `None` if the file has no time (a Simple Packet Block), or
    /// one outside of 1970 to 2554.
    pub timestamp_ns: Option<u64>,
    /// The captured bytes, from the link-layer header on.
    pub bytes: &'a [u8],
    /// Length on the wire, in bytes.
    pub original_len: u32,
    /// Whether it was received or sent (`epb_flags` bits 0–1).
    pub direction: Option<Direction>,
    /// How it was addressed (`epb_flags` bits 2–4).
    pub reception: Option<Reception>,
    /// State of its checksum (`epb_flags` bits 9–10).
    pub checksum: Checksum,
    /// The device's Toeplitz hash of the packet (`epb_hash`).
    pub toeplitz: Option<u32>,
    /// Receive queue (`epb_queue`). `None` if there is only one, or if it is unknown.
    pub queue: Option<u32>,
    /// Packets dropped on this interface since the previous packet (`epb_dropcount`).
    pub drop_count: Option<u64>,
    /// Identifier of the packet within its file (`epb_packetid`). The same packet at two interfaces has the same one.
    pub packet_id: Option<u64>,
    /// Number of the process that sent it (`epb_processid_threadid`). [`Process`] describes it.
    pub process_id: Option<u32>,
    /// `opt_comment`: free text. The last one, if there are several.
    pub comment: Option<&'a str>,
    /// All options of the packet's block as in the file. If there are any, pcapng files are written with
    /// these instead of the fields above.
    pub options: Options<'a>,
}

impl<'a> Packet<'a> {
    /// A complete packet on interface 0, with a time and bytes only.
    pub fn new(timestamp_ns: u64, bytes: &'a [u8]) -> Self {
        Self {
            interface: 0,
            timestamp_ns: Some(timestamp_ns),
            bytes,
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            direction: None,
            reception: None,
            checksum: Checksum::Unknown,
            toeplitz: None,
            queue: None,
            drop_count: None,
            packet_id: None,
            process_id: None,
            comment: None,
            options: Options::NONE,
        }
    }
}

/// The description of an interface (pcapng's Interface Description Block).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Link-layer header type of its packets.
    pub link_type: LinkType,
    /// Maximum captured bytes of a packet. 0 means no limit.
    pub snaplen: u32,
    /// `if_name`: its name on the capturing machine.
    pub name: Option<String>,
    /// `if_description`: free text.
    pub description: Option<String>,
    /// `if_filter`: the capture filter.
    pub filter: Option<String>,
    /// `if_os`: the capturing machine's operating system.
    pub os: Option<String>,
    /// `if_hardware`: the interface's hardware and driver.
    pub hardware: Option<String>,
    /// `if_speed`: bits per second.
    pub speed_bps: Option<u64>,
    /// `if_MACaddr`: its hardware address.
    pub mac: Option<[u8; 6]>,
    /// `opt_comment`: free text.
    pub comment: Option<String>,
    /// `if_tsresol`: ticks per second of its time stamps.
    pub ticks_per_second: u64,
    /// `if_tsoffset`: seconds to add to every time stamp. Readers have added it.
    pub offset_s: i64,
}

impl Interface {
    /// An interface of `link_type` with time stamps in nanoseconds and no further properties.
    pub fn new(link_type: LinkType, snaplen: u32) -> Self {
        Self {
            link_type,
            snaplen,
            name: None,
            description: None,
            filter: None,
            os: None,
            hardware: None,
            speed_bps: None,
            mac: None,
            comment: None,
            ticks_per_second: 1_000_000_000,
            offset_s: 0,
        }
    }
}

/// Counters of one interface (pcapng's Interface Statistics Block). Unknown values are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Index of the interface.
    pub interface: u32,
    /// When they were read, nanoseconds since 1970 UTC.
    pub timestamp_ns: Option<u64>,
    /// `isb_starttime`: when the capture began, nanoseconds since 1970 UTC.
    pub start_ns: Option<u64>,
    /// `isb_endtime`: when it ended, nanoseconds since 1970 UTC.
    pub end_ns: Option<u64>,
    /// `isb_ifrecv`: packets the interface received.
    pub received: Option<u64>,
    /// `isb_ifdrop`: packets the interface (hardware and driver) dropped because a buffer was full.
    pub interface_dropped: Option<u64>,
    /// `isb_filteraccept`: packets the filter accepted.
    pub filter_accepted: Option<u64>,
    /// `isb_osdrop`: packets the operating system dropped (ring full, program).
    pub os_dropped: Option<u64>,
    /// `isb_usrdeliv`: packets delivered to the user.
    pub delivered: Option<u64>,
    /// `opt_comment`: free text.
    pub comment: Option<String>,
}

impl Statistics {
    /// The comment of statistics that count a part of the interface's packets, e.g. those of `receive queue 3`.
    pub fn part_comment(part: &str) -> String {
        format!("counts {part} only")
    }

    /// The part of the interface's packets that they count, as [`part_comment`](Self::part_comment) says it. `None`: all.
    pub fn part(&self) -> Option<&str> {
        let part = self.comment.as_deref()?.strip_prefix("counts ")?;
        part.strip_suffix(" only")
    }
}

/// A process of the capturing machine that sent packets (a Process Information entry).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// `pib_name`: its name.
    pub name: Option<String>,
    /// `pib_path`: its program.
    pub path: Option<String>,
    /// `pib_cmdline`: its arguments, each ended by a zero.
    pub command_line: Vec<u8>,
    /// `pib_ppid`: the process that started it.
    pub parent: Option<u32>,
    /// `pib_uid`: the number of its user.
    pub user: Option<u32>,
    /// `pib_starttime`: when it was started, nanoseconds since 1970 UTC.
    pub start_ns: Option<u64>,
    /// `opt_comment`: free text, such as its container.
    pub comment: Option<String>,
}

impl Process {
    /// A process of which only the number is known.
    pub fn new(id: u32) -> Self {
        Self {
            id,
            name: None,
            path: None,
            command_line: Vec::new(),
            parent: None,
            user: None,
            start_ns: None,
            comment: None,
        }
    }
}

/// The machine and program that wrote a capture file (pcapng's Section Header Block).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// `shb_hardware`: the capturing machine's hardware.
    pub hardware: Option<String>,
    /// `shb_os`: its operating system.
    pub os: Option<String>,
    /// `shb_userappl`: the program that wrote the file.
    pub application: Option<String>,
    /// `opt_comment`: free text.
    pub comment: Option<String>,
}
