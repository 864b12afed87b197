//! The choice with which every program begins that takes or copies packets.
//!
//! ```text
//! select ─TAKE─▶ sample ─▶ what the program does with a packet
//!    │              └ left out ─▶ what it does with one that is not wanted
//!    └──OTHERS────────────────▶ the same, with a counter of its own
//! ```

use crate::map::MapError;
use crate::{Condition, Insn, Label, Reg, Sampler, SamplerPlaces, Sampling};

/// Where `select` goes with packets that are not wanted.
pub(crate) const OTHERS: Label = Label(0);
/// Where `select` goes with packets that are.
pub(crate) const TAKE: Label = Label(1);

/// Holds the context (`struct xdp_md`) from the program's first instruction on.
pub(crate) const CONTEXT: Reg = Reg::R6;

// Labels that neither code before this nor the programs have.
const LEFT_OUT: Label = Label(u32::MAX - 0x1000);
const KEEP: Label = Label(u32::MAX - 0x1001);
const SAMPLED: Label = Label(u32::MAX - 0x1002);

/// Why a packet is not wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwanted {
    /// `select` did not choose it.
    Other,
    /// It was chosen, and left out by sampling.
    SampledOut,
}

/// Which packets are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'c> {
    /// Without code all are.
    pub select: &'c [Insn<'c>],
    /// Without one all that are chosen are.
    pub sampler: Option<&'c Sampler>,
    /// [`Sampler::STACK_BYTES`] from here on are the sampler's: a negative multiple of 8 bytes from `R10`.
    pub stack: i16,
}

impl<'c> Choice<'c> {
    /// The program's beginning; what follows it is for packets that are wanted. `unwanted` appends what is
    /// done with others, which ends the program or jumps.
    pub fn code(&self, unwanted: impl Fn(&mut Vec<Insn<'c>>, Unwanted)) -> Vec<Insn<'c>> {
        let mut code = vec![Insn::mov(CONTEXT, Reg::R1)];
        if !self.select.is_empty() {
            for label in [OTHERS, TAKE] {
                reached(&mut code, self.select, label);
            }
            code.extend(self.select);
            code.push(Insn::Place(OTHERS));
            unwanted(&mut code, Unwanted::Other);
            code.push(Insn::Place(TAKE));
        }
        if let Some(sampler) = self.sampler {
            code.extend(sampler.code(SamplerPlaces {
                left_out: LEFT_OUT,
                own: KEEP,
                stack: self.stack,
            }));
            code.extend([Insn::Jump { target: SAMPLED }, Insn::Place(LEFT_OUT)]);
            unwanted(&mut code, Unwanted::SampledOut);
            code.push(Insn::Place(SAMPLED));
        }
        code
    }
}

/// Has a way to `label` where `select` knows none, as of a filter that says the same of all packets: the
/// verifier refuses code that nothing jumps to. Nobody takes it.
fn reached(code: &mut Vec<Insn<'_>>, select: &[Insn<'_>], label: Label) {
    if select.iter().all(|insn| insn.target() != Some(label)) {
        code.extend([
            Insn::mov32(Reg::R0, 0),
            Insn::jump_if32(Condition::NotEqual, Reg::R0, 0, label),
        ]);
    }
}

/// What samples a program's packets, if they are sampled.
pub(crate) fn sampler(sampling: Option<Sampling>) -> Result<Option<Sampler>, MapError> {
    sampling
        .map(|sampling| Sampler::create("tapline_sample", sampling))
        .transpose()
}
