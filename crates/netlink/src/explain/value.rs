use std::net::{Ipv4Addr, Ipv6Addr};

use crate::codec::Attribute;
use crate::link::HardwareAddress;
use crate::table::Shape;

/// Bytes shown of a payload that nothing is known of.
const MOST_BYTES: usize = 64;

pub(super) fn hex(bytes: &[u8]) -> String {
    let shown = bytes.iter().take(MOST_BYTES);
    let mut text: Vec<_> = shown.map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > MOST_BYTES {
        text.push(format!("… ({} bytes)", bytes.len()));
    }
    text.join(" ")
}

/// What is in an attribute, as its shape says; bytes where that does not fit.
pub(super) fn text(shape: Option<Shape>, attribute: Attribute<'_>) -> String {
    let bytes = attribute.bytes;
    let told = match shape {
        Some(Shape::Flag) => Some("set".to_owned()),
        Some(Shape::Text) => Some(format!("{:?}", attribute.text())),
        Some(Shape::Number) => number(bytes, false),
        Some(Shape::NumberBe) => number(bytes, true),
        Some(Shape::Bits(names)) => bits(bytes, names),
        Some(Shape::Ip) => ip(bytes),
        Some(Shape::Mac) => Some(HardwareAddress::new(bytes).to_string()),
        _ => None,
    };
    told.unwrap_or_else(|| hex(bytes))
}

fn number(bytes: &[u8], network_order: bool) -> Option<String> {
    if bytes.len() > 8 || bytes.is_empty() {
        return None;
    }
    let most_first = network_order || cfg!(target_endian = "big");
    let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    let number = if most_first {
        bytes.iter().fold(0, fold)
    } else {
        bytes.iter().rev().fold(0, fold)
    };
    Some(number.to_string())
}

/// A number of 32 bits, and what each that is set is called; by its value where it has no name.
fn bits(bytes: &[u8], names: &[(u32, &str)]) -> Option<String> {
    let number = u32::from_ne_bytes(bytes.try_into().ok()?);
    let set = (0..32).map(|bit| 1 << bit).filter(|bit| number & bit != 0);
    let set = set.map(|bit| {
        let known = names.iter().find(|(known, _)| *known == bit);
        known.map_or_else(|| format!("{bit:#x}"), |(_, name)| (*name).to_owned())
    });
    let set: Vec<_> = set.collect();
    Some(format!("{number:#x} [{}]", set.join(" ")))
}

fn ip(bytes: &[u8]) -> Option<String> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes)
            .ok()
            .map(|it| Ipv4Addr::from(it).to_string()),
        16 => <[u8; 16]>::try_from(bytes)
            .ok()
            .map(|it| Ipv6Addr::from(it).to_string()),
        _ => None,
    }
}
