//! Which of a target's latest probes have been settled, and how.

use std::ops::Range;

/// Two bits for each of the latest probes of each target, the outage it is in, and its latest answer.
///
/// A probe's bits are cleared when it is sent; one is set when it needs no more answer, the other too when that is
/// because it was answered in time. The other alone is set while all that is known of it is a doubtful error. The
/// window is so long that every probe is found lost or settled before its bits are used again.
#[derive(Debug)]
pub(crate) struct Window {
    /// By place in the order of the run, so that probes and answers that follow one another find theirs together.
    rows: Box<[Row]>,
    /// Further words of each target, where one does not do.
    more: Box<[Bits]>,
    /// Words of 64 probes for each target; a power of two.
    words: usize,
}

/// Which of 64 probes are settled, and which were answered; those that only were answered, by an error in doubt.
type Bits = [u64; 2];

/// How a probe ended when its time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It had been settled.
    Settled,
    /// By an error in doubt, which nothing has disproved.
    Doubtful,
    /// Without an answer.
    Lost,
}

/// What a probe to a target needs, side by side: of many targets none is in the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Row {
    bits: Bits,
    track: Track,
}

/// What is remembered of a target from one probe to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    /// Probes without an answer in time in a row, now and at most.
    outage: u32,
    longest_outage: u32,
    /// The latest probe answered in time.
    latest: u32,
    /// The latest round trip, nanoseconds.
    last_ns: f32,
}

/// Words of 64 probes that have room for `rounds`.
fn words(rounds: u32) -> usize {
    (rounds.div_ceil(64).max(1) as usize).next_power_of_two()
}

impl Window {
    /// Memory for a target of which at most `rounds` probes are in flight, bytes.
    pub fn row_bytes(rounds: u32) -> usize {
        size_of::<Row>() + (words(rounds) - 1) * size_of::<Bits>()
    }

    /// For `targets` of which each has at most `rounds` probes in flight.
    pub fn new(targets: u32, rounds: u32) -> Self {
        let words = words(rounds);
        Self {
            rows: vec![Row::default(); targets as usize].into_boxed_slice(),
            more: vec![[0; 2]; (words - 1) * targets as usize].into_boxed_slice(),
            words,
        }
    }

    /// How many of a target's latest probes are known.
    pub fn rounds(&self) -> u32 {
        (self.words * 64) as u32
    }

    #[inline]
    pub fn clear(&mut self, place: u32, round: u32) {
        let (bits, mask) = self.word_of(place, round);
        *bits = bits.map(|word| word & !mask);
    }

    /// Settles a probe; whether it had not been.
    #[inline]
    pub fn settle(&mut self, place: u32, round: u32) -> bool {
        let ([settled, answered], mask) = self.word_of(place, round);
        let is_first = *settled & mask == 0;
        if is_first {
            *settled |= mask;
            *answered &= !mask;
        }
        is_first
    }

    /// Notes an error in doubt about a probe; whether it is the first that is heard of it.
    pub fn doubt(&mut self, place: u32, round: u32) -> bool {
        let ([settled, answered], mask) = self.word_of(place, round);
        let is_first = (*settled | *answered) & mask == 0;
        if is_first {
            *answered |= mask;
        }
        is_first
    }

    #[inline]
    pub fn is_settled(&self, place: u32, round: u32) -> bool {
        let ([settled, _], mask) = self.bits(place, round);
        settled & mask != 0
    }

    /// Notes that a probe that is settled was answered in time, or never went: it is no part of an outage.
    #[inline]
    pub fn answer(&mut self, place: u32, round: u32) {
        let ([_, answered], mask) = self.word_of(place, round);
        *answered |= mask;
    }

    #[inline]
    fn is_answered(&self, place: u32, round: u32) -> bool {
        let ([settled, answered], mask) = self.bits(place, round);
        settled & answered & mask != 0
    }

    /// Notes that the time of the next probe of the target at `place` is up; how it ended.
    #[inline]
    pub fn end(&mut self, place: u32, round: u32) -> End {
        let ([settled, answered], mask) = self.bits(place, round);
        let end = match (settled & mask != 0, answered & mask != 0) {
            (true, _) => End::Settled,
            (false, true) => End::Doubtful,
            (false, false) => End::Lost,
        };
        if end == End::Doubtful {
            self.settle(place, round);
        }
        let is_answered = self.is_answered(place, round);
        let track = &mut self.rows[place as usize].track;
        track.outage = if is_answered { 0 } else { track.outage + 1 };
        track.longest_outage = track.longest_outage.max(track.outage);
        end
    }

    /// Most probes of the target at `place` without an answer in time in a row; of those in `open`, whose time
    /// is not up yet, as far as they are settled.
    pub fn longest_outage(&self, place: u32, open: Range<u32>) -> u32 {
        let Track {
            mut outage,
            mut longest_outage,
            ..
        } = self.rows[place as usize].track;
        for round in open {
            if self.is_answered(place, round) {
                outage = 0;
            } else if self.is_settled(place, round) {
                outage += 1;
            } else {
                break;
            }
            longest_outage = longest_outage.max(outage);
        }
        longest_outage
    }

    /// Whether a later probe than `round` was answered before; notes that this one is.
    #[inline]
    pub fn is_overtaken(&mut self, place: u32, round: u32) -> bool {
        let latest = &mut self.rows[place as usize].track.latest;
        let is_overtaken = *latest > round;
        *latest = round.max(*latest);
        is_overtaken
    }

    /// The round trip before this one of the target at `place`.
    #[inline]
    pub fn swap_last(&mut self, place: u32, rtt_ns: f32) -> f32 {
        std::mem::replace(&mut self.rows[place as usize].track.last_ns, rtt_ns)
    }

    /// The latest round trip of the target at `place`.
    pub fn last_ns(&self, place: u32) -> f32 {
        self.rows[place as usize].track.last_ns
    }

    /// The word that has the bit of a probe, and the bit.
    #[inline]
    fn word_of(&mut self, place: u32, round: u32) -> (&mut Bits, u64) {
        let bits = match self.further(place, round) {
            None => &mut self.rows[place as usize].bits,
            Some(at) => &mut self.more[at],
        };
        (bits, 1 << (round % 64))
    }

    /// As [`Window::word_of`], to be read.
    #[inline]
    fn bits(&self, place: u32, round: u32) -> (Bits, u64) {
        let bits = match self.further(place, round) {
            None => self.rows[place as usize].bits,
            Some(at) => self.more[at],
        };
        (bits, 1 << (round % 64))
    }

    /// Where among the further words a probe has its own, if it does not have it in its target's row.
    #[inline]
    fn further(&self, place: u32, round: u32) -> Option<usize> {
        let word = (round as usize / 64) & (self.words - 1);
        let before = word.checked_sub(1)?;
        Some(place as usize * (self.words - 1) + before)
    }
}
