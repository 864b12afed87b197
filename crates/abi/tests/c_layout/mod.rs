//! The C compiler as a witness of the kernel's headers.

use std::fmt::Write as _;
use std::process::Command;

/// Compares each value of ours with what a C compiler makes of the expression beside it.
///
/// `preamble` comes before `main`: the headers and macros that the expressions need.
#[track_caller]
pub fn assert_as_in_c(preamble: &str, pairs: &[(&str, usize)]) {
    let expressions: Vec<&str> = pairs.iter().map(|(expression, _)| *expression).collect();
    let values = c_values(preamble, &expressions);
    assert_eq!(values.len(), pairs.len());
    for ((expression, ours), c) in pairs.iter().zip(values) {
        assert_eq!(*ours, c, "{expression}");
    }
}

/// Size of the field that `_field` points to.
pub fn size_in<S, F>(_field: impl Fn(&S) -> *const F) -> usize {
    size_of::<F>()
}

/// Fields of a struct of ours beside C's: the offset and the size of each.
macro_rules! assert_fields {
    ($headers:expr, $ours:ident as $c:literal { $($field:ident: $c_field:literal,)* }) => {
        crate::c_layout::assert_as_in_c($headers, &[
            $(
                (
                    concat!("offsetof(", $c, ", ", $c_field, ")"),
                    std::mem::offset_of!($ours, $field),
                ),
                (
                    concat!("sizeof(((", $c, " *)0)->", $c_field, ")"),
                    crate::c_layout::size_in(|s: &$ours| &raw const s.$field),
                ),
            )*
        ]);
    };
}

/// The same, and the size of the whole struct.
macro_rules! assert_struct {
    ($headers:expr, $ours:ident as $c:literal $fields:tt) => {
        assert_as_in_c($headers, &[(concat!("sizeof(", $c, ")"), size_of::<$ours>())]);
        crate::c_layout::assert_fields!($headers, $ours as $c $fields);
    };
}

/// Each named constant of ours beside C's of the same name.
macro_rules! assert_numbers {
    ($headers:expr, $module:ident: $($name:ident)*) => {
        assert_as_in_c($headers, &[$((stringify!($name), $module::$name as usize),)*]);
    };
}

pub(crate) use {assert_fields, assert_numbers, assert_struct};

/// What the C compiler says of each expression.
fn c_values(preamble: &str, expressions: &[&str]) -> Vec<usize> {
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("layout.c"), dir.path().join("layout"));
    let mut text =
        format!("#include <stddef.h>\n#include <stdio.h>\n{preamble}\nint main(void) {{\n");
    for expression in expressions {
        writeln!(text, "printf(\"%zu\\n\", (size_t)({expression}));").unwrap();
    }
    text.push_str("}\n");
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(compiled.success());
    let output = Command::new(&program).output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| line.parse().unwrap())
        .collect()
}
