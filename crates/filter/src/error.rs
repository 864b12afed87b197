use crate::{At, LinkType};
use std::fmt;
use std::ops::Range;

/// Why a text is no filter for packets of that link type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A character that no filter has.
    Character,
    /// Something else is needed here.
    Unexpected {
        /// What is there; empty at the end of the text.
        found: String,
        /// What could be there.
        expected: &'static str,
    },
    /// A number of 32 bits was expected, this is larger.
    Overflow {
        /// "decimal", "hexadecimal" or "octal".
        base: &'static str,
        /// The number as written.
        text: String,
    },
    /// A number that starts with 0 has the digit 8 or 9.
    NotOctal(String),
    /// An Ethernet address of another form than six bytes.
    InvalidMac(String),
    /// An IPv4 address with a part above 255.
    InvalidIpv4(String),
    /// An IPv6 address with a part that is out of range.
    InvalidIpv6(String),
    /// A DECnet address that is not `area.node` with an area up to 63 and a node up to 1023.
    InvalidDecnet(String),
    /// An address of a network with bits set behind the network's.
    HostBits(String),
    /// The value is larger than its field.
    TooLarge {
        /// The field.
        what: &'static str,
        /// The value.
        value: u32,
        /// The largest that fits.
        most: u32,
    },
    /// The value is none of the field's.
    InvalidValue {
        /// The field.
        what: &'static str,
        /// The value as written.
        value: String,
    },
    /// Nobody knows the name.
    Unknown {
        /// What kind of name it is: "host", "network", "port".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The two do not go together.
    Qualifier {
        /// The qualifier.
        qualifier: &'static str,
        /// What it was applied to.
        subject: String,
    },
    /// Packets of this link type have no such thing.
    NotSupported {
        /// The word.
        what: &'static str,
        /// The link type, or the one inside a tunnel.
        link: LinkType,
    },
    /// The word needs what only a running capture knows.
    NotLive {
        /// The word.
        what: &'static str,
        /// The link type.
        link: LinkType,
    },
    /// Programs at this place do not know such a thing.
    NotAt {
        /// What was asked for.
        what: &'static str,
        /// The place.
        at: At,
    },
    /// `ip broadcast` without the network's mask.
    NoNetmask,
    /// The size in `proto[offset:size]` is not 1, 2 or 4.
    LoadSize,
    /// A constant divisor is 0, or a constant shift is above 31 bits.
    Arithmetic(&'static str),
    /// The word cannot stand inside of a tunnel.
    Inside {
        /// The word.
        what: &'static str,
        /// The tunnel.
        tunnel: &'static str,
    },
    /// The word cannot be used where headers in front have no fixed length.
    VariableHeaders {
        /// The word.
        what: &'static str,
    },
    /// Nothing but IPv4 and IPv6 can be told apart behind MPLS labels.
    BehindMpls,
    /// Parentheses, alternations or arithmetic are nested too deeply.
    TooDeep,
    /// The text is longer than [`MAX_TEXT`](crate::MAX_TEXT).
    TooLong,
    /// The filter needs more scratch memory than the machine has.
    TooManyRegisters,
    /// The program would have more instructions than the kernel takes.
    TooManyInstructions {
        /// Instructions of the program.
        count: usize,
    },
    /// No packet can match.
    RejectsAll,
}

impl Reason {
    /// Whether an address, a name or a number is wrong, and not the words before it.
    pub(crate) fn is_of_operand(&self) -> bool {
        matches!(
            self,
            Self::InvalidMac(_)
                | Self::InvalidIpv4(_)
                | Self::InvalidIpv6(_)
                | Self::InvalidDecnet(_)
                | Self::HostBits(_)
                | Self::TooLarge { .. }
                | Self::InvalidValue { .. }
                | Self::Unknown { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character => f.write_str("no filter has this character"),
            Self::Unexpected { found, expected } if found.is_empty() => {
                write!(f, "expected {expected}, found the end")
            }
            Self::Unexpected { found, expected } => {
                write!(f, "expected {expected}, found \"{found}\"")
            }
            Self::Overflow { base, text } => write!(f, "{base} number {text} overflows 32 bits"),
            Self::NotOctal(text) => write!(f, "number {text} contains non-octal digit"),
            Self::InvalidMac(text) => write!(f, "invalid Ethernet address {text}"),
            Self::InvalidIpv4(text) => write!(f, "invalid IPv4 address '{text}'"),
            Self::InvalidIpv6(text) => write!(f, "invalid IPv6 address {text}"),
            Self::InvalidDecnet(text) => write!(f, "invalid DECnet address '{text}'"),
            Self::HostBits(text) => write!(f, "non-network bits set in \"{text}\""),
            Self::TooLarge { what, value, most } => {
                write!(f, "{what} {value} greater than maximum {most}")
            }
            Self::InvalidValue { what, value } => write!(f, "invalid {what} value {value}"),
            Self::Unknown { what, name } => write!(f, "unknown {what} '{name}'"),
            Self::Qualifier { qualifier, subject } => {
                write!(f, "'{qualifier}' is not a valid qualifier for '{subject}'")
            }
            Self::NotSupported { what, link } => write!(f, "'{what}' not supported on DLT_{link}"),
            Self::NotLive { what, link } => {
                write!(
                    f,
                    "not a live capture, '{what}' not supported on DLT_{link}"
                )
            }
            Self::NotAt { what, at } => write!(f, "'{what}' not known {at}"),
            Self::NoNetmask => f.write_str("netmask not known, so 'ip broadcast' not supported"),
            Self::LoadSize => f.write_str("data size must be 1, 2, or 4"),
            Self::Arithmetic(what) => f.write_str(what),
            Self::Inside { what, tunnel } => write!(f, "'{what}' cannot be used within {tunnel}"),
            Self::VariableHeaders { what } => {
                write!(f, "'{what}' not supported with variable length headers")
            }
            Self::BehindMpls => f.write_str("unsupported protocol over mpls"),
            Self::TooDeep => f.write_str("nested too deeply"),
            Self::TooLong => write!(f, "longer than {} bytes", crate::MAX_TEXT),
            Self::TooManyRegisters => f.write_str("too many registers needed"),
            Self::TooManyInstructions { count } => {
                write!(f, "needs {count} instructions, more than the kernel takes")
            }
            Self::RejectsAll => f.write_str("expression rejects all packets"),
        }
    }
}

/// A text that is no filter: why, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterError {
    /// The bytes of the text that are wrong; empty at the end of the text.
    pub span: Range<usize>,
    /// What is wrong with them.
    pub reason: Reason,
    /// The word that was perhaps meant.
    pub suggestion: Option<&'static str>,
}

impl FilterError {
    pub(crate) fn new(span: Range<usize>, reason: Reason) -> Self {
        Self {
            span,
            reason,
            suggestion: None,
        }
    }

    /// The line of `text` that is wrong, and below it carets under the wrong part.
    ///
    /// `text` is the text that was compiled. Control characters are shown as blanks.
    pub fn caret(&self, text: &str) -> String {
        crate::caret::caret(text, &self.span)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.span.start + 1, self.reason)?;
        match self.suggestion {
            Some(word) => write!(f, " (did you mean \"{word}\"?)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FilterError {}
