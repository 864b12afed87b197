//! `docs/guide/netlink-json.md`: the fields of netlink objects in JSON, found by encoding one of each.
//!
//! The page is committed. With `TAPLINE_WRITE=1` in the environment the test writes it, otherwise it compares it.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;
use tapline::net::schema::{
    FieldReader, FieldSet, FieldSetShape, FieldShape, NameLookup, NamedNumber, Shape, field_id,
};
use tapline::net::{
    Addr, Fdb, IfIndex, Link, LinkKind, Neigh, Nexthop, PortKind, PortVlan, Route, RouteQuery, Rule,
};

use lab::Host;

use crate::support::{CHECKERS, repository};

const INTRODUCTION: &str = "\
# Netlink objects as JSON

<!-- Generated from the attribute tables: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_json -->

The fields of the objects that the C functions `tapline_netlink_…` take and return as JSON (`TAPLINE_NETLINK_FORM_JSON`), with an example of each.
[Coming from libnl](coming-from-libnl.md) shows their use. Every field is optional. A path such as `linkinfo.info_kind` means
`{\"linkinfo\":{\"info_kind\":\"bridge\"}}`, and `[]` an element of an array. In requests an interface is its index or its name, in replies its index. Numbers
are plain; times are in the unit that is stated. What has names, such as a routing table, a protocol or a scope, and ranges of ports are texts in replies; in requests
a number may also be plain: `\"table\":100` and `\"table\":\"100\"` are the same. An object has at most 1 MiB.

The peer of a veth, which is a link, and encapsulations of routes (`encap`) are not listed below. Examples:
";

/// Objects that are added one after the other: what they are, their type, and their JSON.
const EXAMPLES: [(&str, &str, &str); 3] = [
    (
        "A veth with its peer, `TAPLINE_NETLINK_OBJECT_LINK`",
        "1",
        r#"{"name":"v0","up":true,"linkinfo":{"info_kind":"veth","info_data":{"peer":{"name":"v1","mtu":1400}}}}"#,
    ),
    (
        "A route in a table without a name, `TAPLINE_NETLINK_OBJECT_ROUTE`",
        "3",
        r#"{"dst":"203.0.113.0/24","dev":"v0","table":100,"protocol":200}"#,
    ),
    (
        "A route that encapsulates packets: tunnel metadata for a VXLAN, Geneve or GRE link with `external`",
        "3",
        r#"{"dst":"198.51.100.0/24","dev":"v0","encap":{"type":"ip","id":42,"dst":"192.0.2.9","ttl":64}}"#,
    ),
];

/// Texts of which each field of text takes one.
const TEXTS: [&str; 12] = [
    "name",
    "80-90",
    "192.0.2.255",
    "+",
    "02:00:00:00:00:01",
    "::",
    "2001:db8::1",
    "mpls",
    "1",
    "10/20",
    "0x1",
    "bridge",
];

struct Nameless;

impl NameLookup for Nameless {
    fn index(&mut self, _: &str) -> Option<IfIndex> {
        None
    }

    fn name(&mut self, _: IfIndex) -> Option<String> {
        None
    }
}

/// Encoded values that a field of this shape may have.
fn samples(shape: &Shape) -> Vec<Vec<u8>> {
    let number = |number: u64, bytes: usize| number.to_ne_bytes()[..bytes].to_vec();
    let sized = |value: Vec<u8>| {
        let mut element = (value.len() as u32).to_ne_bytes().to_vec();
        element.extend(value);
        element
    };
    let v6 = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    match shape {
        Shape::Bool => vec![vec![1]],
        Shape::Unsigned(bytes) | Shape::Signed(bytes) => {
            [100, 1].map(|value| number(value, *bytes)).into()
        }
        Shape::Named(of) | Shape::Flags(of) => {
            vec![number(of.values[of.values.len() / 2].1, of.bytes)]
        }
        Shape::Text => TEXTS.map(|text| text.as_bytes().to_vec()).into(),
        Shape::Ip => vec![vec![192, 0, 2, 1], v6.to_vec()],
        Shape::HardwareAddress => vec![vec![2, 0, 0, 0, 0, 1]],
        Shape::Interface => vec![number(3, 4)],
        Shape::Prefix => vec![vec![24, 192, 0, 2, 0]],
        Shape::List(element) => samples(element).into_iter().map(sized).collect(),
        _ => Vec::new(),
    }
}

fn encoded(name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = field_id(name).to_ne_bytes().to_vec();
    bytes.extend((value.len() as u32).to_ne_bytes());
    bytes.extend(value);
    bytes
}

/// The leaves of a value with their paths.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                leaves(&format!("{path}{dot}{name}"), field, found);
            }
        }
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            for element in elements {
                leaves(&format!("{path}[]"), element, found);
            }
        }
        leaf => found.push((path.to_owned(), leaf.clone())),
    }
}

