//! Explains netlink messages for debugging: one line for each header and attribute.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::codec::{
    Attribute, Attributes, HEADER_BYTES, KernelError, Malformed, Message, attributes, messages,
};
use crate::object::Object;
use crate::objects::link::HardwareAddress;
use crate::schema::{AttributeSpec, AttributeType};
use crate::uapi::{
    NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_ECHO, NLM_F_EXCL,
    NLM_F_MULTI, NLM_F_REPLACE, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NLMSG_NOOP, NLMSG_OVERRUN,
};
use crate::{Addr, Fdb, Link, Mdb, NamespaceNumber, Nexthop, PortVlan, Route, Rule, Stats};

/// Maximum nesting depth of attributes.
const MAX_DEPTH: usize = 12;

/// The explanation of a datagram of netlink messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The lines, in the order of the bytes.
    pub lines: Vec<Line>,
}

/// The explanation of a header or an attribute.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Line {
    /// Its offset in the datagram, in bytes.
    pub at: usize,
    /// Its length in bytes, including its header, without padding.
    pub bytes: usize,
    /// Its nesting depth.
    pub depth: usize,
    /// Its name, from the kernel's headers if they have one.
    pub name: String,
    /// Its value; empty for nested attributes.
    pub value: String,
}

/// Explains a datagram of rtnetlink messages.
///
/// # Errors
/// [`Malformed`] with the offset of the error; `so_far` contains the lines before it.
pub fn explain(datagram: &[u8], so_far: &mut Explanation) -> Result<(), Malformed> {
    let mut at = 0;
    for message in messages(datagram) {
        let message = message?;
        so_far.message(message, at).map_err(|malformed| Malformed {
            at: malformed.at + at + HEADER_BYTES,
            ..malformed
        })?;
        at += (HEADER_BYTES + message.body.len()).next_multiple_of(4);
    }
    Ok(())
}

