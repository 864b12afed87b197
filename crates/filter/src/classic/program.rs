use super::{Instruction, RuleError, check, opcode};
use std::fmt;

/// Most instructions in a program (`BPF_MAXINSNS`).
#[doc(alias = "BPF_MAXINSNS")]
pub const MAX_INSTRUCTIONS: usize = 4096;

/// A classic BPF program that keeps the kernel's rules.
///
/// `FromStr` reads the decimal form that `tcpdump -ddd` prints and `Display` writes it; [`Program::run`]
/// gives the verdict on a packet and [`Program::listing`] a form for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// Checks `instructions` by the rules of the kernel.
    ///
    /// # Errors
    /// [`RuleError`] names the first instruction that breaks a rule, and the rule.
    /// # Source
    /// `bpf_check_classic`, net/core/filter.c.
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, RuleError> {
        check::check(&instructions)?;
        Ok(Self { instructions })
    }

    /// Keeps `snaplen` bytes of every packet.
    pub fn keep(snaplen: u32) -> Self {
        let code = opcode::RET_K;
        let (jt, jf, k) = (0, 0, snaplen);
        Self {
            instructions: vec![Instruction { code, jt, jf, k }],
        }
    }

    /// The instructions in order; there is at least one, and the last is a return.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.instructions.len())?;
        for instruction in &self.instructions {
            writeln!(f, "{instruction}")?;
        }
        Ok(())
    }
}
