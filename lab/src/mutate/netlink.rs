//! Messages of rtnetlink: headers, and trees of attributes.

use super::{Plain, two};
use crate::oracle::Random;

/// `struct nlmsghdr`, linux/netlink.h.
const HEADER_BYTES: usize = 16;
/// `struct nlattr`.
const ATTRIBUTE_BYTES: usize = 4;
/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;

/// Most levels of attributes that are taken apart.
const MAX_DEPTH: usize = 6;
/// Most bytes by which a value grows at once.
const GROWTH: usize = 16;

/// Types of messages: an error, the end of a list, and one of each object.
const TYPES: [u16; 14] = [2, 3, 16, 17, 20, 24, 28, 32, 66, 68, 84, 86, 88, 104];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    /// Type, flags, sequence number and port.
    header: [u8; 12],
    /// The fixed part of its object.
    fixed: Vec<u8>,
    attributes: Vec<Attribute>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Attribute {
    kind: u16,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Bytes(Vec<u8>),
    Nested(Vec<Attribute>),
}

/// Changes one message, one attribute at any depth, or a list of them; other inputs as `plain` does.
pub fn netlink(random: &mut Random, input: &[u8], plain: Plain<'_>) -> Vec<u8> {
    let mut messages = messages(input);
    if messages.is_empty() {
        let mut bytes = input.to_vec();
        plain(&mut bytes, input.len() + GROWTH);
        return bytes;
    }
    let [one, other] = two(random, messages.len());
    match random.below(12) {
        0 => messages.swap(one, other),
        1 => messages.insert(other, messages[one].clone()),
        2 if messages.len() > 1 => drop(messages.remove(one)),
        3 => {
            let kind = *random.pick(&TYPES);
            messages[one].header[..2].copy_from_slice(&kind.to_ne_bytes());
        }
        4 => {
            let fixed = &mut messages[one].fixed;
            let most = fixed.len() + GROWTH;
            plain(fixed, most);
        }
        _ => change_list(random, &mut messages[one].attributes, plain),
    }
    messages.iter().flat_map(Message::encoded).collect()
}

/// Changes the list, or an attribute in it.
fn change_list(random: &mut Random, list: &mut Vec<Attribute>, plain: Plain<'_>) {
    let [one, other] = two(random, list.len());
    if list.is_empty() {
        list.push(Attribute::new(random));
        return;
    }
    match random.below(8) {
        0 => list.swap(one, other),
        1 => list.insert(other, list[one].clone()),
        2 => drop(list.remove(one)),
        3 => list.insert(one, Attribute::new(random)),
        4 => list[one].kind = random.below(64) as u16,
        5 => {
            let inner = list.remove(one);
            list.insert(
                one,
                Attribute {
                    kind: inner.kind | NESTED,
                    value: Value::Nested(vec![inner]),
                },
            );
        }
        _ => match &mut list[one].value {
            // As deep as `parse` has made it.
            Value::Nested(inner) => change_list(random, inner, plain),
            Value::Bytes(bytes) => {
                let most = bytes.len() + GROWTH;
                plain(bytes, most);
            }
        },
    }
}

/// The messages up to the first one that is damaged.
fn messages(mut input: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    while let Some((message, rest)) = first(input) {
        messages.push(message);
        input = rest;
    }
    messages
}

fn first(input: &[u8]) -> Option<(Message, &[u8])> {
    let (bytes, rest) = input.split_first_chunk()?;
    let (header, _) = rest.split_first_chunk::<12>()?;
    let bytes = u32::from_ne_bytes(*bytes) as usize;
    let body = input.get(HEADER_BYTES..bytes)?;
    let kind = u16::from_ne_bytes([header[0], header[1]]);
    let (fixed, attributes) = body.split_at(fixed_bytes(kind).min(body.len()));
    let message = Message {
        header: *header,
        fixed: fixed.to_vec(),
        attributes: parse(attributes, MAX_DEPTH)?,
    };
    let end = bytes.next_multiple_of(4).min(input.len());
    Some((message, &input[end..]))
}

