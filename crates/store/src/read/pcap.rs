//! The pcap format: a file header of 24 bytes, then records of 16 bytes and a packet each.
//!
//! Read in both byte orders, with time stamps in microseconds and nanoseconds, and with the longer
//! record header of Kuznetzov's patched libpcap where the magic number says so. Other variants, which
//! have no magic number of their own and can only be guessed from the records, are not recognised.
//!
//! Time zone and accuracy of the file header are not used: no writer of today sets them. A fraction
//! of more than a second carries over into the seconds.
//!
//! # Source
//! draft-ietf-opsawg-pcap; sf-pcap.c of libpcap for versions before 2.4.

use super::error::{ErrorKind, Place, ReadError};
use super::event::{Event, Found, Reached, blank};
use super::limits::packet_bytes_max;
use super::order::ByteOrder;
use super::reader::{Format, Header};
use super::source::Source;
use crate::model::{Interface, LinkType, Packet, Section};

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const MAGIC_KUZNETZOV: u32 = 0xa1b2_cd34;

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const KUZNETZOV_HEADER_BYTES: usize = 24;

/// Bits of the link-type field that must be zero; above them are those of the frame check sequence.
const RESERVED_BITS: u32 = 0x03ff_0000;

/// Records in a row that have to look right where one is looked for.
const CHAIN: usize = 5;
/// Seconds between two records in a row, at most, where one is looked for.
const NEAR_S: u32 = 86_400;

/// Which of a record's two lengths comes first.
///
/// Writers before version 2.3 and the one that calls itself 543.0 put the original length first;
/// of version 2.3 both kinds exist, so the smaller is taken for the captured length.
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

/// Reads records.
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

/// Whether a file that begins with these bytes is a pcap file, and in which byte order.
fn recognise(magic: [u8; 4]) -> Option<(ByteOrder, u32)> {
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
    /// Reads the file header; `None` if the input is not pcap.
    pub(super) fn open(
        source: &mut Source,
        reached: &mut Reached,
    ) -> Result<Option<Self>, ReadError> {
        let Some((order, magic)) = source.window().first_chunk().copied().and_then(recognise)
        else {
            return Ok(None);
        };
        let place = Place {
            part: "pcap file header",
            block: 0,
            offset: 0,
        };
        let available = source.fill_for(FILE_HEADER_BYTES, place)?;
        let Some([_, version, _, _, snaplen, network]) = order.words(source.window()) else {
            return Err(place.cut(FILE_HEADER_BYTES, available));
        };
        let version = order.halves(version);
        if version.0 < 2 {
            return Err(place.error(ErrorKind::Unsupported, "versions before 2 are not read"));
        }
        if network & RESERVED_BITS != 0 {
            let reason = "reserved bits of the link type are set";
            return Err(place.error(ErrorKind::Unsupported, reason));
        }
        source.consume(FILE_HEADER_BYTES);

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
        reached.interfaces.push(interface);
        reached.header = Header {
            format: Format::Pcap,
            byte_order: order,
            version,
            first_interface: 0,
            section: Section::default(),
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

    /// Reads one record into `reached` and moves behind it.
    #[inline]
    pub(super) fn advance(
        &mut self,
        source: &mut Source,
        reached: &mut Reached,
    ) -> Result<Event, ReadError> {
        if !self.announced {
            self.announced = true;
            return Ok(Event::Interface(0));
        }
        let mut window = source.window();
        if window.len() < self.header_bytes {
            let available = source.fill_for(self.header_bytes, self.place(source))?;
            match available {
                0 => return Ok(Event::End),
                _ if available < self.header_bytes => {
                    return Err(self.place(source).cut(self.header_bytes, available));
                }
                _ => window = source.window(),
            }
        }
        let Some([seconds, fraction, first, second]) = self.order.words(window) else {
            return Err(self.place(source).cut(self.header_bytes, window.len()));
        };
        let (captured, original_len) = self.lengths.of(first, second);
        let captured = captured as usize;
        if captured > self.captured_max {
            let reason = "is larger than any packet of this link type";
            return Err(self.place(source).damaged("captured length", reason));
        }
        let record_bytes = self.header_bytes + captured;
        if window.len() < record_bytes {
            let available = source.fill_for(record_bytes, self.place(source))?;
            if available < record_bytes {
                return Err(self.place(source).cut(record_bytes, available));
            }
        }
        reached.found = Found {
            packet: blank(0, Some(self.time_ns(seconds, fraction)), original_len),
            mark: source.mark() + self.header_bytes,
            captured,
        };
        source.consume(record_bytes);
        self.records += 1;
        Ok(Event::Packet)
    }

    /// The packet of the record at `at`, and the record's length, if all is well with it.
    #[inline]
    pub(super) fn plain<'a>(&self, bytes: &'a [u8], at: usize) -> Option<(Packet<'a>, usize)> {
        let record = bytes.get(at..)?;
        let [seconds, fraction, first, second] = self.order.words(record)?;
        let (captured, original_len) = self.lengths.of(first, second);
        let captured = captured as usize;
        if captured > self.captured_max || !self.announced {
            return None;
        }
        let packet = Packet {
            bytes: record.get(self.header_bytes..)?.get(..captured)?,
            ..blank(0, Some(self.time_ns(seconds, fraction)), original_len)
        };
        Some((packet, self.header_bytes + captured))
    }

    fn time_ns(&self, seconds: u32, fraction: u32) -> u64 {
        u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.nanoseconds_per_tick
    }

    /// How far it is to the record behind the one that begins in `window`.
    #[inline]
    pub(super) fn next_record(&self, window: &[u8]) -> Option<usize> {
        let [_, _, first, second] = self.order.words(window)?;
        let (captured, _) = self.lengths.of(first, second);
        self.header_bytes.checked_add(captured as usize)
    }

    /// The first place in `from..to` of `bytes`, a whole file, where a record seems to begin: it and
    /// those behind it have lengths and times that make sense together.
    ///
    /// Bytes of a packet can look so too: who reads from there has to see that the reading of what
    /// is before ends at this place.
    pub(super) fn plausible(&self, bytes: &[u8], from: usize, to: usize) -> Option<usize> {
        (from..to).find(|&at| self.begins_chain(bytes, at))
    }

    fn begins_chain(&self, bytes: &[u8], mut at: usize) -> bool {
        let mut time_before = None;
        for _ in 0..CHAIN {
            if at == bytes.len() {
                break;
            }
            let head = bytes.get(at..).and_then(|rest| self.order.words(rest));
            let Some([seconds, fraction, first, second]) = head else {
                return false;
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
            at += self.header_bytes + captured as usize;
        }
        at <= bytes.len()
    }

    /// Where the record lies that comes next.
    fn place(&self, source: &Source) -> Place {
        Place {
            part: "packet record",
            block: self.records + 1,
            offset: source.offset(),
        }
    }
}