/// The path and the value of the leaf that an object has and `base` does not, whatever the order of the leaves. None for an
/// encapsulation, which has a type beside each field, and is not listed.
fn leaf<T: FieldSet + Serialize>(bytes: &[u8], base: &[u8]) -> Option<(String, Value)> {
    let value = |bytes: &[u8]| {
        let mut object = T::default();
        let read = object.take_fields(bytes, &mut FieldReader::new(&mut Nameless));
        read.ok().and_then(|()| serde_json::to_value(object).ok())
    };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    leaves("", &value(base)?, &mut without);
    leaves("", &value(&[base, bytes].concat())?, &mut with);
    let is_new = |(path, _): &&(String, Value)| !without.iter().any(|(known, _)| known == path);
    let is_type = |(path, _): &(String, Value)| {
        path.rsplit_once('.')
            .is_some_and(|(_, last)| last == "type")
    };
    if with.iter().any(|leaf| is_new(&leaf) && is_type(leaf)) {
        return None;
    }
    // Counters are all there if one is.
    let is_given = |leaf: &&(String, Value)| is_new(leaf) && leaf.1 != 0 && !leaf.1.is_null();
    let found = with.iter().find(is_given);
    found.or_else(|| with.iter().find(is_new)).cloned()
}

/// The first paragraph of a documentation as one line.
fn first_paragraph(documentation: &str) -> String {
    let paragraph = documentation
        .trim()
        .split("\n\n")
        .next()
        .unwrap_or_default();
    let words: Vec<_> = paragraph.split_whitespace().collect();
    let mut text = words.join(" ");
    // Links of Rust: [`Route::nhid`](crate::Route::nhid).
    while let Some((before, rest)) = text.split_once("](") {
        let (Some(start), Some((_, after))) = (before.rfind('['), rest.split_once(')')) else {
            break;
        };
        text = format!("{}{}{after}", &before[..start], &before[start + 1..]);
    }
    text
}

/// What a field is: the first paragraph of its documentation, its values, and its unit.
fn description(field: &FieldShape) -> String {
    let mut text = first_paragraph(field.doc).replace('|', "\\|");
    let mut more = |sentence: String| {
        let space = if text.is_empty() { "" } else { " " };
        text.push_str(space);
        text.push_str(&sentence);
    };
    let listed = |number: &NamedNumber| {
        let names = number.values.iter().take(12);
        let names: Vec<_> = names.map(|(.., name)| format!("`{name}`")).collect();
        let rest = if number.values.len() > 12 {
            ", …"
        } else {
            ""
        };
        names.join(", ") + rest
    };
    let element = match &field.shape {
        Shape::List(element) => element,
        shape => shape,
    };
    match element {
        Shape::Interface => more("An interface.".to_owned()),
        Shape::Named(number) => more(format!("One of {}.", listed(number))),
        Shape::Flags(number) => more(format!("Of {}.", listed(number))),
        _ => {}
    }
    match field.units_per_second {
        Some(1) => more("In seconds.".to_owned()),
        Some(100) => more("In hundredths of a second.".to_owned()),
        Some(1000) => more("In milliseconds.".to_owned()),
        _ => {}
    }
    text
}

/// The rows of the fields of a set. `wrap` puts the encoded fields of the set into an object, which without them is `base`.
fn rows<T: FieldSet + Serialize>(
    fields: Vec<FieldShape>,
    base: &[u8],
    wrap: &dyn Fn(Vec<u8>) -> Vec<u8>,
    out: &mut String,
) {
    for field in fields {
        let element = match &field.shape {
            Shape::List(element) => element,
            shape => shape,
        };
        if let Shape::Set(set) = element {
            let is_list = matches!(field.shape, Shape::List(_));
            // A link in a link has the same fields.
            if set.name != T::NAME && !is_of_kind::<T>(set) {
                let within = |inner: Vec<u8>| {
                    let mut value = Vec::new();
                    if is_list {
                        value.extend((inner.len() as u32).to_ne_bytes());
                    }
                    value.extend(inner);
                    wrap(encoded(field.name, &value))
                };
                rows::<T>((set.fields)(), base, &within, out);
            }
            continue;
        }
        let found = samples(&field.shape)
            .into_iter()
            .find_map(|value| leaf::<T>(&wrap(encoded(field.name, &value)), base));
        // `None` is also a field that JSON leaves out, such as a namespace, which is a descriptor.
        if let Some((path, value)) = found {
            let value = match element {
                Shape::Interface => r#""eth0""#.to_owned(),
                _ => value.to_string(),
            };
            let what = description(&field);
            writeln!(out, "| `{path}` | `{value}` | {what} |").expect("text");
        }
    }
}

/// The settings of a kind of link are in a table of their own.
fn is_of_kind<T: FieldSet>(set: &FieldSetShape) -> bool {
    T::NAME == "Link" && kind(set.name).is_some()
}

