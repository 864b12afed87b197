//! What C code does wrong is an error, and never a crash; sanitizers and valgrind watch.

use lab::Host;

use crate::support::{compile, run, start};
use std::process::Stdio;

/// The programs, with their arguments.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("tests/programs/misuse.c", &["lo"]),
    ("tests/programs/netlink_misuse.c", &[]),
];

#[test]
fn misuse_is_an_error() {
    let host = Host::new("alone");
    for flags in [&[][..], &["-fsanitize=address,undefined"]] {
        for (source, arguments) in PROGRAMS {
            let program = compile("gcc", source, flags);
            assert_eq!(start(&host, &program, arguments).finish(), ["done"]);
        }
    }
}

#[test]
fn valgrind_finds_nothing() {
    let host = Host::new("alone");
    for (source, arguments) in PROGRAMS {
        let program = compile("gcc", source, &[]);
        let mut command = host.command("valgrind");
        command.args(["--error-exitcode=9", "--quiet", "--leak-check=full"]);
        command.args(["--errors-for-leak-kinds=definite"]);
        command.arg(program).args(arguments).stdout(Stdio::piped());
        assert_eq!(run(command).finish(), ["done"]);
    }
}
