//! The words of pcap-filter(7).

use super::words::Word;
use std::net::Ipv6Addr;
use std::ops::Range;

/// Bytes of the text a thing was read from.
pub(crate) type Span = Range<usize>;

/// Where a term stands, and what in it an error is about if the rest is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TermSpan {
    pub whole: Span,
    /// The address, name or number it ends with; all of it if it has none.
    pub operand: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(Word),
    Number(u32),
    /// Two to four numbers with dots: an IPv4 address, its beginning, or a DECnet address.
    Dotted(String),
    Ipv6(Ipv6Addr),
    Mac([u8; 6]),
    /// `$` and one byte: an ARCnet or MS/TP address.
    ShortMac(u8),
    /// Any other name; `\` in front makes a name of a word.
    Name(String),
    Symbol(Symbol),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Colon,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Not,
    AndAlso,
    OrElse,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}
