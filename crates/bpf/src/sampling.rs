//! Sampling: keeps some of the packets that match, in the kernel, before anything is copied.

use std::fmt;
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::map::{Counters, MapError};
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size};

/// Which of the packets accepted by the filter are kept.
///
/// Displayed as `1/100`, `p=0.01` or `first/10ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// The first packet of each CPU, and then every n-th.
    ///
    /// Of `m` packets of one CPU, exactly `m / n`, rounded up, are kept. Several CPUs together keep up to one more each.
    OneIn(NonZeroU32),
    /// Each packet with this probability, independently of others.
    Probability(Probability),
    /// The first packet of each CPU, and then the first after this much time since the last one kept.
    FirstAfter(Duration),
}

/// A probability that a 32-bit random number can represent: 1, or from 2^-32 to the largest multiple of 2^-32 below 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability(f64);

/// Number of 32-bit random numbers.
const NUMBERS: f64 = 4_294_967_296.0;

impl Probability {
    /// The smallest probability.
    pub const LEAST: f64 = 1.0 / NUMBERS;

    /// `None` if `value` is not a probability, or indistinguishable from 0 or 1.
    pub fn new(value: f64) -> Option<Self> {
        let is_told_from_1 = (value * NUMBERS).round() < NUMBERS || value >= 1.0;
        ((Self::LEAST..=1.0).contains(&value) && is_told_from_1).then_some(Self(value))
    }

    /// The probability as a number.
    pub fn value(self) -> f64 {
        self.0
    }

    /// The largest 32-bit random number that keeps a packet. The probability is exact to 2^-32.
    #[expect(clippy::cast_sign_loss, reason = "a probability is above 0")]
    fn threshold(self) -> u32 {
        let numbers = (self.0 * NUMBERS).round() as u64;
        u32::try_from(numbers - 1).unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneIn(n) => write!(f, "1/{n}"),
            Self::Probability(probability) => write!(f, "p={}", probability.0),
            Self::FirstAfter(time) => {
                let ns = time.as_nanos();
                let units = [
                    (1_000_000_000, "s"),
                    (1_000_000, "ms"),
                    (1_000, "us"),
                    (1, "ns"),
                ];
                let fitting = units.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit));
                let (unit, word) = fitting.unwrap_or((1, "ns"));
                write!(f, "first/{}{word}", ns / unit)
            }
        }
    }
}

/// A sampling with its per-CPU state. It generates code for programs of any type.
///
/// Programs with the code of one sampler share its state.
#[derive(Debug)]
pub struct Sampler {
    sampling: Sampling,
    /// Packets to skip before the next one is kept, or the time from which on one is kept. Random sampling has no state.
    state: Option<Counters<1>>,
}

/// Labels and stack that the sampler's code may use.
#[derive(Clone, Copy, Debug)]
pub struct SamplerLabels {
    /// Where packets go that are sampled out. Packets that are kept continue after the code.
    pub left_out: Label,
    /// A label that nothing else uses.
    pub own: Label,
    /// The code uses [`Sampler::STACK_BYTES`] from here on: a negative multiple of 8 bytes from `R10`.
    pub stack: i16,
}

impl Sampler {
    /// Bytes of stack that the code uses.
    pub const STACK_BYTES: u16 = 16;

    /// Creates a sampler in its initial state; `name` is the name of its map.
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    pub fn create(name: &str, sampling: Sampling) -> Result<Self, MapError> {
        let state = match sampling {
            Sampling::Probability(_) => None,
            Sampling::OneIn(_) | Sampling::FirstAfter(_) => Some(Counters::create(name)?),
        };
        Ok(Self { sampling, state })
    }

    /// The sampling.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// Code that continues for packets that are kept and jumps for the others.
    ///
    /// Clobbers `R0` to `R5`, preserves `R6` to `R9`. The per-CPU state needs no atomic updates: XDP, tc and packet socket
    /// programs run one after another on a CPU.
    ///
    /// # Kernel
    /// Linux 5.8 for [`Sampling::FirstAfter`] (the clock helper without GPL).
    pub fn code(&self, places: SamplerLabels) -> Vec<Insn<'_>> {
        match (self.sampling, &self.state) {
            (Sampling::OneIn(n), Some(state)) => one_in(n, state, places),
            (Sampling::FirstAfter(time), Some(state)) => first_after(time, state, places),
            (Sampling::Probability(probability), _) => vec![
                Insn::Call(Helper::GetPrandomU32),
                Insn::jump_if32(
                    Condition::Greater,
                    Reg::R0,
                    probability.threshold().cast_signed(),
                    places.left_out,
                ),
            ],
            // `create` gives both of them a state.
            (_, None) => Vec::new(),
        }
    }
}

