//! Numbers that JSON has as a text, because they have names: in requests they may be plain numbers, too.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A value as JSON has it in a request.
#[derive(Debug)]
pub enum NumberOrName {
    /// A text: a name, or digits.
    Text(String),
    /// A number.
    Number(u64),
}

impl fmt::Display for NumberOrName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for NumberOrName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrNameVisitor)
    }
}

struct NumberOrNameVisitor;

impl Visitor<'_> for NumberOrNameVisitor {
    type Value = NumberOrName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NumberOrName, E> {
        Ok(NumberOrName::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<NumberOrName, E> {
        Ok(NumberOrName::Number(number))
    }
}

/// Makes types with a text form read from [`NumberOrName`].
macro_rules! from_number_or_name {
    ($($type:ty),*) => {$(
        impl TryFrom<crate::schema::NumberOrName> for $type {
            type Error = crate::schema::InvalidValue;

            fn try_from(value: crate::schema::NumberOrName) -> Result<Self, Self::Error> {
                value.to_string().parse()
            }
        }
    )*};
}
pub(crate) use from_number_or_name;
