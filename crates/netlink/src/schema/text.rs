//! Values as text: parsed from and formatted for command lines and tables.
//!
//! Fields have keywords, those of `ip(8)` and `bridge(8)`. A program reads `KEYWORD VALUE …` with
//! [`Arguments`], and every [`TextValue`] says how its value is written.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer};

use crate::values::interface::{IfIndex, IfName, MacAddress};

/// A value with a text form, that of `ip(8)`.
pub trait TextValue: Sized {
    /// Parses it; `None` if `text` is not a valid value.
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self>;

    /// Formats it.
    fn format(&self, lookup: &mut dyn NameLookup) -> String;

    /// The minimum and maximum of a number.
    fn range() -> Option<RangeInclusive<i128>> {
        None
    }

    /// Parses the value of the field `name` if `keyword` is its keyword.
    ///
    /// # Errors
    /// [`InvalidValue`] if the value is missing or invalid.
    fn parse_field(
        name: &'static str,
        keyword: &str,
        args: &mut Arguments<'_>,
    ) -> Parsed<Option<Self>> {
        args.offer(&[name]);
        if keyword == name {
            args.value(name).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Parses a list of values, separated by commas.
    ///
    /// # Errors
    /// [`InvalidValue`] if the list is missing or invalid.
    fn parse_list(args: &mut Arguments<'_>, name: &str) -> Parsed<Vec<Self>> {
        let found = args.next();
        let parts = found.and_then(|text| {
            let parts = text.split(',');
            parts.map(|part| Self::parse(part, args.lookup)).collect()
        });
        parts.ok_or_else(|| InvalidValue::new(name, found))
    }

    /// Formats a list of values.
    fn format_list(values: &[Self], lookup: &mut dyn NameLookup) -> String {
        let parts: Vec<_> = values.iter().map(|value| value.format(lookup)).collect();
        parts.join(",")
    }
}

/// Translates between names and indices of links.
pub trait NameLookup {
    /// The index of the link with this name or alternative name.
    fn index(&mut self, name: &str) -> Option<IfIndex>;

    /// The name of the link with this index.
    fn name(&mut self, index: IfIndex) -> Option<String>;

    /// The index of the VRF with this name, and its routing table.
    fn vrf(&mut self, _name: &str) -> Option<(IfIndex, u32)> {
        None
    }

    /// The number that the administrator gave this name.
    fn number(&mut self, _names: NumberNames, _name: &str) -> Option<u32> {
        None
    }

    /// The name that the administrator gave this number.
    fn number_name(&mut self, _names: NumberNames, _number: u32) -> Option<String> {
        None
    }
}

/// Numbers to which an administrator can give names, in the files of iproute2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NumberNames {
    /// The DS field, `rt_dsfield`.
    DsField,
    /// Groups of links, `group`.
    Group,
    /// Origins of routes, `rt_protos`.
    Protocol,
    /// Realms, `rt_realms`.
    Realm,
    /// Scopes, `rt_scopes`.
    Scope,
    /// Routing tables, `rt_tables`.
    Table,
}

/// A number as in C and `ip(8)`: hexadecimal behind `0x`, octal behind `0`, otherwise decimal.
pub(crate) fn c_number<T: TryFrom<i128>>(text: &str) -> Option<T> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    let octal = digits.strip_prefix('0').filter(|rest| !rest.is_empty());
    let (digits, radix) = match (hexadecimal, octal) {
        (Some(digits), _) => (digits, 16),
        (_, Some(digits)) => (digits, 8),
        _ => (digits, 10),
    };
    // Signs would be accepted here.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    let number = if is_negative { -number } else { number };
    number.try_into().ok()
}

/// An address. Trailing zero bytes of IPv4 may be omitted, as in `ip(8)`: `10.1` is `10.1.0.0`.
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    text.parse()
        .ok()
        .or_else(|| parse_ipv4(text).map(IpAddr::V4))
}

fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut bytes = [0; 4];
    let mut parts = text.split('.');
    for (byte, part) in bytes.iter_mut().zip(&mut parts) {
        *byte = c_number(part)?;
    }
    parts.next().is_none().then(|| bytes.into())
}

