//! The C++ types of netlink objects, generated from the tables from which the Rust types are generated.
//!
//! The headers are committed. With `TAPLINE_WRITE=1` in the environment the test writes them, otherwise it
//! compares them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use tapline::net::schema::{FieldSet, FieldSetShape, FieldShape, NamedNumber, Shape, field_id};
use tapline::net::{
    Addr, Fdb, Link, LinkKind, Neigh, Nexthop, PortKind, PortVlan, Route, RouteQuery, Rule,
};

use crate::{netlink_encoders, netlink_numbers, netlink_tables};

/// The objects: the name of the Rust type, that of the C++ type, and the header.
const OBJECTS: [(&str, &str, &str); 9] = [
    ("Addr", "AddrInfo", "addr"),
    ("Fdb", "FdbInfo", "fdb"),
    ("Link", "LinkInfo", "link"),
    ("Neigh", "NeighInfo", "neigh"),
    ("Nexthop", "NexthopInfo", "nexthop"),
    ("PortVlan", "VlanInfo", "vlan"),
    ("Route", "RouteInfo", "route"),
    ("RouteQuery", "RouteQuery", "route"),
    ("Rule", "RuleInfo", "rule"),
];

/// The first lines of the headers.
pub const GENERATED: &str = "// Generated from the attribute tables of tapline-netlink. Do not edit.\n//\n\
     // To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types\n";

/// The header of the types that several objects use.
const SHARED: &str = "shared";

/// Fields that have another name in C++, because theirs is a keyword or because users of C++ know another.
const RENAMED: [(&str, &str); 4] = [
    ("up", "admin"),
    ("not", "inverted"),
    ("goto", "gotoPriority"),
    ("namespace", "netns"),
];

fn shape_of<T: FieldSet>() -> FieldSetShape {
    let (name, doc, fields) = (T::NAME, T::DOC, T::fields);
    FieldSetShape { name, doc, fields }
}

/// A type to declare.
enum Type {
    Set(FieldSetShape),
    Number(NamedNumber, bool),
}

/// A type and the headers that need it, in the order in which types have to be declared.
#[derive(Default)]
struct Types {
    order: Vec<&'static str>,
    types: BTreeMap<&'static str, (Type, Vec<&'static str>)>,
}

impl Types {
    fn add_set(&mut self, set: &FieldSetShape, header: &'static str) {
        if self.is_known(set.name, header) {
            return;
        }
        self.types
            .insert(set.name, (Type::Set(set.clone()), vec![header]));
        for field in (set.fields)() {
            self.add(&field.shape, header);
        }
        self.order.push(set.name);
    }

    fn add(&mut self, shape: &Shape, header: &'static str) {
        match shape {
            Shape::Set(set) => self.add_set(set, header),
            Shape::List(element) => self.add(element, header),
            Shape::Named(number) => self.add_number(number, false, header),
            Shape::Flags(number) => self.add_number(number, true, header),
            _ => {}
        }
    }

    fn add_number(&mut self, number: &NamedNumber, is_flags: bool, header: &'static str) {
        if !self.is_known(number.name, header) {
            let number_type = Type::Number(number.clone(), is_flags);
            self.types.insert(number.name, (number_type, vec![header]));
            self.order.push(number.name);
        }
    }

    /// Notes that `header` needs a type and all types in it, if the type is known.
    fn is_known(&mut self, name: &'static str, header: &'static str) -> bool {
        let Some((known, headers)) = self.types.get_mut(name) else {
            return false;
        };
        if !headers.contains(&header) {
            headers.push(header);
            if let Type::Set(set) = known {
                let fields = (set.fields)();
                for field in &fields {
                    self.add(&field.shape, header);
                }
            }
        }
        true
    }

    /// The header that declares a type.
    fn header_of(&self, name: &str) -> &'static str {
        match self.types[name].1.as_slice() {
            [one] => one,
            _ => SHARED,
        }
    }
}

