//! The pcap format: a file header of 24 bytes, then records of 16 bytes and a packet each.
//!
//! Supported: both byte orders, time stamps in microseconds and nanoseconds, and the longer record
//! header of Kuznetzov's patched libpcap. Variants without a magic number of their own are not
//! recognised.
//!
//! Time zone and accuracy in the file header are ignored: current writers do not set them. A fraction
//! of more than a second carries over into the seconds.
//!
//! # Source
//! draft-ietf-opsawg-pcap; sf-pcap.c of libpcap for versions before 2.4.

use super::error::{ErrorKind, Location, ReadError};
use super::format::{
    ByteOrder, Decoded, DetectedFormat, Event, Header, LocatedPacket, packet_bytes_max,
    plain_packet,
};
use super::input::Input;
use crate::model::{Interface, LinkType, Packet, Section};

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const MAGIC_KUZNETZOV: u32 = 0xa1b2_cd34;

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const KUZNETZOV_HEADER_BYTES: usize = 24;

/// Bits of the link-type field that must be zero. The bits above describe the frame check sequence.
const RESERVED_BITS: u32 = 0x03ff_0000;

/// Consecutive records that must be consistent to guess the start of a record.
const CHAIN: usize = 5;
/// The same, if the next record is outside the window.
const CHAIN_MIN: usize = 2;
/// Maximum seconds between two of these records.
const NEAR_S: u32 = 86_400;

/// The order of a record's two lengths.
///
/// Writers before version 2.3, and the one that reports version 543.0, put the original length first.
/// Version 2.3 exists in both orders, so the smaller number is taken for the captured length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    OriginalFirst,
    SmallerIsCaptured,
}

impl Lengths {
    /// The captured and the original length.
    #[inline]
    fn of(self, first: u32, second: u32) -> (u32, u32) {
        match self {
            Self::CapturedFirst => (first, second),
            Self::OriginalFirst => (second, first),
            Self::SmallerIsCaptured => (first.min(second), first.max(second)),
        }
    }
}

/// Decodes records.
#[derive(Clone)]
pub(super) struct Pcap {
    order: ByteOrder,
    lengths: Lengths,
    header_bytes: usize,
    nanoseconds_per_tick: u64,
    captured_max: usize,
    pub(super) records: u64,
    announced: bool,
}

/// Byte order and magic number of a pcap file that begins with these bytes.
fn detect(magic: [u8; 4]) -> Option<(ByteOrder, u32)> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find_map(|order| {
            let number = order.u32(magic);
            matches!(
                number,
                MAGIC_MICROSECONDS | MAGIC_NANOSECONDS | MAGIC_KUZNETZOV
            )
            .then_some((order, number))
        })
}

impl Pcap {
    /// Reads the file header. Returns `None` if the input is not pcap.
    pub(super) fn open(
        input: &mut Input,
        decoded: &mut Decoded,
    ) -> Result<Option<Self>, ReadError> {
        let Some((order, magic)) = input.window().first_chunk().copied().and_then(detect) else {
            return Ok(None);
        };
        let location = Location {
            part: "pcap file header",
            block: 0,
            offset: 0,
        };
        let available = input.fill_for(FILE_HEADER_BYTES, location)?;
        let Some([_, version, _, _, snaplen, network]) = order.words(input.window()) else {
            return Err(location.truncated(FILE_HEADER_BYTES, available));
        };
        let version = order.halves(version);
        if version.0 < 2 {
            return Err(location.error(
                ErrorKind::Unsupported,
                "versions before 2 are not supported",
            ));
        }
        if network & RESERVED_BITS != 0 {
            let reason = "reserved bits of the link type are set";
            return Err(location.error(ErrorKind::Unsupported, reason));
        }
        input.consume(FILE_HEADER_BYTES);

        let link_type = LinkType(network as u16);
        let ticks_per_second = if magic == MAGIC_NANOSECONDS {
            1_000_000_000
        } else {
            1_000_000
        };
        let interface = Interface {
            ticks_per_second,
            ..Interface::new(link_type, snaplen)
        };
        decoded.interfaces.push(interface);
        decoded.header = Header {
            format: DetectedFormat::Pcap,
            byte_order: order,
            version,
            first_interface: 0,
            section: Section::default(),
            options: Vec::new(),
        };
        Ok(Some(Self {
            order,
            lengths: match version {
                (2, 0..=2) | (543, 0) => Lengths::OriginalFirst,
                (2, 3) => Lengths::SmallerIsCaptured,
                _ => Lengths::CapturedFirst,
            },
            header_bytes: match magic {
                MAGIC_KUZNETZOV => KUZNETZOV_HEADER_BYTES,
                _ => RECORD_HEADER_BYTES,
            },
            nanoseconds_per_tick: 1_000_000_000 / ticks_per_second,
            captured_max: packet_bytes_max(link_type),
            records: 0,
            announced: false,
        }))
    }

