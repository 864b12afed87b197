//! The kernel's numbers that C++ code needs to write netlink messages itself, from the tables of which the Rust code takes
//! them.

use std::fmt::Write;

use tapline::net::schema::{AttributeSpec, AttributeType, FieldSet};
use tapline::net::{Addr, Link, Neigh, Object, Route, Verb};

use crate::netlink_types::{GENERATED, pascal};

/// The verbs with their names in C, and the last one for all others.
const VERBS: [(&str, Verb); 5] = [
    ("case TAPLINE_NETLINK_VERB_ADD", Verb::Add),
    ("case TAPLINE_NETLINK_VERB_REPLACE", Verb::Replace),
    ("case TAPLINE_NETLINK_VERB_SET", Verb::Set),
    ("case TAPLINE_NETLINK_VERB_APPEND", Verb::Append),
    ("default", Verb::Del),
];

/// NLM_F_REQUEST, which [`Object::netlink_flags`] leaves out.
const REQUEST: u16 = 1;

/// The attribute at `path`: its name, behind those of the attributes around it.
fn attribute(specs: &[AttributeSpec], path: &str) -> Option<u16> {
    let (outer, inner) = path.split_once('.').unwrap_or((path, ""));
    let spec = specs.iter().find(|spec| spec.constant == outer)?;
    match spec.contents {
        _ if inner.is_empty() => Some(spec.kind),
        AttributeType::Nest { attributes, .. } => attribute(attributes(), inner),
        _ => None,
    }
}

/// `IFLA_IFNAME` as `iflaIfname`.
fn constant_name(constant: &str) -> String {
    let name = pascal(constant);
    name[..1].to_lowercase() + &name[1..]
}

/// The numbers of one kind of object: its messages, these attributes, and the bits of its header.
fn object<T: Object + FieldSet>(attributes: &[&str], flags: &[&str], out: &mut String) {
    let name = T::NAME;
    let types = T::MESSAGES;
    write!(
        out,
        "/// Messages about {name} objects.
struct {name}Message {{
    static constexpr std::uint16_t newType = {};
    static constexpr std::uint16_t delType = {};
    /// The flags of a request.
    static constexpr std::uint16_t flags(tapline_netlink_verb verb)
    {{
        switch (verb) {{
",
        types.new, types.del
    )
    .expect("text");
    for (verb_name, verb) in VERBS {
        let flags = T::netlink_flags(verb) | REQUEST;
        writeln!(out, "        {verb_name}:\n            return {flags:#x};").expect("text");
    }
    write!(out, "        }}\n    }}\n").expect("text");
    for constant in attributes {
        let kind = attribute(T::attributes(), constant);
        let kind = kind.unwrap_or_else(|| panic!("{name} has no attribute {constant}"));
        let constant = constant_name(constant);
        writeln!(
            out,
            "    static constexpr std::uint16_t {constant} = {kind};"
        )
        .expect("text");
    }
    let fields = T::fields();
    for constant in flags {
        let flags = fields.iter().filter_map(|field| field.flag);
        let mut found = flags.filter(|flag| flag.constant == *constant);
        let bit = found.next().expect(constant).bit;
        let constant = constant_name(constant);
        writeln!(
            out,
            "    static constexpr std::uint32_t {constant} = {bit:#x};"
        )
        .expect("text");
    }
    write!(out, "}};\n\n").expect("text");
}

/// The header `numbers.hpp`.
pub fn header() -> String {
    let mut out = String::from(GENERATED);
    out.push_str(
        "#ifndef TAPLINE_NETLINK_NUMBERS_HPP
#define TAPLINE_NETLINK_NUMBERS_HPP

#include <cstdint>

#include \"../../tapline.h\"

namespace tapline::netlink {

",
    );
    object::<Addr>(&["IFA_ADDRESS", "IFA_LOCAL"], &[], &mut out);
    object::<Link>(
        &["IFLA_IFNAME", "IFLA_LINKINFO", "IFLA_LINKINFO.kind"],
        &[
            "IFF_UP",
            "IFF_NOARP",
            "IFF_MULTICAST",
            "IFF_ALLMULTI",
            "IFF_PROMISC",
            "IFF_DYNAMIC",
        ],
        &mut out,
    );
    object::<Neigh>(&["NDA_DST"], &[], &mut out);
    object::<Route>(&["RTA_DST", "RTA_TABLE"], &["RTNH_F_ONLINK"], &mut out);
    out.push_str("}  // namespace tapline::netlink\n\n#endif\n");
    out
}
