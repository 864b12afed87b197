use std::fmt;
use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

use crate::codec::{Malformed, Request, attributes, split};
use crate::table::{BadWord, Entry, Shape, Words, names};
use crate::uapi::{
    SEG6_IPTUN_MODE_ENCAP, SEG6_IPTUN_MODE_ENCAP_RED, SEG6_IPTUN_MODE_INLINE,
    SEG6_IPTUN_MODE_L2ENCAP, SEG6_IPTUN_MODE_L2ENCAP_RED, SEG6_IPTUNNEL_SRH,
};

/// Segments of a header: its length is counted in a byte, 2 for each.
const MOST_SEGMENTS: usize = 126;
/// The mode, and the segment routing header up to its segments.
const FIXED_BYTES: usize = 12;
/// Routing type of a segment routing header (RFC 8754, section 2).
const ROUTING_TYPE: u8 = 4;

/// A segment routing header around or in a packet (RFC 8754).
///
/// Equals `ip -6 route add … encap seg6 mode MODE segs SEGMENT,…`.
///
/// # Source
/// `struct seg6_iptunnel_encap`, include/uapi/linux/seg6\_iptunnel.h; `seg6_validate_srh`, net/ipv6/seg6.c.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Seg6Encap {
    /// Where the header goes.
    pub mode: Seg6Mode,
    /// The segments, in the order they are visited.
    pub segs: Vec<Ipv6Addr>,
}

names! {
    /// Where a segment routing header goes.
    pub enum Seg6Mode: u32 {
        /// Into the packet.
        Inline = SEG6_IPTUN_MODE_INLINE, "inline";
        /// Into an IPv6 header around the packet.
        Encap = SEG6_IPTUN_MODE_ENCAP, "encap";
        /// Into an IPv6 header around the frame.
        L2encap = SEG6_IPTUN_MODE_L2ENCAP, "l2encap";
        /// As `Encap`, without the first segment.
        EncapRed = SEG6_IPTUN_MODE_ENCAP_RED, "encap.red";
        /// As `L2encap`, without the first segment.
        L2encapRed = SEG6_IPTUN_MODE_L2ENCAP_RED, "l2encap.red";
    }
}

impl Seg6Encap {
    pub(super) const ENTRIES: &'static [Entry] = &[Entry {
        kind: SEG6_IPTUNNEL_SRH,
        constant: "SEG6_IPTUNNEL_SRH",
        shape: Shape::Bytes,
    }];

    /// A header with `segs`, in the order they are visited.
    pub fn new(mode: Seg6Mode, segs: Vec<Ipv6Addr>) -> Self {
        Self { mode, segs }
    }

    /// The header lists the segments backwards. Inline, the first place is for the packet's own destination.
    pub(super) fn put(&self, request: &mut Request) {
        let segments = &self.segs[..self.segs.len().min(MOST_SEGMENTS)];
        let own = usize::from(self.mode == Seg6Mode::Inline);
        let count = segments.len() + own;
        let last = count.saturating_sub(1) as u8;
        let mut bytes = Vec::with_capacity(FIXED_BYTES + 16 * count);
        bytes.extend(u32::from(self.mode).to_ne_bytes());
        bytes.extend([0, 2 * count as u8, ROUTING_TYPE, last, last, 0, 0, 0]);
        bytes.extend(std::iter::repeat_n([0; 16], own).flatten());
        bytes.extend(segments.iter().rev().flat_map(Ipv6Addr::octets));
        request.attribute(SEG6_IPTUNNEL_SRH, &bytes);
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut header: &[u8] = &[];
        for attribute in attributes(bytes, 0) {
            let attribute = attribute?;
            if attribute.kind == SEG6_IPTUNNEL_SRH {
                header = attribute.bytes;
            }
        }
        let (fixed, segments) = split::<FIXED_BYTES>("segment routing header", 0, header)?;
        let [m0, m1, m2, m3, ..] = *fixed;
        let mode = u32::from_ne_bytes([m0, m1, m2, m3]).into();
        let own = usize::from(mode == Seg6Mode::Inline);
        let (segments, _) = segments.as_chunks::<16>();
        let segs = segments.iter().skip(own).rev().copied();
        Ok(Self {
            mode,
            segs: segs.map(Ipv6Addr::from).collect(),
        })
    }

    pub(super) fn read_words(words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut encap = Self::new(Seg6Mode::Encap, Vec::new());
        words.take_while(|word, words| {
            match word {
                "mode" => encap.mode = words.value(word)?,
                "segs" => encap.segs = read_segments(words)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(encap)
    }
}

fn read_segments(words: &mut Words<'_>) -> Result<Vec<Ipv6Addr>, BadWord> {
    let text: String = words.value("segs")?;
    let segments: Result<Vec<_>, _> = text.split(',').map(str::parse).collect();
    match segments {
        Ok(segments) if segments.len() <= MOST_SEGMENTS => Ok(segments),
        _ => Err(BadWord {
            wanted: "segs".to_owned(),
            found: Some(text),
        }),
    }
}

impl fmt::Display for Seg6Encap {
    /// As `ip(8)` shows it: the header, inline with the place for the packet's own destination.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = (self.mode == Seg6Mode::Inline).then_some(&Ipv6Addr::UNSPECIFIED);
        let count = self.segs.len() + usize::from(own.is_some());
        write!(f, " mode {} segs {count} [", self.mode)?;
        for segment in self.segs.iter().chain(own) {
            write!(f, " {segment}")?;
        }
        f.write_str(" ]")
    }
}