    /// Length of the next record, or of its header if that is not complete.
    pub(super) fn next_bytes(&self, window: &[u8]) -> usize {
        if !self.announced {
            return 0;
        }
        match self.order.words(window) {
            Some([_, _, first, second]) if window.len() >= self.header_bytes => {
                let (captured, _) = self.lengths.of(first, second);
                self.header_bytes + captured as usize
            }
            _ => self.header_bytes,
        }
    }

    /// Decodes one record and consumes it.
    #[inline]
    pub(super) fn advance(
        &mut self,
        input: &mut Input,
        decoded: &mut Decoded,
    ) -> Result<Event, ReadError> {
        if !self.announced {
            self.announced = true;
            return Ok(Event::Interface(0));
        }
        let mut window = input.window();
        if window.len() < self.header_bytes {
            let available = input.fill_for(self.header_bytes, self.location(input))?;
            match available {
                0 => return Ok(Event::End),
                _ if available < self.header_bytes => {
                    return Err(self.location(input).truncated(self.header_bytes, available));
                }
                _ => window = input.window(),
            }
        }
        let Some([seconds, fraction, first, second]) = self.order.words(window) else {
            return Err(self
                .location(input)
                .truncated(self.header_bytes, window.len()));
        };
        let (captured, original_len) = self.lengths.of(first, second);
        let captured = captured as usize;
        if captured > self.captured_max {
            let reason = "is larger than any packet of this link type";
            return Err(self.location(input).corrupt("captured length", reason));
        }
        let record_bytes = self.header_bytes + captured;
        if window.len() < record_bytes {
            let available = input.fill_for(record_bytes, self.location(input))?;
            if available < record_bytes {
                return Err(self.location(input).truncated(record_bytes, available));
            }
        }
        decoded.carried_s =
            (u64::from(fraction) * self.nanoseconds_per_tick / 1_000_000_000) as u32;
        decoded.packet = LocatedPacket {
            packet: plain_packet(0, Some(self.time_ns(seconds, fraction)), original_len),
            index: input.index() + self.header_bytes,
            captured,
            comment: (0, 0),
            options: (0, 0),
        };
        input.consume(record_bytes);
        self.records += 1;
        Ok(Event::Packet)
    }

    /// Decodes the record at the start of `record`. Returns its packet and length if it is valid.
    #[inline]
    pub(super) fn plain<'a>(&self, record: &'a [u8]) -> Option<(Packet<'a>, usize)> {
        let [seconds, fraction, first, second] = self.order.words(record)?;
        let (captured, original_len) = self.lengths.of(first, second);
        let captured = captured as usize;
        if captured > self.captured_max || !self.announced {
            return None;
        }
        let packet = Packet {
            bytes: record.get(self.header_bytes..)?.get(..captured)?,
            ..plain_packet(0, Some(self.time_ns(seconds, fraction)), original_len)
        };
        Some((packet, self.header_bytes + captured))
    }

    fn time_ns(&self, seconds: u32, fraction: u32) -> u64 {
        u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.nanoseconds_per_tick
    }

    /// The first index in `..within` of `window` at which a record seems to begin: it and the next ones
    /// have consistent lengths and times.
    ///
    /// Packet bytes can look like that, too. `reaches_end` says that the file ends with the window.
    pub(super) fn find_record(
        &self,
        window: &[u8],
        within: usize,
        reaches_end: bool,
    ) -> Option<usize> {
        (0..within).find(|&index| self.begins_chain(window, index, reaches_end))
    }

    fn begins_chain(&self, window: &[u8], mut index: usize, reaches_end: bool) -> bool {
        let mut time_before = None;
        for checked in 0..CHAIN {
            let head = window.get(index..).and_then(|rest| self.order.words(rest));
            let Some([seconds, fraction, first, second]) = head else {
                return if reaches_end {
                    index == window.len()
                } else {
                    checked >= CHAIN_MIN
                };
            };
            let (captured, original_len) = self.lengths.of(first, second);
            let is_near = time_before.is_none_or(|time: u32| time.abs_diff(seconds) <= NEAR_S);
            if !is_near
                || u64::from(fraction) * self.nanoseconds_per_tick >= 1_000_000_000
                || captured == 0
                || captured > original_len
                || captured as usize > self.captured_max
            {
                return false;
            }
            time_before = Some(seconds);
            index += self.header_bytes + captured as usize;
        }
        !reaches_end || index <= window.len()
    }

    /// The location of the next record.
    fn location(&self, input: &Input) -> Location {
        Location {
            part: "packet record",
            block: self.records + 1,
            offset: input.offset(),
        }
    }
}
