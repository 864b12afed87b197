use super::Malformed;
use super::malformed::split;
use crate::uapi::{NLA_F_NESTED, NLA_F_NET_BYTEORDER};

const HEADER_BYTES: usize = 4;

/// An attribute, borrowed from its message.
///
/// A number may be followed by more bytes than its type has: kernels append.
#[doc(alias = "nlattr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type, without the flags.
    pub kind: u16,
    /// Where its payload begins: bytes from the beginning of the message's body.
    pub at: usize,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// The attributes of a message or of an attribute, in order; see [`attributes`].
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    /// Those that have not been read.
    rest: &'a [u8],
    /// Where they begin in the message's body.
    at: usize,
}

/// Reads the attributes in `bytes`, which begin `at` bytes into the message's body.
///
/// The last one need not be filled up; up to three bytes after it are ignored, as the kernel does.
/// After an error there is nothing more.
///
/// # Source
/// `nla_ok` and `nla_next`, include/net/netlink.h.
pub fn attributes(bytes: &[u8], at: usize) -> Attributes<'_> {
    Attributes { rest: bytes, at }
}

impl<'a> Attributes<'a> {
    /// The next one; `None` at the end and where there is none that is whole, which [`end`](Self::end) tells. An error
    /// that is looked for once costs less than one that each of them might be.
    #[inline]
    pub(crate) fn next_whole(&mut self) -> Option<Attribute<'a>> {
        // Two loads of 16 bits, not four of 8: each attribute waits for the length of the one before.
        let (halves, _) = self.rest.first_chunk::<HEADER_BYTES>()?.as_chunks::<2>();
        let length = usize::from(u16::from_ne_bytes(halves[0]));
        let bytes = self.rest.get(HEADER_BYTES..length)?;
        let at = self.at;
        let whole = (length + 3) & !3;
        self.rest = self.rest.get(whole..).unwrap_or_default();
        self.at = at + whole;
        Some(Attribute {
            kind: u16::from_ne_bytes(halves[1]) & !(NLA_F_NESTED | NLA_F_NET_BYTEORDER),
            at: at + HEADER_BYTES,
            bytes,
        })
    }

    /// Nothing is left.
    ///
    /// # Errors
    /// [`Malformed`] when what is left is an attribute that is not whole. It is passed over.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        let rest = std::mem::take(&mut self.rest);
        let Some([l0, l1, ..]) = rest.first_chunk::<HEADER_BYTES>() else {
            return Ok(());
        };
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        // A length that its own header exceeds is all there is of it.
        let (need, have) = if length < HEADER_BYTES {
            (HEADER_BYTES, length)
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
    /// The attributes inside this one.
    pub fn attributes(&self) -> Attributes<'a> {
        attributes(self.bytes, self.at)
    }

    /// The payload as a `u8`.
    ///
    /// # Errors
    /// [`Malformed`] when it is empty.
    #[inline]
    pub fn u8(&self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    /// The payload as a `u32`.
    ///
    /// # Errors
    /// [`Malformed`] when it is shorter.
    #[inline]
    pub fn u32(&self) -> Result<u32, Malformed> {
        self.array().map(u32::from_ne_bytes)
    }

    /// The first `N` bytes of the payload.
    ///
    /// # Errors
    /// [`Malformed`] when it is shorter.
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

    /// [`c_string`](Self::c_string) for people: what is not UTF-8 becomes U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.c_string()).into_owned()
    }
}
