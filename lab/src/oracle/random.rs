//! Reproducible random numbers.

/// A seeded random number generator. The same seed gives the same sequence.
///
/// # Source
/// Marsaglia, "Xorshift RNGs", 2003, with the multiplication of xorshift64*.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator for `seed`. Neighbouring seeds give unrelated sequences.
    pub fn new(seed: u64) -> Self {
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self((mixed ^ mixed >> 32) | 1)
    }

    /// Any 64-bit number except 0.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which must be at least 1.
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.number() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// A number from `first` to `last`, inclusive.
    pub fn between(&mut self, first: u32, last: u32) -> u32 {
        first + self.below(last - first + 1)
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u32) as usize]
    }

    /// One of `words`.
    pub fn word(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len() as u32) as usize]
    }
}
