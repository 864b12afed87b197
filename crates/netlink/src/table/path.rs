//! Where in a request the kernel points.

use super::{Entry, Shape};
use crate::codec::{Attribute, Attributes, HEADER_BYTES, Refusal, attributes};

/// Attributes within attributes are followed this deep.
const MAX_DEPTH: usize = 8;

/// The attribute that `refusal` points to or misses in `request`, the bytes of one message, as a path of
/// names: `linkinfo.data.vlan-id`. One that is missing ends in ` missing`.
pub(crate) fn locate(
    refusal: &Refusal,
    request: &[u8],
    header_bytes: usize,
    entries: &'static [Entry],
) -> Option<Box<str>> {
    let from = HEADER_BYTES + header_bytes;
    let top = attributes(request.get(from..)?, from);
    if let Some(offset) = refusal.offset {
        return path(top, request.get(from..)?, offset as usize, entries)
            .map(|(path, _)| path.into());
    }
    let missing = u16::try_from(refusal.missing?).ok()?;
    let nest = refusal.missing_in.map(|offset| offset as usize);
    let (around, entries) = match nest {
        Some(offset) => {
            let (path, inside) = path(top, request.get(from..)?, offset, entries)?;
            (path + ".", inside)
        }
        None => (String::new(), entries),
    };
    let name = match Entry::find(entries, missing) {
        Some(entry) => entry.to_string(),
        None => missing.to_string(),
    };
    Some(format!("{around}{name} missing").into())
}

/// The path to the attribute that begins at or holds byte `offset`, and what may be in it.
fn path<'a>(
    mut level: Attributes<'a>,
    mut around: &'a [u8],
    offset: usize,
    mut entries: &'static [Entry],
) -> Option<(String, &'static [Entry])> {
    let mut path = String::new();
    for _ in 0..MAX_DEPTH {
        let holds = |attribute: &Attribute<'_>| {
            (attribute.at - 4..attribute.at + attribute.bytes.len()).contains(&offset)
        };
        let attribute = level.by_ref().flatten().find(holds)?;
        let entry = Entry::find(entries, attribute.kind);
        match entry {
            Some(entry) => path += &entry.to_string(),
            None => path += &attribute.kind.to_string(),
        }
        let (skip, inside) = match entry.map(|entry| entry.shape) {
            Some(Shape::Nest { skip, entries }) => (skip, entries()),
            Some(Shape::Chosen { by }) => (0, by(around)),
            _ => (attribute.bytes.len(), &[][..]),
        };
        if offset < attribute.at + skip || inside.is_empty() {
            return Some((path, inside));
        }
        level = attributes(attribute.bytes.get(skip..)?, attribute.at + skip);
        around = attribute.bytes;
        entries = inside;
        path.push('.');
    }
    None
}