/// The field with the name of the kind to which settings belong, and that name.
fn kind(settings: &str) -> Option<(&'static str, String)> {
    let lower = settings.to_lowercase();
    if let Some(master) = lower.strip_suffix("port") {
        let is_known = !matches!(PortKind::named(master), PortKind::Other { .. });
        return is_known.then(|| ("port_type", master.to_owned()));
    }
    let is_known = !matches!(LinkKind::named(&lower), LinkKind::Other { .. });
    is_known.then_some(("type", lower))
}

const HEADER: &str = "| field | example | what it is |\n|---|---|---|\n";

fn section<T: FieldSet + Serialize>(object: &str, out: &mut String) {
    let first = first_paragraph(T::DOC);
    write!(out, "\n## {}\n\n`{object}`: {first}\n\n{HEADER}", T::NAME).expect("text");
    rows::<T>(T::fields(), &[], &|fields| fields, out);
}

fn kinds(out: &mut String) {
    for field in Link::fields() {
        let Shape::Set(set) = &field.shape else {
            continue;
        };
        let Some((kind_field, kind)) = kind(set.name) else {
            continue;
        };
        let base = encoded(kind_field, kind.as_bytes());
        let of = if kind_field == "type" {
            format!("Links of the kind `{kind}`: `linkinfo.info_kind` is `\"{kind}\"`.")
        } else {
            format!("Ports of a `{kind}`: `linkinfo.info_slave_kind` is `\"{kind}\"`.")
        };
        let mut table = String::new();
        let wrap = |fields: Vec<u8>| encoded(field.name, &fields);
        rows::<Link>((set.fields)(), &base, &wrap, &mut table);
        // That of a veth is a link.
        if table.is_empty() {
            continue;
        }
        write!(out, "\n### {}\n\n{of}\n\n{HEADER}{table}", set.name).expect("text");
    }
}

fn page() -> String {
    let mut out = INTRODUCTION.to_owned();
    for (what, _, json) in EXAMPLES {
        write!(out, "\n{what}:\n\n```json\n{json}\n```\n").expect("text");
    }
    section::<Link>("TAPLINE_NETLINK_OBJECT_LINK", &mut out);
    kinds(&mut out);
    section::<Addr>("TAPLINE_NETLINK_OBJECT_ADDR", &mut out);
    section::<Route>("TAPLINE_NETLINK_OBJECT_ROUTE", &mut out);
    section::<Neigh>("TAPLINE_NETLINK_OBJECT_NEIGH", &mut out);
    section::<Fdb>("TAPLINE_NETLINK_OBJECT_FDB", &mut out);
    section::<PortVlan>("TAPLINE_NETLINK_OBJECT_VLAN", &mut out);
    section::<Rule>("TAPLINE_NETLINK_OBJECT_RULE", &mut out);
    section::<Nexthop>("TAPLINE_NETLINK_OBJECT_NEXTHOP", &mut out);
    section::<RouteQuery>("tapline_netlink_lookup", &mut out);
    out
}

#[test]
fn the_page_has_the_fields_of_the_objects() {
    let path = repository().join("docs/guide/netlink-json.md");
    let page = page();
    if std::env::var_os("TAPLINE_WRITE").is_some() {
        std::fs::write(&path, &page).expect("written");
    }
    for row in [
        "| `linkinfo.info_data.ageing_time` | `100` |",
        "| `linkinfo.info_data.id` |",
        "| `nexthops[].gateway` |",
        "| `dev` | `\"eth0\"` |",
        "| `valid_life_time` |",
        "| `from` | `\"192.0.2.0/24\"` |",
        "| `iif` | `\"name\"` |",
    ] {
        assert!(page.contains(row), "{row}");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "{} differs from the tables: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_json",
        path.display()
    );
}

#[test]
fn the_examples_of_the_page_are_added() {
    let mut arguments = vec!["json"];
    arguments.extend(
        EXAMPLES
            .iter()
            .flat_map(|(_, object, json)| [*object, *json]),
    );
    for checker in CHECKERS {
        let host = Host::new("alone");
        let program = checker.program("tests/programs/options.c", &[]);
        assert_eq!(program.start(&host, &arguments).finish(), ["done"]);
        check_examples(&host);
    }
}

/// The examples are what `ip -json` lists.
fn check_examples(host: &Host) {
    let shown = |words: &str| -> Value {
        let printed = host.output_of(&format!("ip -json -details {words}"));
        serde_json::from_str(&printed).expect(&printed)
    };
    let peer = &shown("link show v1")[0];
    assert_eq!((&peer["link"], &peer["mtu"]), (&"v0".into(), &1400.into()));
    let route = &shown("route show table 100")[0];
    assert_eq!(
        [&route["dst"], &route["protocol"]],
        ["203.0.113.0/24", "200"]
    );
    // iproute2 prints the keys of encapsulations beside those of the route.
    let printed = host.output_of("ip route show 198.51.100.0/24");
    let encapsulation = "encap ip id 42 src 0.0.0.0 dst 192.0.2.9 ttl 64";
    assert!(printed.contains(encapsulation), "{printed}");
}