/// Knows no names: links are formatted by index.
pub(crate) struct Unnamed;

impl NameLookup for Unnamed {
    fn index(&mut self, _: &str) -> Option<IfIndex> {
        None
    }

    fn name(&mut self, _: IfIndex) -> Option<String> {
        None
    }
}

/// Arguments of a command line, read one after another.
pub struct Arguments<'a> {
    rest: std::slice::Iter<'a, String>,
    lookup: &'a mut dyn NameLookup,
    /// The keywords that could have stood in the place of the last argument, if they are recorded.
    offered: Option<Vec<&'static str>>,
    /// The number of arguments behind that place.
    place: usize,
}

/// A parsed value, or the argument that is invalid.
pub type Parsed<T> = Result<T, InvalidValue>;

/// Called with the keyword and the formatted value of a field.
pub type FieldVisitor<'a> = dyn FnMut(&'static str, String) + 'a;

/// An argument that is missing or has an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
#[non_exhaustive]
pub struct InvalidValue {
    /// What was expected.
    pub expected: String,
    /// What was found; `None` at the end of the line.
    pub found: Option<String>,
}

impl InvalidValue {
    /// `found` is not a valid value for `expected`.
    pub fn new(expected: &str, found: Option<&str>) -> Self {
        Self {
            expected: expected.to_owned(),
            found: found.map(str::to_owned),
        }
    }

    fn message(&self) -> String {
        let Self { expected, found } = self;
        match found {
            // `expected` is a noun with an article, or else the keyword before the value.
            Some(found) if is_noun(expected) => format!("{found:?} is not {expected}"),
            Some(found) => format!("{found:?} is not a value of {expected}"),
            None => format!("{expected} lacks a value"),
        }
    }

    /// Adds the valid range to the message, if the value is a number.
    fn with_range(self, expected: &str, range: &RangeInclusive<i128>) -> Self {
        let digits = self.found.as_deref().unwrap_or_default();
        let digits = digits.strip_prefix('-').unwrap_or(digits);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return self;
        }
        let expected = format!("{expected}: {} to {}", range.start(), range.end());
        Self { expected, ..self }
    }
}

fn is_noun(expected: &str) -> bool {
    ["a ", "an ", "one ", "between "]
        .iter()
        .any(|article| expected.starts_with(article))
}

/// The value `parsed` of the field `name`, if it is in `range`.
pub(crate) fn check_range<T: Copy + Into<i128>>(
    parsed: Parsed<Option<T>>,
    name: &str,
    range: RangeInclusive<i128>,
) -> Parsed<Option<T>> {
    match parsed {
        Ok(Some(number)) if !range.contains(&number.into()) => {
            let found = number.into().to_string();
            Err(InvalidValue::new(name, Some(&found)).with_range(name, &range))
        }
        Err(bad) => Err(bad.with_range(name, &range)),
        parsed => parsed,
    }
}

impl<'a> Arguments<'a> {
    /// Consumes `args`. Link names are looked up in `lookup`.
    pub fn new(args: &'a [String], lookup: &'a mut dyn NameLookup) -> Self {
        Self {
            rest: args.iter(),
            lookup,
            offered: None,
            place: 0,
        }
    }

    /// The same, and records which keywords it is compared with, for [`Arguments::into_offered`]. Slower: for a command
    /// line that is known to be wrong.
    pub fn recording(args: &'a [String], lookup: &'a mut dyn NameLookup) -> Self {
        Self {
            offered: Some(Vec::new()),
            ..Self::new(args, lookup)
        }
    }

    /// Records keywords that the last argument is compared with.
    pub fn offer(&mut self, keywords: &[&'static str]) {
        let Some(offered) = &mut self.offered else {
            return;
        };
        let place = self.rest.len();
        if self.place != place {
            self.place = place;
            offered.clear();
        }
        offered.extend(keywords);
    }

    /// The keywords that the last argument was compared with. Empty if it was the value of a keyword.
    pub fn into_offered(self) -> Vec<&'static str> {
        let is_last = self.place == self.rest.len();
        self.offered.filter(|_| is_last).unwrap_or_default()
    }

