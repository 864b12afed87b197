//! Why a target cannot be probed.

use std::error::Error;
use std::fmt;
use std::io;

/// A target that cannot be had.
#[derive(Debug)]
#[non_exhaustive]
pub struct TargetError {
    /// As it was written; cut where it is long.
    pub target: String,
    /// Its line in a list, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub kind: TargetErrorKind,
}

/// What is wrong with a target.
#[derive(Debug)]
#[non_exhaustive]
pub enum TargetErrorKind {
    /// It is neither a name, an address, a prefix nor a range.
    Malformed,
    /// It is a range whose ends are the wrong way round.
    Backwards,
    /// It is a range whose ends are of two families.
    MixedRange,
    /// It is of the family that was not asked for.
    WrongFamily,
    /// The name cannot be resolved.
    Unresolved {
        /// What the resolver says.
        source: io::Error,
    },
    /// The name has no address of the family that was asked for.
    NoAddress,
    /// The zone of its address is no interface.
    Zone {
        /// What the resolver says.
        source: io::Error,
    },
    /// There would be more targets than allowed.
    TooMany {
        /// How many there would be.
        count: u128,
        /// How many are allowed.
        most: u32,
    },
}

/// Letters of a wrong target that its error keeps.
const SHOWN: usize = 80;

impl TargetError {
    /// What is wrong with `word`.
    pub(super) fn of(word: &str, kind: TargetErrorKind) -> Self {
        Self {
            target: word.chars().take(SHOWN).collect(),
            line: None,
            kind,
        }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        let target = &self.target;
        match &self.kind {
            TargetErrorKind::Malformed => {
                write!(f, "'{target}' is no name, address, prefix or range")
            }
            TargetErrorKind::Backwards => write!(f, "the range {target} ends before it begins"),
            TargetErrorKind::MixedRange => {
                write!(
                    f,
                    "the range {target} begins in one address family and ends in another"
                )
            }
            TargetErrorKind::WrongFamily => {
                write!(f, "{target} is of the address family not asked for")
            }
            TargetErrorKind::Unresolved { .. } => write!(f, "cannot resolve {target}"),
            TargetErrorKind::NoAddress => {
                write!(f, "{target} has no address of the family asked for")
            }
            TargetErrorKind::Zone { .. } => write!(f, "cannot find the interface of {target}"),
            TargetErrorKind::TooMany { count, most } => {
                write!(f, "{count} targets with {target}, at most {most}")
            }
        }
    }
}

impl Error for TargetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            TargetErrorKind::Unresolved { source } | TargetErrorKind::Zone { source } => {
                Some(source)
            }
            _ => None,
        }
    }
}
