//! IPv6 extension headers.

use crate::error::{HeaderError, Truncated, split_header};
use crate::protocol::ip;

/// Maximum number of extension headers that [`Extensions::walk`] parses.
pub const MAX_EXTENSIONS: usize = 8;

/// The extension headers of an IPv6 packet.
///
/// Parses hop-by-hop options, routing, fragment and destination options. They share this layout:
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+-------------------------------+
/// |  next header  | length / 8 - 1|  options or routing data ...  |
/// +---------------+---------------+-------------------------------+
/// ```
///
/// # Source
/// RFC 8200, 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions<'frame> {
    /// Number of parsed headers.
    pub count: usize,
    /// The protocol of `payload`. After [`MAX_EXTENSIONS`] headers it may be another extension
    /// header.
    pub protocol: u8,
    /// The fragment header, if there is one.
    pub fragment: Option<Fragment<'frame>>,
    /// The bytes after the last header. In a fragment other than the first: its part of the payload.
    pub payload: &'frame [u8],
    /// Offset of `payload` in the frame, in bytes.
    pub at: usize,
}

impl<'frame> Extensions<'frame> {
    /// Parses extension headers, starting with type `next_header` at the front of `bytes`, which
    /// start at offset `at` of the frame. Ends at another protocol, after the fragment header of a
    /// later fragment, or after [`MAX_EXTENSIONS`] headers.
    ///
    /// # Errors
    /// The bytes end inside a header. The error includes the headers parsed before it.
    pub fn walk(
        next_header: u8,
        bytes: &'frame [u8],
        at: usize,
    ) -> Result<Self, (Self, HeaderError)> {
        let mut walked = Self {
            count: 0,
            protocol: next_header,
            fragment: None,
            payload: bytes,
            at,
        };
        while walked.count < MAX_EXTENSIONS && walked.follow().map_err(|error| (walked, error))? {
            walked.count += 1;
        }
        Ok(walked)
    }

    /// Splits one header off the payload; `false` if there is no further header.
    fn follow(&mut self) -> Result<bool, HeaderError> {
        let (layer, is_fragment) = match self.protocol {
            ip::HOP_BY_HOP => ("IPv6 hop-by-hop", false),
            ip::ROUTING => ("IPv6 routing", false),
            ip::FRAGMENT => ("IPv6 fragment", true),
            ip::DESTINATION => ("IPv6 destination", false),
            _ => return Ok(false),
        };
        if self.fragment.is_some_and(|fragment| fragment.offset() != 0) {
            return Ok(false);
        }
        let ([next_header, length, ..], _) = split_header::<8>(layer, self.payload, self.at)?;
        let need = if is_fragment {
            self.fragment = Some(Fragment::split(self.payload, self.at)?.0);
            Fragment::LEN
        } else {
            (usize::from(*length) + 1) * 8
        };
        let have = self.payload.len();
        let at = self.at;
        self.payload = self.payload.get(need..).ok_or(Truncated {
            layer,
            at,
            need,
            have,
        })?;
        self.at += need;
        self.protocol = *next_header;
        Ok(true)
    }
}

/// A fragment header of IPv6.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+-------------------------+---+-+
/// |  next header  |       0       |  fragment offset (8 B)  | 0 |M|
/// +---------------+---------------+-------------------------+---+-+
/// |                        identification                         |
/// +---------------------------------------------------------------+
/// ```
///
/// # Source
/// RFC 8200, 4.5.
#[doc(alias = "frag_hdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'frame>(&'frame [u8; 8]);

impl<'frame> Fragment<'frame> {
    /// Length of the header.
    pub const LEN: usize = 8;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("IPv6 fragment", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Protocol at the start of the first fragment, one of [`protocol::ip`](crate::protocol::ip).
    pub fn next_header(&self) -> u8 {
        self.0[0]
    }

    /// Fragment offset in bytes.
    pub fn offset(&self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]]) & !7
    }

    /// Whether fragments follow this one.
    pub fn more(&self) -> bool {
        self.0[3] & 1 != 0
    }

    /// Identification of the fragmented packet.
    pub fn identification(&self) -> u32 {
        u32::from_be_bytes([self.0[4], self.0[5], self.0[6], self.0[7]])
    }

    /// The fields of the header.
    pub fn fields(&self) -> FragmentFields {
        FragmentFields {
            next_header: self.next_header(),
            offset: self.offset(),
            more: self.more(),
            identification: self.identification(),
        }
    }
}

/// The fields of a [`Fragment`] header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentFields {
    /// Protocol at the start of the first fragment.
    pub next_header: u8,
    /// Fragment offset in bytes; a multiple of 8.
    pub offset: u16,
    /// Whether fragments follow this one.
    pub more: bool,
    /// Identification of the fragmented packet.
    pub identification: u32,
}

impl FragmentFields {
    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Fragment::LEN] {
        let offset_and_flag = self.offset & !7 | u16::from(self.more);
        let mut bytes = [0; Fragment::LEN];
        bytes[0] = self.next_header;
        bytes[2..4].copy_from_slice(&offset_and_flag.to_be_bytes());
        bytes[4..].copy_from_slice(&self.identification.to_be_bytes());
        bytes
    }
}
