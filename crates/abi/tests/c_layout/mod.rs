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
