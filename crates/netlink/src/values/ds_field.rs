//! The DS field of IP: what used to be the type of service.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::schema::{NameLookup, Native, NumberNames, TextValue, field_values, fixed_size};

/// The DS field of IPv4 or the traffic class of IPv6: a code point in the upper six bits, ECN in the lower two.
///
/// Written as in `ip(8)`, in hexadecimal with or without `0x`, or by a name such as `AF11`: `10` is 16.
///
/// # Source
/// RFC 2474, RFC 3168; `rtnl_dsfield_a2n`, lib/rt\_names.c of iproute2.
#[doc(alias = "tos")]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct DsField(pub u8);

impl From<u8> for DsField {
    fn from(bits: u8) -> Self {
        Self(bits)
    }
}

impl fmt::Display for DsField {
    /// `0x10`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:#04x}", self.0))
    }
}

impl TextValue for DsField {
    /// Names come first: `EF` is 0xb8.
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        if let Some(bits) = lookup.number(NumberNames::DsField, text) {
            return bits.try_into().ok().map(Self);
        }
        let digits = text.strip_prefix("0x").unwrap_or(text);
        // A sign would be accepted here.
        let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_number.then(|| u8::from_str_radix(digits, 16).ok().map(Self))?
    }

    fn format(&self, lookup: &mut dyn NameLookup) -> String {
        let name = lookup.number_name(NumberNames::DsField, self.0.into());
        name.unwrap_or_else(|| self.to_string())
    }

    fn range() -> Option<RangeInclusive<i128>> {
        Some(0..=0xff)
    }
}

fixed_size! {
    Native: DsField = Number, |field| [field.0], |[bits]| DsField(bits);
}

field_values! {
    DsField: Unsigned(1), |it| it.0.to_ne_bytes(), |bytes| Self(u8::from_ne_bytes(bytes));
}
