//! How a Rust value is encoded in a netlink attribute.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{AttributeSet, AttributeType};
use crate::codec::{Attribute, Malformed, Request};
use crate::values::interface::{IfIndex, IfName, MacAddress};

/// How a value of type `T` is encoded in an attribute.
pub trait AttributeCodec<T: PartialEq> {
    /// What the attribute contains.
    const TYPE: AttributeType;

    /// Appends the attribute `kind` with `value`.
    fn encode(value: &T, kind: u16, request: &mut Request);

    /// Decodes the value.
    ///
    /// # Errors
    /// [`Malformed`] if the payload is too short.
    fn decode(attribute: Attribute<'_>) -> Result<T, Malformed>;

    /// Decodes the value in place.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    #[inline]
    fn decode_into(field: &mut Option<T>, attribute: Attribute<'_>) -> Result<(), Malformed> {
        *field = Some(Self::decode(attribute)?);
        Ok(())
    }

    /// Whether `value` satisfies the filter value `wanted`.
    fn matches(value: &T, wanted: &T) -> bool {
        value == wanted
    }

    /// Whether a field satisfies a filter field. A filter field without a value is always satisfied.
    #[inline]
    fn field_matches(value: Option<&T>, wanted: Option<&T>) -> bool {
        match (value, wanted) {
            (_, None) => true,
            (None, Some(wanted)) => !Self::is_encoded(wanted),
            (Some(value), Some(wanted)) => Self::matches(value, wanted),
        }
    }

    /// Applies `change` to `value`.
    fn merge(value: &mut T, change: T) {
        *value = change;
    }

    /// Applies the value that `change` gives, if any.
    fn merge_field(field: &mut Option<T>, change: Option<T>) {
        match (field, change) {
            (_, None) => {}
            (Some(value), Some(change)) => Self::merge(value, change),
            (field, change) => *field = change,
        }
    }

    /// Keeps only those parts of a field that `other` gives too.
    fn retain_field(field: &mut Option<T>, other: Option<&T>) {
        match (field, other) {
            (Some(value), Some(other)) => Self::retain(value, other),
            (field, None) => *field = None,
            (None, Some(_)) => {}
        }
    }

    /// Whether the kernel sends an attribute for `value`. A value that it never sends equals an absent one.
    fn is_encoded(_value: &T) -> bool {
        true
    }

    /// Keeps only those parts of `value` that `other` has too.
    fn retain(_value: &mut T, _other: &T) {}

    /// As [`AttributeSet::reported_field`], in `value`.
    #[inline]
    fn reported_field(_value: &T) -> Option<String> {
        None
    }

    /// As [`AttributeSet::remove_reported`], in `value`.
    #[inline]
    fn remove_reported(_value: &mut T) {}
}

/// The kernel's usual encoding: numbers in host byte order, text with a trailing NUL, raw bytes.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// A number in network byte order.
#[derive(Clone, Copy, Debug)]
pub struct BigEndian;

/// A flag: `true` is an attribute without a payload, `false` is no attribute. A payload in a reply is the value.
#[derive(Clone, Copy, Debug)]
pub struct Flag;

/// The index of a link; the kernel reports 0 for none.
#[derive(Clone, Copy, Debug)]
pub struct NonZero;

impl AttributeCodec<IfIndex> for NonZero {
    const TYPE: AttributeType = AttributeType::Number;

    fn encode(value: &IfIndex, kind: u16, request: &mut Request) {
        request.u32(kind, value.0);
    }

    fn decode(attribute: Attribute<'_>) -> Result<IfIndex, Malformed> {
        attribute.u32().map(IfIndex)
    }

