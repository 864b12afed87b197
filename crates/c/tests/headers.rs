//! Each header compiles without warnings with GCC and clang, and none becomes too large. `support` builds the programs
//! that use them with both.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use lab::once;
use lab::skip::{self, Feature};

use crate::support::{WARNINGS, built, files, repository, room, succeed};

#[test]
fn each_header_is_complete_and_causes_no_warning() {
    let include = room().join("include");
    let headers = files(&include);
    assert!(headers.len() > 20, "{headers:?}");
    let name = |header: &Path| {
        let name = header.strip_prefix(&include).expect("below it");
        name.display().to_string()
    };
    let is_c = |header: &Path| header.extension().is_some_and(|end| end == "h");
    let all: String = headers
        .iter()
        .map(|header| included(&name(header)))
        .collect();
    let all_of_c = headers.iter().filter(|header| is_c(header));
    let all_of_c: String = all_of_c.map(|header| included(&name(header))).collect();
    for header in &headers {
        dependencies(&name(header));
        if is_c(header) {
            let text = include_twice(&name(header));
            has_no_warning_alone("gcc", "c", "-std=c11", &text, &[SYNTAX]);
        }
    }
    // Both compilers have the same standard library: what is complete for one is for the other.
    let object = built().join("headers/all.o");
    let path = object.to_str().expect("text");
    has_no_warning_alone("clang++", "c++", "-std=c++20", &all, &["-c", "-o", path]);
    has_no_warning_alone("clang", "c", "-std=c11", &all_of_c, &[SYNTAX]);
    // Several files of a program may include them: they define nothing that the linker would find twice.
    let mut command = Command::new("nm");
    command.args(["--defined-only", "--extern-only", "--format=posix"]);
    let symbols = String::from_utf8(succeed(command.arg(&object)).stdout).expect("text");
    let is_shared = |line: &&str| matches!(line.split(' ').nth(1), Some("W" | "V" | "u"));
    let twice: Vec<_> = symbols.lines().filter(|line| !is_shared(line)).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

/// A flag of the compilers: nothing of a header alone is compiled to code, so optimisation would see no more.
const SYNTAX: &str = "-fsyntax-only";

/// Compilers that are newer than the default ones, with the flags of their standard libraries.
const NEWER: [(&str, &[&str]); 3] = [
    ("clang++-19", &["-stdlib=libc++"]),
    ("g++-13", &[]),
    ("g++-14", &[]),
];

/// Debian 12 has none of GCC.
const NEWER_COMPILER: Feature = Feature {
    name: "a newer compiler for C++",
    probe: || match newer_compilers().count() {
        0 => Err("neither clang-19 with libc++ nor GCC 13 or 14 is installed".to_owned()),
        _ => Ok(()),
    },
};

fn newer_compilers() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    NEWER.into_iter().filter(|(compiler, flags)| {
        let mut command = Command::new(compiler);
        command.args(*flags).args(["-std=c++20", "-fsyntax-only"]);
        command.args(["-x", "c++", "-include", "vector", "/dev/null"]);
        command.output().is_ok_and(|output| output.status.success())
    })
}

#[test]
fn newer_compilers_report_no_warning_in_headers_and_examples() {
    if skip::without(&NEWER_COMPILER) {
        return;
    }
    let include = room().join("include");
    let mut text = String::new();
    // GoogleTest is built with the default compiler's standard library.
    let headers = files(&include).into_iter();
    for path in headers.filter(|path| !path.ends_with("netlink/mock.hpp")) {
        writeln!(text, "#include \"{}\"", path.display()).expect("text");
    }
    let all = built().join("headers/all.cpp");
    fs::create_dir_all(all.parent().expect("a folder")).expect("a folder");
    fs::write(&all, text).expect("a file");
    let examples = fs::read_dir(room().join("examples")).expect("the examples");
    let examples = examples.map(|entry| entry.expect("an entry").path());
    let examples = examples.filter(|path| path.extension().is_some_and(|end| end == "cpp"));
    let examples: Vec<_> = examples.collect();
    assert!(examples.len() > 6, "{examples:?}");
    for (compiler, flags) in newer_compilers() {
        let mut command = Command::new(compiler);
        command.args(["-std=c++20", "-fsyntax-only"]).args(flags);
        command.args(WARNINGS).arg("-I").arg(&include);
        succeed(command.arg(&all).args(&examples));
    }
}