/// `R0 =` address of this CPU's state.
fn find(state: &Counters<1>, places: SamplerLabels) -> [Insn<'_>; 6] {
    let key = places.stack + 8;
    [
        Insn::store(Size::Word, Reg::R10, key, 0),
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, i32::from(key)),
        Insn::LoadMap {
            dst: Reg::R1,
            map: state.as_fd(),
        },
        Insn::Call(Helper::MapLookupElem),
        // Key 0 always exists, but the verifier requires the check.
        Insn::jump_if(Condition::Equal, Reg::R0, 0, places.left_out),
    ]
}

/// Counts down the packets to skip.
fn one_in(n: NonZeroU32, state: &Counters<1>, places: SamplerLabels) -> Vec<Insn<'_>> {
    let mut code = find(state, places).to_vec();
    code.extend([
        Insn::load(Size::Word, Reg::R1, Reg::R0, 0),
        Insn::jump_if32(Condition::Equal, Reg::R1, 0, places.own),
        Insn::alu32(Alu::Sub, Reg::R1, 1),
        Insn::store(Size::Word, Reg::R0, 0, Reg::R1),
        Insn::Jump {
            target: places.left_out,
        },
        Insn::Place(places.own),
        Insn::store(Size::Word, Reg::R0, 0, (n.get() - 1).cast_signed()),
    ]);
    code
}

/// Stores the time from which on a packet is kept again.
fn first_after(time: Duration, state: &Counters<1>, places: SamplerLabels) -> Vec<Insn<'_>> {
    // 292 years are practically forever and do not overflow.
    let ns = u64::try_from(time.as_nanos()).map_or(u64::MAX / 2, |ns| ns.min(u64::MAX / 2));
    let (high, low) = ((ns >> 32) as u32, ns as u32);
    let mut code = find(state, places).to_vec();
    code.extend([
        Insn::store(Size::Double, Reg::R10, places.stack, Reg::R0),
        Insn::Call(Helper::KtimeGetNs),
        Insn::load(Size::Double, Reg::R1, Reg::R10, places.stack),
        Insn::load(Size::Double, Reg::R2, Reg::R1, 0),
        Insn::jump_if(Condition::Less, Reg::R0, Reg::R2, places.left_out),
        Insn::mov32(Reg::R2, high.cast_signed()),
        Insn::alu64(Alu::Lsh, Reg::R2, 32),
        Insn::mov32(Reg::R3, low.cast_signed()),
        Insn::alu64(Alu::Or, Reg::R2, Reg::R3),
        Insn::add(Reg::R0, Reg::R2),
        Insn::store(Size::Double, Reg::R1, 0, Reg::R0),
    ]);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn a_probability_is_a_share_of_all_numbers_of_32_bits() {
        let probabilities = [1.0, 1.0 - 2_f64.powi(-32), 0.5, 0.25, 2_f64.powi(-32)];
        let thresholds = probabilities.map(|value| p(value).threshold());
        let expected = [u32::MAX, u32::MAX - 1, 0x7fff_ffff, 0x3fff_ffff, 0];
        assert_eq!(thresholds, expected);
        let nearly = [2.3e-10, 1e-300, 1.0 - 1e-10];
        for wrong in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY]
            .into_iter()
            .chain(nearly)
        {
            assert_eq!(Probability::new(wrong), None);
        }
    }

    #[test]
    fn samplings_are_reported_as_they_are_asked_for() {
        let first = |ns| Sampling::FirstAfter(Duration::from_nanos(ns)).to_string();
        assert_eq!(
            Sampling::OneIn(NonZeroU32::new(100).unwrap()).to_string(),
            "1/100"
        );
        assert_eq!(Sampling::Probability(p(0.01)).to_string(), "p=0.01");
        assert_eq!(first(10_000_000), "first/10ms");
        assert_eq!(first(1_500_000_000), "first/1500ms");
        assert_eq!(first(7), "first/7ns");
        assert_eq!(first(3_600_000_000_000), "first/3600s");
    }
}
