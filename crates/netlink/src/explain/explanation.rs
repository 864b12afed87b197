use std::fmt;

use super::known::Known;
use super::{header, known, value};
use crate::codec::{Attributes, Malformed, Message, Refusal, attributes, messages};
use crate::table::{Entry, Shape};
use crate::uapi::{NLMSG_DONE, NLMSG_ERROR};

/// Attributes within attributes are followed this deep.
const MAX_DEPTH: usize = 12;

/// A datagram of netlink messages in words, a line for each header and each attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The lines, in the order of the bytes.
    pub lines: Vec<Line>,
}

/// A header or an attribute in words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Line {
    /// Where it begins: bytes from the beginning of the datagram.
    pub at: usize,
    /// Its length in bytes, with its header and without what fills it up.
    pub bytes: usize,
    /// How many attributes it stands in.
    pub depth: usize,
    /// Its name, by the kernel's headers where they have one.
    pub name: String,
    /// What is in it; empty where attributes are.
    pub value: String,
}

/// Puts a datagram of rtnetlink messages into words.
///
/// # Errors
/// [`Malformed`] with the place where it cannot be read further; what stands before is in `so_far`.
pub fn explain(datagram: &[u8], so_far: &mut Explanation) -> Result<(), Malformed> {
    let mut at = 0;
    for message in messages(datagram) {
        let message = message?;
        so_far.message(message, at).map_err(|malformed| Malformed {
            at: malformed.at + at + header::BYTES,
            ..malformed
        })?;
        at += (header::BYTES + message.body.len()).next_multiple_of(4);
    }
    Ok(())
}

impl Explanation {
    fn message(&mut self, message: Message<'_>, at: usize) -> Result<(), Malformed> {
        let known = Known::of(message.kind);
        self.lines.push(Line {
            at,
            bytes: header::BYTES + message.body.len(),
            depth: 0,
            name: known::name(message.kind),
            value: header::value(message),
        });
        let body = at + header::BYTES;
        if matches!(message.kind, NLMSG_ERROR | NLMSG_DONE) {
            return self.ending(message, body);
        }
        let Some(Known {
            header: name,
            header_bytes,
            entries,
        }) = known
        else {
            self.push(
                body,
                message.body.len(),
                1,
                "body",
                value::hex(message.body),
            );
            return Ok(());
        };
        let (head, rest) = message
            .body
            .split_at_checked(header_bytes)
            .ok_or(Malformed {
                layer: name,
                at: 0,
                need: header_bytes,
                have: message.body.len(),
            })?;
        self.push(body, header_bytes, 1, name, value::hex(head));
        self.attributes(attributes(rest, header_bytes), rest, entries(), body, 1)
    }

    /// An acknowledgement, a refusal or the end of a list.
    fn ending(&mut self, message: Message<'_>, at: usize) -> Result<(), Malformed> {
        let text = match Refusal::parse(message)? {
            None => "0: done".to_owned(),
            Some(refusal) => {
                let more = [
                    ("text", refusal.text.map(String::from)),
                    ("offset", refusal.offset.map(|offset| offset.to_string())),
                    ("missing", refusal.missing.map(|kind| kind.to_string())),
                ];
                let more = more
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)));
                let more = more.map(|(name, value)| format!("{name} {value}"));
                let words: Vec<_> = [refusal.source.to_string()]
                    .into_iter()
                    .chain(more)
                    .collect();
                words.join(", ")
            }
        };
        self.push(at, message.body.len(), 1, "error", text);
        Ok(())
    }

    fn attributes(
        &mut self,
        found: Attributes<'_>,
        around: &[u8],
        entries: &'static [Entry],
        body: usize,
        depth: usize,
    ) -> Result<(), Malformed> {
        for attribute in found {
            let attribute = attribute?;
            let entry = Entry::find(entries, attribute.kind);
            let name = entry.map_or_else(
                || format!("attribute {}", attribute.kind),
                ToString::to_string,
            );
            let shape = entry.map(|entry| entry.shape);
            let (skip, inside) = match shape {
                Some(Shape::Nest { skip, entries }) => (skip, Some(entries())),
                Some(Shape::Chosen { by }) => (0, Some(by(around))),
                Some(Shape::List(_)) => (0, Some(&[][..])),
                _ => (0, None),
            };
            let inside = inside.filter(|_| depth < MAX_DEPTH);
            let text = match (inside, shape) {
                (Some(_), _) => value::hex(attribute.bytes.get(..skip).unwrap_or_default()),
                (None, shape) => value::text(shape, attribute),
            };
            let (at, bytes) = (body + attribute.at - 4, attribute.bytes.len() + 4);
            self.push(at, bytes, depth, &name, text);
            if let (Some(inside), Some(rest)) = (inside, attribute.bytes.get(skip..)) {
                let found = attributes(rest, attribute.at + skip);
                self.attributes(found, rest, inside, body, depth + 1)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, at: usize, bytes: usize, depth: usize, name: &str, value: String) {
        let name = name.to_owned();
        self.lines.push(Line {
            at,
            bytes,
            depth,
            name,
            value,
        });
    }
}

impl fmt::Display for Line {
    /// Place, name and value; attributes are indented below what they stand in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at, depth, name, ..
        } = self;
        write!(f, "{at:>5}  {:indent$}{name}", "", indent = depth * 2)?;
        if self.value.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.value)
    }
}