fn all_types() -> Types {
    let mut types = Types::default();
    let sets = [
        shape_of::<Addr>(),
        shape_of::<Fdb>(),
        shape_of::<Link>(),
        shape_of::<Neigh>(),
        shape_of::<Nexthop>(),
        shape_of::<PortVlan>(),
        shape_of::<Route>(),
        shape_of::<RouteQuery>(),
        shape_of::<Rule>(),
    ];
    for (set, (name, _, header)) in sets.iter().zip(OBJECTS) {
        assert_eq!(set.name, name);
        types.add_set(set, header);
    }
    types
}

/// `vlan_filtering` or `rt_offload` as `VlanFiltering`, `RtOffload`.
pub fn pascal(name: &str) -> String {
    let parts = name.split(['_', '-', '.']);
    let words = parts.map(|part| {
        let is_constant = part.chars().all(|letter| !letter.is_lowercase());
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        let rest = letters.as_str();
        let rest = if is_constant {
            rest.to_lowercase()
        } else {
            rest.to_owned()
        };
        first.into_iter().chain(rest.chars()).collect::<String>()
    });
    words.collect()
}

fn member(field: &FieldShape) -> String {
    if let Some((_, name)) = RENAMED.iter().find(|(name, _)| *name == field.name) {
        return (*name).to_owned();
    }
    let name = pascal(field.name);
    name[..1].to_lowercase() + &name[1..]
}

fn cpp_name(name: &str) -> &str {
    let known = OBJECTS.iter().find(|(rust, ..)| *rust == name);
    known.map_or(name, |(_, cpp, _)| cpp)
}

fn cpp_type(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "bool".to_owned(),
        Shape::Unsigned(bytes) => format!("std::uint{}_t", bytes * 8),
        Shape::Signed(bytes) => format!("std::int{}_t", bytes * 8),
        Shape::Text => "std::string".to_owned(),
        Shape::Ip => "IpAddress".to_owned(),
        Shape::HardwareAddress => "MacAddress".to_owned(),
        Shape::Interface => "Interface".to_owned(),
        Shape::Prefix => "Prefix".to_owned(),
        Shape::Named(number) | Shape::Flags(number) => number.name.to_owned(),
        Shape::Set(set) => cpp_name(set.name).to_owned(),
        Shape::List(element) => format!("std::vector<{}>", cpp_type(element)),
        other => panic!("{other:?} has no C++ type"),
    }
}

/// The type of the value of a field.
fn value_type(field: &FieldShape) -> String {
    let number = cpp_type(&field.shape);
    match field.units_per_second {
        None => number,
        Some(1) => format!("Duration<{number}>"),
        Some(100) => format!("Duration<{number}, std::centi>"),
        Some(1000) => format!("Duration<{number}, std::milli>"),
        Some(units) => panic!("{units} in a second have no name"),
    }
}

/// The type of a member, which can be empty.
fn member_type(field: &FieldShape) -> String {
    let value = value_type(field);
    match field.shape {
        Shape::Set(_) => format!("Boxed<{value}>"),
        _ => format!("std::optional<{value}>"),
    }
}

/// The type of a setter's parameter. Those of texts, switches and numbers refuse what would convert silently: a null
/// pointer to a text, a text to `true`, and a number to another one.
fn parameter_type(field: &FieldShape) -> String {
    match field.shape {
        Shape::Set(_) => member_type(field),
        Shape::Text => "Text".to_owned(),
        Shape::Bool => "Switch".to_owned(),
        Shape::Unsigned(_) | Shape::Signed(_) if field.units_per_second.is_none() => {
            format!("Number<{}>", value_type(field))
        }
        _ => value_type(field),
    }
}