impl Explanation {
    fn message(&mut self, message: Message<'_>, at: usize) -> Result<(), Malformed> {
        let layout = object(message.kind).and_then(|(_, layout)| layout);
        self.lines.push(Line {
            at,
            bytes: HEADER_BYTES + message.body.len(),
            depth: 0,
            name: message_name(message.kind),
            value: message_header(message),
        });
        let body = at + HEADER_BYTES;
        if matches!(message.kind, NLMSG_ERROR | NLMSG_DONE) {
            return self.final_message(message, body);
        }
        let Some(MessageLayout {
            header: name,
            header_bytes,
            attributes: specs,
        }) = layout
        else {
            self.push(body, message.body.len(), 1, "body", hex(message.body));
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
        self.push(body, header_bytes, 1, name, hex(head));
        self.attributes(attributes(rest, header_bytes), rest, specs(), body, 1)
    }

    /// An acknowledgement, an error or the end of a list.
    fn final_message(&mut self, message: Message<'_>, at: usize) -> Result<(), Malformed> {
        let text = match KernelError::decode(message)? {
            None => "0: done".to_owned(),
            Some(error) => {
                let more = [
                    ("text", error.message.map(String::from)),
                    ("offset", error.offset.map(|offset| offset.to_string())),
                    ("missing", error.missing.map(|kind| kind.to_string())),
                ];
                let more = more
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)));
                let more = more.map(|(name, value)| format!("{name} {value}"));
                let words: Vec<_> = [error.source.to_string()].into_iter().chain(more).collect();
                words.join(", ")
            }
        };
        self.push(at, message.body.len(), 1, "error", text);
        Ok(())
    }

    fn attributes(
        &mut self,
        found: Attributes<'_>,
        siblings: &[u8],
        specs: &'static [AttributeSpec],
        body: usize,
        depth: usize,
    ) -> Result<(), Malformed> {
        for attribute in found {
            let attribute = attribute?;
            let spec = AttributeSpec::find(specs, attribute.kind);
            let name = spec.map_or_else(
                || format!("attribute {}", attribute.kind),
                ToString::to_string,
            );
            let contents = spec.map(|spec| spec.contents);
            let (skip, nested) = match contents {
                Some(AttributeType::Nest { skip, attributes }) => (skip, Some(attributes())),
                Some(AttributeType::Dependent { choose }) => (0, Some(choose(siblings))),
                Some(AttributeType::List(_)) => (0, Some(&[][..])),
                _ => (0, None),
            };
            let nested = nested.filter(|_| depth < MAX_DEPTH);
            let text = match (nested, contents) {
                (Some(_), _) => hex(attribute.bytes.get(..skip).unwrap_or_default()),
                (None, contents) => attribute_value(contents, attribute),
            };
            let (at, bytes) = (body + attribute.at - 4, attribute.bytes.len() + 4);
            self.push(at, bytes, depth, &name, text);
            if let (Some(nested), Some(rest)) = (nested, attribute.bytes.get(skip..)) {
                let found = attributes(rest, attribute.at + skip);
                self.attributes(found, rest, nested, body, depth + 1)?;
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
    /// Offset, name and value. Nested attributes are indented.
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

/// Flags with the same meaning in every message.
const COMMON_FLAGS: [(u16, &str); 5] = [
    (NLM_F_REQUEST, "request"),
    (NLM_F_MULTI, "multi"),
    (NLM_F_ACK, "ack"),
    (NLM_F_ECHO, "echo"),
    (NLM_F_DUMP_INTR, "dump-intr"),
];
/// Flags of a request that creates or changes an object.
const CHANGE_FLAGS: [(u16, &str); 4] = [
    (NLM_F_REPLACE, "replace"),
    (NLM_F_EXCL, "excl"),
    (NLM_F_CREATE, "create"),
    (NLM_F_APPEND, "append"),
];

/// Length, flags and sequence number of a message.
fn message_header(message: Message<'_>) -> String {
    let has = |(flag, name): &(u16, &'static str)| (message.flags & flag != 0).then_some(*name);
    let mut flags: Vec<_> = COMMON_FLAGS.iter().filter_map(has).collect();
    let is_request = message.flags & NLM_F_REQUEST != 0;
    // rtnetlink allocates message types in groups of four: new, del, get, set.
    match message.kind % 4 {
        0 | 3 if is_request => flags.extend(CHANGE_FLAGS.iter().filter_map(has)),
        2 if message.flags & NLM_F_DUMP == NLM_F_DUMP => flags.push("dump"),
        _ => {}
    }
    let length = HEADER_BYTES + message.body.len();
    format!(
        "length {length}, flags 0x{:x} [{}], sequence {}, port {}",
        message.flags,
        flags.join(" "),
        message.sequence,
        message.port
    )
}

/// The layout of a message.
#[derive(Clone, Copy)]
struct MessageLayout {
    /// Name of the struct of its fixed header.
    header: &'static str,
    header_bytes: usize,
    attributes: fn() -> &'static [AttributeSpec],
}

const fn layout<O: Object>(header: &'static str) -> MessageLayout {
    MessageLayout {
        header,
        header_bytes: O::HEADER_BYTES,
        attributes: O::attributes,
    }
}

/// Objects by the first of their four message types.
const OBJECTS: [(u16, &str, Option<MessageLayout>); 12] = [
    (16, "LINK", Some(layout::<Link>("ifinfomsg"))),
    (20, "ADDR", Some(layout::<Addr>("ifaddrmsg"))),
    (24, "ROUTE", Some(layout::<Route>("rtmsg"))),
    (28, "NEIGH", Some(layout::<Fdb>("ndmsg"))),
    (32, "RULE", Some(layout::<Rule>("fib_rule_hdr"))),
    (64, "NEIGHTBL", None),
    (84, "MDB", Some(layout::<Mdb>("br_port_msg"))),
    (88, "NSID", Some(layout::<NamespaceNumber>("rtgenmsg"))),
    (92, "STATS", Some(layout::<Stats>("if_stats_msg"))),
    (104, "NEXTHOP", Some(layout::<Nexthop>("nhmsg"))),
    (108, "LINKPROP", Some(layout::<Link>("ifinfomsg"))),
    (112, "VLAN", Some(layout::<PortVlan>("br_vlan_msg"))),
];

/// The object that messages of type `kind` are about.
fn object(kind: u16) -> Option<(&'static str, Option<MessageLayout>)> {
    let found = OBJECTS.iter().find(|(first, ..)| *first == kind & !3);
    found.map(|(_, name, layout)| (*name, *layout))
}

/// The name of a message type in the kernel's headers.
fn message_name(kind: u16) -> String {
    let control = [
        (NLMSG_NOOP, "NLMSG_NOOP"),
        (NLMSG_ERROR, "NLMSG_ERROR"),
        (NLMSG_DONE, "NLMSG_DONE"),
        (NLMSG_OVERRUN, "NLMSG_OVERRUN"),
    ];
    if let Some((_, name)) = control.iter().find(|(control, _)| *control == kind) {
        return (*name).to_owned();
    }
    let verb = ["NEW", "DEL", "GET", "SET"][usize::from(kind % 4)];
    match object(kind) {
        Some((object, _)) => format!("RTM_{verb}{object}"),
        None => format!("message {kind}"),
    }
}

/// Maximum number of bytes shown of an unknown payload.
const MAX_SHOWN_BYTES: usize = 64;

fn hex(bytes: &[u8]) -> String {
    let shown = bytes.iter().take(MAX_SHOWN_BYTES);
    let mut text: Vec<_> = shown.map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > MAX_SHOWN_BYTES {
        text.push(format!("… ({} bytes)", bytes.len()));
    }
    text.join(" ")
}

/// The value of an attribute according to its type; raw bytes if the payload does not fit the type.
fn attribute_value(contents: Option<AttributeType>, attribute: Attribute<'_>) -> String {
    let bytes = attribute.bytes;
    let value = match contents {
        Some(AttributeType::Flag) => Some("set".to_owned()),
        Some(AttributeType::Text) => Some(format!("{:?}", attribute.text())),
        Some(AttributeType::Number) => number(bytes, false),
        Some(AttributeType::BigEndianNumber) => number(bytes, true),
        Some(AttributeType::Bits(names)) => bits(bytes, names),
        Some(AttributeType::Ip) => ip(bytes),
        Some(AttributeType::Mac) => Some(HardwareAddress::new(bytes).to_string()),
        _ => None,
    };
    value.unwrap_or_else(|| hex(bytes))
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

/// A number of 32 bits with the names of the bits that are set. Unnamed bits are shown by value.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{IfIndex, IfName, Verb, Veth};

    #[test]
    fn a_request_is_explained_line_by_line() {
        let name = |text| IfName::new(text).expect("a name");
        let peer = Link::named(name("vb")).mtu(1400);
        let veth = Link::named(name("va"))
            .master(IfIndex(7))
            .kind(Veth::to(peer));
        let mut request = crate::codec::Request::default();
        veth.encode(Verb::Add, &mut request)
            .expect("a valid request");
        request.finish(3);
        let mut explanation = Explanation::default();
        explain(request.bytes(), &mut explanation).expect("well formed");
        let text: Vec<_> = explanation.lines.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "    0  RTM_NEWLINK: length 104, flags 0x605 [request ack excl create], sequence 3, port 0",
                "   16    ifinfomsg: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
                "   32    ifname: \"va\"",
                "   40    master: 7",
                "   48    linkinfo",
                "   52      kind: \"veth\"",
                "   64      data",
                "   68        info-peer: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
                "   88          ifname: \"vb\"",
                "   96          mtu: 1400",
            ]
        );
    }

    /// Every kind of object is known: its first attribute has a name.
    #[test]
    fn every_kind_of_message_is_explained() {
        let addr = crate::Addr::on(IfIndex(3), "10.0.0.1/24".parse().expect("a prefix"));
        let route = crate::Route::to("192.0.2.0/24".parse().expect("a prefix")).dev(IfIndex(3));
        let rule = crate::Rule::new().priority(900);
        let nexthop = crate::Nexthop::new().id(5).dev(IfIndex(3));
        let neigh = crate::Neigh::on(IfIndex(3), [10, 0, 0, 2]);
        let mut request = crate::codec::Request::default();
        let end = |request: &mut crate::codec::Request| {
            request.finish(0);
            request.fill_up();
        };
        addr.encode(Verb::Add, &mut request)
            .expect("a valid request");
        end(&mut request);
        route
            .encode(Verb::Add, &mut request)
            .expect("a valid request");
        end(&mut request);
        rule.encode(Verb::Add, &mut request)
            .expect("a valid request");
        end(&mut request);
        nexthop
            .encode(Verb::Add, &mut request)
            .expect("a valid request");
        end(&mut request);
        Object::encode(&neigh, Verb::Get, &mut request).expect("a valid request");
        end(&mut request);
        let mut explanation = Explanation::default();
        explain(request.bytes(), &mut explanation).expect("well formed");
        let text: Vec<_> = explanation.lines.iter().map(ToString::to_string).collect();
        for words in [
            "local: 10.0.0.1",
            "dst: 192.0.2.0",
            "oif: 3",
            "priority: 900",
            "id: 5",
            "dst: 10.0.0.2",
        ] {
            assert!(
                text.iter().any(|line| line.ends_with(words)),
                "{words}: {text:#?}"
            );
        }
        assert!(
            !text.iter().any(|line| line.contains("attribute")),
            "{text:#?}"
        );
    }

    proptest! {
        /// No input panics, and every line lies within the input.
        #[test]
        fn any_bytes_are_explained(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u16..120) {
            let mut datagram = ((16 + bytes.len()) as u32).to_ne_bytes().to_vec();
            datagram.extend(kind.to_ne_bytes());
            datagram.extend([0; 10]);
            datagram.extend(bytes);
            let mut explanation = Explanation::default();
            let _ = explain(&datagram, &mut explanation);
            prop_assert!(explanation.lines.iter().all(|line| line.at + line.bytes <= datagram.len()));
        }
    }

    /// `IFLA_EXT_MASK` is 29; 9 are `RTEXT_FILTER_VF` and `RTEXT_FILTER_SKIP_STATS` (include/uapi/linux/rtnetlink.h).
    #[test]
    fn bits_of_the_extension_mask_have_names() {
        let explained = |mask: u32| {
            let mut request = crate::codec::Request::default();
            request.begin(18, 1, &[0; 16]);
            request.u32(29, mask);
            request.finish(0);
            let mut explanation = Explanation::default();
            explain(request.bytes(), &mut explanation).expect("well formed");
            explanation.lines.last().map(|line| line.value.clone())
        };
        assert_eq!(explained(9).as_deref(), Some("0x9 [vf skip-stats]"));
        assert_eq!(explained(0x102).as_deref(), Some("0x102 [brvlan 0x100]"));
        assert_eq!(explained(0).as_deref(), Some("0x0 []"));
    }
}
