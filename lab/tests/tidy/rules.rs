//! Rules for single source files, and the rule for ARCHITECTURE.md.

use super::source::Source;

/// Where `unsafe` is allowed: the ABI crate, the rings, the two libraries for C, native code, and the fuzz target that
/// calls a library as C does.
const UNSAFE_ROOMS: [&str; 6] = [
    "crates/abi/",
    "crates/ring/",
    "crates/c/",
    "crates/pcap/",
    "crates/filter/src/backend/native",
    "lab/fuzz/fuzz_targets/c_interface.rs",
];

/// Returns one complaint for each line with the tokens of one of `needles`.
fn complaints(source: &Source, needles: &[&str], why: &str) -> Vec<String> {
    let found = needles.iter().flat_map(|needle| {
        let lines = source.lines_with(needle).into_iter();
        lines.map(move |line| format!("{}:{line}: `{needle}` {why}", source.path))
    });
    found.collect()
}

fn may_be_unsafe(path: &str) -> bool {
    UNSAFE_ROOMS.iter().any(|room| path.starts_with(room))
}

/// Reports `unsafe` outside the crates that may use it.
pub fn unsafe_outside(source: &Source) -> Vec<String> {
    if may_be_unsafe(&source.path) {
        return Vec::new();
    }
    complaints(source, &["unsafe"], "outside its rooms")
}

/// Reports crate roots that do not forbid `unsafe`. A crate of which one part needs it must deny it for the others.
pub fn unforbidden(source: &Source) -> Vec<String> {
    let is_root = ["/src/lib.rs", "/src/main.rs"]
        .iter()
        .any(|end| source.path.ends_with(end));
    if !is_root || may_be_unsafe(&source.path) {
        return Vec::new();
    }
    // `forbid` cannot be overridden for a part of a crate, so a mixed crate uses `deny`, once.
    let is_mixed = source.path == "crates/filter/src/lib.rs";
    let allowed = source.lines_with("allow(unsafe_code)").len();
    let (word, may_allow) = if is_mixed { ("deny", 1) } else { ("forbid", 0) };
    let attribute = format!("#![{word}(unsafe_code)]");
    if !source
        .lines_with(&format!("{word}(unsafe_code)"))
        .is_empty()
        && allowed <= may_allow
    {
        return Vec::new();
    }
    vec![format!(
        "{}: lacks {attribute}, or allows more",
        source.path
    )]
}

/// Reports libraries that print, or that end the caller's process.
pub fn speaks(source: &Source) -> Vec<String> {
    if !source.path.starts_with("crates/")
        || source.path.starts_with("crates/cli/")
        // Printing is how a build script talks to cargo.
        || source.path.ends_with("/build.rs")
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
    complaints(source, &needles, "in a library")
}

/// Reports files, sockets, clocks, threads and system calls in crates without I/O, which take time and bytes as
/// arguments. These crates may use constants of `libc`; its functions are unsafe, which they forbid.
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
    ];
    let why = "in a room without input and output";
    let mut complaints = complaints(source, &needles, why);
    // Constants of libc are allowed.
    let calls = source.tokens.windows(4).filter(|window| {
        let is_libc = window[0].1 == "libc" && window[1].1 == ":";
        is_libc
            && window[3]
                .1
                .starts_with(|letter: char| !letter.is_uppercase())
    });
    complaints.extend(calls.map(|window| format!("{}:{}: `libc` {why}", source.path, window[0].0)));
    complaints
}

/// Reports unfinished work, ignored tests, and sleeps in place of events.
pub fn unfinished(source: &Source) -> Vec<String> {
    let is_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let marks = ["TODO", "FIXME", "XXX"];
    let lines = source.text.lines().zip(1..);
    let has_mark = |line: &str| {
        let mut words = line.split(|letter| !is_word(&letter));
        words.any(|word| marks.contains(&word))
    };
    let marked = lines.filter(|(line, _)| has_mark(line) && !source.path.contains("/tidy/"));
    let mut found: Vec<_> = marked
        .map(|(_, line)| format!("{}:{line}: marks unfinished work", source.path))
        .collect();
    let needles = [
        "todo!",
        "unimplemented!",
        "#[ignore",
        "thread::sleep",
        "sleep(",
    ];
    found.extend(complaints(source, &needles, "is not done here"));
    found
}

/// Reports source files without a line about the module at their beginning.
pub fn undescribed(source: &Source) -> Vec<String> {
    let is_described = source.text.starts_with("//!");
    if is_described || source.is_test() || !source.path.contains("/src/") {
        return Vec::new();
    }
    vec![format!("{}: begins without `//!`", source.path)]
}

