//! Errors in a list of targets.

use std::fmt;
use std::io;

/// A word that is not a valid target.
#[derive(Debug)]
#[non_exhaustive]
pub struct TargetError {
    /// The word, truncated if it is long.
    pub target: String,
    /// Line number in a list, starting at 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub kind: TargetErrorKind,
}

/// What is wrong with a target.
#[derive(Debug)]
#[non_exhaustive]
pub enum TargetErrorKind {
    /// Not a name, address, prefix or range.
    Malformed,
    /// A range that ends before it begins.
    Backwards,
    /// A range whose ends belong to different address families.
    MixedRange,
    /// An address of a family that is not accepted.
    WrongFamily,
    /// The host name cannot be resolved.
    Unresolved {
        /// Error of the resolver.
        source: io::Error,
    },
    /// The host has no address of an accepted family.
    NoAddress,
    /// The zone of the address is not an interface.
    Zone {
        /// Error of the resolver.
        source: io::Error,
    },
    /// Too many targets.
    TooMany {
        /// Number of targets.
        count: u128,
        /// Maximum.
        most: u32,
    },
}

/// Characters of a word that its error keeps.
const SHOWN: usize = 80;

impl TargetError {
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
                write!(f, "'{target}' is not a name, address, prefix or range")
            }
            TargetErrorKind::Backwards => write!(f, "the range {target} ends before it begins"),
            TargetErrorKind::MixedRange => {
                write!(
                    f,
                    "the range {target} begins in one address family and ends in another"
                )
            }
            TargetErrorKind::WrongFamily => write!(f, "{target} has the wrong address family"),
            TargetErrorKind::Unresolved { .. } => write!(f, "cannot resolve {target}"),
            TargetErrorKind::NoAddress => {
                write!(f, "{target} has no address of the requested family")
            }
            TargetErrorKind::Zone { .. } => write!(f, "cannot find the interface of {target}"),
            TargetErrorKind::TooMany { count, most } => {
                write!(
                    f,
                    "too many targets: {count} with {target}, at most {most} are allowed"
                )
            }
        }
    }
}

impl std::error::Error for TargetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            TargetErrorKind::Unresolved { source } | TargetErrorKind::Zone { source } => {
                Some(source)
            }
            _ => None,
        }
    }
}
