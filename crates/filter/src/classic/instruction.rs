use std::fmt;

/// One instruction, as the kernel takes it.
///
/// `Display` writes the decimal form of `tcpdump -ddd`: `code jt jf k`.
///
/// # Source
/// `struct sock_filter`, include/uapi/linux/filter.h.
#[doc(alias = "sock_filter")]
#[doc(alias = "bpf_insn")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What to do: one of [`opcode`](super::opcode).
    pub code: u16,
    /// Instructions to skip where the condition holds.
    pub jt: u8,
    /// Instructions to skip where it does not.
    pub jf: u8,
    /// The operand.
    pub k: u32,
}

impl Instruction {
    /// An instruction that is no conditional jump (`BPF_STMT`).
    #[doc(alias = "BPF_STMT")]
    pub const fn new(code: u16, k: u32) -> Self {
        Self {
            code,
            jt: 0,
            jf: 0,
            k,
        }
    }

    /// A conditional jump (`BPF_JUMP`): over `jt` instructions if the condition holds, else over `jf`.
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
