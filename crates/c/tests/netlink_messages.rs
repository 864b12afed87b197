//! The messages that C++ code makes itself are those that the library makes of the same objects.

use std::collections::BTreeMap;
use std::process::Command;

use tapline::net::codec::{Request, attributes};
use tapline::net::encoded::decode_change;
use tapline::net::schema::{FieldReader, FieldSet, NameLookup};
use tapline::net::{Addr, IfIndex, Link, Neigh, Object, Route, Verb};

use crate::support::{sanitized, succeed};

/// Length of the header of a message.
const HEADER_BYTES: usize = 16;

const IFA_FLAGS: u16 = 8;
const NDA_FLAGS_EXT: u16 = 15;

/// Knows no names.
struct Nameless;

impl NameLookup for Nameless {
    fn index(&mut self, _: &str) -> Option<IfIndex> {
        None
    }

    fn name(&mut self, _: IfIndex) -> Option<String> {
        None
    }
}

/// Type, flags, fixed header and attributes of a message. The order of attributes is of no consequence.
#[derive(Debug, PartialEq)]
struct Content {
    kind_and_flags: [u8; 4],
    header: Vec<u8>,
    attributes: Vec<(u16, Vec<u8>)>,
}

fn content<O: Object>(message: &[u8]) -> Content {
    let length: [u8; 4] = message[..4].try_into().expect("four bytes");
    assert_eq!(u32::from_ne_bytes(length) as usize, message.len());
    let (header, rest) = message[HEADER_BYTES..].split_at(O::HEADER_BYTES);
    let found = attributes(rest, 0).map(|attribute| {
        let attribute = attribute.expect("whole attributes");
        (attribute.kind, attribute.bytes.to_vec())
    });
    let mut found: Vec<_> = found.collect();
    found.sort();
    Content {
        kind_and_flags: message[4..8].try_into().expect("four bytes"),
        header: header.to_vec(),
        attributes: found,
    }
}

fn encoded<O: Object>(verb: Verb, object: &O) -> Option<Content> {
    let mut request = Request::default();
    object.encode(verb, &mut request).ok()?;
    request.finish(0);
    Some(content::<O>(request.bytes()))
}

/// Compares a message, if there is one, with that of the library. Returns whether there is one.
fn check<O: Object + FieldSet>(
    verb: Verb,
    fields: &[u8],
    message: Option<&[u8]>,
) -> Result<bool, String> {
    let Some(message) = message else {
        return Ok(false);
    };
    let mut object = O::default();
    let read = object.take_fields(fields, &mut FieldReader::new(&mut Nameless));
    if let Err(invalid) = read {
        // Only its key counts.
        let is_deletion = verb == Verb::Del;
        return is_deletion
            .then_some(true)
            .ok_or_else(|| format!("the library reports {invalid}"));
    }
    let more = object.has_follow_up(verb)
        || object.resets_omitted_fields(verb)
        || (verb == Verb::Add && object.is_created_by_driver());
    if more {
        return Err(format!("{object:?} takes more than one message"));
    }
    let mut request = Request::default();
    if let Err(invalid) = object.encode(verb, &mut request) {
        return Err(format!("{object:?}: the library reports {invalid}"));
    }
    let expected = encoded(verb, &object);
    let found = Some(content::<O>(message));
    if found != expected {
        return Err(format!("{object:?}: {found:?}, expected {expected:?}"));
    }
    // What a fake kernel and a batch that can be undone make of it.
    let decoded: O = decode_change(verb, message).map_err(|error| error.to_string())?;
    let mut again = encoded(verb, &decoded);
    if let (Some(again), Some(expected)) = (&mut again, &expected) {
        // Without flags an address or neighbour is decoded as one with all of these flags off.
        let is_off = |(kind, bytes): &(u16, Vec<u8>)| {
            [IFA_FLAGS, NDA_FLAGS_EXT].contains(kind) && *bytes == [0; 4]
        };
        again
            .attributes
            .retain(|attribute| !is_off(attribute) || expected.attributes.contains(attribute));
    }
    if again != expected {
        return Err(format!(
            "{object:?}: decoded {again:?}, expected {expected:?}"
        ));
    }
    Ok(true)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.strip_prefix('x')?;
    let pairs = (0..digits.len()).step_by(2);
    let parsed = pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"));
    Some(parsed.collect())
}

#[test]
fn the_messages_of_cpp_are_those_of_the_library() {
    const VERBS: [Verb; 5] = [Verb::Add, Verb::Replace, Verb::Set, Verb::Append, Verb::Del];
    let program = sanitized("tests/programs/netlink/encode.cpp");
    let printed = succeed(&mut Command::new(program.path)).stdout;
    let printed = String::from_utf8(printed).expect("text");
    let mut differences = Vec::new();
    let mut counts: BTreeMap<(&str, usize), (usize, usize)> = BTreeMap::new();
    for line in printed.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let &[object, verb, fields, message] = &words[..] else {
            panic!("{line:?}");
        };
        let number: usize = verb.parse().expect("a number");
        let (verb, message) = (VERBS[number - 1], bytes(message));
        let fields = bytes(fields).unwrap_or_default();
        let is_message = match object {
            "Link" => check::<Link>(verb, &fields, message.as_deref()),
            "Addr" => check::<Addr>(verb, &fields, message.as_deref()),
            "Route" => check::<Route>(verb, &fields, message.as_deref()),
            "Neigh" => check::<Neigh>(verb, &fields, message.as_deref()),
            other => panic!("{other:?}"),
        };
        let is_message = is_message.unwrap_or_else(|difference| {
            differences.push(format!("{verb:?} {object}: {difference}"));
            true
        });
        let (messages, all) = counts.entry((object, number)).or_default();
        *messages += usize::from(is_message);
        *all += 1;
    }
    let some = &differences[..differences.len().min(20)];
    assert!(
        some.is_empty(),
        "{} differences: {some:#?}",
        differences.len()
    );
    // Otherwise nothing was compared.
    let usual =
        ["Addr", "Link", "Neigh", "Route"].map(|object| [1, 3, 5].map(|verb| (object, verb)));
    for key in usual.as_flattened() {
        let (messages, all) = counts[key];
        assert!(messages * 10 > all, "{key:?}: {messages} of {all}");
    }
}