/// What follows a member that gets the value of a parameter. Compilers take much less time for `emplace` than for the
/// assignment of an optional.
fn assigned(field: &FieldShape) -> &'static str {
    match &field.shape {
        Shape::Set(_) => " = std::move(value)",
        Shape::Text => ".emplace(std::move(value.value))",
        Shape::Bool => ".emplace(value.value)",
        Shape::Unsigned(_) | Shape::Signed(_) if field.units_per_second.is_none() => {
            ".emplace(value.value)"
        }
        Shape::Interface | Shape::List(_) => ".emplace(std::move(value))",
        _ => ".emplace(value)",
    }
}

/// The first section of a documentation, as comments.
fn doc(text: &str, indent: &str, out: &mut String) {
    let lines = text.trim_end().lines().map(str::trim);
    let mut lines: Vec<_> = lines.take_while(|line| !line.starts_with("# ")).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    for line in lines {
        let line = in_cpp(line);
        writeln!(out, "{}", format!("{indent}/// {line}").trim_end()).expect("text");
    }
}

/// A line of documentation in the words of C++: its types have their units, and links are of Rust.
fn in_cpp(line: &str) -> String {
    const WORDS: [(&str, &str); 5] = [
        ("are `None`", "are empty"),
        ("`Netlink::add`", "`add`"),
        (" Times are in milliseconds.", ""),
        (" Times are in hundredths of a second.", ""),
        (" Times are in hundredths of a second, as in `ip(8)`.", ""),
    ];
    let mut line = line.to_owned();
    for (rust, cpp) in WORDS {
        line = line.replace(rust, cpp);
    }
    // [`Route::nhid`](crate::Route::nhid)
    while let Some((before, rest)) = line.split_once("](") {
        let (start, after) = (before.rfind('['), rest.split_once(')'));
        let (Some(start), Some((_, after))) = (start, after) else {
            break;
        };
        line = format!("{}{}{after}", &before[..start], &before[start + 1..]);
    }
    for (rust, cpp, _) in OBJECTS {
        line = line.replace(&format!("`{rust}::"), &format!("`{cpp}::"));
    }
    line
}

fn number(of: &NamedNumber, is_flags: bool, out: &mut String) {
    let NamedNumber {
        name,
        bytes,
        values,
    } = of;
    let bits = bytes * 8;
    writeln!(out, "enum class {name} : std::uint{bits}_t {{").expect("text");
    for (value_name, value, _) in values {
        writeln!(out, "    {} = {value},", pascal(value_name)).expect("text");
    }
    writeln!(out, "}};\n").expect("text");
    let names: Vec<_> = values
        .iter()
        .map(|(_, value, text)| format!("{{{value}u, \"{text}\"}}"))
        .collect();
    writeln!(
        out,
        "template <>\nstruct Names<{name}> {{\n    static constexpr bool isFlags = {is_flags};\n    static constexpr std::array<Named, {}> values = {{{{{}}}}};\n}};\n",
        names.len(),
        names.join(", ")
    )
    .expect("text");
}

/// The kind of a link to which settings belong, or of its master.
fn kind_of_settings(name: &str) -> Option<(&'static str, String)> {
    let lower = name.to_lowercase();
    if let Some(master) = lower.strip_suffix("port") {
        let known = !matches!(PortKind::named(master), PortKind::Other { .. });
        return known.then(|| ("portType", master.to_owned()));
    }
    let known = !matches!(LinkKind::named(&lower), LinkKind::Other { .. });
    known.then_some(("type", lower))
}

/// Whether a set has read-only fields, itself or in sets. A link in a link is never reported.
fn has_reported(of: &FieldSetShape) -> bool {
    (of.fields)().iter().any(|field| {
        let element = match &field.shape {
            Shape::List(element) => element,
            shape => shape,
        };
        field.is_reported
            || matches!(element, Shape::Set(set) if set.name != "Link" && has_reported(set))
    })
}

