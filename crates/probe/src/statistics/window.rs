//! Which of the latest probes to each target are settled, and how.

/// Per target: two bits for each of the latest probes, the current outage, and the latest answer.
///
/// The two bits are `settled` and `answered`. Sending a probe clears both. `settled` is set when the
/// probe needs no more answers, `answered` as well if it was answered in time. `answered` alone means
/// that only an unproven error has arrived. The window is long enough that every probe is settled or
/// lost before its bits are reused.
#[derive(Debug)]
pub(crate) struct ProbeWindow {
    /// By position in the order of the run, so that consecutive probes and answers use adjacent memory.
    rows: Vec<Row>,
    /// Further words per target, if one is not enough.
    more: Vec<Bits>,
    /// Words of 64 probes per target; a power of two.
    words: usize,
}

/// The `settled` and the `answered` bits of 64 probes.
type Bits = [u64; 2];

/// The state of a probe at its timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeEnd {
    /// It was settled before.
    Settled,
    /// Only an unproven error arrived.
    Unproven,
    /// No answer arrived.
    Lost,
}

/// The state that a probe touches, in one position: with many targets, none of it is in the CPU cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Row {
    bits: Bits,
    state: TargetState,
}

/// State of a target between probes.
#[derive(Clone, Copy, Debug, Default)]
struct TargetState {
    /// Consecutive probes without an answer in time: current and maximum.
    outage: u32,
    longest_outage: u32,
    /// The highest round answered in time.
    latest: u32,
    /// The latest round-trip time in nanoseconds.
    last_ns: f32,
}

/// Number of 64-bit words that hold `rounds` probes.
fn words(rounds: u32) -> usize {
    (rounds.div_ceil(64).max(1) as usize).next_power_of_two()
}

impl ProbeWindow {
    /// Bytes for a target with at most `rounds` probes in flight.
    pub fn row_bytes(rounds: u32) -> usize {
        size_of::<Row>() + (words(rounds) - 1) * size_of::<Bits>()
    }

    /// For `targets` targets with at most `rounds` probes in flight each.
    pub fn new(targets: u32, rounds: u32) -> Self {
        let words = words(rounds);
        Self {
            rows: vec![Row::default(); targets as usize],
            more: vec![[0; 2]; (words - 1) * targets as usize],
            words,
        }
    }

    /// Makes room for `targets` targets.
    pub fn grow(&mut self, targets: u32) {
        let targets = targets as usize;
        self.rows.resize(targets, Row::default());
        self.more.resize((self.words - 1) * targets, [0; 2]);
    }

    /// Forgets the state of the target at `position`, all of whose probes are settled. They stay so: some of their slots
    /// may not have expired.
    pub fn reset(&mut self, position: u32) {
        self.rows[position as usize].state = TargetState::default();
    }

    /// Number of latest probes per target that the window holds.
    pub fn rounds(&self) -> u32 {
        (self.words * 64) as u32
    }

    #[inline]
    pub fn clear(&mut self, position: u32, round: u32) {
        let (bits, mask) = self.word_of(position, round);
        *bits = bits.map(|word| word & !mask);
    }

    /// Settles a probe. Returns whether it was unsettled.
    #[inline]
    pub fn settle(&mut self, position: u32, round: u32) -> bool {
        let ([settled, answered], mask) = self.word_of(position, round);
        let is_first = *settled & mask == 0;
        if is_first {
            *settled |= mask;
            *answered &= !mask;
        }
        is_first
    }

    /// Notes an unproven error. Returns whether it is the first message about the probe.
    pub fn note_unproven(&mut self, position: u32, round: u32) -> bool {
        let ([settled, answered], mask) = self.word_of(position, round);
        let is_first = (*settled | *answered) & mask == 0;
        if is_first {
            *answered |= mask;
        }
        is_first
    }

    #[inline]
    pub fn is_settled(&self, position: u32, round: u32) -> bool {
        let ([settled, _], mask) = self.bits(position, round);
        settled & mask != 0
    }

