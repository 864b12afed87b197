//! Which of a target's latest probes have been settled, and how.

use std::ops::Range;

/// Two bits for each of the latest probes of each target, the outage it is in, and its latest answer.
///
/// A probe's bits are cleared when it is sent; one is set when it needs no more answer, the other when that is
/// because it was answered in time. The window is so long that every probe is found lost or settled before its
/// bits are used again.
#[derive(Debug)]
pub(crate) struct Window {
    /// Those that are settled and those that were answered, by turns, so that they share a cache line.
    bits: Box<[[u64; 2]]>,
    tracks: Box<[Track]>,
    /// Words of 64 probes for each target; a power of two.
    words: usize,
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

impl Window {
    /// For `targets` of which each has at most `rounds` probes in flight.
    pub fn new(targets: u32, rounds: u32) -> Self {
        let words = (rounds.div_ceil(64).max(1) as usize).next_power_of_two();
        Self {
            bits: vec![[0; 2]; words * targets as usize].into_boxed_slice(),
            tracks: vec![Track::default(); targets as usize].into_boxed_slice(),
            words,
        }
    }

    /// How many of a target's latest probes are known.
    pub fn rounds(&self) -> u32 {
        (self.words * 64) as u32
    }

    pub fn clear(&mut self, target: u32, round: u32) {
        let (word, mask) = self.place(target, round);
        self.bits[word] = self.bits[word].map(|bits| bits & !mask);
    }

    /// Settles a probe; whether it had not been.
    pub fn settle(&mut self, target: u32, round: u32) -> bool {
        let (word, mask) = self.place(target, round);
        let [settled, _] = &mut self.bits[word];
        let is_first = *settled & mask == 0;
        *settled |= mask;
        is_first
    }

    pub fn is_settled(&self, target: u32, round: u32) -> bool {
        let (word, mask) = self.place(target, round);
        self.bits[word][0] & mask != 0
    }

    /// Notes that a probe was answered in time, or never went: it is no part of an outage.
    pub fn answer(&mut self, target: u32, round: u32) {
        let (word, mask) = self.place(target, round);
        self.bits[word][1] |= mask;
    }

    fn is_answered(&self, target: u32, round: u32) -> bool {
        let (word, mask) = self.place(target, round);
        self.bits[word][1] & mask != 0
    }

    /// Notes how the next probe of `target` ended when its time was up.
    pub fn end(&mut self, target: u32, round: u32) {
        let is_answered = self.is_answered(target, round);
        let track = &mut self.tracks[target as usize];
        track.outage = if is_answered { 0 } else { track.outage + 1 };
        track.longest_outage = track.longest_outage.max(track.outage);
    }

    /// Most probes of `target` without an answer in time in a row; of those in `open`, whose time is not up yet,
    /// as far as they are settled.
    pub fn longest_outage(&self, target: u32, open: Range<u32>) -> u32 {
        let Track {
            mut outage,
            mut longest_outage,
            ..
        } = self.tracks[target as usize];
        for round in open {
            if self.is_answered(target, round) {
                outage = 0;
            } else if self.is_settled(target, round) {
                outage += 1;
            } else {
                break;
            }
            longest_outage = longest_outage.max(outage);
        }
        longest_outage
    }

    /// Whether a later probe than `round` was answered before; notes that this one is.
    pub fn is_overtaken(&mut self, target: u32, round: u32) -> bool {
        let latest = &mut self.tracks[target as usize].latest;
        let is_overtaken = *latest > round;
        *latest = round.max(*latest);
        is_overtaken
    }

    /// The round trip before this one of `target`.
    pub fn swap_last(&mut self, target: u32, rtt_ns: f32) -> f32 {
        std::mem::replace(&mut self.tracks[target as usize].last_ns, rtt_ns)
    }

    /// The latest round trip of `target`.
    pub fn last_ns(&self, target: u32) -> f32 {
        self.tracks[target as usize].last_ns
    }

    fn place(&self, target: u32, round: u32) -> (usize, u64) {
        let word = target as usize * self.words + ((round as usize / 64) & (self.words - 1));
        (word, 1 << (round % 64))
    }
}
