//! PPPoE packets and tags.

use std::fmt;

use crate::error::{HeaderError, Inconsistent, split_header};
use crate::escaped::{Escaped, Hex};

/// A PPPoE header. Tags follow in the discovery stage, a [`Ppp`](crate::Ppp) header in a session.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------+-------+---------------+-------------------------------+
/// | ver 1 | type 1|     code      |            session            |
/// +-------+-------+---------------+-------------------------------+
/// |            length             |
/// +-------------------------------+
/// ```
///
/// # Source
/// RFC 2516, 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pppoe<'frame>(&'frame [u8; 6]);

impl<'frame> Pppoe<'frame> {
    /// Length of the header.
    pub const LEN: usize = 6;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame. The rest ends where the header
    /// says, without the padding of short frames.
    ///
    /// # Errors
    /// [`HeaderError`] if there are too few bytes, or if version and type are not 1.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), HeaderError> {
        let (header, rest) = split_header("PPPoE", bytes, at)?;
        if header[0] != 0x11 {
            return Err(Inconsistent {
                layer: "PPPoE",
                at,
                field: "version and type",
                value: header[0].into(),
            }
            .into());
        }
        let header = Self(header);
        let length = usize::from(header.length());
        Ok((header, rest.get(..length).unwrap_or(rest)))
    }

    /// The kind of a packet of the discovery stage; 0 in a session.
    pub fn code(&self) -> u8 {
        self.0[1]
    }

    /// The name of the code; empty if unknown.
    pub fn code_name(&self) -> &'static str {
        match self.code() {
            0x00 => "session",
            0x07 => "PADO",
            0x09 => "PADI",
            0x19 => "PADR",
            0x65 => "PADS",
            0xa7 => "PADT",
            _ => "",
        }
    }

    /// The number of the session; 0 before there is one.
    pub fn session(&self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// Length of what follows the header, in bytes.
    pub fn length(&self) -> u16 {
        u16::from_be_bytes([self.0[4], self.0[5]])
    }
}

/// A tag of the discovery stage of PPPoE.
///
/// Displays as the name, and the value as text or as hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PppoeTag<'frame> {
    /// The type.
    pub kind: u16,
    /// The value.
    pub value: &'frame [u8],
}

impl<'frame> PppoeTag<'frame> {
    /// The type of the last tag.
    const END: u16 = 0;

    /// The tags in `bytes`, up to the end or to the first that is incomplete.
    pub fn all(mut bytes: &'frame [u8]) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let (&[a, b, c, d], rest) = bytes.split_first_chunk()?;
            let kind = u16::from_be_bytes([a, b]);
            let length = usize::from(u16::from_be_bytes([c, d]));
            let (value, rest) = rest.split_at_checked(length)?;
            bytes = rest;
            (kind != Self::END).then_some(Self { kind, value })
        })
    }

    /// The name of the type; empty if unknown.
    ///
    /// # Source
    /// RFC 2516, appendix A; RFC 4937, 2.
    pub fn name(&self) -> &'static str {
        match self.kind {
            0x0101 => "Service-Name",
            0x0102 => "AC-Name",
            0x0103 => "Host-Uniq",
            0x0104 => "AC-Cookie",
            0x0105 => "Vendor-Specific",
            0x0110 => "Relay-Session-Id",
            0x0120 => "PPP-Max-Payload",
            0x0201 => "Service-Name-Error",
            0x0202 => "AC-System-Error",
            0x0203 => "Generic-Error",
            _ => "",
        }
    }
}

/// Most bytes of a tag that are shown as text.
const MAX_TEXT: usize = 64;

impl fmt::Display for PppoeTag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(f, "tag 0x{:04x}", self.kind)?,
            name => f.write_str(name)?,
        }
        match self.kind {
            _ if self.value.is_empty() => Ok(()),
            0x0101 | 0x0102 | 0x0201..=0x0203 => {
                write!(f, " \"{}\"", Escaped::new(self.value, MAX_TEXT))
            }
            _ => write!(f, " 0x{}", Hex(self.value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_no_payload() {
        let bytes = [0x11, 0x09, 0, 0, 0, 4, 1, 1, 0, 0, 9, 9];
        let (header, rest) = Pppoe::split(&bytes, 14).expect("a header");
        assert_eq!((header.code_name(), header.session()), ("PADI", 0));
        assert_eq!(rest, [1, 1, 0, 0]);
        let truncated = Pppoe::split(&bytes[..8], 14).expect("a header").1;
        assert_eq!(truncated, [1, 1]);
        let error = Pppoe::split(&[0x12, 0, 0, 0, 0, 0], 14).expect_err("another version");
        assert!(matches!(error, HeaderError::Inconsistent(_)), "{error}");
    }

    #[test]
    fn tags_end_at_the_last_or_at_an_incomplete_one() {
        let tags = |bytes| {
            let all: Vec<_> = PppoeTag::all(bytes).map(|tag| tag.to_string()).collect();
            all.join(",")
        };
        let two = [1, 1, 0, 0, 1, 2, 0, 2, b'a', 7];
        assert_eq!(tags(&two), r#"Service-Name,AC-Name "a\x07""#);
        assert_eq!(tags(&two[..9]), "Service-Name");
        assert_eq!(
            tags(&[1, 3, 0, 1, 5, 0, 0, 0, 0, 1, 1, 0, 0]),
            "Host-Uniq 0x05"
        );
        assert_eq!(tags(&[9, 9, 0, 0]), "tag 0x0909");
    }
}
