//! The laws that hold for each source file, and the one for the architecture.

use super::source::{Source, lines_with};

const MAX_LINES: usize = 400;

/// Where `unsafe` may stand: the floor, the rings, the shim of the C ABI, and native code.
const UNSAFE_ROOMS: [&str; 4] = [
    "crates/abi/",
    "crates/ring/",
    "crates/c/",
    "crates/filter/src/native",
];

/// One complaint for each line of `text` with one of `needles`.
fn complaints(path: &str, text: &str, needles: &[&str], why: &str) -> Vec<String> {
    let found = needles.iter().flat_map(|needle| {
        let lines = lines_with(text, needle).into_iter();
        lines.map(move |line| format!("{path}:{line}: `{needle}` {why}"))
    });
    found.collect()
}

fn may_be_unsafe(path: &str) -> bool {
    UNSAFE_ROOMS.iter().any(|room| path.starts_with(room))
}

/// `unsafe` outside the rooms that may have it.
pub fn unsafe_outside(source: &Source) -> Vec<String> {
    if may_be_unsafe(&source.path) {
        return Vec::new();
    }
    complaints(&source.path, &source.code, &["unsafe"], "outside its rooms")
}

/// The root of a crate that does not forbid `unsafe` though it has none, or, where one part has it,
/// does not deny it to the others.
pub fn unforbidden(source: &Source) -> Vec<String> {
    let is_root = ["/src/lib.rs", "/src/main.rs"]
        .iter()
        .any(|end| source.path.ends_with(end));
    if !is_root || may_be_unsafe(&source.path) {
        return Vec::new();
    }
    // What is forbidden cannot be allowed again to a part: a crate with one denies it, once.
    let is_mixed = source.path == "crates/filter/src/lib.rs";
    let allowed = source.code.matches("allow(unsafe_code").count();
    let (word, may_allow) = if is_mixed { ("deny", 1) } else { ("forbid", 0) };
    let attribute = format!("#![{word}(unsafe_code)]");
    if source.code.contains(&attribute) && allowed <= may_allow {
        return Vec::new();
    }
    vec![format!(
        "{}: lacks {attribute}, or allows more",
        source.path
    )]
}

/// A file that is too long to be read at once.
pub fn too_long(source: &Source) -> Vec<String> {
    match source.text.lines().count() {
        ..=MAX_LINES => Vec::new(),
        lines => vec![format!(
            "{}: {lines} lines, at most {MAX_LINES}",
            source.path
        )],
    }
}

/// A library that prints, or ends the process of its caller.
pub fn speaks(source: &Source) -> Vec<String> {
    if !source.path.starts_with("crates/")
        || source.path.starts_with("crates/cli/")
        || source.is_test()
    {
        return Vec::new();
    }
    let needles = [
        "println!",
        "print!",
        "eprintln!",
        "eprint!",
        "dbg!",
        "process::exit",
        "process::abort",
        "io::stdout",
        "io::stderr",
    ];
    complaints(&source.path, &source.code, &needles, "in a library")
}

/// A file, socket, clock, thread or system call in the rooms that are given time and bytes.
pub fn reaches_out(source: &Source) -> Vec<String> {
    let pure = [
        "crates/filter/src/",
        "crates/probe/src/",
        "crates/wire/src/",
    ];
    let is_pure = pure.iter().any(|room| source.path.starts_with(room));
    if !is_pure || may_be_unsafe(&source.path) || source.is_test() {
        return Vec::new();
    }
    let needles = [
        "std::fs",
        "std::process",
        "std::thread",
        "std::env",
        "File::open",
        "TcpStream",
        "UdpSocket",
        "Instant::now",
        "SystemTime::now",
        "rustix",
        "libc",
    ];
    complaints(
        &source.path,
        &source.code,
        &needles,
        "in a room without input and output",
    )
}

/// Work left over, a test that is not run, a wait for time instead of an event.
pub fn unfinished(source: &Source) -> Vec<String> {
    let marks = ["TODO", "FIXME", "XXX"];
    let mut found = complaints(
        &source.path,
        &source.comments,
        &marks,
        "marks unfinished work",
    );
    let needles = [
        "todo!",
        "unimplemented!",
        "#[ignore",
        "thread::sleep",
        "sleep(",
    ];
    found.extend(complaints(
        &source.path,
        &source.code,
        &needles,
        "is not done here",
    ));
    found
}

