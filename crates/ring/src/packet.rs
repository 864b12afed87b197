//! Packets in a ring, and their TPACKET headers.

use std::ptr::NonNull;

use abi::packet::{
    PACKET_BROADCAST, PACKET_MULTICAST, PACKET_OTHERHOST, PACKET_OUTGOING, SockaddrLl,
    TP_STATUS_CSUM_VALID, TP_STATUS_CSUMNOTREADY, TP_STATUS_TS_RAW_HARDWARE, TP_STATUS_TS_SOFTWARE,
    TP_STATUS_VLAN_VALID, TPACKET_ALIGNMENT,
};
use wire::metadata::{Checksum, Direction, Reception};

use crate::device_clock::ClockLine;
use crate::header::{Header, VLAN_REINSERTED, VLAN_TAG_BYTES};
use crate::options::TimestampSource;
use crate::vlan_tag::reinsert_vlan_tag;

/// Direction and reception by kernel packet type. A type has three bits (`struct sk_buff`). Types without an entry
/// do not reach packet sockets or mean packets to this host.
static PACKET_TYPES: [(Direction, Option<Reception>); 8] = {
    let mut types = [(Direction::In, Some(Reception::Unicast)); 8];
    types[PACKET_BROADCAST as usize].1 = Some(Reception::Broadcast);
    types[PACKET_MULTICAST as usize].1 = Some(Reception::Multicast);
    types[PACKET_OTHERHOST as usize].1 = Some(Reception::Promiscuous);
    types[PACKET_OUTGOING as usize] = (Direction::Out, None);
    types
};

/// A packet lent by a ring, byte for byte as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPacket<'a> {
    /// The bytes kept, from the link-layer header on, including VLAN tags.
    pub bytes: &'a [u8],
    /// Length on the wire in bytes, including VLAN tags. A packet merged by GRO or not yet split by GSO counts as
    /// one packet with its full length.
    pub original_len: u32,
    /// Nanoseconds since 1970-01-01 00:00 UTC. Hardware time stamps are converted to that if the ring
    /// [has the clock](crate::RingOptions::device_clock) that made them.
    pub timestamp_ns: u64,
    /// What made this packet's time stamp.
    pub timestamp_source: TimestampSource,
    /// Whether the interface received or sent it.
    pub direction: Direction,
    /// How the packet was addressed. The kernel does not report this for sent packets.
    pub reception: Option<Reception>,
    /// Status of the transport checksum.
    pub checksum: Checksum,
    /// Tag control information of a VLAN tag that the kernel delivered as metadata. The ring has put the tag back
    /// into `bytes`; a socket filter sees the packet without it.
    pub vlan_tag: Option<u16>,
    /// The device's hash of the packet, if the ring reports it. Usually the one by which the device chose the queue.
    pub hash: Option<u32>,
    /// Index of the interface.
    pub link: u32,
    /// Receive queue. `None` if the interface has only one, or the ring does not report it.
    pub queue: Option<u32>,
}

/// Lends the packet with the header at `at`, up to `snaplen` bytes of it. `None` if the header points outside the
/// `room` bytes that begin there.
///
/// # Safety
/// `at` is aligned to 8. The `room` bytes there are mapped, and the kernel has handed them over until `'a` ends. No
/// slice lent before overlaps this header or packet, except slices of this packet made after its VLAN tag was put
/// back.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "called for every packet: fields that the caller does not read are not computed"
)]
pub(crate) unsafe fn lend<'a, H: Header>(
    at: NonNull<u8>,
    room: usize,
    snaplen: u32,
    stamps: &Stamps,
) -> Option<(RingPacket<'a>, H)> {
    // The kernel puts the address after the header, aligned (packet_set_ring, TPACKET3_HDRLEN).
    let address_at = size_of::<H>().next_multiple_of(TPACKET_ALIGNMENT);
    if room < address_at + size_of::<SockaddrLl>() {
        return None;
    }
    // SAFETY: within `room` (checked), aligned and handed over (promised by the caller).
    let mut header = unsafe { at.cast::<H>().read() };
    // SAFETY: within `room`, checked above.
    let address = unsafe { at.add(address_at) }.cast::<SockaddrLl>();
    // SAFETY: as for the header; the alignment of 4 follows from that of `at`.
    let address = unsafe { address.read() };

    let first_byte = address_at + size_of::<SockaddrLl>();
    let fits = |h: &H| h.start() >= first_byte && h.start() + h.kept() <= room;
    if !fits(&header) {
        return None;
    }
    if header.status() & TP_STATUS_VLAN_VALID != 0 {
        if header.start() < first_byte + VLAN_TAG_BYTES {
            return None;
        }
        // SAFETY: the packet lies in `room` with the tag's bytes free before it (checked). No slice of it exists,
        // because its tag is still in the header.
        header = unsafe { reinsert_vlan_tag(at) };
    }
    // SAFETY: `start` is within `room`, checked.
    let bytes = unsafe { at.add(header.start()) };
    let kept = header.kept().min(snaplen as usize);
    // SAFETY: `start + kept` is within `room`. The bytes belong to the reader for `'a`, and nothing writes them
    // while they are lent.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), kept) };
    Some((describe(bytes, &header, &address, stamps), header))
}

/// How time stamps of a ring are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    /// Converts hardware time stamps.
    pub line: Option<ClockLine>,
    /// Software time stamps are wanted from where the driver passes packets on. Otherwise the kernel makes them there
    /// only if another socket on the host wants them, which makes no difference that counts.
    pub has_driver: bool,
}

impl Stamps {
    /// The time stamp of the packet behind `header`, and its source.
    #[inline]
    pub fn of<H: Header>(&self, header: &H) -> (u64, TimestampSource) {
        let (status, stamp_ns) = (header.status(), header.timestamp_ns());
        if status & TP_STATUS_TS_RAW_HARDWARE != 0 {
            let convert = |line: &ClockLine| line.realtime_ns(stamp_ns);
            let stamp_ns = self.line.as_ref().map_or(stamp_ns, convert);
            return (stamp_ns, TimestampSource::Hardware);
        }
        let is_driver = self.has_driver && status & TP_STATUS_TS_SOFTWARE != 0;
        let source = if is_driver {
            TimestampSource::Driver
        } else {
            TimestampSource::Kernel
        };
        (stamp_ns, source)
    }
}

#[inline]
fn describe<'a, H: Header>(
    bytes: &'a [u8],
    header: &H,
    address: &SockaddrLl,
    stamps: &Stamps,
) -> RingPacket<'a> {
    let status = header.status();
    let (timestamp_ns, timestamp_source) = stamps.of(header);
    let (direction, reception) = PACKET_TYPES[(address.pkttype % 8) as usize];
    RingPacket {
        bytes,
        original_len: header.len(),
        timestamp_ns,
        timestamp_source,
        direction,
        reception,
        checksum: if status & TP_STATUS_CSUMNOTREADY != 0 {
            Checksum::NotReady
        } else if status & TP_STATUS_CSUM_VALID != 0 {
            Checksum::Valid
        } else {
            Checksum::Unknown
        },
        hash: None,
        vlan_tag: (status & VLAN_REINSERTED != 0).then(|| header.vlan().1),
        link: address.ifindex.cast_unsigned(),
        queue: None,
    }
}
