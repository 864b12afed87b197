//! How a Rust value is encoded in a netlink attribute.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{AttributeSet, AttributeType};
use crate::codec::{Attribute, Malformed, Request};
use crate::interface::{IfIndex, IfName, MacAddress};

/// How a value of type `T` is encoded in an attribute.
pub trait AttributeCodec<T> {
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
    fn matches(value: &T, wanted: &T) -> bool;

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
    fn merge(value: &mut T, change: T);

    /// Whether the kernel sends an attribute for `value`. A value that it never sends equals an absent one.
    fn is_encoded(_value: &T) -> bool {
        true
    }

    /// Keeps only those parts of `value` that `other` has too.
    fn retain(_value: &mut T, _other: &T) {}
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

/// Nested attributes.
#[derive(Clone, Copy, Debug)]
pub struct Nested;

/// Nested attributes, boxed.
#[derive(Clone, Copy, Debug)]
pub struct Boxed;

/// A list: one nested attribute of type 1 for each element, encoded by `C`.
#[derive(Clone, Copy, Debug)]
pub struct Listed<C>(PhantomData<C>);

/// `matches` and `merge` of values without parts.
macro_rules! compare_as_whole {
    ($type:ty) => {
        fn matches(value: &$type, wanted: &$type) -> bool {
            value == wanted
        }

        fn merge(value: &mut $type, change: $type) {
            *value = change;
        }
    };
}
pub(crate) use compare_as_whole;

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl AttributeCodec<$type> for Native {
            const TYPE: AttributeType = AttributeType::Number;

            fn encode(value: &$type, kind: u16, request: &mut Request) {
                request.attribute(kind, &value.to_ne_bytes());
            }

            fn decode(attribute: Attribute<'_>) -> Result<$type, Malformed> {
                attribute.array().map(<$type>::from_ne_bytes)
            }

            compare_as_whole!($type);
        }
    )*};
}
numbers!(u8, u16, u32, u64, i8, i32);

macro_rules! network_numbers {
    ($($type:ty),*) => {$(
        impl AttributeCodec<$type> for BigEndian {
            const TYPE: AttributeType = AttributeType::BigEndianNumber;

            fn encode(value: &$type, kind: u16, request: &mut Request) {
                request.attribute(kind, &value.to_be_bytes());
            }

            fn decode(attribute: Attribute<'_>) -> Result<$type, Malformed> {
                attribute.array().map(<$type>::from_be_bytes)
            }

            compare_as_whole!($type);
        }
    )*};
}
network_numbers!(u16, u32, u64);

impl AttributeCodec<bool> for Native {
    const TYPE: AttributeType = AttributeType::Number;

    fn encode(value: &bool, kind: u16, request: &mut Request) {
        request.attribute(kind, &[u8::from(*value)]);
    }

    fn decode(attribute: Attribute<'_>) -> Result<bool, Malformed> {
        attribute.u8().map(|byte| byte != 0)
    }

    compare_as_whole!(bool);
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

    compare_as_whole!(bool);
}

impl AttributeCodec<String> for Native {
    const TYPE: AttributeType = AttributeType::Text;

    fn encode(value: &String, kind: u16, request: &mut Request) {
        // No text in the kernel is longer. The kernel rejects what exceeds its limit.
        let text = value.as_bytes();
        request.text(kind, &text[..text.len().min(4096)]);
    }

    fn decode(attribute: Attribute<'_>) -> Result<String, Malformed> {
        Ok(attribute.text())
    }

    compare_as_whole!(String);
}

impl AttributeCodec<Vec<u8>> for Native {
    const TYPE: AttributeType = AttributeType::Bytes;

    fn encode(value: &Vec<u8>, kind: u16, request: &mut Request) {
        request.attribute(kind, &value[..value.len().min(32 * 1024)]);
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<u8>, Malformed> {
        Ok(attribute.bytes.to_vec())
    }

    compare_as_whole!(Vec<u8>);
}

impl<T: AttributeSet> AttributeCodec<T> for Nested {
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
}

impl<T: AttributeSet> AttributeCodec<Box<T>> for Boxed {
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

    compare_as_whole!(Vec<T>);
}

impl AttributeCodec<Ipv4Addr> for Native {
    const TYPE: AttributeType = AttributeType::Ip;

    fn encode(value: &Ipv4Addr, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.octets());
    }

    fn decode(attribute: Attribute<'_>) -> Result<Ipv4Addr, Malformed> {
        attribute.array::<4>().map(Ipv4Addr::from)
    }

    compare_as_whole!(Ipv4Addr);
}

impl AttributeCodec<Ipv6Addr> for Native {
    const TYPE: AttributeType = AttributeType::Ip;

    fn encode(value: &Ipv6Addr, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.octets());
    }

    fn decode(attribute: Attribute<'_>) -> Result<Ipv6Addr, Malformed> {
        attribute.array::<16>().map(Ipv6Addr::from)
    }

    compare_as_whole!(Ipv6Addr);
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

    compare_as_whole!(IpAddr);
}

impl AttributeCodec<MacAddress> for Native {
    const TYPE: AttributeType = AttributeType::Mac;

    fn encode(value: &MacAddress, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.0);
    }

    fn decode(attribute: Attribute<'_>) -> Result<MacAddress, Malformed> {
        attribute.array().map(MacAddress)
    }

    compare_as_whole!(MacAddress);
}

impl AttributeCodec<IfIndex> for Native {
    const TYPE: AttributeType = AttributeType::Number;

    fn encode(value: &IfIndex, kind: u16, request: &mut Request) {
        request.u32(kind, value.0);
    }

    fn decode(attribute: Attribute<'_>) -> Result<IfIndex, Malformed> {
        attribute.u32().map(IfIndex)
    }

    compare_as_whole!(IfIndex);
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

    compare_as_whole!(IfName);
}
