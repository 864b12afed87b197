//! Loss, reordering, duplication and one-way delay of stamped packets.

use std::collections::BTreeMap;

use bpf::count::{OtherStamped, StreamRecord};
use probe::Histogram;
use wire::stamp::Stamp;

/// Sequence numbers behind the highest one for which a stream knows whether they came: a power of two.
const WINDOW: u64 = 1 << 16;
const WORDS: usize = (WINDOW / 64) as usize;

/// Sequence numbers start here, so that those before the first one received are not negative.
const BASE: u64 = 1 << 32;

/// Streams at most; each takes about 45 KiB.
const MAX_STREAMS: usize = 256;

/// A filter that accepts packets with a [stamp](mod@crate::packet::stamp): IPv4 and IPv6, with up to two VLAN tags. A
/// capture with it copies no others.
pub const STAMP_FILTER: &str = "ip[ip[2:2]-18:4] = 0xd5b17a9e or ip6[ip6[4:2]+22:4] = 0xd5b17a9e or \
    (vlan and (ip[ip[2:2]-18:4] = 0xd5b17a9e or ip6[ip6[4:2]+22:4] = 0xd5b17a9e or \
    (vlan and (ip[ip[2:2]-18:4] = 0xd5b17a9e or ip6[ip6[4:2]+22:4] = 0xd5b17a9e))))";

/// Derives what became of the packets of [stamped](mod@crate::packet::stamp) streams from those that arrived.
///
/// ```
/// use tapline::count::StreamCounter;
///
/// let mut counter = StreamCounter::new();
/// counter.add(1, &[0; 60], Some(1_000));
/// assert_eq!((counter.streams().count(), counter.unstamped()), (0, 1));
/// ```
#[derive(Debug, Default)]
pub struct StreamCounter {
    streams: BTreeMap<u16, Stream>,
    unstamped: u64,
    uncounted: u64,
}

/// What became of the packets of all streams.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StreamTotals {
    /// The streams, by number.
    pub streams: Vec<StreamFigures>,
    /// Packets that were examined and have no stamp.
    pub unstamped: u64,
    /// Packets of streams beyond the first 256.
    pub uncounted: u64,
}

/// What is known of one stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamFigures {
    /// Its number.
    pub stream: u16,
    /// Different packets that arrived.
    pub received: u64,
    /// Sequence numbers between the lowest and the highest that arrived which did not arrive, or only as
    /// [`late`](Self::late) ones. Packets before the first and behind the last one that arrived cannot be known.
    pub lost: u64,
    /// Received packets with a lower sequence number than one that arrived before (RFC 4737, 3.3).
    pub reordered: u64,
    /// How far the sequence number of a reordered packet was behind the highest one, at most.
    pub reordered_distance: u64,
    /// Copies of packets that had arrived before (RFC 5560).
    pub duplicated: u64,
    /// Packets 65536 or more behind the highest sequence number: reordered ones or copies, which cannot be told apart.
    pub late: u64,
    /// The lowest sequence number that arrived, modulo 2^32.
    pub first_sequence: u32,
    /// The highest one.
    pub last_sequence: u32,
    /// Shortest and longest one-way delay (RFC 7679): time of arrival by the receiver's clock minus the send time by the
    /// sender's, nanoseconds. Negative if the clocks differ. `None` if no packet has a time of arrival.
    pub delay_range_ns: Option<(i64, i64)>,
    /// The delays that are not negative.
    pub delays: Histogram,
    /// Packets with a negative delay.
    pub negative_delays: u64,
}

impl StreamFigures {
    /// The delay at `quantile` (0 to 1); `None` if there is none, or if some are negative: the clocks are wrong then.
    pub fn delay_ns(&self, quantile: f64) -> Option<u64> {
        let is_known = self.negative_delays == 0;
        is_known.then(|| self.delays.quantile(quantile)).flatten()
    }
}

#[derive(Debug)]
struct Stream {
    figures: StreamFigures,
    first: u64,
    /// One more than the highest sequence number.
    next: u64,
    /// Bit n modulo the window: sequence number n came.
    window: Box<[u64; WORDS]>,
}