    #[inline]
    fn decode_into(field: &mut Option<IfIndex>, attribute: Attribute<'_>) -> Result<(), Malformed> {
        *field = Some(attribute.u32()?)
            .filter(|index| *index != 0)
            .map(IfIndex);
        Ok(())
    }
}

/// Nested attributes.
#[derive(Clone, Copy, Debug)]
pub struct Nested;

/// Nested attributes, boxed.
#[derive(Clone, Copy, Debug)]
pub struct Boxed;

/// A list: one nested attribute of type 1 for each element, encoded by `C`.
#[derive(Clone, Copy, Debug)]
pub struct Listed<C>(PhantomData<C>);

/// Generates codecs of values with a fixed number of bytes.
///
/// ```text
/// fixed_size! {
///     BigEndian: GreKey = BigEndianNumber, |key| key.0.to_be_bytes(), |bytes| Self(…);
///     codec      type     contents         encoder                    decoder
/// }
/// ```
macro_rules! fixed_size {
    ($($codec:ty: $type:ty = $contents:ident, $encode:expr, $decode:expr;)*) => {$(
        impl crate::schema::AttributeCodec<$type> for $codec {
            const TYPE: crate::schema::AttributeType = crate::schema::AttributeType::$contents;

            #[inline]
            fn encode(value: &$type, kind: u16, request: &mut crate::codec::Request) {
                let encode: fn(&$type) -> _ = $encode;
                request.attribute(kind, encode(value).as_slice());
            }

            #[inline]
            fn decode(attribute: crate::codec::Attribute<'_>) -> Result<$type, crate::codec::Malformed> {
                attribute.array().map($decode)
            }
        }
    )*};
}
pub(crate) use fixed_size;

/// Two numbers of `N` bytes, one after the other: `M` bytes.
pub(crate) fn join<const N: usize, const M: usize>(first: [u8; N], last: [u8; N]) -> [u8; M] {
    let mut bytes = [0; M];
    bytes[..N].copy_from_slice(&first);
    bytes[N..].copy_from_slice(&last);
    bytes
}

macro_rules! numbers {
    ($($type:ty),*) => {
        fixed_size! {
            $(Native: $type = Number, |number| number.to_ne_bytes(), <$type>::from_ne_bytes;)*
        }
    };
}
numbers!(u8, u16, u32, u64, i8, i32);

fixed_size! {
    BigEndian: u16 = BigEndianNumber, |number| number.to_be_bytes(), u16::from_be_bytes;
    BigEndian: u32 = BigEndianNumber, |number| number.to_be_bytes(), u32::from_be_bytes;
    BigEndian: u64 = BigEndianNumber, |number| number.to_be_bytes(), u64::from_be_bytes;
    Native: bool = Number, |on| [u8::from(*on)], |[byte]| byte != 0;
    Native: Ipv4Addr = Ip, |ip| ip.octets(), |bytes: [u8; 4]| bytes.into();
    Native: Ipv6Addr = Ip, |ip| ip.octets(), |bytes: [u8; 16]| bytes.into();
    Native: MacAddress = Mac, |mac| mac.0, MacAddress;
    Native: IfIndex = Number, |index| index.0.to_ne_bytes(), |bytes| IfIndex(u32::from_ne_bytes(bytes));
}

impl AttributeCodec<bool> for Flag {
    const TYPE: AttributeType = AttributeType::Flag;

    fn encode(value: &bool, kind: u16, request: &mut Request) {
        if *value {
            request.attribute(kind, &[]);
        }
    }

    fn decode(attribute: Attribute<'_>) -> Result<bool, Malformed> {
        Ok(attribute.bytes.first().is_none_or(|byte| *byte != 0))
    }

    fn is_encoded(value: &bool) -> bool {
        *value
    }
}

impl AttributeCodec<String> for Native {
    const TYPE: AttributeType = AttributeType::Text;

    fn encode(value: &String, kind: u16, request: &mut Request) {
        // The kernel rejects what exceeds its own limit.
        request.text(kind, value.as_bytes());
    }

    fn decode(attribute: Attribute<'_>) -> Result<String, Malformed> {
        Ok(attribute.text())
    }
}

impl AttributeCodec<Vec<u8>> for Native {
    const TYPE: AttributeType = AttributeType::Bytes;

    fn encode(value: &Vec<u8>, kind: u16, request: &mut Request) {
        request.attribute(kind, value);
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<u8>, Malformed> {
        Ok(attribute.bytes.to_vec())
    }
}

impl<T: AttributeSet + PartialEq> AttributeCodec<T> for Nested {
    const TYPE: AttributeType = AttributeType::Nest {
        skip: 0,
        attributes: T::specs,
    };

