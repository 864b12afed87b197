//! Reads messages and attributes.

use crate::uapi::{NLA_F_NESTED, NLA_F_NET_BYTEORDER};

/// A message that is truncated or has an invalid length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer} at byte {at} needs {need} bytes and has {have}")]
#[non_exhaustive]
pub struct Malformed {
    /// What was decoded.
    pub layer: &'static str,
    /// Its offset in the message or, for a message, in the datagram, in bytes.
    pub at: usize,
    /// Required bytes.
    pub need: usize,
    /// Available bytes.
    pub have: usize,
}

/// Splits off the first `N` bytes.
#[inline]
pub(crate) fn split<'a, const N: usize>(
    layer: &'static str,
    at: usize,
    bytes: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), Malformed> {
    let have = bytes.len();
    bytes.split_first_chunk().ok_or(Malformed {
        layer,
        at,
        need: N,
        have,
    })
}

/// Length of `struct nlattr`.
const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// An attribute, borrowed from its message.
///
/// A payload may be longer than its type: newer kernels append fields.
#[doc(alias = "nlattr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type without flags.
    pub kind: u16,
    /// Offset of its payload in the body of the message, in bytes.
    pub at: usize,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// Iterates over attributes; see [`attributes`].
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    /// The remaining bytes.
    rest: &'a [u8],
    /// Their offset in the body of the message.
    at: usize,
}

/// Decodes the attributes in `bytes`, whose offset in the body of the message is `at`.
///
/// The last attribute may lack padding. Up to three trailing bytes are ignored, as in the kernel. An error ends the
/// iteration.
///
/// # Source
/// `nla_ok` and `nla_next`, include/net/netlink.h.
pub fn attributes(bytes: &[u8], at: usize) -> Attributes<'_> {
    Attributes { rest: bytes, at }
}

impl<'a> Attributes<'a> {
    /// The next complete attribute; `None` at the end or before a truncated one, which [`end`](Self::end) reports. One
    /// check at the end is cheaper than a `Result` per attribute.
    #[inline]
    pub(crate) fn next_whole(&mut self) -> Option<Attribute<'a>> {
        // Two 16-bit loads instead of four 8-bit loads: each attribute depends on the length of the previous one.
        let (halves, _) = self
            .rest
            .first_chunk::<ATTRIBUTE_HEADER_BYTES>()?
            .as_chunks::<2>();
        let length = usize::from(u16::from_ne_bytes(halves[0]));
        let bytes = self.rest.get(ATTRIBUTE_HEADER_BYTES..length)?;
        let at = self.at;
        let whole = (length + 3) & !3;
        self.rest = self.rest.get(whole..).unwrap_or_default();
        self.at = at + whole;
        Some(Attribute {
            kind: u16::from_ne_bytes(halves[1]) & !(NLA_F_NESTED | NLA_F_NET_BYTEORDER),
            at: at + ATTRIBUTE_HEADER_BYTES,
            bytes,
        })
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`Malformed`] if a truncated attribute is left. It is skipped.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        let rest = std::mem::take(&mut self.rest);
        let Some([l0, l1, ..]) = rest.first_chunk::<ATTRIBUTE_HEADER_BYTES>() else {
            return Ok(());
        };
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        // The length is shorter than the header itself.
        let (need, have) = if length < ATTRIBUTE_HEADER_BYTES {
            (ATTRIBUTE_HEADER_BYTES, length)
        } else {
            (length, rest.len())
        };
        Err(Malformed {
            layer: "attribute",
            at: self.at,
            need,
            have,
        })
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.next_whole() {
            Some(attribute) => Some(Ok(attribute)),
            None => self.end().err().map(Err),
        }
    }
}

impl<'a> Attribute<'a> {
    /// The nested attributes.
    pub fn attributes(&self) -> Attributes<'a> {
        attributes(self.bytes, self.at)
    }

    /// The payload as a `u8`.
    ///
    /// # Errors
    /// [`Malformed`] if it is empty.
    #[inline]
    pub fn u8(&self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    /// The payload as a `u32`.
    ///
    /// # Errors
    /// [`Malformed`] if it is shorter.
    #[inline]
    pub fn u32(&self) -> Result<u32, Malformed> {
        self.array().map(u32::from_ne_bytes)
    }

    /// The first `N` bytes of the payload.
    ///
    /// # Errors
    /// [`Malformed`] if it is shorter.
    #[inline]
    pub fn array<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        split("attribute payload", self.at, self.bytes).map(|(array, _)| *array)
    }

    /// The payload up to its first NUL, or all of it.
    pub fn c_string(&self) -> &'a [u8] {
        self.bytes
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default()
    }

    /// [`c_string`](Self::c_string) as text; invalid UTF-8 becomes U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.c_string()).into_owned()
    }
}

/// Length of `struct nlmsghdr`.
pub(crate) const HEADER_BYTES: usize = 16;

/// A netlink message, borrowed from the datagram it came in.
#[doc(alias = "nlmsghdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type (`RTM_NEWLINK`, `NLMSG_DONE` …).
    pub kind: u16,
    /// `NLM_F_…`.
    pub flags: u16,
    /// Sequence number of the request; 0 for a notification.
    pub sequence: u32,
    /// Port of the destination socket.
    pub port: u32,
    /// The bytes after the header.
    pub body: &'a [u8],
}

/// Iterates over the messages of a datagram; see [`messages`].
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    datagram: &'a [u8],
    /// Offset of the next message.
    next: usize,
}

/// Decodes the messages of a datagram.
///
/// The last message may lack padding. An error ends the iteration.
///
/// # Source
/// `nlmsg_ok` and `nlmsg_next`, include/net/netlink.h.
pub fn messages(datagram: &[u8]) -> Messages<'_> {
    Messages { datagram, next: 0 }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.datagram.get(self.next..)?;
        if rest.is_empty() {
            return None;
        }
        let message = message(rest, self.next);
        self.next = match message {
            Ok((_, step)) => self.next + step,
            Err(_) => self.datagram.len(),
        };
        Some(message.map(|(message, _)| message))
    }
}

/// The message at the beginning of `rest` and the distance to the next. `at` is the offset of `rest`.
#[inline]
fn message(rest: &[u8], at: usize) -> Result<(Message<'_>, usize), Malformed> {
    let (header, _) = split::<HEADER_BYTES>("message header", at, rest)?;
    let (words, _) = header.as_chunks::<4>();
    let (halves, _) = header.as_chunks::<2>();
    let length = u32::from_ne_bytes(words[0]) as usize;
    let malformed = || Malformed {
        layer: "message",
        at,
        need: length.max(HEADER_BYTES),
        have: rest.len(),
    };
    let body = rest.get(HEADER_BYTES..length).ok_or_else(malformed)?;
    let message = Message {
        kind: u16::from_ne_bytes(halves[2]),
        flags: u16::from_ne_bytes(halves[3]),
        sequence: u32::from_ne_bytes(words[2]),
        port: u32::from_ne_bytes(words[3]),
        body,
    };
    Ok((message, (length + 3) & !3))
}