#[test]
fn an_older_standard_of_cpp_is_refused_in_words() {
    for header in ["tapline/capture.hpp", "tapline/netlink/link.hpp"] {
        let mut command = Command::new("g++");
        command.args(["-std=c++17", "-fsyntax-only", "-x", "c++"]);
        command.arg("-I").arg(room().join("include"));
        command.args(["-include", header, "/dev/null"]);
        let output = command.output().expect("g++ runs");
        assert!(!output.status.success(), "{header}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("require C++20"), "{header}: {said}");
    }
}

/// `make bench` alone builds them.
#[test]
fn sources_of_the_benches_compile() {
    let benches = repository().join("lab/benches");
    for (compiler, standard, source) in [
        ("g++", "-std=c++20", "article/article.cpp"),
        ("gcc", "-std=gnu11", "c_library/pull.c"),
        ("g++", "-std=c++20", "c_library/pull.cpp"),
    ] {
        let mut command = Command::new(compiler);
        command.args([standard, "-fsyntax-only", "-I/usr/include/libnl3"]);
        command.arg("-I").arg(room().join("include"));
        succeed(command.arg(benches.join(source)));
    }
}

/// What takes a compiler its time is the text that a header expands to. The bench `article` measures the time.
#[test]
fn a_netlink_header_expands_to_at_most_twice_the_text_of_memory() {
    let bytes = |header: &str| {
        let source = built().join("headers").join("expanded.cpp");
        fs::create_dir_all(source.parent().expect("a folder")).expect("a folder");
        fs::write(&source, format!("#include <{header}>\n")).expect("a file");
        let mut command = Command::new("g++");
        command.args(["-std=c++20", "-E", "-P"]);
        command.arg("-I").arg(room().join("include"));
        succeed(command.arg(source)).stdout.len()
    };
    let largest_of_the_library = bytes("memory");
    let folder = room().join("include/tapline/netlink");
    let headers = files(&folder).into_iter();
    for path in headers.filter(|path| !path.ends_with("mock.hpp")) {
        let name = path.file_name().expect("a name").to_string_lossy();
        let expanded = bytes(&format!("tapline/netlink/{name}"));
        assert!(
            expanded <= largest_of_the_library * 2,
            "{name}: {expanded} bytes, <memory> {largest_of_the_library}"
        );
    }
}

/// What takes a compiler its time behind the headers are the functions that it compiles: GCC 12 counts 5737 here. The bench
/// `article` measures the time.
#[test]
fn a_file_that_opens_a_factory_compiles_few_functions() {
    let folder = built().join("headers");
    fs::create_dir_all(&folder).expect("a folder");
    let [source, object] = ["factory.cpp", "factory.o"].map(|name| folder.join(name));
    let text = "#include <tapline/netlink/factory.hpp>\n\
        int main() {\n\
            const auto factory = tapline::netlink::NetlinkFactory::open().value();\n\
            factory->link()->add(tapline::netlink::LinkInfo().setName(\"b0\")).value();\n\
        }\n";
    fs::write(&source, text).expect("a file");
    let mut command = Command::new("g++");
    command.args(["-std=c++20", "-O0", "-c"]).arg(&source);
    command.arg("-I").arg(room().join("include"));
    succeed(command.arg("-o").arg(&object));
    let symbols = succeed(Command::new("nm").arg(&object)).stdout;
    let symbols = String::from_utf8(symbols).expect("text");
    let shared = symbols.lines().filter(|line| line.contains(" W ")).count();
    assert!((100..6500).contains(&shared), "{shared}");
}

fn included(header: &str) -> String {
    format!("#include <{header}>\n")
}

/// A file that includes a header twice, as a program does through others.
fn include_twice(header: &str) -> String {
    included(header).repeat(2)
}

fn has_no_warning_alone(
    compiler: &str,
    language: &str,
    standard: &str,
    text: &str,
    flags: &[&str],
) {
    let folder = built().join("headers");
    fs::create_dir_all(&folder).expect("a folder");
    let source = tempfile::NamedTempFile::new_in(&folder).expect("a file");
    fs::write(source.path(), text).expect("a file");
    let mut command = Command::new(compiler);
    command.arg(standard).args(WARNINGS).args(flags);
    command.arg("-I").arg(room().join("include"));
    succeed(command.args(["-x", language]).arg(source.path()));
}

/// GCC, which must report no warning for the header alone, makes a rule for make(1) with the headers that it includes, also
/// through others, except those of the system.
fn dependencies(name: &str) -> String {
    let file = format!("{}.d", name.replace('/', "_"));
    let rule = built().join("headers").join(file);
    once::build(&rule, || {
        let path = rule.to_str().expect("text");
        let text = include_twice(name);
        let flags = [SYNTAX, "-MMD", "-MF", path];
        has_no_warning_alone("g++", "c++", "-std=c++20", &text, &flags);
    });
    fs::read_to_string(rule).expect("the rule")
}

/// The headers of this library that a header includes, also through others, as the compiler reports them.
fn own_headers(include: &Path, name: &str) -> BTreeSet<String> {
    let rule = dependencies(name);
    let found = rule.split_whitespace().filter_map(|word| {
        let path = fs::canonicalize(word).ok()?;
        let own = path.strip_prefix(include).ok()?;
        Some(own.display().to_string())
    });
    found.filter(|own| own != name).collect()
}

/// The headers in `<…>` that a header includes itself.
fn standard_headers(text: &str) -> BTreeSet<String> {
    let included = text
        .lines()
        .filter_map(|line| line.strip_prefix("#include <"));
    let names = included.filter_map(|rest| rest.strip_suffix('>'));
    names.map(str::to_owned).collect()
}

/// `include.txt` has a line for each header: what it includes of this library, also through others, and then the headers
/// of others that it includes itself. To write it again: `TAPLINE_WRITE=1`.
#[test]
fn headers_include_what_the_committed_list_says() {
    let include = fs::canonicalize(room().join("include")).expect("the headers");
    let mut lines: Vec<String> = files(&include)
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&include).expect("below it");
            let name = name.display().to_string();
            let own = Vec::from_iter(own_headers(&include, &name)).join(" ");
            let text = fs::read_to_string(path).expect("a header");
            let others = Vec::from_iter(standard_headers(&text)).join(" ");
            format!("{name}: {own} | {others}")
        })
        .collect();
    lines.sort();
    let found = lines.join("\n") + "\n";
    let path = room().join("tests/include.txt");
    if std::env::var_os("TAPLINE_WRITE").is_some() {
        fs::write(&path, &found).expect("the list");
    }
    let committed = fs::read_to_string(&path).expect("the list");
    assert_eq!(
        found,
        committed,
        "TAPLINE_WRITE=1 writes {}",
        path.display()
    );
}

