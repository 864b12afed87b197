//! Why a classic program cannot be translated.

use abi::bpf::SockFilter;

/// Why a classic program cannot be translated to eBPF. Attach the classic program itself instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TranslateError {
    /// The program has no instructions.
    #[error("classic filter has no instructions")]
    Empty,
    /// The kernel does not allow the operation or its operand.
    #[error("classic filter instruction {at} is invalid (code {code:#x}, k {k:#x})", code = .instruction.code, k = .instruction.k)]
    Invalid {
        /// Index of the instruction, from 0.
        at: usize,
        /// The instruction.
        instruction: SockFilter,
    },
    /// A packet property that eBPF does not offer, such as the payload's offset.
    #[error("classic filter instruction {at} reads property {property}, unknown to eBPF")]
    Ancillary {
        /// Index of the instruction, from 0.
        at: usize,
        /// The property: offset from `SKF_AD_OFF`.
        property: u32,
    },
    /// A path runs past the last instruction.
    #[error("classic filter runs past its end")]
    NoReturn,
}
