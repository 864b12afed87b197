//! A classic BPF instruction.

use std::fmt;

/// Maximum number of instructions in a program (`BPF_MAXINSNS`).
#[doc(alias = "BPF_MAXINSNS")]
pub const MAX_INSTRUCTIONS: usize = libc::BPF_MAXINSNS as usize;

/// Maximum number of instructions in a program that only runs in user space.
pub const MAX_USER_INSTRUCTIONS: usize = 1 << 20;

/// One instruction, in the kernel's layout.
///
/// `Display` writes the decimal form of `tcpdump -ddd`: `code jt jf k`.
///
/// # Source
/// `struct sock_filter`, include/uapi/linux/filter.h.
#[doc(alias = "sock_filter")]
#[doc(alias = "bpf_insn")]
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation: one of [`opcode`](super::opcode).
    pub code: u16,
    /// Instructions to skip if the condition is true.
    pub jt: u8,
    /// Instructions to skip if it is false.
    pub jf: u8,
    /// The operand.
    pub k: u32,
}

impl Instruction {
    /// An instruction other than a conditional jump (`BPF_STMT`).
    #[doc(alias = "BPF_STMT")]
    pub const fn new(code: u16, k: u32) -> Self {
        Self {
            code,
            jt: 0,
            jf: 0,
            k,
        }
    }

    /// A conditional jump (`BPF_JUMP`): skips `jt` instructions if the condition is true, else
    /// `jf`.
    #[doc(alias = "BPF_JUMP")]
    pub const fn jump(code: u16, k: u32, jt: u8, jf: u8) -> Self {
        Self { code, jt, jf, k }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.code, self.jt, self.jf, self.k)
    }
}
