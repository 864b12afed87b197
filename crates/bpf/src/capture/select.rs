//! Code that every delivering program begins with: filter and sampler.
//!
//! ```text
//! select ─MATCH─▶ sample ─▶ deliver
//!    │              └ sampled out ─▶ reject
//!    └──NO_MATCH───────────────────▶ reject, with another counter
//! ```

use super::PacketSelection;
use crate::map::MapError;
use crate::{Condition, Insn, Label, Reg, Sampler, SamplerLabels, Sampling};

pub(super) const NO_MATCH: Label = Label(0);
pub(super) const MATCH: Label = Label(1);

/// Holds the context (`struct xdp_md`) from the program's first instruction on.
pub(super) const CONTEXT: Reg = Reg::R6;

// Labels that neither the filter's code nor the programs use.
const SAMPLED_OUT: Label = Label(u32::MAX - 0x1000);
const KEEP: Label = Label(u32::MAX - 0x1001);
const SAMPLED: Label = Label(u32::MAX - 0x1002);

/// Why a packet is not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    Unmatched,
    SampledOut,
}

/// The beginning of a program; matching, sampled packets continue after it. `reject` appends the code for
/// all other packets, which must end the program or jump.
///
/// The sampler uses [`Sampler::STACK_BYTES`] from `stack` on, a negative multiple of 8 bytes from `R10`.
pub(super) fn code<'c>(
    selection: &PacketSelection<'c>,
    sampler: Option<&'c Sampler>,
    stack: i16,
    reject: impl Fn(&mut Vec<Insn<'c>>, Rejected),
) -> Vec<Insn<'c>> {
    let mut code = vec![Insn::mov(CONTEXT, Reg::R1)];
    if !selection.code.is_empty() {
        for label in [NO_MATCH, MATCH] {
            make_reachable(&mut code, selection.code, label);
        }
        code.extend(selection.code);
        code.push(Insn::Place(NO_MATCH));
        reject(&mut code, Rejected::Unmatched);
        code.push(Insn::Place(MATCH));
    }
    if let Some(sampler) = sampler {
        code.extend(sampler.code(SamplerLabels {
            left_out: SAMPLED_OUT,
            own: KEEP,
            stack,
        }));
        code.extend([Insn::Jump { target: SAMPLED }, Insn::Place(SAMPLED_OUT)]);
        reject(&mut code, Rejected::SampledOut);
        code.push(Insn::Place(SAMPLED));
    }
    code
}

/// Adds a jump to `label` that is never taken if `select` does not jump there, as with a filter that accepts
/// every packet. The verifier refuses unreachable code.
fn make_reachable(code: &mut Vec<Insn<'_>>, select: &[Insn<'_>], label: Label) {
    if select.iter().all(|insn| insn.target() != Some(label)) {
        code.extend([
            Insn::mov32(Reg::R0, 0),
            Insn::jump_if32(Condition::NotEqual, Reg::R0, 0, label),
        ]);
    }
}

/// The sampler of a program, if packets are sampled.
pub(super) fn sampler(sampling: Option<Sampling>) -> Result<Option<Sampler>, MapError> {
    sampling
        .map(|sampling| Sampler::create("tapline_sample", sampling))
        .transpose()
}
