use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Code, Lookup, Native, Shape, Word, whole};

/// Numbers from the first to the last, both included; written `80` or `80-90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[serde(bound = "T: Copy + fmt::Display + FromStr + PartialEq")]
pub struct Range<T: Copy> {
    /// The first.
    pub first: T,
    /// The last.
    pub last: T,
}

impl<T: Copy> Range<T> {
    /// From `first` to `last`.
    pub fn new(first: T, last: T) -> Self {
        Self { first, last }
    }

    /// `number` alone.
    pub fn one(number: T) -> Self {
        Self::new(number, number)
    }
}

impl<T: Copy + fmt::Display + PartialEq> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            self.first.fmt(f)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl<T: Copy + FromStr> FromStr for Range<T> {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) => Ok(Self { first, last }),
            _ => Err(BadWord {
                wanted: "a range".to_owned(),
                found: Some(text.to_owned()),
            }),
        }
    }
}

impl<T: Copy + fmt::Display + PartialEq> From<Range<T>> for String {
    fn from(range: Range<T>) -> Self {
        range.to_string()
    }
}

impl<T: Copy + FromStr> TryFrom<String> for Range<T> {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl<T: Copy + fmt::Display + FromStr + PartialEq> Word for Range<T> {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.to_string()
    }
}

/// Two numbers, one after the other (`struct fib_rule_uid_range`, `struct fib_rule_port_range`).
macro_rules! range_code {
    ($($type:ty, $bytes:literal);*) => {$(
        impl Code<Range<$type>> for Native {
            const SHAPE: Shape = Shape::Bytes;

            fn put(value: &Range<$type>, kind: u16, request: &mut Request) {
                let mut bytes = [0; 2 * $bytes];
                bytes[..$bytes].copy_from_slice(&value.first.to_ne_bytes());
                bytes[$bytes..].copy_from_slice(&value.last.to_ne_bytes());
                request.attribute(kind, &bytes);
            }

            fn take(attribute: Attribute<'_>) -> Result<Range<$type>, Malformed> {
                let rest = Attribute {
                    at: attribute.at + $bytes,
                    bytes: attribute.bytes.get($bytes..).unwrap_or_default(),
                    ..attribute
                };
                Ok(Range {
                    first: <$type>::from_ne_bytes(attribute.array()?),
                    last: <$type>::from_ne_bytes(rest.array()?),
                })
            }

            whole!(Range<$type>);
        }
    )*};
}
range_code!(u16, 2; u32, 4);