/// Rooms that have no row of their own in the architecture's table.
pub fn rooms_without_a_line(architecture: &str, rooms: &[String]) -> Vec<String> {
    let is_row = |line: &str, room: &str| {
        let cell = line
            .trim()
            .strip_prefix('|')
            .and_then(|rest| rest.split('|').next());
        cell.is_some_and(|cell| cell.trim() == format!("`{room}`"))
    };
    let has_row = |room: &&String| architecture.lines().any(|line| is_row(line, room));
    let missing = rooms.iter().filter(|room| !has_row(room));
    missing
        .map(|room| format!("ARCHITECTURE.md: no row \"| `{room}` | …\""))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(rule: fn(&Source) -> Vec<String>, path: &str, text: &str) -> Vec<String> {
        rule(&Source::new(path, text))
    }

    #[track_caller]
    fn assert_offends(rule: fn(&Source) -> Vec<String>, path: &str, text: &str) {
        assert!(
            !offences(rule, path, text).is_empty(),
            "{path} passes with {text:?}"
        );
    }

    #[track_caller]
    fn assert_keeps(rule: fn(&Source) -> Vec<String>, path: &str, text: &str) {
        assert_eq!(offences(rule, path, text), [""; 0]);
    }

    #[test]
    fn an_unsafe_block_is_found_outside_its_rooms_only() {
        let block = "fn f() { unsafe { g() } }";
        assert_offends(unsafe_outside, "crates/store/src/lib.rs", block);
        assert_offends(unsafe_outside, "crates/abitur/src/lib.rs", block);
        assert_offends(
            unsafe_outside,
            "lab/src/net/host.rs",
            "unsafe impl Send for X {}",
        );
        assert_keeps(unsafe_outside, "crates/ring/src/ring.rs", block);
        assert_keeps(
            unsafe_outside,
            "crates/store/src/lib.rs",
            "// unsafe\nlet a = \"unsafe\";",
        );
    }

    #[test]
    fn a_crate_that_does_not_forbid_unsafe_is_found() {
        assert_offends(
            unforbidden,
            "crates/store/src/lib.rs",
            "//! #![forbid(unsafe_code)]",
        );
        assert_offends(
            unforbidden,
            "crates/cli/src/main.rs",
            "#![deny(unsafe_code)]",
        );
        assert_offends(unforbidden, "lab/src/lib.rs", "");
        assert_offends(unforbidden, "crates/filter/src/lib.rs", "mod classic;");
        let (deny, allow) = ("#![deny(unsafe_code)]", "#[allow(unsafe_code)]");
        let filter = "crates/filter/src/lib.rs";
        assert_offends(
            unforbidden,
            filter,
            &format!("{deny} {allow} mod a; {allow} mod b;"),
        );
        assert_keeps(unforbidden, filter, &format!("{deny} {allow} mod native;"));
        assert_keeps(
            unforbidden,
            "crates/store/src/lib.rs",
            "#![forbid(unsafe_code)]",
        );
        assert_keeps(unforbidden, "crates/store/src/model.rs", "");
        assert_keeps(unforbidden, "crates/abi/src/lib.rs", "");
    }

    #[test]
    fn a_long_file_is_found() {
        assert_offends(too_long, "crates/abi/src/bpf.rs", &"\n".repeat(401));
        assert_keeps(too_long, "crates/abi/src/bpf.rs", &"\n".repeat(400));
    }

    #[test]
    fn a_library_that_speaks_is_found() {
        for text in [
            "println!(\"x\");",
            "dbg!(a)",
            "std::process::exit(1)",
            "eprint!()",
        ] {
            assert_offends(speaks, "crates/ring/src/ring.rs", text);
            assert_keeps(speaks, "crates/cli/src/main.rs", text);
            assert_keeps(speaks, "crates/ring/tests/ring.rs", text);
        }
        assert_keeps(
            speaks,
            "crates/ring/src/ring.rs",
            "/// println!\nfn blueprint() {}",
        );
    }

    #[test]
    fn a_pure_room_that_reaches_out_is_found() {
        for text in [
            "use std::fs;",
            "let now = Instant::now();",
            "rustix::io::read(fd)",
        ] {
            assert_offends(reaches_out, "crates/filter/src/text.rs", text);
            assert_offends(reaches_out, "crates/probe/src/machine/prober.rs", text);
            assert_offends(reaches_out, "crates/wire/src/lib.rs", text);
            assert_keeps(reaches_out, "crates/filter/tests/kernel.rs", text);
            assert_keeps(reaches_out, "crates/store/src/lib.rs", text);
        }
        assert_keeps(
            reaches_out,
            "crates/wire/src/lib.rs",
            "use std::net::Ipv4Addr;",
        );
    }

    #[test]
    fn unfinished_work_is_found() {
        let bad = [
            "// TODO: later",
            "/* FIXME */",
            "//! XXX",
            "todo!()",
            "unimplemented!(\"x\")",
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "std::thread::sleep(a)",
            "use thread::sleep;",
            "sleep(a)",
        ];
        for text in bad {
            assert_offends(unfinished, "lab/src/lib.rs", text);
        }
        assert_keeps(
            unfinished,
            "lab/src/lib.rs",
            "let a = \"TODO\"; // a todo list, XXXL\n",
        );
    }

    #[test]
    fn a_room_without_a_row_is_found() {
        let rooms = ["abi", "wire"].map(String::from);
        let table = "| room | gives |\n| `abi` | the floor |\nand `wire` in passing\n";
        assert_eq!(rooms_without_a_line(table, &rooms).len(), 1);
        assert!(rooms_without_a_line(&format!("{table}| `wire`  | headers |"), &rooms).is_empty());
    }
}