    fn encode(value: &T, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| value.encode_attributes(request));
    }

    fn decode(attribute: Attribute<'_>) -> Result<T, Malformed> {
        let mut value = T::default();
        for attribute in attribute.attributes() {
            value.decode_attribute(attribute?)?;
        }
        Ok(value)
    }

    fn matches(value: &T, wanted: &T) -> bool {
        value.fields_match(wanted)
    }

    fn merge(value: &mut T, change: T) {
        value.merge(change);
    }

    fn retain(value: &mut T, to: &T) {
        value.retain_fields(to);
    }

    fn reported_field(value: &T) -> Option<String> {
        value.reported_field()
    }

    fn remove_reported(value: &mut T) {
        value.remove_reported();
    }
}

impl<T: AttributeSet + PartialEq> AttributeCodec<Box<T>> for Boxed {
    const TYPE: AttributeType = <Nested as AttributeCodec<T>>::TYPE;

    fn encode(value: &Box<T>, kind: u16, request: &mut Request) {
        Nested::encode(&**value, kind, request);
    }

    fn decode(attribute: Attribute<'_>) -> Result<Box<T>, Malformed> {
        Nested::decode(attribute).map(Box::new)
    }

    fn matches(value: &Box<T>, wanted: &Box<T>) -> bool {
        T::fields_match(value, wanted)
    }

    fn retain(value: &mut Box<T>, to: &Box<T>) {
        T::retain_fields(value, to);
    }

    fn merge(value: &mut Box<T>, change: Box<T>) {
        T::merge(value, *change);
    }

    fn reported_field(value: &Box<T>) -> Option<String> {
        T::reported_field(value)
    }

    fn remove_reported(value: &mut Box<T>) {
        T::remove_reported(value);
    }
}

impl<T: PartialEq, C: AttributeCodec<T>> AttributeCodec<Vec<T>> for Listed<C> {
    const TYPE: AttributeType = AttributeType::List(&C::TYPE);

    fn encode(value: &Vec<T>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for element in value {
                C::encode(element, 1, request);
            }
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<T>, Malformed> {
        attribute
            .attributes()
            .map(|element| C::decode(element?))
            .collect()
    }

    fn reported_field(value: &Vec<T>) -> Option<String> {
        value.iter().find_map(C::reported_field)
    }

    fn remove_reported(value: &mut Vec<T>) {
        value.iter_mut().for_each(C::remove_reported);
    }
}

impl AttributeCodec<IpAddr> for Native {
    const TYPE: AttributeType = AttributeType::Ip;

    fn encode(value: &IpAddr, kind: u16, request: &mut Request) {
        match value {
            IpAddr::V4(ip) => Self::encode(ip, kind, request),
            IpAddr::V6(ip) => Self::encode(ip, kind, request),
        }
    }

    /// The length determines the family: 4 bytes or 16.
    fn decode(attribute: Attribute<'_>) -> Result<IpAddr, Malformed> {
        match attribute.bytes.len() {
            ..16 => attribute.array::<4>().map(IpAddr::from),
            _ => attribute.array::<16>().map(IpAddr::from),
        }
    }

    /// Assigns each family directly: building an `IpAddr` of either family first would cost a copy.
    #[inline]
    fn decode_into(field: &mut Option<IpAddr>, attribute: Attribute<'_>) -> Result<(), Malformed> {
        match attribute.bytes.len() {
            ..16 => *field = Some(IpAddr::V4(attribute.array::<4>()?.into())),
            _ => *field = Some(IpAddr::V6(attribute.array::<16>()?.into())),
        }
        Ok(())
    }
}

impl AttributeCodec<IfName> for Native {
    const TYPE: AttributeType = AttributeType::Text;

    fn encode(value: &IfName, kind: u16, request: &mut Request) {
        request.text(kind, value.as_bytes());
    }

    fn decode(attribute: Attribute<'_>) -> Result<IfName, Malformed> {
        let name = attribute.c_string();
        let malformed = Malformed {
            layer: "link name",
            at: attribute.at,
            need: 1,
            have: name.len(),
        };
        IfName::new(name).map_err(|_| malformed)
    }
}
