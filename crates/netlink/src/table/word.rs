use std::fmt;
use std::ops::RangeInclusive;

use crate::interface::IfIndex;

/// A value as `ip(8)` takes it and writes it.
pub trait Word: Sized {
    /// Reads it; `None` when `text` is none.
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self>;

    /// Writes it.
    fn write(&self, lookup: &mut dyn Lookup) -> String;

    /// The least and the most of a number.
    fn range() -> Option<RangeInclusive<i128>> {
        None
    }

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

    /// Reads the values of a field that has any number of them: parted by commas.
    ///
    /// # Errors
    /// [`BadWord`] when what follows are none.
    fn many(words: &mut Words<'_>, name: &str) -> Result<Vec<Self>, BadWord> {
        let found = words.next();
        let parts = found.and_then(|text| {
            let parts = text.split(',');
            parts.map(|part| Self::read(part, words.lookup)).collect()
        });
        parts.ok_or_else(|| BadWord {
            wanted: name.to_owned(),
            found: found.map(str::to_owned),
        })
    }

    /// Writes the values of such a field.
    fn write_many(values: &[Self], lookup: &mut dyn Lookup) -> String {
        let parts: Vec<_> = values.iter().map(|value| value.write(lookup)).collect();
        parts.join(",")
    }
}

/// Adds `text` to a line under construction.
pub(crate) fn push(line: &mut String, text: fmt::Arguments<'_>) {
    // A `String` takes all that is written.
    let _ = fmt::Write::write_fmt(line, text);
}

/// What numbers are called in a namespace and on a host.
pub trait Lookup {
    /// The index of the link of this name or alternative name.
    fn index(&mut self, name: &str) -> Option<IfIndex>;

    /// The name of the link with this index.
    fn name(&mut self, index: IfIndex) -> Option<String>;

    /// The VRF of this name, and the number of its table.
    fn vrf(&mut self, _name: &str) -> Option<(IfIndex, u32)> {
        None
    }
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

    /// It with the range in which `wanted` is, if a number was found.
    fn beyond(self, wanted: &str, range: &RangeInclusive<i128>) -> Self {
        let digits = self.found.as_deref().unwrap_or_default();
        let digits = digits.strip_prefix('-').unwrap_or(digits);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return self;
        }
        let wanted = format!("{wanted}: {} to {}", range.start(), range.end());
        Self { wanted, ..self }
    }
}

/// What has been `read` of the field called `name`, if it is in `range`.
pub(crate) fn in_range<T: Copy + Into<i128>>(
    read: Result<Option<T>, BadWord>,
    name: &str,
    range: RangeInclusive<i128>,
) -> Result<Option<T>, BadWord> {
    match read {
        Ok(Some(number)) if !range.contains(&number.into()) => {
            let found = number.into().to_string();
            Err(BadWord::new(name, Some(&found)).beyond(name, &range))
        }
        Err(bad) => Err(bad.beyond(name, &range)),
        read => read,
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
        read.ok_or_else(|| {
            let bad = BadWord::new(wanted, found.map(String::as_str));
            match T::range() {
                Some(range) => bad.beyond(wanted, &range),
                None => bad,
            }
        })
    }

    /// Reads the name of a VRF: its index, and the number of its table.
    ///
    /// # Errors
    /// [`BadWord`] when the line has ended or there is no such VRF.
    pub fn vrf(&mut self) -> Result<(IfIndex, u32), BadWord> {
        let found = self.rest.next();
        let vrf = found.and_then(|name| self.lookup.vrf(name));
        let wanted = if found.is_some() { "a VRF" } else { "vrf" };
        vrf.ok_or_else(|| BadWord::new(wanted, found.map(String::as_str)))
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

    /// Takes `wanted` if that is what comes next, and says whether it was.
    pub fn skip(&mut self, wanted: &[&str]) -> bool {
        let rest = self.rest.as_slice();
        let is_next = rest.len() >= wanted.len()
            && rest.iter().zip(wanted).all(|(word, wanted)| word == wanted);
        if is_next {
            self.rest = rest[wanted.len()..].iter();
        }
        is_next
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
