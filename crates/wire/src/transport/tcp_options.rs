//! TCP options.

use std::fmt;

use crate::escaped::{Hex, u16_at, u32_at};

/// One option of a TCP header.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |     kind      |    length     |  length - 2 bytes of data ... |
/// +---------------+---------------+-------------------------------+
/// ```
///
/// `Display` prints it as tcpdump does, e.g. `mss 1460`.
///
/// # Source
/// RFC 9293, 3.1; RFC 7323 (window scale, timestamps); RFC 2018 (SACK); IANA, TCP Option Kind Numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpOption<'a> {
    /// End of the options; what follows is padding.
    End,
    /// Padding of one byte.
    Nop,
    /// Maximum segment size.
    MaxSegment(u16),
    /// Shift count of the window.
    WindowScale(u8),
    /// Selective acknowledgments are permitted.
    SackPermitted,
    /// Selective acknowledgments: pairs of sequence numbers, 8 bytes each.
    Sack(&'a [u8]),
    /// Time stamps.
    Timestamps {
        /// Time stamp value.
        value: u32,
        /// Time stamp echo reply.
        echo: u32,
    },
    /// Another option, or one of an unexpected length.
    Other {
        /// Kind of the option.
        kind: u8,
        /// What follows the length.
        data: &'a [u8],
    },
}

impl TcpOption<'_> {
    /// The acknowledged ranges of a SACK option: first sequence number, and the one after the last.
    pub fn sack_ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        let bytes = match self {
            Self::Sack(bytes) => bytes,
            _ => &[][..],
        };
        let (ranges, _) = bytes.as_chunks::<8>();
        ranges.iter().map(|&[a, b, c, d, e, f, g, h]| {
            (
                u32::from_be_bytes([a, b, c, d]),
                u32::from_be_bytes([e, f, g, h]),
            )
        })
    }
}

impl fmt::Display for TcpOption<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::End => f.write_str("eol"),
            Self::Nop => f.write_str("nop"),
            Self::MaxSegment(bytes) => write!(f, "mss {bytes}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(bytes) => {
                write!(f, "sack {} ", bytes.len() / 8)?;
                (self.sack_ranges()).try_for_each(|(from, to)| write!(f, "{{{from}:{to}}}"))
            }
            Self::Timestamps { value, echo } => write!(f, "TS val {value} ecr {echo}"),
            Self::Other { kind, data } => {
                match name(kind) {
                    "" => write!(f, "unknown-{kind}")?,
                    name => f.write_str(name)?,
                }
                if data.is_empty() {
                    return Ok(());
                }
                write!(f, " 0x{}", Hex(data))
            }
        }
    }
}

fn name(kind: u8) -> &'static str {
    match kind {
        19 => "md5",
        28 => "uto",
        29 => "tcp-ao",
        30 => "mptcp",
        34 => "tfo",
        172 => "accecn0",
        174 => "accecn1",
        253 => "exp-253",
        254 => "exp-254",
        _ => "",
    }
}

/// The options of a TCP header, from the bytes that
/// [`Tcp::split_options`](crate::Tcp::split_options) returns. Yields `None` once, as its last item, where an
/// option has an impossible length.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a> {
    rest: &'a [u8],
}

impl<'a> TcpOptions<'a> {
    /// The options in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = Option<TcpOption<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, after) = self.rest.split_first()?;
        self.rest = &[];
        match kind {
            0 => return Some(Some(TcpOption::End)),
            1 => {
                self.rest = after;
                return Some(Some(TcpOption::Nop));
            }
            _ => {}
        }
        let len = after.first().map(|&len| usize::from(len));
        let Some((data, rest)) = len
            .and_then(|len| len.checked_sub(1))
            .and_then(|len| after.split_at_checked(len))
            .and_then(|(option, rest)| Some((option.get(1..)?, rest)))
        else {
            return Some(None);
        };
        self.rest = rest;
        Some(Some(parse(kind, data)))
    }
}

fn parse(kind: u8, data: &[u8]) -> TcpOption<'_> {
    let other = TcpOption::Other { kind, data };
    let known = match (kind, data.len()) {
        (2, 2) => u16_at(data, 0).map(TcpOption::MaxSegment),
        (3, 1) => data.first().copied().map(TcpOption::WindowScale),
        (4, 0) => Some(TcpOption::SackPermitted),
        (5, len) if len > 0 && len % 8 == 0 => Some(TcpOption::Sack(data)),
        (8, 8) => u32_at(data, 0)
            .zip(u32_at(data, 4))
            .map(|(value, echo)| TcpOption::Timestamps { value, echo }),
        _ => None,
    };
    known.unwrap_or(other)
}
