use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::interface::{IfIndex, IfName, MacAddress};

/// A value as `ip(8)` takes it and writes it.
pub trait Word: Sized {
    /// Reads it; `None` when `text` is none.
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self>;

    /// Writes it.
    fn write(&self, lookup: &mut dyn Lookup) -> String;

    /// Reads the field called `name` if `word` begins it.
    ///
    /// # Errors
    /// [`BadWord`] when it does, and what follows is no value.
    fn field(name: &str, word: &str, words: &mut Words<'_>) -> Result<Option<Self>, BadWord> {
        if word == name {
            words.value(name).map(Some)
        } else {
            Ok(None)
        }
    }
}

/// What numbers are called in a namespace and on a host.
pub trait Lookup {
    /// The index of the link of this name or alternative name.
    fn index(&mut self, name: &str) -> Option<IfIndex>;

    /// The name of the link with this index.
    fn name(&mut self, index: IfIndex) -> Option<String>;
}

/// Words of a command line, read one after another.
pub struct Words<'a> {
    rest: std::slice::Iter<'a, String>,
    lookup: &'a mut dyn Lookup,
}

/// A word that cannot be what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadWord {
    /// What was to be read.
    pub wanted: String,
    /// What stood there; `None` when the line had ended.
    pub found: Option<String>,
}

impl BadWord {
    /// `found` stood where `wanted` was to be read.
    pub fn new(wanted: &str, found: Option<&str>) -> Self {
        Self {
            wanted: wanted.to_owned(),
            found: found.map(str::to_owned),
        }
    }
}

impl<'a> Words<'a> {
    /// Reads `words`; names in them are looked up in `lookup`.
    pub fn new(words: &'a [String], lookup: &'a mut dyn Lookup) -> Self {
        Self {
            rest: words.iter(),
            lookup,
        }
    }

    /// The next word, left where it is.
    pub fn peek(&self) -> Option<&'a str> {
        self.rest.as_slice().first().map(String::as_str)
    }

    /// What numbers are called.
    pub fn lookup(&mut self) -> &mut dyn Lookup {
        self.lookup
    }

    /// Reads the value of `wanted`.
    ///
    /// # Errors
    /// [`BadWord`] when the line has ended or the next word is no such value.
    pub fn value<T: Word>(&mut self, wanted: &str) -> Result<T, BadWord> {
        let found = self.rest.next();
        let read = found.and_then(|text| T::read(text, self.lookup));
        read.ok_or_else(|| BadWord {
            wanted: wanted.to_owned(),
            found: found.cloned(),
        })
    }

    /// Hands word after word to `take`, which reads what belongs to it, until one is not its: that one is left.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn take_while(
        &mut self,
        mut take: impl FnMut(&str, &mut Self) -> Result<bool, BadWord>,
    ) -> Result<(), BadWord> {
        loop {
            let before = self.rest.clone();
            let Some(word) = self.next() else {
                return Ok(());
            };
            if !take(word, self)? {
                self.rest = before;
                return Ok(());
            }
        }
    }

    /// Reads whether a switch is on: `on`, `off`, `1`, `0`, and nothing is on.
    pub fn switch(&mut self) -> bool {
        let on = match self.peek() {
            Some("on" | "1") => true,
            Some("off" | "0") => false,
            _ => return true,
        };
        self.rest.next();
        on
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest.next().map(String::as_str)
    }
}

impl fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Words").field(&self.rest.as_slice()).finish()
    }
}

impl fmt::Display for BadWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, found } = self;
        match found {
            Some(found) => write!(f, "{found:?} is not {wanted}"),
            None => write!(f, "{wanted} lacks a value"),
        }
    }
}

impl std::error::Error for BadWord {}

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
parsed_words!(Ipv4Addr, Ipv6Addr, IpAddr, MacAddress, IfName, String);

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
