//! Numbers, switches, addresses and names as words.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{BadWord, Lookup, Word, Words};
use crate::interface::{IfIndex, IfName, MacAddress};

macro_rules! number_words {
    ($($type:ty),*) => {$(
        impl Word for $type {
            /// Decimal, or hexadecimal behind `0x`.
            fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
                match text.strip_prefix("0x") {
                    Some(digits) => <$type>::from_str_radix(digits, 16).ok(),
                    None => text.parse().ok(),
                }
            }

            fn write(&self, _: &mut dyn Lookup) -> String {
                self.to_string()
            }

            fn range() -> Option<std::ops::RangeInclusive<i128>> {
                Some(<$type>::MIN.into()..=<$type>::MAX.into())
            }
        }
    )*};
}
number_words!(u8, u16, u32, u64, i8, i32);

macro_rules! parsed_words {
    ($($type:ty),*) => {$(
        impl Word for $type {
            fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
                text.parse().ok()
            }

            fn write(&self, _: &mut dyn Lookup) -> String {
                self.to_string()
            }
        }
    )*};
}
parsed_words!(IpAddr, MacAddress, IfName, String);

/// An address of one family: where one of the other stands, the field beside it is meant.
macro_rules! family_words {
    ($($type:ty, $other:ty;)*) => {$(
        impl Word for $type {
            /// An address; `any` is none.
            fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
                match text {
                    "any" => Some(Self::UNSPECIFIED),
                    _ => text.parse().ok(),
                }
            }

            fn write(&self, _: &mut dyn Lookup) -> String {
                self.to_string()
            }

            fn field(
                name: &str,
                word: &str,
                words: &mut Words<'_>,
            ) -> Result<Option<Self>, BadWord> {
                let other = words.peek().is_some_and(|text| text.parse::<$other>().is_ok());
                if word != name || other {
                    return Ok(None);
                }
                words.value(name).map(Some)
            }
        }
    )*};
}
family_words! {
    Ipv4Addr, Ipv6Addr;
    Ipv6Addr, Ipv4Addr;
}

impl<T: Word> Word for Vec<T> {
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self> {
        text.split(',').map(|part| T::read(part, lookup)).collect()
    }

    fn write(&self, lookup: &mut dyn Lookup) -> String {
        T::write_many(self, lookup)
    }

    fn field(name: &str, word: &str, words: &mut Words<'_>) -> Result<Option<Self>, BadWord> {
        if word == name {
            T::many(words, name).map(Some)
        } else {
            Ok(None)
        }
    }
}

impl Word for bool {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        match text {
            "on" | "1" => Some(true),
            "off" | "0" => Some(false),
            _ => None,
        }
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }

    /// A switch: `name` is on, `noname` is off, `name` with `on`, `off`, `1` or `0` is that.
    fn field(name: &str, word: &str, words: &mut Words<'_>) -> Result<Option<Self>, BadWord> {
        if word == name {
            return Ok(Some(words.switch()));
        }
        Ok((word.strip_prefix("no") == Some(name)).then_some(false))
    }
}

impl Word for IfIndex {
    /// A name.
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self> {
        lookup.index(text)
    }

    /// A name, or `if` and the index as `ip(8)` writes it where there is none.
    fn write(&self, lookup: &mut dyn Lookup) -> String {
        lookup
            .name(*self)
            .unwrap_or_else(|| format!("if{}", self.0))
    }
}
