//! The part of the C++ types of netlink objects that writes netlink messages.

use std::fmt::Write;

use tapline::net::schema::{AttributeType, FieldSetShape, FieldShape, Shape};

/// The objects that C++ encodes itself, where one message can express the change: the header's function, and the fields
/// that it deals with.
const ENCODED: [(&str, &str, &[&str]); 4] = [
    (
        "Addr",
        "encodeAddr",
        &["dev", "family", "prefixlen", "scope"],
    ),
    (
        "Link",
        "encodeLink",
        &[
            "index",
            "up",
            "arp",
            "multicast",
            "allmulticast",
            "promisc",
            "dynamic",
            "type",
        ],
    ),
    (
        "Neigh",
        "encodeNeigh",
        &[
            "dev",
            "family",
            "state",
            "managed",
            "proxy",
            "router",
            "extern_learn",
            "resolve",
        ],
    ),
    (
        "Route",
        "encodeRoute",
        &[
            "kind", "family", "dst", "src", "tos", "table", "protocol", "scope", "onlink",
        ],
    ),
];

/// Whether C++ encodes an object itself.
pub fn is_encoded(object: &str) -> bool {
    ENCODED.iter().any(|(name, ..)| *name == object)
}

/// The type of the attribute with a field, if it contains nothing but the value in host byte order. A read-only field has none in a
/// request: the library refuses it.
fn plain_attribute(field: &FieldShape) -> Option<u16> {
    if field.is_reported {
        return None;
    }
    let attribute = field.attribute?;
    let is_plain = matches!(
        (&field.shape, attribute.contents),
        (
            Shape::Bool
                | Shape::Unsigned(_)
                | Shape::Signed(_)
                | Shape::Named(_)
                | Shape::Flags(_)
                | Shape::Interface,
            AttributeType::Number
        ) | (Shape::Text, AttributeType::Text)
            | (Shape::Ip, AttributeType::Ip)
            | (Shape::HardwareAddress, AttributeType::Mac)
    );
    is_plain.then_some(attribute.kind)
}

/// Writes the member functions that encode a change, if C++ encodes the object. `member` names the member of a field.
pub fn write(of: &FieldSetShape, member: fn(&FieldShape) -> String, out: &mut String) {
    let Some((_, function, of_header)) = ENCODED.iter().find(|(name, ..)| *name == of.name) else {
        return;
    };
    let fields = (of.fields)();
    for name in *of_header {
        let is_field = fields.iter().any(|field| field.name == *name);
        assert!(is_field, "{} has no field {name}", of.name);
    }
    let fields = fields
        .iter()
        .filter(|field| !of_header.contains(&field.name));
    let (plain, others): (Vec<_>, Vec<_>) =
        fields.partition(|field| plain_attribute(field).is_some());
    writeln!(out, "
    /// Writes a change as one message. False if the library has to do it.
    bool encode(tapline_netlink_verb verb, MessageWriter &out) const {{ return detail::{function}(*this, verb, out); }}
    /// Writes the fields that are an attribute each. False if another field is given.
    bool putAttributes(MessageWriter &out) const
    {{").expect("text");
    if !others.is_empty() {
        let others: Vec<_> = others.into_iter().map(member).collect();
        let lines: Vec<_> = others.chunks(8).map(|line| line.join(", ")).collect();
        let fields = lines.join(",\n                               ");
        writeln!(
            out,
            "        if (detail::isAnyGiven({fields})) [[unlikely]] {{\n            return false;\n        }}"
        )
        .expect("text");
    }
    for field in plain {
        let kind = plain_attribute(field).expect("plain");
        writeln!(out, "        out.put({kind}, {});", member(field)).expect("text");
    }
    writeln!(out, "        return true;\n    }}").expect("text");
}
