//! The binary interface is the committed one: exported symbols with their version, the types of their parameters and results,
//! the layout of each struct, and the values of enumerations and constants.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{built, library, room, succeed};

/// The structs of the header whose fields C code sees, with their fields.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        let name = line
            .strip_prefix("typedef struct ")
            .and_then(|rest| rest.strip_suffix(" {"));
        let Some(name) = name else {
            continue;
        };
        let fields = lines.by_ref().take_while(|line| !line.starts_with('}'));
        let fields = fields.filter_map(|line| {
            let declared = line.trim().strip_suffix(';')?;
            let declared = declared.split('[').next()?;
            Some(declared.rsplit([' ', '*']).next()?.to_owned())
        });
        found.push((name.to_owned(), fields.collect()));
    }
    found
}

/// The values of enumerations, and the constants, of the header, except for its version.
fn constants(header: &str) -> Vec<&str> {
    let found = header.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("#define ").unwrap_or(line);
        let (name, rest) = line.split_once(' ')?;
        let is_constant = name.starts_with("TAPLINE_") && !name.starts_with("TAPLINE_VERSION_");
        (is_constant && !rest.is_empty()).then_some(name)
    });
    found.collect()
}

/// `struct size` and `struct.field offset` of each, as the C compiler lays them out, and `CONSTANT value`.
fn layout(header: &str) -> String {
    let mut source = "#include <stdio.h>\n#include <tapline.h>\nint main(void) {\n".to_owned();
    let all = structs(header);
    assert!(all.len() >= 10, "the structs are found: {all:?}");
    for (name, fields) in &all {
        assert!(!fields.is_empty(), "{name}");
        writeln!(source, "printf(\"{name} %zu\\n\", sizeof({name}));").expect("a string");
        for field in fields {
            let print = format!("printf(\"{name}.{field} %zu\\n\", offsetof({name}, {field}));");
            writeln!(source, "{print}").expect("a string");
        }
    }
    let constants = constants(header);
    assert!(constants.len() >= 100, "they are found: {constants:?}");
    for name in constants {
        writeln!(source, "printf(\"{name} %lld\\n\", (long long){name});").expect("a string");
    }
    source.push_str("}\n");
    let folder = built();
    fs::create_dir_all(&folder).expect("a folder");
    let [path, program] = ["layout.c", "layout"].map(|name| folder.join(name));
    fs::write(&path, source).expect("a file");
    let mut command = Command::new("cc");
    command
        .arg("-I")
        .arg(room().join("include"))
        .arg("-o")
        .arg(&program)
        .arg(path);
    succeed(&mut command);
    String::from_utf8(succeed(&mut Command::new(program)).stdout).expect("text")
}

/// The functions that the header declares, each in a line.
fn functions(header: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with(|letter: char| letter.is_ascii_lowercase())
            || line.starts_with("typedef ")
            || !line.contains('(')
        {
            continue;
        }
        let mut declaration = line.to_owned();
        while !declaration.ends_with(';') {
            let next = lines.next().expect("the rest of a declaration");
            declaration.push(' ');
            declaration.push_str(next.trim_start());
        }
        found.push(declaration);
    }
    found
}

fn header() -> String {
    fs::read_to_string(room().join("include/tapline.h")).expect("the header")
}

/// Compares with the list in `tests/NAME`.
#[track_caller]
fn is_committed(name: &str, found: &str, rule: &str) {
    let committed = room().join("tests").join(name);
    if fs::read_to_string(&committed).ok().as_deref() != Some(found) {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&made, found).expect("a writable target folder");
        let [committed, made] = [committed, made].map(|path| path.display().to_string());
        panic!("{committed} differs: {rule}. Review and copy {made}");
    }
}

#[test]
fn structs_and_constants_are_the_committed_ones() {
    let rule = "a struct that begins with its size may only grow at its end, one without, such as the element of an array, \
         stays as it is, and so does a value";
    is_committed("layout.txt", &layout(&header()), rule);
}

#[test]
fn functions_have_the_committed_parameters_and_results() {
    let functions = functions(&header());
    let declared: BTreeSet<_> = functions
        .iter()
        .filter_map(|function| function.split_once('(')?.0.rsplit([' ', '*']).next())
        .map(|name| format!("{name}@@TAPLINE_0.1"))
        .collect();
    assert_eq!(declared, mapped(), "the declarations are found");
    let rule = "a program that was built with an older header calls a function as it was declared there, so none changes";
    is_committed("functions.txt", &(functions.join("\n") + "\n"), rule);
}

/// The exported symbols of the map with their version.
fn mapped() -> BTreeSet<String> {
    let map = fs::read_to_string(room().join("tapline.map")).expect("the map");
    map.lines()
        .filter_map(|line| line.trim().strip_suffix(';'))
        .filter(|name| name.starts_with("tapline_"))
        .map(|name| format!("{name}@@TAPLINE_0.1"))
        .collect()
}

#[test]
fn the_library_exports_the_symbols_of_the_map_with_their_version_and_no_other() {
    let mut command = Command::new("nm");
    command.args(["-D", "--defined-only", "--format=posix"]);
    command.arg(library().join("libtapline.so"));
    let listed = String::from_utf8(succeed(&mut command).stdout).expect("text");
    let exported: BTreeSet<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "TAPLINE_0.1")
        .map(str::to_owned)
        .collect();
    assert_eq!(exported, mapped());
}
