//! `include/tapline.h` is what cbindgen makes of the sources, and the symbol map exports what it declares.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The macros with the version, which is Cargo's.
fn version() -> String {
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ]
    .map(|digits| digits.parse::<u32>().expect("a number"));
    let number = major * 1_000_000 + minor * 1_000 + patch;
    format!(
        "\n// The version of this header. That of the library is `tapline_version`.\n\
         #define TAPLINE_VERSION_MAJOR {major}\n\
         #define TAPLINE_VERSION_MINOR {minor}\n\
         #define TAPLINE_VERSION_PATCH {patch}\n\n\
         // The same as one number: the major version times 1000000, plus the minor one times 1000, plus the patch.\n\
         #define TAPLINE_VERSION_NUMBER {number}"
    )
}

fn generated() -> String {
    let mut config = Config::from_file(root().join("cbindgen.toml")).expect("the configuration");
    config.after_includes = Some(version());
    // It follows the modules from there.
    let builder = Builder::new()
        .with_config(config)
        .with_src(root().join("src/lib.rs"));
    let mut header = Vec::new();
    builder.generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("UTF-8")
}

#[test]
fn the_header_is_that_of_the_sources() {
    let path = root().join("include/tapline.h");
    let generated = generated();
    if fs::read_to_string(&path).ok().as_ref() == Some(&generated) {
        return;
    }
    // Leaves the new one beside the old one.
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tapline.h");
    fs::write(&made, generated).expect("a writable target folder");
    panic!(
        "{} has drifted: review and copy {}",
        path.display(),
        made.display()
    );
}

/// Words of `text` that begin with `tapline_` and of which `is_wanted` likes the rest of the text.
fn names(text: &str, end: char) -> BTreeSet<&str> {
    let starts = text.match_indices("tapline_").map(|(at, _)| &text[at..]);
    let words = starts.filter_map(|rest| {
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        rest[length..].starts_with(end).then_some(&rest[..length])
    });
    words.collect()
}

#[test]
fn the_map_exports_what_the_header_declares() {
    let header = generated();
    let code: String = header
        .lines()
        .filter(|line| !line.trim_start().starts_with(['*', '/']))
        .flat_map(|line| [line, "\n"])
        .collect();
    let map = fs::read_to_string(root().join("tapline.map")).expect("the map");
    let (declared, exported) = (names(&code, '('), names(&map, ';'));
    assert!(declared.len() > 5, "the declarations are found");
    assert_eq!(declared, exported);
}

#[test]
fn programs_in_c_call_each_function() {
    let mut programs = String::new();
    for folder in ["tests/programs", "tests/install", "examples"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|end| end == "c") {
                programs += &fs::read_to_string(path).expect("a program");
            }
        }
    }
    let map = fs::read_to_string(root().join("tapline.map")).expect("the map");
    let (exported, called) = (names(&map, ';'), names(&programs, '('));
    let uncalled: Vec<_> = exported.difference(&called).collect();
    assert!(uncalled.is_empty(), "{uncalled:?}");
}

#[test]
fn each_function_says_which_threads_may_call_it() {
    let header = generated();
    let map = fs::read_to_string(root().join("tapline.map")).expect("the map");
    let mut count = 0;
    // A blank line separates the declarations.
    for declaration in header.split("\n\n") {
        let comment = |line: &&str| line.starts_with("//");
        let code: String = declaration.lines().skip_while(comment).collect();
        let Some(name) = names(&map, ';')
            .into_iter()
            .find(|name| code.contains(&format!("{name}(")))
        else {
            continue;
        };
        let says = declaration.lines().take_while(comment);
        assert!(
            says.into_iter()
                .any(|line| line.starts_with("// Threads: ")),
            "{name}"
        );
        count += 1;
    }
    assert_eq!(count, names(&map, ';').len());
}

/// The functions that take a handle out of use.
const LAST_CALLS: [&str; 3] = ["close", "free", "finish"];

#[test]
fn a_function_that_makes_a_handle_says_what_ends_it() {
    let header = generated();
    let map = fs::read_to_string(root().join("tapline.map")).expect("the map");
    let exported = names(&map, ';');
    let mut count = 0;
    for declaration in header.split("\n\n") {
        let is_comment = |line: &&str| line.starts_with("//");
        let comment: String = declaration.lines().take_while(is_comment).collect();
        let code: String = declaration.lines().skip_while(is_comment).collect();
        for made in code.split("struct ").skip(1) {
            let Some((kind, _)) = made.split_once(" **out_") else {
                continue;
            };
            let last = LAST_CALLS.map(|last| format!("{kind}_{last}"));
            let last: Vec<_> = last
                .iter()
                .filter(|last| exported.contains(last.as_str()))
                .collect();
            // An array belongs to the handle that lends it. The error of an item is freed as all errors are.
            if last.is_empty() || kind == "tapline_error" {
                continue;
            }
            let is_said = |last: &&String| comment.contains(&format!("`{last}`"));
            assert!(last.iter().any(is_said), "{code}");
            count += 1;
        }
    }
    assert!(count >= 15, "they are found: {count}");
}

/// The exported functions below `folder`, with their code.
fn exported(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            exported(&path, found);
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source");
        let functions = source.split("#[unsafe(no_mangle)]\n").skip(1);
        found.extend(functions.map(|rest| {
            let end = rest.find("\n}\n").expect("the end of the function");
            rest[..end].to_owned()
        }));
    }
}

#[test]
fn no_exported_function_lets_a_panic_cross() {
    let mut functions = Vec::new();
    exported(&root().join("src"), &mut functions);
    let map = fs::read_to_string(root().join("tapline.map")).expect("the map");
    assert_eq!(functions.len(), names(&map, ';').len());
    let guards = ["    guard(error, ", "    guard_value(", "    read(error, "];
    for function in functions {
        let (_, body) = function.split_once("{\n").expect("a body");
        // They return a constant.
        let is_version = function.contains("fn tapline_version");
        assert!(
            is_version || guards.iter().any(|guard| body.starts_with(guard)),
            "{function}\nis outside `guard`"
        );
    }
}