    /// The next argument, without consuming it.
    pub fn peek(&self) -> Option<&'a str> {
        self.rest.as_slice().first().map(String::as_str)
    }

    /// Looks up link names.
    pub fn lookup(&mut self) -> &mut dyn NameLookup {
        self.lookup
    }

    /// Parses the next argument as the value of `expected`.
    ///
    /// # Errors
    /// [`InvalidValue`] if it is missing or invalid.
    pub fn value<T: TextValue>(&mut self, expected: &str) -> Parsed<T> {
        let found = self.rest.next();
        let parsed = found.and_then(|text| T::parse(text, self.lookup));
        parsed.ok_or_else(|| {
            let bad = InvalidValue::new(expected, found.map(String::as_str));
            match T::range() {
                Some(range) => bad.with_range(expected, &range),
                None => bad,
            }
        })
    }

    /// Parses the name of a VRF into its index and its routing table.
    ///
    /// # Errors
    /// [`InvalidValue`] if the name is missing or no such VRF exists.
    pub fn vrf(&mut self) -> Parsed<(IfIndex, u32)> {
        let found = self.rest.next();
        let vrf = found.and_then(|name| self.lookup.vrf(name));
        let expected = if found.is_some() { "a VRF" } else { "vrf" };
        vrf.ok_or_else(|| InvalidValue::new(expected, found.map(String::as_str)))
    }

    /// Calls `parse` with each keyword until it returns `Ok(false)`. That keyword is not consumed.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn parse_while(
        &mut self,
        mut parse: impl FnMut(&str, &mut Self) -> Parsed<bool>,
    ) -> Parsed<()> {
        loop {
            let before = self.rest.clone();
            let Some(keyword) = self.next() else {
                return Ok(());
            };
            if !parse(keyword, self)? {
                self.rest = before;
                return Ok(());
            }
        }
    }

    /// Consumes the arguments `expected` if they are next. Returns whether they were.
    pub fn skip(&mut self, expected: &[&str]) -> bool {
        let rest = self.rest.as_slice();
        let is_next = rest.len() >= expected.len()
            && rest
                .iter()
                .zip(expected)
                .all(|(arg, expected)| arg == expected);
        if is_next {
            self.rest = rest[expected.len()..].iter();
        }
        is_next
    }

    /// Parses the value of a switch: `on`, `off`, `1` or `0`. Any other argument is not consumed and means on.
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

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest.next().map(String::as_str)
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Arguments")
            .field(&self.rest.as_slice())
            .finish()
    }
}

macro_rules! number_words {
    ($($type:ty),*) => {$(
        impl TextValue for $type {
            /// Decimal, hexadecimal behind `0x`, or octal behind `0`.
            fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
                c_number(text)
            }

            fn format(&self, _: &mut dyn NameLookup) -> String {
                self.to_string()
            }

            fn range() -> Option<std::ops::RangeInclusive<i128>> {
                Some(<$type>::MIN.into()..=<$type>::MAX.into())
            }
        }
    )*};
}
number_words!(u8, u16, u32, u64, i8, i32);

/// Gives types that parse and format themselves the JSON form of a text, and makes them a [`TextValue`].
macro_rules! text_form {
    ($($type:ty),*) => {$(
        crate::schema::text_form!(json $type);
        crate::schema::text_form!(value $type);
    )*};
    (json $type:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = <$type as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    };
    (value $type:ty) => {
        impl crate::schema::TextValue for $type {
            fn parse(text: &str, _: &mut dyn crate::schema::NameLookup) -> Option<Self> {
                text.parse().ok()
            }

            fn format(&self, _: &mut dyn crate::schema::NameLookup) -> String {
                self.to_string()
            }
        }
    };
}
pub(crate) use text_form;

text_form!(MacAddress, IfName);
text_form!(value String);

impl TextValue for IpAddr {
    /// Trailing zero bytes of IPv4 may be omitted.
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        parse_ip(text)
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        self.to_string()
    }
}