/// Writes the functions that remove the read-only fields, and those that a copy leaves out, if there are any.
fn read_only(of: &FieldSetShape, out: &mut String) {
    if !has_reported(of) {
        return;
    }
    let name = cpp_name(of.name);
    let fields = (of.fields)();
    let uncopied: Vec<_> = fields
        .iter()
        .filter(|field| field.is_uncopied && !field.is_reported)
        .map(member)
        .collect();
    let also = match uncopied.as_slice() {
        [] => String::new(),
        [one] => format!(", and without `{one}`"),
        [first @ .., last] => format!(", and without `{}` and `{last}`", first.join("`, `")),
    };
    let advice = match name {
        "LinkInfo" => {
            "\n    /// To change a link, give its index and what changes: drivers refuse settings that they cannot change, also with the\n    /// same value."
        }
        _ => "",
    };
    writeln!(
        out,
        "\n    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`\n    /// refuse{also}.{advice}\n    {name} settable() const\n    {{\n        {name} copy = *this;\n        copy.removeReadOnly();"
    )
    .expect("text");
    for member in uncopied {
        writeln!(out, "        copy.{member} = {{}};").expect("text");
    }
    writeln!(
        out,
        "        return copy;\n    }}\n    /// Removes the read-only fields.\n    void removeReadOnly()\n    {{"
    )
    .expect("text");
    for field in (of.fields)() {
        let member = member(&field);
        match &field.shape {
            _ if field.is_reported => writeln!(out, "        {member} = {{}};"),
            Shape::Set(set) if set.name != "Link" && has_reported(set) => writeln!(
                out,
                "        if ({member}) {{\n            {member}->removeReadOnly();\n        }}"
            ),
            Shape::List(element) => match &**element {
                Shape::Set(set) if has_reported(set) => writeln!(
                    out,
                    "        if ({member}) {{\n            for (auto &element : *{member}) {{\n                element.removeReadOnly();\n            }}\n        }}"
                ),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
        .expect("text");
    }
    writeln!(out, "    }}").expect("text");
}

fn set(of: &FieldSetShape, out: &mut String) {
    let name = cpp_name(of.name);
    let fields: Vec<_> = (of.fields)();
    let mut setters = Vec::new();
    doc(of.doc, "", out);
    writeln!(
        out,
        "struct {name} {{\n    static constexpr const char *typeName = \"{name}\";\n    static const FieldTable typeFields;\n"
    )
    .expect("text");
    for field in &fields {
        doc(field.doc, "    ", out);
        writeln!(out, "    {} {} = {{}};", member_type(field), member(field)).expect("text");
    }
    writeln!(out).expect("text");
    // A request with a read-only field is refused.
    for field in fields.iter().filter(|field| !field.is_reported) {
        let member = member(field);
        let setter = format!("set{}", pascal(&member));
        let parameter = parameter_type(field);
        let assign = assigned(field);
        writeln!(
            out,
            "    {name} &{setter}({parameter} value) {{ {member}{assign}; return *this; }}"
        )
        .expect("text");
        setters.push(setter);
        if let (Shape::Set(inner), Some((kind, text))) =
            (&field.shape, kind_of_settings(field.name))
            && name == "LinkInfo"
        {
            let inner_fields = (inner.fields)().into_iter();
            for inner_field in inner_fields.filter(|field| !field.is_reported) {
                let inner_member = self::member(&inner_field);
                let setter = format!("set{}{}", field.name, pascal(&inner_member));
                let parameter = parameter_type(&inner_field);
                let assign = assigned(&inner_field);
                writeln!(
                    out,
                    "    {name} &{setter}({parameter} value) {{ settings({member}, {kind}, \"{text}\").{inner_member}{assign}; return *this; }}"
                )
                .expect("text");
                setters.push(setter);
            }
        }
    }
    read_only(of, out);
    writeln!(
        out,
        "\n    /// Calls `visit` with the id, the name and the value of each field."
    )
    .expect("text");
    writeln!(out, "    template <class Self, class Visit>\n    static constexpr void fields(Self &self, Visit &&visit)\n    {{").expect("text");
    for field in &fields {
        let member = member(field);
        writeln!(
            out,
            "        visit({:#010x}u, \"{member}\", self.{member});",
            field_id(field.name)
        )
        .expect("text");
    }
    writeln!(out, "    }}").expect("text");
    netlink_encoders::write(of, member, out);
    writeln!(
        out,
        "\n    bool operator==(const {name} &) const = default;"
    )
    .expect("text");
    if name == "LinkInfo" {
        writeln!(
            out,
            "\nprivate:\n    template <class Settings>\n    static Settings &settings(Boxed<Settings> &box, std::optional<std::string> &kind, const char *text)\n    {{\n        if (!kind) {{\n            kind = text;\n        }}\n        return box.ensure();\n    }}"
        )
        .expect("text");
    }
    writeln!(out, "}};\n").expect("text");
    let count = setters.len();
    setters.sort_unstable();
    setters.dedup();
    assert_eq!(
        setters.len(),
        count,
        "{name}: two setters have the same name"
    );
}

fn header(types: &Types, header: &'static str) -> String {
    let mut out = String::from(GENERATED);
    let guard = format!("TAPLINE_NETLINK_{}_HPP", header.to_uppercase());
    write!(out, "#ifndef {guard}\n#define {guard}\n\n").expect("text");
    let own: Vec<_> = types
        .order
        .iter()
        .filter(|name| types.header_of(name) == header)
        .collect();
    let mut objects = OBJECTS.iter().filter(|(.., of)| *of == header);
    let is_encoded = objects.any(|(object, ..)| netlink_encoders::is_encoded(object));
    let file = match header {
        SHARED => "fields",
        _ if is_encoded => "message",
        _ => SHARED,
    };
    write!(
        out,
        "#include \"{file}.hpp\"\n\nnamespace tapline::netlink {{\n\n"
    )
    .expect("text");
    let objects = OBJECTS.iter().filter(|(.., of)| *of == header);
    for (_, cpp, _) in objects.filter(|(rust, ..)| *rust == "Link") {
        write!(out, "struct {cpp};\n\n").expect("text");
    }
    let own: Vec<_> = own.into_iter().map(|name| &types.types[name].0).collect();
    for of in &own {
        match of {
            Type::Set(of) => set(of, &mut out),
            Type::Number(of, is_flags) => number(of, *is_flags, &mut out),
        }
    }
    // Behind all types: a table needs those of its members.
    for of in own {
        if let Type::Set(of) = of {
            netlink_tables::write(of, cpp_name, member, &mut out);
        }
    }
    write!(out, "}}  // namespace tapline::netlink\n\n#endif\n").expect("text");
    out
}

#[test]
fn read_only_fields_are_called_so() {
    let types = all_types();
    let sets = types.types.values().filter_map(|(of, _)| match of {
        Type::Set(set) => Some(set),
        Type::Number(..) => None,
    });
    let mut count = 0;
    for set in sets {
        for field in (set.fields)() {
            let doc = field.doc.to_lowercase();
            let is_called = ["read-only", "reported by lookups only"]
                .iter()
                .any(|words| doc.contains(words));
            assert_eq!(field.is_reported, is_called, "{}.{}", set.name, field.name);
            count += usize::from(field.is_reported);
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn the_headers_have_the_fields_of_the_tables() {
    let types = all_types();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/tapline/netlink");
    let mut headers: Vec<_> = OBJECTS.iter().map(|(.., header)| *header).collect();
    headers.push(SHARED);
    headers.sort_unstable();
    headers.dedup();
    let headers = headers.iter().map(|name| (*name, header(&types, name)));
    for (name, text) in headers.chain([("numbers", netlink_numbers::header())]) {
        let path = folder.join(name).with_extension("hpp");
        if std::env::var_os("TAPLINE_WRITE").is_some() {
            std::fs::write(&path, &text).expect("written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "{} differs from the tables: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types",
            path.display()
        );
    }
}