impl StreamCounter {
    /// Without any stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a packet of this link type (`LINKTYPE_*`), which arrived at `time_ns` (nanoseconds since 1970).
    pub fn add(&mut self, link_type: u16, packet: &[u8], time_ns: Option<u64>) {
        let Some(stamp) = Stamp::find(link_type, packet) else {
            self.unstamped += 1;
            return;
        };
        if !self.streams.contains_key(&stamp.stream) && self.streams.len() == MAX_STREAMS {
            self.uncounted += 1;
            return;
        }
        let stream = self.streams.entry(stamp.stream);
        let stream = stream.or_insert_with(|| Stream::new(&stamp));
        let is_new = stream.count(stamp.sequence);
        if let (true, Some(time_ns)) = (is_new, time_ns) {
            stream.figures.add_delay(time_ns, stamp.time_ns);
        }
    }

    /// All figures so far.
    pub fn totals(&self) -> StreamTotals {
        StreamTotals {
            streams: self.streams().cloned().collect(),
            unstamped: self.unstamped,
            uncounted: self.uncounted,
        }
    }

    /// The streams, by number.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = &StreamFigures> {
        self.streams.values().map(|stream| &stream.figures)
    }

    /// Packets without a stamp.
    pub fn unstamped(&self) -> u64 {
        self.unstamped
    }

    /// Packets of streams beyond the first 256.
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }
}

impl Stream {
    fn new(stamp: &Stamp) -> Self {
        let first = BASE + u64::from(stamp.sequence);
        Self {
            figures: StreamFigures {
                stream: stamp.stream,
                received: 0,
                lost: 0,
                reordered: 0,
                reordered_distance: 0,
                duplicated: 0,
                late: 0,
                first_sequence: stamp.sequence,
                last_sequence: stamp.sequence,
                delay_range_ns: None,
                delays: Histogram::default(),
                negative_delays: 0,
            },
            first,
            next: first,
            window: Box::new([0; WORDS]),
        }
    }

    /// Counts a sequence number. Returns whether its packet came for the first time.
    fn count(&mut self, sequence: u32) -> bool {
        // The difference in 32 bits tells which of the numbers with these low bits it is: the nearest.
        let ahead = sequence.wrapping_sub(self.next as u32).cast_signed();
        let number = self.next.saturating_add_signed(ahead.into());
        if number >= self.next {
            self.forget_up_to(number);
            self.next = number + 1;
        } else {
            let distance = self.next - 1 - number;
            if distance >= WINDOW {
                self.figures.late += 1;
                return false;
            }
            if self.has(number) {
                self.figures.duplicated += 1;
                return false;
            }
            self.figures.reordered += 1;
            self.figures.reordered_distance = self.figures.reordered_distance.max(distance);
        }
        self.first = self.first.min(number);
        *self.word(number) |= bit(number);
        self.figures.received += 1;
        self.figures.lost = self.next - self.first - self.figures.received;
        self.figures.first_sequence = self.first as u32;
        self.figures.last_sequence = (self.next - 1) as u32;
        true
    }

    /// Numbers from the next one to `number` take the places of older ones.
    fn forget_up_to(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.window.fill(0);
            return;
        }
        for number in self.next..=number {
            *self.word(number) &= !bit(number);
        }
    }

    fn has(&mut self, number: u64) -> bool {
        *self.word(number) & bit(number) != 0
    }

    fn word(&mut self, number: u64) -> &mut u64 {
        &mut self.window[(number % WINDOW / 64) as usize]
    }
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

impl StreamTotals {
    /// From what the kernel counted.
    pub(super) fn of_records(records: &[StreamRecord], others: OtherStamped) -> Self {
        let mut streams: Vec<_> = records.iter().map(StreamFigures::of_record).collect();
        streams.sort_unstable_by_key(|figures| figures.stream);
        Self {
            streams,
            unstamped: others.unstamped,
            uncounted: others.uncounted,
        }
    }
}

