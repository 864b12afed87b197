//! Errors of filter expressions.

use crate::link_type::LinkType;
use crate::options::FilterTarget;
use std::ops::Range;

/// Why a text is not a valid filter for the link type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterErrorReason {
    /// A character that is not part of the language.
    #[error("invalid character")]
    Character,
    /// Another token is expected here.
    #[error("expected {expected}, found {}", quoted(found))]
    Unexpected {
        /// The token found; empty at the end of the text.
        found: String,
        /// The expected tokens.
        expected: &'static str,
    },
    /// The number does not fit in 32 bits.
    #[error("{base} number {text} overflows 32 bits")]
    Overflow {
        /// "decimal", "hexadecimal" or "octal".
        base: &'static str,
        /// The number as written.
        text: String,
    },
    /// An octal number (leading 0) has the digit 8 or 9.
    #[error("number {0} contains non-octal digit")]
    NotOctal(String),
    /// An Ethernet address that does not have six bytes.
    #[error("invalid Ethernet address {0}")]
    InvalidMac(String),
    /// An IPv4 address with a part above 255.
    #[error("invalid IPv4 address '{0}'")]
    InvalidIpv4(String),
    /// An invalid IPv6 address.
    #[error("invalid IPv6 address {0}")]
    InvalidIpv6(String),
    /// A number or an IPv4 address in place of a link-layer address.
    #[error("illegal link-layer address '{0}'")]
    InvalidLinkAddress(String),
    /// A DECnet address that is not `area.node` with an area up to 63 and a node up to 1023.
    #[error("invalid DECnet address '{0}'")]
    InvalidDecnet(String),
    /// A network address with host bits set.
    #[error("non-network bits set in \"{0}\"")]
    HostBits(String),
    /// The value does not fit in its field.
    #[error("{what} {value} greater than maximum {most}")]
    TooLarge {
        /// The field.
        what: &'static str,
        /// The value.
        value: u32,
        /// The largest valid value.
        most: u32,
    },
    /// The field has no such value.
    #[error("invalid {what} value {value}")]
    InvalidValue {
        /// The field.
        what: &'static str,
        /// The value as written.
        value: String,
    },
    /// The name cannot be resolved.
    #[error("unknown {what} '{name}'")]
    Unknown {
        /// The kind of name: "host", "network", "port".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The qualifier does not apply to the operand.
    #[error("'{qualifier}' is not a valid qualifier for '{subject}'")]
    Qualifier {
        /// The qualifier.
        qualifier: &'static str,
        /// The operand.
        subject: String,
    },
    /// Packets of this link type do not have this property.
    #[error("'{what}' not supported on DLT_{link}")]
    NotSupported {
        /// The word.
        what: &'static str,
        /// The link type of the packet, or of the packet inside a tunnel.
        link: LinkType,
    },
    /// The word needs information that only a live capture has.
    #[error("not a live capture, '{what}' not supported on DLT_{link}")]
    NotLive {
        /// The word.
        what: &'static str,
        /// The link type.
        link: LinkType,
    },
    /// The information is not available where the program runs.
    #[error("'{what}' is not available {target}")]
    NotAvailable {
        /// The information.
        what: &'static str,
        /// Where the program runs.
        target: FilterTarget,
    },
    /// `ip broadcast` without a netmask.
    #[error("netmask not known, so 'ip broadcast' not supported")]
    NoNetmask,
    /// The size in `proto[offset:size]` is not 1, 2 or 4.
    #[error("data size must be 1, 2, or 4")]
    LoadSize,
    /// A constant divisor is 0, or a constant shift is above 31 bits.
    #[error("{0}")]
    Arithmetic(&'static str),
    /// The word is not supported inside a tunnel.
    #[error("'{what}' cannot be used within {tunnel}")]
    Inside {
        /// The word.
        what: &'static str,
        /// The tunnel.
        tunnel: &'static str,
    },
    /// The word is not supported after headers of variable length.
    #[error("'{what}' not supported with variable length headers")]
    VariableHeaders {
        /// The word.
        what: &'static str,
    },
    /// `any` and `inner` do not apply to this kind of term.
    #[error(
        "'{word}' does not apply to '{subject}', only to hosts, networks, ports and protocols over IP"
    )]
    Layers {
        /// "any" or "inner".
        word: &'static str,
        /// The protocol or kind.
        subject: &'static str,
    },
    /// After MPLS labels only IPv4 and IPv6 can be recognized.
    #[error("unsupported protocol over mpls")]
    AfterMpls,
    /// Parentheses, alternations or arithmetic are nested too deeply.
    #[error("nested too deeply")]
    TooDeep,
    /// The text is longer than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES).
    #[error("longer than {} bytes", crate::MAX_TEXT_BYTES)]
    TooLong,
    /// The filter needs more scratch memory than the target provides.
    #[error("too many registers needed")]
    TooManyRegisters,
    /// The program would have more instructions than the kernel allows.
    #[error("needs {count} instructions, more than the kernel allows")]
    TooManyInstructions {
        /// Instructions of the program.
        count: usize,
    },
    /// No packet can match.
    #[error("expression rejects all packets")]
    RejectsAll,
}

/// `text` in quotes, or "the end" for the end of the filter.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        "the end".to_owned()
    } else {
        format!("\"{text}\"")
    }
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |word| format!(" (did you mean \"{word}\"?)"))
}

impl FilterErrorReason {
    /// Whether the operand (address, name or number) is at fault, not the words before it.
    pub(crate) fn is_of_operand(&self) -> bool {
        matches!(
            self,
            Self::InvalidMac(_)
                | Self::InvalidIpv4(_)
                | Self::InvalidIpv6(_)
                | Self::InvalidLinkAddress(_)
                | Self::InvalidDecnet(_)
                | Self::HostBits(_)
                | Self::TooLarge { .. }
                | Self::InvalidValue { .. }
                | Self::Unknown { .. }
        )
    }
}

/// An error in the text of a filter: its position and its reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {reason}{}", span.start + 1, hint(*suggestion))]
#[non_exhaustive]
pub struct FilterError {
    /// The byte range of the text that is wrong; empty at the end of the text.
    pub span: Range<usize>,
    /// Why it is wrong.
    pub reason: FilterErrorReason,
    /// The most similar known word, if one is similar.
    pub suggestion: Option<&'static str>,
}

impl FilterError {
    pub(crate) fn new(span: Range<usize>, reason: FilterErrorReason) -> Self {
        Self {
            span,
            reason,
            suggestion: None,
        }
    }

    /// The line of `text` that contains the error, with carets below the wrong part.
    ///
    /// `text` is the compiled text. Control characters are printed as blanks.
    pub fn caret(&self, text: &str) -> String {
        caret(text, &self.span)
    }
}

/// The line of `text` on which `span` starts, with carets below the span.
///
/// Control characters are printed as blanks.
pub(crate) fn caret(text: &str, span: &Range<usize>) -> String {
    let start = span.start.min(text.len());
    let start = (0..=start)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[line_start..];
    let line = rest.split('\n').next().unwrap_or(rest);
    let clean = line.replace(|letter: char| letter.is_control(), " ");
    let before = text[line_start..start].chars().count();
    let wrong = text.get(start..span.end).unwrap_or("");
    let width = wrong.chars().count().clamp(1, line.chars().count().max(1));
    format!("{clean}\n{}{}", " ".repeat(before), "^".repeat(width))
}