/// An address of one family. An address of the other family belongs to the sibling field with the same keyword.
macro_rules! family_words {
    ($($type:ty, $variant:ident;)*) => {$(
        impl TextValue for $type {
            /// An address; `any` is the unspecified address.
            fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
                match (text, parse_ip(text)) {
                    ("any", _) => Some(Self::UNSPECIFIED),
                    (_, Some(IpAddr::$variant(ip))) => Some(ip),
                    _ => None,
                }
            }

            fn format(&self, _: &mut dyn NameLookup) -> String {
                self.to_string()
            }

            fn parse_field(
                name: &'static str,
                keyword: &str,
                args: &mut Arguments<'_>,
            ) -> Parsed<Option<Self>> {
                args.offer(&[name]);
                let found = args.peek().and_then(parse_ip);
                let is_other = found.is_some_and(|ip| !matches!(ip, IpAddr::$variant(_)));
                if keyword != name || is_other {
                    return Ok(None);
                }
                args.value(name).map(Some)
            }
        }
    )*};
}
family_words! {
    Ipv4Addr, V4;
    Ipv6Addr, V6;
}

impl<T: TextValue> TextValue for Vec<T> {
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        text.split(',').map(|part| T::parse(part, lookup)).collect()
    }

    fn format(&self, lookup: &mut dyn NameLookup) -> String {
        T::format_list(self, lookup)
    }

    fn parse_field(
        name: &'static str,
        keyword: &str,
        args: &mut Arguments<'_>,
    ) -> Parsed<Option<Self>> {
        args.offer(&[name]);
        if keyword == name {
            T::parse_list(args, name).map(Some)
        } else {
            Ok(None)
        }
    }
}

impl TextValue for bool {
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        match text {
            "on" | "1" => Some(true),
            "off" | "0" => Some(false),
            _ => None,
        }
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }

    /// A switch: `NAME` is on, `noNAME` is off, and `NAME` may be followed by `on`, `off`, `1` or `0`.
    fn parse_field(
        name: &'static str,
        keyword: &str,
        args: &mut Arguments<'_>,
    ) -> Parsed<Option<Self>> {
        args.offer(&[name]);
        if keyword == name {
            return Ok(Some(args.switch()));
        }
        Ok((keyword.strip_prefix("no") == Some(name)).then_some(false))
    }
}

impl TextValue for IfIndex {
    /// A name.
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        lookup.index(text)
    }

    /// The name, or `if` and the index if the name is unknown.
    fn format(&self, lookup: &mut dyn NameLookup) -> String {
        lookup
            .name(*self)
            .unwrap_or_else(|| format!("if{}", self.0))
    }
}

/// A value whose parts have keywords of their own. As a field of another value, its parts stand next to the other
/// fields in command lines, and with `Flatten` in the table also in JSON.
pub trait Flatten {
    /// Parses the field with this keyword and its value from `args`. Returns `Ok(false)` if no field has the
    /// keyword.
    ///
    /// # Errors
    /// [`InvalidValue`] if the value is missing or invalid.
    fn parse_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool>;

    /// Calls `visit` with the keyword and the formatted value of each field that has both.
    fn format_fields(&self, lookup: &mut dyn NameLookup, visit: &mut FieldVisitor<'_>);
}

/// Deserializes a flattened value: `None` if it has no part.
pub(crate) fn deserialize_if_given<
    'de,
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let value = T::deserialize(from)?;
    Ok((value != T::default()).then_some(value))
}

/// Appends `text` to a line.
pub(crate) fn push(line: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail.
    let _ = fmt::Write::write_fmt(line, text);
}

/// A line of keywords and values.
#[derive(Default)]
pub(crate) struct Line(pub String);

impl Line {
    /// Appends ` word value`, if there is a value.
    pub fn field(&mut self, word: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            push(&mut self.0, format_args!(" {word} {value}"));
        }
    }

    /// Appends each word.
    pub fn words(&mut self, words: impl IntoIterator<Item = &'static str>) {
        for word in words {
            push(&mut self.0, format_args!(" {word}"));
        }
    }
}
