//! The tables of the members of the C++ types of netlink objects, by which they are read and written.

use std::fmt::Write;

use tapline::net::schema::{FieldSetShape, FieldShape, Shape, field_id};

/// The initialisers behind the offset of a member. `name` makes the name of a C++ type.
fn entry(field: &FieldShape, name: fn(&str) -> &str) -> String {
    let of_type = |of: &str| format!("FieldType::{of}");
    let set_of = |of: &str, set: &FieldSetShape| {
        format!("FieldType::{of}, 0, &{}::typeFields", name(set.name))
    };
    match &field.shape {
        Shape::Bool => "FieldType::Bool, 1".to_owned(),
        Shape::Unsigned(bytes) | Shape::Signed(bytes) => format!("FieldType::Number, {bytes}"),
        Shape::Named(number) | Shape::Flags(number) => {
            format!("FieldType::Number, {}", number.bytes)
        }
        Shape::Text => of_type("Text"),
        Shape::Ip => of_type("Ip"),
        Shape::HardwareAddress => of_type("Mac"),
        Shape::Prefix => of_type("Prefix"),
        Shape::Interface => of_type("Interface"),
        Shape::Set(set) => set_of("Set", set),
        Shape::List(element) => match &**element {
            Shape::Text => of_type("Texts"),
            Shape::Ip => of_type("Ips"),
            Shape::HardwareAddress => of_type("Macs"),
            Shape::Set(set) => {
                let list = format!("&detail::fieldList<{}>", name(set.name));
                format!("{}, {list}", set_of("Sets", set))
            }
            other => panic!("lists of {other:?} have no type of fields"),
        },
        other => panic!("{other:?} has no type of fields"),
    }
}

/// Writes the table of a type. `name` makes its name in C++, `member` that of a member.
pub fn write(
    of: &FieldSetShape,
    name: fn(&str) -> &str,
    member: fn(&FieldShape) -> String,
    out: &mut String,
) {
    let cpp = name(of.name);
    let fields = format!("{}{}Fields", cpp[..1].to_lowercase(), &cpp[1..]);
    writeln!(out, "inline constexpr Field {fields}[] = {{").expect("text");
    for field in (of.fields)() {
        let (id, member) = (field_id(field.name), member(&field));
        let entry = entry(&field, name);
        writeln!(
            out,
            "    {{{id:#010x}u, offsetof({cpp}, {member}), {entry}}},"
        )
        .expect("text");
    }
    writeln!(
        out,
        "}};\ninline constexpr FieldTable {cpp}::typeFields = {{{fields}, std::size({fields}), sizeof({cpp}), detail::ensureBoxed<{cpp}>}};\n"
    )
    .expect("text");
}
