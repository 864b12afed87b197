//! The values of fields: numbers, addresses, text, interfaces and lists.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{FieldReader, FieldValue, FieldWriter, InvalidField, Shape, truncated};
use crate::values::interface::{IfIndex, IfName, MacAddress};

/// Makes types the value of a field: `SHAPE TYPE, encoder, decoder;`. The decoder gets an array.
macro_rules! field_values {
    ($($type:ty: $shape:expr, $encode:expr, $decode:expr;)*) => {$(
        impl crate::schema::FieldValue for $type {
            fn shape() -> crate::schema::Shape {
                #[allow(unused_imports, reason = "not every shape is written out")]
                use crate::schema::Shape::*;
                $shape
            }

            #[inline]
            fn put(&self, out: &mut crate::schema::FieldWriter<'_>) {
                let encode: fn(&$type) -> _ = $encode;
                out.raw(encode(self).as_slice());
            }

            #[inline]
            fn take(
                bytes: &[u8],
                _: &mut crate::schema::FieldReader<'_>,
            ) -> Result<Self, crate::schema::InvalidField> {
                let found = bytes.try_into().map($decode);
                found.map_err(|_| crate::schema::wrong_length(bytes))
            }
        }
    )*};
}
pub(crate) use field_values;

/// The error for a value of a wrong length.
pub(crate) fn wrong_length(bytes: &[u8]) -> InvalidField {
    InvalidField::new(format!("a value cannot have {} bytes", bytes.len()))
}

/// Makes types with a text form the value of a field.
macro_rules! text_field_values {
    ($($type:ty),* $(,)?) => {$(
        impl crate::schema::FieldValue for $type {
            fn shape() -> crate::schema::Shape {
                crate::schema::Shape::Text
            }

            fn put(&self, out: &mut crate::schema::FieldWriter<'_>) {
                let text = crate::schema::TextValue::format(self, &mut crate::schema::Unnamed);
                out.raw(text.as_bytes());
            }

            fn take(
                bytes: &[u8],
                _: &mut crate::schema::FieldReader<'_>,
            ) -> Result<Self, crate::schema::InvalidField> {
                let text = crate::schema::utf8(bytes)?;
                let parsed = crate::schema::TextValue::parse(text, &mut crate::schema::Unnamed);
                parsed.ok_or_else(|| crate::schema::InvalidField::new(format!("{} is not valid", crate::quoted::Quoted(text))))
            }
        }
    )*};
}
pub(crate) use text_field_values;

/// The text in `bytes`.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, InvalidField> {
    std::str::from_utf8(bytes).map_err(|_| InvalidField::new("the text is not UTF-8"))
}

field_values! {
    u8: Unsigned(1), |number| number.to_ne_bytes(), u8::from_ne_bytes;
    u16: Unsigned(2), |number| number.to_ne_bytes(), u16::from_ne_bytes;
    u32: Unsigned(4), |number| number.to_ne_bytes(), u32::from_ne_bytes;
    u64: Unsigned(8), |number| number.to_ne_bytes(), u64::from_ne_bytes;
    i8: Signed(1), |number| number.to_ne_bytes(), i8::from_ne_bytes;
    i32: Signed(4), |number| number.to_ne_bytes(), i32::from_ne_bytes;
    bool: Bool, |on| [u8::from(*on)], |[byte]: [u8; 1]| byte != 0;
    Ipv4Addr: Ip, |ip| ip.octets(), |bytes: [u8; 4]| bytes.into();
    Ipv6Addr: Ip, |ip| ip.octets(), |bytes: [u8; 16]| bytes.into();
    MacAddress: HardwareAddress, |mac| mac.0, MacAddress;
}

text_field_values!(String);

impl FieldValue for IfName {
    fn shape() -> Shape {
        Shape::Text
    }

    fn put(&self, out: &mut FieldWriter<'_>) {
        out.raw(self.as_bytes());
    }

    fn take(bytes: &[u8], _: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        let name = Self::new(utf8(bytes)?);
        name.map_err(|error| InvalidField::new(error.to_string()))
    }
}

impl FieldValue for IpAddr {
    fn shape() -> Shape {
        Shape::Ip
    }

    #[inline]
    fn put(&self, out: &mut FieldWriter<'_>) {
        match self {
            Self::V4(ip) => ip.put(out),
            Self::V6(ip) => ip.put(out),
        }
    }

    #[inline]
    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        match bytes.len() {
            4 => Ipv4Addr::take(bytes, reader).map(Self::V4),
            _ => Ipv6Addr::take(bytes, reader).map(Self::V6),
        }
    }
}

impl FieldValue for IfIndex {
    fn shape() -> Shape {
        Shape::Interface
    }

    #[inline]
    fn put(&self, out: &mut FieldWriter<'_>) {
        out.raw(&self.0.to_ne_bytes());
        if self.0 != 0
            && let Some(name) = out.names.name(*self)
        {
            out.raw(name.as_bytes());
        }
    }

    #[inline]
    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        let (index, name) = bytes.split_first_chunk().ok_or_else(truncated)?;
        match u32::from_ne_bytes(*index) {
            0 if !name.is_empty() => {
                let name = utf8(name)?;
                let found = reader.names.index(name);
                found.ok_or_else(|| InvalidField::missing_interface(name))
            }
            index => Ok(Self(index)),
        }
    }
}

impl<T: FieldValue> FieldValue for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }

    fn put(&self, out: &mut FieldWriter<'_>) {
        for element in self {
            out.sized(|out| element.put(out));
        }
    }

    fn take(mut bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        let mut list = Self::new();
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let length = u32::from_ne_bytes(*length) as usize;
            let (element, rest) = rest.split_at_checked(length).ok_or_else(truncated)?;
            list.push(T::take(element, reader)?);
            bytes = rest;
        }
        if bytes.is_empty() {
            Ok(list)
        } else {
            Err(truncated())
        }
    }
}

impl<T: FieldValue> FieldValue for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn put(&self, out: &mut FieldWriter<'_>) {
        T::put(self, out);
    }

    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        T::take(bytes, reader).map(Self::new)
    }
}
