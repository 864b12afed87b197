//! What has no translation.

use std::fmt;

use abi::bpf::SockFilter;

/// An instruction that has no translation: run the classic program itself instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untranslatable {
    /// The program has no instructions.
    Empty,
    /// The operation or its operand is none that the kernel allows.
    Invalid {
        /// Number of the instruction, from 0.
        at: usize,
        /// The instruction.
        instruction: SockFilter,
    },
    /// A property of the packet that eBPF does not offer, such as its payload's offset.
    Ancillary {
        /// Number of the instruction, from 0.
        at: usize,
        /// The property: offset from `SKF_AD_OFF`.
        property: u32,
    },
    /// A path runs past the last instruction.
    NoReturn,
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("classic filter has no instructions"),
            Self::Invalid {
                at,
                instruction: SockFilter { code, k, .. },
            } => {
                write!(
                    f,
                    "classic filter instruction {at} is invalid (code {code:#x}, k {k:#x})"
                )
            }
            Self::Ancillary { at, property } => {
                write!(
                    f,
                    "classic filter instruction {at} reads property {property}, unknown to eBPF"
                )
            }
            Self::NoReturn => f.write_str("classic filter runs past its end"),
        }
    }
}

impl std::error::Error for Untranslatable {}
