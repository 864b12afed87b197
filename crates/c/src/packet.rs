//! Packets as C sees them.

use std::ffi::c_char;

use tapline::Packet;
use tapline::file::model;
use tapline::packet::metadata::{Checksum, Direction, Reception};

use crate::arguments::array;
use crate::failure::Error;

/// The value of a counter or a number that cannot be known.
pub const TAPLINE_UNKNOWN: u64 = u64::MAX;

/// `queue` of a packet whose receive queue is not known, or whose interface has only one.
pub const TAPLINE_NO_QUEUE: u32 = u32::MAX;

/// Whether a packet was received or sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum tapline_direction {
    /// Not known.
    Unknown = 0,
    /// Received by the interface.
    In = 1,
    /// Sent by the interface.
    Out = 2,
}

/// How a packet was addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum tapline_reception {
    /// Not known.
    Unknown = 0,
    /// To this host.
    Unicast = 1,
    /// To a multicast group.
    Multicast = 2,
    /// To all hosts.
    Broadcast = 3,
    /// To another host.
    Promiscuous = 4,
}

/// The state of a packet's transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum tapline_checksum {
    /// Not known.
    Unknown = 0,
    /// Checksum offload: the hardware has not filled it in yet.
    NotReady = 1,
    /// Verified by the receiver.
    Valid = 2,
}

/// A packet. Its bytes belong to whoever lends it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_packet {
    /// The captured bytes, from the link-layer header on, VLAN tags included.
    pub data: *const u8,
    /// When it was received or sent: nanoseconds since 1970. `TAPLINE_UNKNOWN` if a file has no time for it.
    pub time_ns: u64,
    /// Number of captured bytes: at most the snaplen.
    pub captured_len: u32,
    /// Length on the wire. A packet merged by GRO or not yet split by GSO counts as one.
    pub len: u32,
    /// Position of its interface among those of the capture, the reader or the writer.
    pub interface: u32,
    /// Receive queue, or `TAPLINE_NO_QUEUE`.
    pub queue: u32,
    /// Packets that the ring dropped before this one, since the last packet that reported drops.
    pub drops_before: u64,
    /// A `tapline_direction`.
    pub direction: u8,
    /// A `tapline_reception`.
    pub reception: u8,
    /// A `tapline_checksum`.
    pub checksum: u8,
    /// Zero.
    pub reserved: [u8; 5],
}

// SAFETY: the pointer is an address for C. Rust code follows it only in `record`, which is unsafe.
unsafe impl Send for tapline_packet {}

impl tapline_packet {
    /// A place without a packet.
    pub const NONE: Self = Self {
        data: std::ptr::null(),
        time_ns: TAPLINE_UNKNOWN,
        captured_len: 0,
        len: 0,
        interface: 0,
        queue: TAPLINE_NO_QUEUE,
        drops_before: 0,
        direction: tapline_direction::Unknown as u8,
        reception: tapline_reception::Unknown as u8,
        checksum: tapline_checksum::Unknown as u8,
        reserved: [0; 5],
    };

    /// The packet as C sees it.
    #[inline]
    pub fn of(packet: &Packet<'_>) -> Self {
        let data = packet.data();
        Self {
            data: data.as_ptr(),
            time_ns: packet.time().as_nanos().unwrap_or(TAPLINE_UNKNOWN),
            captured_len: data.len() as u32,
            len: packet.len() as u32,
            interface: packet.interface() as u32,
            queue: packet.queue().unwrap_or(TAPLINE_NO_QUEUE),
            drops_before: packet.drops_before(),
            direction: match packet.direction() {
                None => tapline_direction::Unknown,
                Some(Direction::In) => tapline_direction::In,
                Some(Direction::Out) => tapline_direction::Out,
            } as u8,
            reception: match packet.reception() {
                None => tapline_reception::Unknown,
                Some(Reception::Unicast) => tapline_reception::Unicast,
                Some(Reception::Multicast) => tapline_reception::Multicast,
                Some(Reception::Broadcast) => tapline_reception::Broadcast,
                Some(Reception::Promiscuous) => tapline_reception::Promiscuous,
            } as u8,
            checksum: match packet.checksum() {
                Checksum::Unknown => tapline_checksum::Unknown,
                Checksum::NotReady => tapline_checksum::NotReady,
                Checksum::Valid => tapline_checksum::Valid,
            } as u8,
            reserved: [0; 5],
        }
    }

    /// The packet as files store it.
    ///
    /// # Safety
    /// `data` is null or points to `captured_len` bytes that live and stay as they are for `'a`.
    /// # Errors
    /// It is null and `captured_len` is not 0, or a field has no such value.
    pub unsafe fn record<'a>(&self) -> Result<model::Packet<'a>, Error> {
        // SAFETY: promised by the caller.
        let bytes = unsafe {
            array(
                self.data,
                self.captured_len as usize,
                "the data of a packet",
            )
        }?;
        if self.len < self.captured_len {
            let text = format!(
                "a packet of {} bytes has {} bytes captured",
                self.len, self.captured_len
            );
            return Err(Error::argument(text));
        }
        let invalid = |field| {
            Err(Error::argument(format!(
                "the {field} of a packet has no such value"
            )))
        };
        if self.reserved != [0; 5] {
            // A later version may give them a meaning, which this one would not know.
            return Err(Error::argument("reserved of a packet is not 0"));
        }
        let mut record = model::Packet::new(self.time_ns, bytes);
        record.timestamp_ns = (self.time_ns != TAPLINE_UNKNOWN).then_some(self.time_ns);
        record.original_len = self.len;
        record.interface = self.interface;
        record.queue = (self.queue != TAPLINE_NO_QUEUE).then_some(self.queue);
        record.drop_count = (self.drops_before > 0).then_some(self.drops_before);
        record.direction = match self.direction {
            0 => None,
            1 => Some(Direction::In),
            2 => Some(Direction::Out),
            _ => return invalid("direction"),
        };
        record.reception = match self.reception {
            0 => None,
            1 => Some(Reception::Unicast),
            2 => Some(Reception::Multicast),
            3 => Some(Reception::Broadcast),
            4 => Some(Reception::Promiscuous),
            _ => return invalid("reception"),
        };
        record.checksum = match self.checksum {
            0 => Checksum::Unknown,
            1 => Checksum::NotReady,
            2 => Checksum::Valid,
            _ => return invalid("checksum"),
        };
        Ok(record)
    }
}

/// An interface of a capture or a file. Its packets name it by position.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_interface {
    /// Its name on the capturing machine; null if unknown.
    pub name: *const c_char,
    /// Maximum captured bytes of a packet; 0 is no limit.
    pub snaplen: u32,
    /// Link-layer header type (LINKTYPE_ of libpcap): 1 is Ethernet.
    pub link_type: u16,
    /// Zero.
    pub reserved: u16,
}
