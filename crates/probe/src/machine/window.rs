//! Which of a target's latest probes have been settled.

/// A bit for each of the latest probes of each target, the run of losses it is in, and its latest answer.
///
/// A probe's bit is cleared when it is sent and set when it needs no more answer. The window is so
/// long that every probe is found lost or settled before its bit is used again.
#[derive(Debug)]
pub(crate) struct Window {
    bits: Box<[u64]>,
    tracks: Box<[Track]>,
    /// Words of 64 probes for each target; a power of two.
    words: usize,
}

/// What is remembered of a target from one probe to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    /// Probes lost in a row, now and at most.
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
            bits: vec![0; words * targets as usize].into_boxed_slice(),
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
        self.bits[word] &= !mask;
    }

    /// Settles a probe; whether it had not been.
    pub fn settle(&mut self, target: u32, round: u32) -> bool {
        let (word, mask) = self.place(target, round);
        let is_first = self.bits[word] & mask == 0;
        self.bits[word] |= mask;
        is_first
    }

    pub fn is_settled(&self, target: u32, round: u32) -> bool {
        let (word, mask) = self.place(target, round);
        self.bits[word] & mask != 0
    }

    /// Notes how the next probe of `target` ended when its time was up.
    pub fn end(&mut self, target: u32, is_lost: bool) {
        let track = &mut self.tracks[target as usize];
        track.outage = if is_lost { track.outage + 1 } else { 0 };
        track.longest_outage = track.longest_outage.max(track.outage);
    }

    /// Most probes of `target` lost in a row.
    pub fn longest_outage(&self, target: u32) -> u32 {
        self.tracks[target as usize].longest_outage
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
