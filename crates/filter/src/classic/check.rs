//! Checks classic BPF programs by the kernel's rules.

use crate::classic::ancillary::Ancillary;
use crate::classic::instruction::Instruction;
#[cfg(doc)]
use crate::classic::instruction::MAX_INSTRUCTIONS;
use crate::classic::opcode;

/// Words of scratch memory (`BPF_MEMWORDS`).
pub(super) const MEMORY_WORDS: usize = libc::BPF_MEMWORDS as usize;

/// A rule of the kernel's checker that a program violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelRule {
    /// A program has at least one instruction.
    #[error("no instructions")]
    Empty,
    /// A program has at most so many instructions: [`MAX_INSTRUCTIONS`] in the kernel.
    #[error("more than {0} instructions")]
    TooLong(usize),
    /// The operation is unknown.
    #[error("unknown operation {0:#x}")]
    Opcode(u16),
    /// A jump leaves the program.
    #[error("jump past the end")]
    Jump,
    /// Division by the constant zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A constant shift by 32 bits or more.
    #[error("shift by {0} bits (at most 31)")]
    Shift(u32),
    /// The word of scratch memory does not exist.
    #[error("no scratch memory M[{0}] (at most M[15])")]
    Memory(u32),
    /// A word of scratch memory is read that is not written on every path.
    #[error("M[{0}] is read before it is written")]
    Uninitialised(u32),
    /// No ancillary value exists at this negative offset.
    #[error("no ancillary value at {}", .0.cast_signed())]
    Ancillary(u32),
    /// The last instruction is not a return.
    #[error("the last instruction is not a return")]
    NoReturn,
}

/// A program that the kernel would reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction {index}: {rule}")]
#[non_exhaustive]
pub struct InvalidProgram {
    /// The instruction, counted from 0.
    pub index: usize,
    /// The violated rule.
    pub rule: KernelRule,
}

/// Checks `program` by the rules of `bpf_check_classic`, but allows `most` instructions.
pub(super) fn check(program: &[Instruction], most: usize) -> Result<(), InvalidProgram> {
    let fail = |index, rule| Err(InvalidProgram { index, rule });
    let Some(last) = program.last() else {
        return fail(0, KernelRule::Empty);
    };
    if program.len() > most {
        return fail(most, KernelRule::TooLong(most));
    }
    for (index, instruction) in program.iter().copied().enumerate() {
        if let Some(rule) = broken_rule(instruction, program.len() - index - 1) {
            return fail(index, rule);
        }
    }
    if !opcode::is_return(last.code) {
        return fail(program.len() - 1, KernelRule::NoReturn);
    }
    check_memory(program)
}

/// The rule that `instruction` violates on its own; `behind` instructions follow it.
fn broken_rule(instruction: Instruction, behind: usize) -> Option<KernelRule> {
    let Instruction { code, jt, jf, k } = instruction;
    let broken = |is_broken: bool, rule| is_broken.then_some(rule);
    match code {
        opcode::DIV_K | opcode::MOD_K => broken(k == 0, KernelRule::DivisionByZero),
        opcode::LSH_K | opcode::RSH_K => broken(k >= 32, KernelRule::Shift(k)),
        opcode::LD_MEM | opcode::LDX_MEM | opcode::ST | opcode::STX => {
            broken(k as usize >= MEMORY_WORDS, KernelRule::Memory(k))
        }
        opcode::JA => broken(k as usize >= behind, KernelRule::Jump),
        code if opcode::is_conditional_jump(code) => {
            broken(usize::from(jt.max(jf)) >= behind, KernelRule::Jump)
        }
        opcode::LD_W_ABS | opcode::LD_H_ABS | opcode::LD_B_ABS => broken(
            k >= Ancillary::BASE && !Ancillary::exists(k),
            KernelRule::Ancillary(k),
        ),
        code => broken(!opcode::ALL.contains(&code), KernelRule::Opcode(code)),
    }
}

/// Tracks which scratch words (one bit each) are written on every path to each instruction.
///
/// Jumps go only forward, so one pass is enough. As in the kernel, the instruction after a return
/// counts as reachable from it, which rejects some unreachable reads.
fn check_memory(program: &[Instruction]) -> Result<(), InvalidProgram> {
    let mut written_at = vec![u16::MAX; program.len()];
    written_at[0] = 0;
    for (index, instruction) in program.iter().copied().enumerate() {
        let mut written = written_at[index];
        let mut join = |target: usize, written| {
            if let Some(at_target) = written_at.get_mut(target) {
                *at_target &= written;
            }
        };
        match instruction.code {
            opcode::ST | opcode::STX => written |= 1 << instruction.k,
            opcode::LD_MEM | opcode::LDX_MEM if written & (1 << instruction.k) == 0 => {
                let rule = KernelRule::Uninitialised(instruction.k);
                return Err(InvalidProgram { index, rule });
            }
            _ => {}
        }
        match instruction.code {
            opcode::JA => join(index + 1 + instruction.k as usize, written),
            code if opcode::is_conditional_jump(code) => {
                join(index + 1 + usize::from(instruction.jt), written);
                join(index + 1 + usize::from(instruction.jf), written);
            }
            _ => join(index + 1, written),
        }
    }
    Ok(())
}
