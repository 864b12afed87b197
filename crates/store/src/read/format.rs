//! What the readers of both formats share: byte order, limits, and the packet or block decoded last.

use super::input::Input;
use crate::block::Options;
pub use crate::byte_order::ByteOrder;
use crate::model::{Checksum, Interface, LinkType, Packet, Section, Statistics};

/// Maximum bytes of a pcapng block. A longer one is rejected as unsupported.
///
/// It fits the largest packet of any link type with its options.
pub const BLOCK_BYTES_MAX: usize = PACKET_BYTES_LARGE + (1 << 20);

/// Maximum number of interfaces in one file, all sections together.
pub const INTERFACES_MAX: usize = 65_536;

/// Maximum bytes of the descriptions of all interfaces in one file. They stay in memory, and a compressed file of a few kilobytes can
/// have gigabytes of them.
pub const INTERFACES_BYTES_MAX: usize = 64 << 20;

/// Maximum captured bytes for link types that carry operating-system messages instead of frames.
const PACKET_BYTES_LARGE: usize = 128 << 20;

const LINKTYPE_USB_LINUX: u16 = 189;
const LINKTYPE_USB_LINUX_MMAPPED: u16 = 220;
const LINKTYPE_DBUS: u16 = 231;
const LINKTYPE_USBPCAP: u16 = 249;
const LINKTYPE_EBHSCR: u16 = 279;

/// Maximum captured bytes of a packet of `link_type`. A larger length means that the file is corrupt.
///
/// 256 KiB for networks, as in other readers; 128 MiB for D-Bus and USB, 8 MiB for EBHSCR.
pub fn packet_bytes_max(link_type: LinkType) -> usize {
    match link_type.0 {
        LINKTYPE_USB_LINUX | LINKTYPE_USB_LINUX_MMAPPED | LINKTYPE_DBUS | LINKTYPE_USBPCAP => {
            PACKET_BYTES_LARGE
        }
        LINKTYPE_EBHSCR => 8 << 20,
        _ => 256 << 10,
    }
}

/// The format of a capture file, as found in its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DetectedFormat {
    /// A file header and records.
    Pcap,
    /// Sections of blocks.
    Pcapng,
}

/// The header of a pcap file or of a pcapng section.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The file's format.
    pub format: DetectedFormat,
    /// Byte order of its numbers. Each pcapng section has its own.
    pub byte_order: ByteOrder,
    /// Major and minor version of the format.
    pub version: (u16, u16),
    /// Index in [`Reader::interfaces`](super::Reader::interfaces) of the section's first interface.
    pub first_interface: u32,
    /// The machine and program that wrote the section. Empty for pcap.
    pub section: Section,
    /// The options of the section header, as in the file.
    pub options: Vec<u8>,
}

impl Header {
    const UNREAD: Self = Self {
        format: DetectedFormat::Pcap,
        byte_order: ByteOrder::Little,
        version: (0, 0),
        first_interface: 0,
        section: Section {
            hardware: None,
            os: None,
            application: None,
            comment: None,
        },
        options: Vec::new(),
    };
}

/// The next item of a file. Its contents are in [`Decoded`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Packet,
    /// An interface was added to the list, at this index.
    Interface(u32),
    Statistics,
    /// Another section began. Not for the first one.
    Section,
    /// A block of another type.
    Block,
    /// The input ended at a block boundary.
    End,
}

/// The contents decoded last, which [`super::Reader`] lends.
///
/// It is filled in place: no packet is copied through a return value.
pub(super) struct Decoded {
    pub(super) header: Header,
    pub(super) interfaces: Vec<Interface>,
    pub(super) statistics: Statistics,
    pub(super) packet: LocatedPacket,
    /// See [`super::Reader::carried_seconds`].
    pub(super) carried_s: u32,
    /// The block or the options of the interface or statistics decoded last.
    pub(super) block: LocatedBlock,
}

/// The type of a block, and the location of its body or options in the input.
#[derive(Clone, Copy)]
pub(super) struct LocatedBlock {
    pub(super) kind: u32,
    /// Index of the first byte (see [`Input::index`]).
    pub(super) index: usize,
    /// Number of bytes.
    pub(super) bytes: usize,
}

/// A packet and the location of its bytes in the input, which are not borrowed yet.
pub(super) struct LocatedPacket {
    /// Everything but the bytes.
    pub(super) packet: Packet<'static>,
    /// Index of the first byte (see [`Input::index`]).
    pub(super) index: usize,
    /// Number of captured bytes.
    pub(super) captured: usize,
    /// Index and length of the comment, which is one of the options. Length 0: none.
    pub(super) comment: (usize, usize),
    /// Index and length of the options.
    pub(super) options: (usize, usize),
}

impl LocatedPacket {
    /// The packet with its bytes.
    #[inline]
    pub(super) fn lend<'a>(&self, input: &'a Input) -> Packet<'a> {
        let packet = Packet {
            bytes: input.slice(self.index, self.captured),
            ..self.packet
        };
        let (options, length) = self.options;
        if length == 0 {
            return packet;
        }
        let (comment, comment_bytes) = self.comment;
        let text = |bytes| str::from_utf8(bytes).ok();
        Packet {
            comment: match comment_bytes {
                0 => None,
                _ => text(input.slice(comment, comment_bytes)),
            },
            options: Options {
                bytes: input.slice(options, length),
                ..packet.options
            },
            ..packet
        }
    }
}

impl Decoded {
    pub(super) fn empty() -> Self {
        Self {
            header: Header::UNREAD,
            interfaces: Vec::new(),
            statistics: Statistics::default(),
            packet: LocatedPacket {
                packet: plain_packet(0, None, 0),
                index: 0,
                captured: 0,
                comment: (0, 0),
                options: (0, 0),
            },
            block: LocatedBlock {
                kind: 0,
                index: 0,
                bytes: 0,
            },
            carried_s: 0,
        }
    }
}

/// A packet without its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Index of its interface in the list of the file's interfaces.
    pub interface: u32,
    /// As in [`Packet`].
    pub timestamp_ns: Option<u64>,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Length of its block or record.
    pub block_bytes: usize,
}

/// A packet without bytes and options.
#[inline]
pub(super) fn plain_packet(
    interface: u32,
    timestamp_ns: Option<u64>,
    original_len: u32,
) -> Packet<'static> {
    Packet {
        interface,
        timestamp_ns,
        bytes: &[],
        original_len,
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
