//! Identifiers of interfaces: index, name and hardware address.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::quoted::Quoted;

/// Index of an interface in its network namespace; 0 means none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct IfIndex(pub u32);

impl fmt::Display for IfIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Name of an interface: 1 to 15 bytes, without `/`, `:` or white space, and neither `.` nor `..`.
///
/// # Source
/// `dev_valid_name`, net/core/dev.c.
#[doc(alias = "IFNAMSIZ")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IfName([u8; 16]);

/// An invalid interface name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} cannot be the name of an interface: 1 to 15 bytes, without a slash, a colon and spaces",
    Quoted(text)
)]
#[non_exhaustive]
pub struct InvalidName {
    /// The text; invalid UTF-8 is replaced.
    pub text: String,
}

impl IfName {
    /// Placeholder for an unknown name.
    pub(crate) const UNKNOWN: Self = Self([0; 16]);

    /// Validates `name` like the kernel.
    ///
    /// # Errors
    /// [`InvalidName`] if it is invalid.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, InvalidName> {
        let name = name.as_ref();
        // The kernel's isspace() includes the vertical tab and the Latin-1 no-break space.
        let misplaced =
            |byte: &u8| matches!(byte, b'/' | b':' | 0 | 0x0b | 0xa0) || byte.is_ascii_whitespace();
        let bad = name.is_empty() || name == b"." || name == b".." || name.iter().any(misplaced);
        let mut bytes = [0; 16];
        match bytes[..15].get_mut(..name.len()) {
            Some(place) if !bad => place.copy_from_slice(name),
            _ => {
                return Err(InvalidName {
                    text: String::from_utf8_lossy(name).into_owned(),
                });
            }
        }
        Ok(Self(bytes))
    }

    /// The name without NULs.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// The name in an `ifr_name` of the kernel.
    pub(crate) fn of_padded(mut name: [u8; 16]) -> Self {
        name[15] = 0;
        Self(name)
    }

    /// The name as `ifr_name`, padded with at least one NUL.
    pub(crate) fn padded(&self) -> [u8; 16] {
        self.0
    }
}

impl FromStr for IfName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::new(text)
    }
}

impl fmt::Display for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.as_bytes()), f)
    }
}

/// Hardware address of an Ethernet interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}

/// An invalid hardware address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a hardware address of 6 bytes")]
#[non_exhaustive]
pub struct InvalidAddress {
    /// The text.
    pub text: String,
}

impl FromStr for MacAddress {
    type Err = InvalidAddress;

    /// Parses six hexadecimal bytes, separated by colons.
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let mut bytes = text.split(':').map(|byte| match byte.len() {
            1 | 2 => u8::from_str_radix(byte, 16).ok(),
            _ => None,
        });
        let mut mac = [0; 6];
        let is_whole = mac.iter_mut().all(|place| match bytes.next().flatten() {
            Some(byte) => {
                *place = byte;
                true
            }
            None => false,
        });
        if is_whole && bytes.next().is_none() {
            return Ok(Self(mac));
        }
        Err(InvalidAddress {
            text: text.to_owned(),
        })
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_validated_like_in_the_kernel() {
        for good in ["a", "eth0", "fifteen-bytes-x", "...", "é", "v-0@1"] {
            assert_eq!(
                IfName::new(good).map(|name| name.to_string()),
                Ok(good.to_owned())
            );
        }
        for bad in [
            "",
            ".",
            "..",
            "sixteen-bytes-xx",
            "a/b",
            "a:b",
            "a b",
            "a\n",
            "a\u{b}",
            "a\0",
        ] {
            assert!(IfName::new(bad).is_err(), "{bad:?}");
        }
    }
}