/// Reports doc comments that begin with a pronoun: rustdoc shows them alone, and nobody knows what they stand for.
pub fn begins_with_pronoun(source: &Source) -> Vec<String> {
    let pronouns = ["Those ", "That ", "So many ", "As many "];
    let doc = |line: &str| {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))?;
        Some(text.trim_start().to_owned())
    };
    let mut found = Vec::new();
    let mut is_first = true;
    for (line, number) in source.text.lines().zip(1..) {
        let text = doc(line);
        if is_first
            && let Some(text) = &text
            && let Some(word) = pronouns.iter().find(|word| text.starts_with(**word))
        {
            let place = format!("{}:{number}", source.path);
            found.push(format!("{place}: begins with `{word}`: name the thing"));
        }
        is_first = text.is_none_or(|text| text.is_empty());
    }
    found
}

/// Reports crates without a row in the table of ARCHITECTURE.md.
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

/// Checks each rule against sources that break it and sources that follow it.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of sources for each rule")]
fn offences_are_found() {
    type Rule = fn(&Source) -> Vec<String>;
    let filter = "crates/filter/src/lib.rs";
    let store = "crates/store/src/lib.rs";
    let block = "fn f() { unsafe { g() } }";
    let (deny, allow) = ("#![deny(unsafe_code)]", "#[allow(unsafe_code)]");
    let (once, twice) = (
        format!("{deny} {allow} mod native;"),
        format!("{deny} {allow} mod a; {allow} mod b;"),
    );
    let offending: &[(Rule, &str, &[&str])] = &[
        (unsafe_outside, store, &[block, "unsafe impl Send for X {}"]),
        (unsafe_outside, "crates/abitur/src/lib.rs", &[block]),
        (
            unforbidden,
            store,
            &["//! #![forbid(unsafe_code)]", "", deny],
        ),
        (unforbidden, filter, &["mod classic;", &twice]),
        (
            speaks,
            "crates/ring/src/ring.rs",
            &[
                "println!(\"x\");",
                "dbg!(a)",
                "std::process::exit(1)",
                "eprint!()",
            ],
        ),
        (
            reaches_out,
            filter,
            &[
                "use std::fs;",
                "let now = Instant::now();",
                "use rustix::time;",
                "File::open(a)",
            ],
        ),
        (
            unfinished,
            store,
            &[
                "// TODO: later",
                "/* FIXME */",
                "//! XXX",
                "todo!()",
                "unimplemented!(\"x\")",
                "#[ignore] fn a() {}",
                "#[ignore = \"slow\"] fn a() {}",
                "std::thread::sleep(a)",
                "use thread::sleep;",
                "sleep(a)",
            ],
        ),
        (undescribed, store, &["", "use a::b;", "// A comment."]),
        (
            begins_with_pronoun,
            store,
            &[
                "/// Those of the map.\nfn a() {}",
                "//! That of a file.",
                "struct A {\n    /// As many as fit.\n    b: u8,\n}",
                "/// A table.\n///\n/// So many rows fit.\nfn a() {}",
            ],
        ),
    ];
    for (rule, path, texts) in offending {
        for text in *texts {
            assert!(
                !rule(&Source::new(path, text)).is_empty(),
                "{path} passes with {text:?}"
            );
        }
    }
    let keeping: &[(Rule, &str, &[&str])] = &[
        (unsafe_outside, "crates/ring/src/ring.rs", &[block]),
        (unsafe_outside, store, &["// unsafe\nlet a = \"unsafe\";"]),
        (unforbidden, filter, &[&once]),
        (unforbidden, store, &["#![forbid(unsafe_code)]"]),
        (unforbidden, "crates/store/src/model.rs", &[""]),
        (unforbidden, "crates/abi/src/lib.rs", &[""]),
        (speaks, "crates/cli/src/main.rs", &["println!()"]),
        (speaks, "crates/ring/tests/ring.rs", &["println!()"]),
        (
            speaks,
            "crates/ring/src/ring.rs",
            &["/// println!\nfn blueprint() {}"],
        ),
        (reaches_out, store, &["use std::fs;"]),
        (
            reaches_out,
            filter,
            &["use std::net::Ipv4Addr;", "const IP: i32 = libc::ETH_P_IP;"],
        ),
        (
            unfinished,
            store,
            &["let a = \"todo\"; // a todo list, XXXL\n"],
        ),
        (undescribed, store, &["//! The files."]),
        (undescribed, "crates/store/src/a/tests.rs", &["use a::b;"]),
        (
            begins_with_pronoun,
            store,
            &[
                "// Those of the map.\nfn a() {}",
                "/// Some packets wait.\n/// Those are written.\nfn a() {}",
                "/// Thatcher.\nfn a() {}",
            ],
        ),
    ];
    for (rule, path, texts) in keeping {
        for text in *texts {
            assert_eq!(
                rule(&Source::new(path, text)),
                [""; 0],
                "{path} with {text:?}"
            );
        }
    }
}

#[test]
fn a_room_without_a_row_is_found() {
    let rooms = ["abi", "wire"].map(String::from);
    let table = "| room | gives |\n| `abi` | the floor |\nand `wire` in passing\n";
    assert_eq!(rooms_without_a_line(table, &rooms).len(), 1);
    assert!(rooms_without_a_line(&format!("{table}| `wire`  | headers |"), &rooms).is_empty());
}
