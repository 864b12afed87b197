//! When each packet is to be sent.

use std::num::NonZeroU64;
use std::time::Duration;

/// Bytes of an Ethernet frame on the wire beyond those that are sent: preamble 8, FCS 4, gap 12.
///
/// # Source
/// IEEE 802.3, 3.1.1 and 4.4.2.
const LAYER_1_BYTES: u64 = 24;

/// The shortest Ethernet frame without its FCS. The device pads shorter ones.
const MIN_FRAME_BYTES: u64 = 60;

/// How fast packets are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Rate {
    /// As fast as possible.
    #[default]
    Max,
    /// Packets per second, evenly spaced.
    Packets(NonZeroU64),
    /// Bits per second of the frames as they are given (without FCS).
    Bits(NonZeroU64),
    /// Bits per second on the wire: with preamble, padding, FCS and the gap between frames.
    WireBits(NonZeroU64),
    /// With the gaps of the packets' times, divided by the speed: 2.0 halves them. The speed must be positive.
    Recorded(f64),
    /// At the packets' times: nanoseconds of `CLOCK_MONOTONIC`.
    Absolute,
}

/// The planned times of packets sent one after the other.
#[derive(Debug)]
pub struct Schedule {
    rate: Rate,
    start_ns: u64,
    /// Units of the rate that were planned before: packets or bits.
    units: u128,
    /// The first recorded time.
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Schedule {
    pub fn new(rate: Rate, start_ns: u64) -> Self {
        Self {
            rate,
            start_ns,
            units: 0,
            first_ns: None,
            last_ns: start_ns,
        }
    }

    /// Whether packets have planned times.
    pub fn is_paced(&self) -> bool {
        self.rate != Rate::Max
    }

    /// Whether the planned times depend on the start.
    pub fn is_relative(&self) -> bool {
        !matches!(self.rate, Rate::Max | Rate::Absolute)
    }

    /// The planned time of the next packet (`CLOCK_MONOTONIC`), which has `length` bytes and the time `time_ns`. Each
    /// is computed from the start, so that no rounding adds up. It is never before that of the packet before.
    #[inline]
    pub fn next(&mut self, length: usize, time_ns: u64) -> u64 {
        let length = length as u64;
        let planned = match self.rate {
            Rate::Max => return self.start_ns,
            Rate::Packets(rate) => self.after(1, rate),
            Rate::Bits(rate) => self.after(8 * length, rate),
            Rate::WireBits(rate) => {
                self.after(8 * (length.max(MIN_FRAME_BYTES) + LAYER_1_BYTES), rate)
            }
            Rate::Recorded(speed) => {
                let first = *self.first_ns.get_or_insert(time_ns);
                let offset = Duration::from_nanos(time_ns.saturating_sub(first));
                let offset = Duration::try_from_secs_f64(offset.as_secs_f64() / speed);
                let offset_ns = offset.unwrap_or(Duration::MAX).as_nanos();
                let offset_ns = u64::try_from(offset_ns).unwrap_or(u64::MAX);
                self.start_ns.saturating_add(offset_ns)
            }
            Rate::Absolute => time_ns,
        };
        self.last_ns = self.last_ns.max(planned);
        self.last_ns
    }

    /// Begins the recorded times anew: the next packet follows the last one at once.
    pub fn repeat(&mut self) {
        if matches!(self.rate, Rate::Recorded(_)) {
            (self.start_ns, self.first_ns) = (self.last_ns, None);
        }
    }

    /// The time after the units planned so far, to which `units` are added.
    fn after(&mut self, units: u64, per_second: NonZeroU64) -> u64 {
        let offset = self.units * 1_000_000_000 / u128::from(per_second.get());
        self.units += u128::from(units);
        let offset = u64::try_from(offset).unwrap_or(u64::MAX);
        self.start_ns.saturating_add(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: Rate, packets: &[(usize, u64)]) -> Vec<u64> {
        let mut schedule = Schedule::new(rate, 1_000);
        let mut next = |&(length, time_ns): &(usize, u64)| schedule.next(length, time_ns) - 1_000;
        packets.iter().map(&mut next).collect()
    }

    fn per_second(rate: u64) -> NonZeroU64 {
        NonZeroU64::new(rate).expect("not 0")
    }

    #[test]
    fn packets_are_planned_at_their_rate() {
        let three = [(60, 0), (1000, 7), (60, 3)];
        for (rate, planned) in [
            (Rate::Max, [0, 0, 0]),
            (Rate::Packets(per_second(1_000)), [0, 1_000_000, 2_000_000]),
            // 60 bytes are 480 bits, 1000 are 8000.
            (Rate::Bits(per_second(1_000_000)), [0, 480_000, 8_480_000]),
            // 84 and 1024 bytes on the wire.
            (
                Rate::WireBits(per_second(1_000_000)),
                [0, 672_000, 8_864_000],
            ),
        ] {
            assert_eq!(times(rate, &three), planned, "{rate:?}");
        }
    }

    #[test]
    fn no_rounding_adds_up() {
        let rate = Rate::Packets(per_second(3));
        let packets = vec![(60, 0); 3_000_001];
        let last = times(rate, &packets).pop();
        assert_eq!(last, Some(1_000_000 * 1_000_000_000));
    }

    #[test]
    fn recorded_times_keep_their_gaps() {
        let recorded = [(60, 500), (60, 700), (60, 600), (60, 1_500)];
        // A packet older than the one before follows it at once.
        assert_eq!(times(Rate::Recorded(1.0), &recorded), [0, 200, 200, 1_000]);
        assert_eq!(times(Rate::Recorded(2.0), &recorded), [0, 100, 100, 500]);
        let mut schedule = Schedule::new(Rate::Recorded(1.0), 1_000);
        schedule.next(60, 500);
        schedule.next(60, 900);
        schedule.repeat();
        assert_eq!(schedule.next(60, 500), 1_400);
        assert_eq!(schedule.next(60, 900), 1_800);
    }

    #[test]
    fn absolute_times_are_those_of_the_clock() {
        let mut schedule = Schedule::new(Rate::Absolute, 1_000);
        assert_eq!(schedule.next(60, 5_000), 5_000);
        assert_eq!(schedule.next(60, 4_000), 5_000);
    }
}
