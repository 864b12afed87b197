//! What C and C++ code does wrong is an error, and never a crash, as far as it can be noticed. Checkers find no wrong use of
//! memory.

use lab::Host;

use crate::support::CHECKERS;

#[test]
fn misuse_is_an_error() {
    let programs: [(&str, &str, &[&str]); 3] = [
        ("gcc", "tests/programs/misuse.c", &["lo"]),
        ("gcc", "tests/programs/netlink_misuse.c", &[]),
        ("g++", "tests/programs/misuse.cpp", &["lo"]),
    ];
    for checker in CHECKERS {
        for (compiler, source, arguments) in programs {
            let program = checker.program(compiler, source, &[]);
            let host = Host::new("alone");
            assert_eq!(
                program.start(&host, arguments).finish(),
                ["done"],
                "{source}"
            );
        }
    }
}
