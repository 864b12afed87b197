//! No header causes a warning: each on its own, and the programs that use them, with GCC and clang.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{LANGUAGES, WARNINGS, built, compile, room, succeed};

/// The headers in a folder and below.
fn headers(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| {
        if path.is_dir() {
            headers(&path)
        } else {
            vec![path]
        }
    });
    found.collect()
}

/// The compilers of C++ whose name `g++` and `clang++` are.
const CPP: [&str; 2] = ["g++", "clang++"];

#[test]
fn each_header_is_complete_and_causes_no_warning() {
    let include = room().join("include");
    let headers = headers(&include);
    assert!(headers.len() > 20, "{headers:?}");
    for header in headers {
        let name = header
            .strip_prefix(&include)
            .expect("below it")
            .display()
            .to_string();
        let mut compilers: Vec<_> = CPP.map(|compiler| (compiler, "-std=c++20")).to_vec();
        if header.extension().is_some_and(|end| end == "h") {
            compilers.extend(["gcc", "clang"].map(|compiler| (compiler, "-std=c11")));
        }
        for (compiler, standard) in compilers {
            let language = if standard == "-std=c11" { "c" } else { "c++" };
            let source = built().join("headers").join(name.replace('/', "_"));
            fs::create_dir_all(source.parent().expect("a folder")).expect("a folder");
            // A file that includes it twice, as a program does through others.
            fs::write(&source, format!("#include <{name}>\n").repeat(2)).expect("a file");
            let mut command = Command::new(compiler);
            command.args([standard, "-O2"]).args(WARNINGS);
            command.arg("-I").arg(&include);
            command
                .args(["-x", language, "-c", "-o", "/dev/null"])
                .arg(source);
            succeed(&mut command);
        }
    }
}

/// The other programs of this crate are built by GCC, with the same warnings.
#[test]
fn programs_cause_no_warning_with_clang() {
    for (_, extension) in LANGUAGES {
        let compiler = if extension == "c" { "clang" } else { "clang++" };
        for folder in ["examples", "tests/programs"] {
            let entries = fs::read_dir(room().join(folder)).expect("a folder");
            let names = entries.map(|entry| entry.expect("an entry").file_name());
            let sources = names
                .map(|name| format!("{folder}/{}", name.to_string_lossy()))
                .filter(|source| source.ends_with(&format!(".{extension}")));
            for source in sources {
                compile(compiler, &source, &[]);
            }
        }
    }
    let programs = [
        ("examples/service/main.cpp", "-lsqlite3"),
        ("tests/programs/netlink/encode.cpp", ""),
    ];
    for (source, flag) in programs {
        let flags: Vec<_> = [flag].into_iter().filter(|flag| !flag.is_empty()).collect();
        compile("clang++", source, &flags);
    }
}