/// Bytes before the attributes of a message.
///
/// # Source
/// The structs of linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h, linux/neighbour.h, linux/fib_rules.h, linux/nexthop.h and
/// linux/if_bridge.h.
fn fixed_bytes(kind: u16) -> usize {
    match kind {
        // An error with the header of its request, and the end of a list.
        2 => 20,
        16..20 => 16,
        20..24 | 84..88 | 104..108 | 112..116 => 8,
        24..36 | 92..96 => 12,
        3 | 88..92 => 4,
        _ => 0,
    }
}

/// The attributes that fill `bytes`, padded with zeros; `None` if something else does.
fn parse(mut bytes: &[u8], depth: usize) -> Option<Vec<Attribute>> {
    let mut attributes = Vec::new();
    while !bytes.is_empty() {
        let (header, _) = bytes.split_first_chunk::<ATTRIBUTE_BYTES>()?;
        let [a, b, c, d] = *header;
        let (len, kind) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
        let value = bytes.get(ATTRIBUTE_BYTES..usize::from(len))?;
        let inner = match depth.checked_sub(1) {
            Some(depth) if !value.is_empty() => parse(value, depth),
            _ => None,
        };
        attributes.push(Attribute {
            kind,
            value: inner.map_or_else(|| Value::Bytes(value.to_vec()), Value::Nested),
        });
        let (whole, rest) = bytes.split_at_checked(usize::from(len).next_multiple_of(4))?;
        if whole[usize::from(len)..].iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes = rest;
    }
    Some(attributes)
}

impl Message {
    fn encoded(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(self.header);
        bytes.extend(&self.fixed);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        for attribute in &self.attributes {
            attribute.append_to(&mut bytes);
        }
        let len = bytes.len() as u32;
        bytes[..4].copy_from_slice(&len.to_ne_bytes());
        bytes
    }
}

impl Attribute {
    /// A number, a name or a list.
    fn new(random: &mut Random) -> Self {
        let bytes = *random.pick(&[0, 1, 2, 4, 6, 8, 16]);
        let value = match random.below(4) {
            0 => Value::Nested(Vec::new()),
            _ => Value::Bytes((0..bytes).map(|_| random.number() as u8).collect()),
        };
        Self {
            kind: random.below(64) as u16,
            value,
        }
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend([0; 2]);
        bytes.extend(self.kind.to_ne_bytes());
        match &self.value {
            Value::Bytes(value) => bytes.extend(value),
            Value::Nested(inner) => {
                for attribute in inner {
                    attribute.append_to(bytes);
                }
            }
        }
        // A longer one cannot be written: it says a wrong length, as the kernel never does.
        let len = (bytes.len() - start) as u16;
        bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Answers of a kernel.
    fn seeds() -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/netlink");
        let files = fs::read_dir(folder).expect("seeds");
        let files = files.map(|file| fs::read(file.expect("a file").path()).expect("bytes"));
        files.collect()
    }

    #[test]
    fn answers_of_the_kernel_are_written_as_they_were_read() {
        assert!(!seeds().is_empty());
        for seed in seeds() {
            let again: Vec<u8> = messages(&seed).iter().flat_map(Message::encoded).collect();
            assert_eq!(again, seed);
        }
    }

    #[test]
    fn mutated_messages_are_whole() {
        let mut random = Random::new(1);
        for seed in seeds() {
            for _ in 0..1000 {
                let mutated = netlink(&mut random, &seed, &mut |bytes, most| {
                    bytes.push(7);
                    assert!(bytes.len() <= most);
                });
                let mut rest = &mutated[..];
                while let Some((bytes, _)) = rest.split_first_chunk() {
                    let bytes = u32::from_ne_bytes(*bytes) as usize;
                    assert!(bytes >= HEADER_BYTES && bytes.is_multiple_of(4));
                    rest = rest.get(bytes..).expect("the whole message");
                }
                assert!(rest.is_empty());
            }
        }
    }

    #[test]
    fn other_inputs_are_changed_plainly() {
        let mutated = netlink(&mut Random::new(1), b"abc", &mut |bytes, _| {
            bytes.push(b'd');
        });
        assert_eq!(mutated, b"abcd");
    }
}
