//! What C and C++ code does wrong is an error, and never a crash, as far as it can be noticed. Checkers find no wrong use of
//! memory.

use lab::Host;

use crate::support::{CHECKERS, sanitized};

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
        }
    }
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
fn results_compose_and_types_are_printed() {
    for checker in CHECKERS {
        let program = checker.program("tests/programs/results.cpp", &[]);
        let host = Host::new("alone");
        assert_eq!(program.start(&host, &[]).finish(), ["done"]);
    }
}