/// Standard headers, and the names for which one includes them.
const REASONS: [(&str, &[&str]); 26] = [
    (
        "algorithm",
        &[
            "std::min",
            "std::max",
            "std::sort",
            "std::equal",
            "std::any_of",
        ],
    ),
    ("array", &["std::array"]),
    ("atomic", &["std::atomic"]),
    ("bit", &["std::endian"]),
    ("cerrno", &["errno"]),
    ("chrono", &["std::chrono"]),
    ("compare", &["<=>"]),
    (
        "concepts",
        &["std::same_as", "std::convertible_to", "std::integral"],
    ),
    (
        "cstddef",
        &["std::size_t", "std::byte", "std::ptrdiff_t", "offsetof"],
    ),
    ("cstdint", &["int8_t", "int16_t", "int32_t", "int64_t"]),
    ("cstring", &["std::mem", "std::str"]),
    ("format", &["std::formatter"]),
    ("initializer_list", &["std::initializer_list"]),
    ("iosfwd", &["std::basic_ostream", "std::ostream"]),
    (
        "iterator",
        &["std::random_access_iterator_tag", "std::input_iterator_tag"],
    ),
    ("limits", &["std::numeric_limits"]),
    ("memory", &["std::shared_ptr", "std::unique_ptr"]),
    ("optional", &["std::optional"]),
    ("ostream", &["std::ostream"]),
    ("span", &["std::span"]),
    (
        "stdexcept",
        &[
            "std::runtime_error",
            "std::invalid_argument",
            "std::out_of_range",
        ],
    ),
    ("string", &["std::string"]),
    ("string_view", &["std::string_view"]),
    (
        "type_traits",
        &[
            "std::is_",
            "std::remove_",
            "std::invoke_result",
            "std::make_signed",
        ],
    ),
    (
        "utility",
        &["std::move", "std::pair", "std::exchange", "std::forward"],
    ),
    ("vector", &["std::vector"]),
];

#[test]
fn headers_use_the_standard_headers_that_they_include() {
    let include = room().join("include");
    for path in files(&include) {
        if path.extension().is_none_or(|end| end != "hpp") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a header");
        for header in standard_headers(&text) {
            let Some((_, names)) = REASONS.iter().find(|(of, _)| *of == header) else {
                // Of the system, or only macros.
                continue;
            };
            let uses = names.iter().any(|name| text.contains(name));
            assert!(uses, "{}: <{header}> is not used", path.display());
        }
    }
}