impl StreamFigures {
    fn of_record(record: &StreamRecord) -> Self {
        let numbers = record.next.saturating_sub(record.first);
        Self {
            stream: record.stream,
            received: record.received,
            lost: numbers.saturating_sub(record.received),
            reordered: record.reordered,
            reordered_distance: record.reordered_distance,
            duplicated: record.duplicated,
            late: record.late,
            first_sequence: record.first as u32,
            last_sequence: record.next.wrapping_sub(1) as u32,
            delay_range_ns: (record.received > 0).then_some(record.delay_range_ns),
            delays: Histogram::from_counts(&record.delays, record.delay_sum_ns.into()),
            negative_delays: record.negative_delays,
        }
    }

    fn add_delay(&mut self, arrived_ns: u64, sent_ns: u64) {
        let delay = i128::from(arrived_ns) - i128::from(sent_ns);
        let delay = i64::try_from(delay).unwrap_or(if delay < 0 { i64::MIN } else { i64::MAX });
        let (least, most) = self.delay_range_ns.unwrap_or((delay, delay));
        self.delay_range_ns = Some((least.min(delay), most.max(delay)));
        match u64::try_from(delay) {
            Ok(delay) => self.delays.record(delay),
            Err(_) => self.negative_delays += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of a stream in which `numbers` arrive: received, lost, reordered, distance, duplicated, late.
    fn figures(numbers: impl IntoIterator<Item = u32>) -> [u64; 6] {
        let mut stream: Option<Stream> = None;
        for sequence in numbers {
            let stamp = Stamp {
                stream: 0,
                sequence,
                time_ns: 0,
            };
            stream
                .get_or_insert_with(|| Stream::new(&stamp))
                .count(sequence);
        }
        let figures = stream.expect("a number").figures;
        [
            figures.received,
            figures.lost,
            figures.reordered,
            figures.reordered_distance,
            figures.duplicated,
            figures.late,
        ]
    }

    #[test]
    fn loss_reordering_and_duplication_are_told_apart() {
        assert_eq!(figures([0, 1, 2, 3]), [4, 0, 0, 0, 0, 0]);
        assert_eq!(figures([5, 6, 9]), [3, 2, 0, 0, 0, 0]);
        // The example of RFC 4737, section 10.1 (one packet late by three), and a copy.
        assert_eq!(figures([1, 2, 3, 5, 6, 7, 4, 8]), [8, 0, 1, 3, 0, 0]);
        assert_eq!(figures([1, 2, 2, 1, 4, 3, 3]), [4, 0, 1, 1, 3, 0]);
        // One before the first.
        assert_eq!(figures([10, 8, 11]), [3, 1, 1, 2, 0, 0]);
        assert_eq!(figures([0, 1, 0]), [2, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let numbers = (0..10).map(|number: u32| number.wrapping_sub(5));
        assert_eq!(figures(numbers), [10, 0, 0, 0, 0, 0]);
        assert_eq!(figures([u32::MAX, 1, 0]), [3, 0, 1, 1, 0, 0]);
        assert_eq!(figures([0, u32::MAX]), [2, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn the_window_is_bounded() {
        let window = WINDOW as u32;
        // The oldest number of the window, and the one before it.
        assert_eq!(
            figures([1, window, 0]),
            [2, u64::from(window) - 2, 0, 0, 0, 1]
        );
        assert_eq!(
            figures([2, window, 1]),
            [3, u64::from(window) - 3, 1, WINDOW - 1, 0, 0]
        );
        // A gap longer than the window leaves nothing behind.
        let far = 10 * window;
        assert_eq!(
            figures([0, far, far - 5, far - 5])[1..],
            [u64::from(far) - 2, 1, 5, 1, 0]
        );
        // All of the window are lost, and come later.
        let numbers = [0, window - 1].into_iter().chain(1..window - 1);
        assert_eq!(figures(numbers)[..4], [WINDOW, 0, WINDOW - 2, WINDOW - 2]);
    }
}
