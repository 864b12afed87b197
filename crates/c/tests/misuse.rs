//! Errors of C and C++ callers are reported as errors and never crash, as far as they can be detected. Checkers find no
//! invalid use of memory.

use std::fs;

use lab::{Host, Net};

use crate::support::{CHECKERS, Checked, Checker, room, sanitized, succeed};

#[test]
fn misuse_is_an_error() {
    let programs: [(&str, &[&str]); 3] = [
        ("tests/programs/misuse.c", &["lo"]),
        ("tests/programs/netlink_misuse.c", &[]),
        ("tests/programs/misuse.cpp", &["lo"]),
    ];
    for checker in CHECKERS {
        for (source, arguments) in programs {
            let program = checker.program(source, &[]);
            let host = Host::new("alone");
            assert_eq!(
                program.start(&host, arguments).finish(),
                ["done"],
                "{source}"
            );
            if source == "tests/programs/netlink_misuse.c" {
                // Of the namespace that the program has left.
                let addresses = host.ip("-json address show dev home0");
                assert!(addresses.contains(r#""local":"192.0.2.77""#), "{addresses}");
            }
        }
    }
}

#[test]
fn what_needs_more_memory_than_there_is_is_an_error() {
    // On its own: checkers need more memory than the program allows itself.
    let program = Checker::Valgrind.program("tests/programs/memory.c", &[]);
    let host = Host::new("alone");
    let mut command = host.command(program.path.to_str().expect("a path of text"));
    assert_eq!(succeed(&mut command).stdout, b"done\n");
}

#[test]
fn misuse_of_counts_and_reports_is_an_error() {
    for source in [
        "tests/programs/jobs_misuse.c",
        "tests/programs/jobs_misuse.cpp",
    ] {
        // Valgrind 3.19 does not know the calls that attach programs of eBPF.
        let program = sanitized(source);
        let host = Host::new("alone");
        assert_eq!(program.start(&host, &["lo"]).finish(), ["done"], "{source}");
    }
}

#[test]
fn an_option_struct_of_each_smaller_size_works() {
    // Valgrind 3.19 does not know the calls that attach programs of eBPF.
    let source = "tests/programs/versions.c";
    let programs: [(Checked, &[&str]); 2] = [
        (sanitized(source), &[]),
        (Checker::Valgrind.program(source, &[]), &["without-bpf"]),
    ];
    // Every option struct is in it.
    let [header, source] = ["include/tapline.h", "tests/programs/versions.c"]
        .map(|path| fs::read_to_string(room().join(path)).expect("a source"));
    let structs: Vec<_> = header
        .lines()
        .filter_map(|line| {
            line.strip_prefix("typedef struct ")?
                .strip_suffix("_options {")
        })
        .collect();
    assert!(structs.len() >= 9, "{structs:?}");
    for name in structs {
        assert!(
            source.contains(&format!("OF_EACH_SIZE({name}_options,")),
            "{name}"
        );
    }
    let [left, _right] = Net::new().pair();
    let name = left.interface().name.to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.pcapng");
    for (program, more) in programs {
        let arguments = [&[name.as_str(), file.to_str().expect("text")], more].concat();
        assert_eq!(program.start(&left, &arguments).finish(), ["done"]);
    }
}

#[test]
fn results_compose_and_types_are_printed() {
    for checker in CHECKERS {
        let program = checker.program("tests/programs/results.cpp", &[]);
        let host = Host::new("alone");
        assert_eq!(program.start(&host, &[]).finish(), ["done"]);
    }
}