    /// Notes that a settled probe is not part of an outage: it was answered in time or never sent.
    #[inline]
    pub fn mark_answered(&mut self, position: u32, round: u32) {
        let ([_, answered], mask) = self.word_of(position, round);
        *answered |= mask;
    }

    #[inline]
    fn is_answered(&self, position: u32, round: u32) -> bool {
        let ([settled, answered], mask) = self.bits(position, round);
        settled & answered & mask != 0
    }

    /// Ends the next probe of the target at `position`, at its timeout. `is_skipped`: the target is not probed in this round,
    /// which neither ends an outage nor prolongs it.
    #[inline]
    pub fn end(&mut self, position: u32, round: u32, is_skipped: bool) -> ProbeEnd {
        let ([settled, answered], mask) = self.bits(position, round);
        let end = match (settled & mask != 0, answered & mask != 0) {
            (true, _) => ProbeEnd::Settled,
            (false, true) => ProbeEnd::Unproven,
            (false, false) => ProbeEnd::Lost,
        };
        if end == ProbeEnd::Unproven {
            self.settle(position, round);
        }
        let is_answered = self.is_answered(position, round);
        if is_skipped && end == ProbeEnd::Settled {
            return end;
        }
        let state = &mut self.rows[position as usize].state;
        state.outage = if is_answered { 0 } else { state.outage + 1 };
        state.longest_outage = state.longest_outage.max(state.outage);
        end
    }

    /// Maximum number of consecutive probes of the target at `position` without an answer in time. Of the
    /// rounds in `open`, which have not expired, only the settled ones count.
    pub fn longest_outage(&self, position: u32, open: impl Iterator<Item = u32>) -> u32 {
        let TargetState {
            mut outage,
            mut longest_outage,
            ..
        } = self.rows[position as usize].state;
        for round in open {
            if self.is_answered(position, round) {
                outage = 0;
            } else if self.is_settled(position, round) {
                outage += 1;
            } else {
                break;
            }
            longest_outage = longest_outage.max(outage);
        }
        longest_outage
    }

    /// Whether a later probe than `round` was answered before. Notes that this one is answered.
    #[inline]
    pub fn is_overtaken(&mut self, position: u32, round: u32) -> bool {
        let latest = &mut self.rows[position as usize].state.latest;
        let is_overtaken = *latest > round;
        *latest = round.max(*latest);
        is_overtaken
    }

    /// Stores the latest round-trip time of the target at `position`, and returns the previous one.
    #[inline]
    pub fn swap_last(&mut self, position: u32, rtt_ns: f32) -> f32 {
        std::mem::replace(&mut self.rows[position as usize].state.last_ns, rtt_ns)
    }

    /// The latest round-trip time of the target at `position`.
    pub fn last_ns(&self, position: u32) -> f32 {
        self.rows[position as usize].state.last_ns
    }

    /// The word with the bits of a probe, and its mask.
    #[inline]
    fn word_of(&mut self, position: u32, round: u32) -> (&mut Bits, u64) {
        let bits = match self.further(position, round) {
            None => &mut self.rows[position as usize].bits,
            Some(at) => &mut self.more[at],
        };
        (bits, 1 << (round % 64))
    }

    /// Read-only variant of [`ProbeWindow::word_of`].
    #[inline]
    fn bits(&self, position: u32, round: u32) -> (Bits, u64) {
        let bits = match self.further(position, round) {
            None => self.rows[position as usize].bits,
            Some(at) => self.more[at],
        };
        (bits, 1 << (round % 64))
    }

    /// The index of the probe's word in `more`; `None` if it is in the row.
    #[inline]
    fn further(&self, position: u32, round: u32) -> Option<usize> {
        let word = (round as usize / 64) & (self.words - 1);
        let before = word.checked_sub(1)?;
        Some(position as usize * (self.words - 1) + before)
    }
}
