//! The warnings about filter expressions.

use crate::error::caret;
use std::fmt;
use std::ops::Range;

/// A tunnel or tag word that unexpectedly changes the meaning of a term to its right: the term also
/// applies to packets for which the word is false.
///
/// Example: in `vlan or ip` the word is `vlan`, and the rewritten filter is `vlan or ether[16:2] ==
/// 0x800`. The filter is valid, and libpcap reads it in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterWarning {
    /// The byte range of the word, with its number.
    pub span: Range<usize>,
    /// "vlan", "mpls", "pppoes", "geneve" or "vxlan".
    pub word: &'static str,
    /// The byte range of the first term that is affected.
    pub affected: Range<usize>,
    /// The whole filter, rewritten so that its meaning is obvious.
    ///
    /// Usually an expression that matches the same packets, in which affected terms are tests of
    /// bytes. If offsets vary by packet, the language cannot express that. Then `vxlan▸ip` denotes
    /// the term `ip` inside a VXLAN tunnel.
    pub rewritten: String,
    /// Whether `rewritten` is an expression that compiles with the same options.
    pub is_expression: bool,
}

impl FilterWarning {
    /// The line of `text` that contains the word, with carets below it.
    ///
    /// `text` is the compiled text. Control characters are printed as blanks.
    pub fn caret(&self, text: &str) -> String {
        caret(text, &self.span)
    }
}

impl fmt::Display for FilterWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = match self.word {
            "vlan" => "after a VLAN tag",
            "mpls" => "after an MPLS label",
            "pppoes" => "inside a PPPoE session",
            "geneve" => "inside a Geneve tunnel",
            _ => "inside a VXLAN tunnel",
        };
        let equivalent = if self.is_expression {
            "equivalent filter"
        } else {
            "in effect, with \u{25b8} for \"inside\""
        };
        write!(
            f,
            "column {}: \"{}\" makes the term at column {} match {location}, also in packets without one; \
             {equivalent}: {}",
            self.span.start + 1,
            self.word,
            self.affected.start + 1,
            self.rewritten
        )
    }
}
