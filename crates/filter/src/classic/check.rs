use super::{Ancillary, Instruction, MAX_INSTRUCTIONS, opcode};
use std::fmt;

/// Words of scratch memory (`BPF_MEMWORDS`).
pub(super) const MEMORY_WORDS: usize = 16;

/// A rule of the kernel that a program breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A program has at least one instruction.
    Empty,
    /// A program has at most [`MAX_INSTRUCTIONS`].
    TooLong,
    /// The operation is unknown.
    Opcode(u16),
    /// A jump leads behind the program's end.
    Jump,
    /// Division by the constant zero.
    DivisionByZero,
    /// A constant shift by 32 bits or more.
    Shift(u32),
    /// There is no such word of scratch memory.
    Memory(u32),
    /// Scratch memory is read that was not written on every way here.
    Uninitialised(u32),
    /// There is no ancillary value at this negative offset.
    Ancillary(u32),
    /// The last instruction is no return.
    NoReturn,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no instructions"),
            Self::TooLong => write!(f, "more than {MAX_INSTRUCTIONS} instructions"),
            Self::Opcode(code) => write!(f, "unknown operation {code:#x}"),
            Self::Jump => f.write_str("jump behind the end"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Shift(k) => write!(f, "shift by {k} bits (at most 31)"),
            Self::Memory(k) => write!(f, "no scratch memory M[{k}] (at most M[15])"),
            Self::Uninitialised(k) => write!(f, "M[{k}] is read before it is written"),
            Self::Ancillary(k) => write!(f, "no ancillary value at {}", k.cast_signed()),
            Self::NoReturn => f.write_str("the last instruction is no return"),
        }
    }
}

/// A program the kernel would refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleError {
    /// The instruction, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub rule: Rule,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction {}: {}", self.index, self.rule)
    }
}

impl std::error::Error for RuleError {}

/// Holds `program` against the rules of `bpf_check_classic`.
pub(super) fn check(program: &[Instruction]) -> Result<(), RuleError> {
    let fail = |index, rule| Err(RuleError { index, rule });
    let Some(last) = program.last() else {
        return fail(0, Rule::Empty);
    };
    if program.len() > MAX_INSTRUCTIONS {
        return fail(MAX_INSTRUCTIONS, Rule::TooLong);
    }
    for (index, instruction) in program.iter().copied().enumerate() {
        if let Some(rule) = broken_rule(instruction, program.len() - index - 1) {
            return fail(index, rule);
        }
    }
    if !opcode::is_return(last.code) {
        return fail(program.len() - 1, Rule::NoReturn);
    }
    check_memory(program)
}

/// The rule `instruction` breaks by itself; `behind` instructions follow it.
fn broken_rule(instruction: Instruction, behind: usize) -> Option<Rule> {
    let Instruction { code, jt, jf, k } = instruction;
    let broken = |is_broken: bool, rule| is_broken.then_some(rule);
    match code {
        opcode::DIV_K | opcode::MOD_K => broken(k == 0, Rule::DivisionByZero),
        opcode::LSH_K | opcode::RSH_K => broken(k >= 32, Rule::Shift(k)),
        opcode::LD_MEM | opcode::LDX_MEM | opcode::ST | opcode::STX => {
            broken(k as usize >= MEMORY_WORDS, Rule::Memory(k))
        }
        opcode::JA => broken(k as usize >= behind, Rule::Jump),
        code if opcode::is_conditional_jump(code) => {
            broken(usize::from(jt.max(jf)) >= behind, Rule::Jump)
        }
        opcode::LD_W_ABS | opcode::LD_H_ABS | opcode::LD_B_ABS => broken(
            k >= Ancillary::BASE && !Ancillary::exists(k),
            Rule::Ancillary(k),
        ),
        code => broken(!opcode::ALL.contains(&code), Rule::Opcode(code)),
    }
}

/// Follows which scratch words are written (one bit each) on every way to each instruction.
///
/// Jumps go only forward, so one pass suffices. As in the kernel, what follows a return counts as
/// reached with the return's words, which refuses some unreachable reads.
fn check_memory(program: &[Instruction]) -> Result<(), RuleError> {
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
                let rule = Rule::Uninitialised(instruction.k);
                return Err(RuleError { index, rule });
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
