//! What C code does wrong is an error, and never a crash; sanitizers and valgrind watch.

use lab::Host;

use crate::support::{compile, run, start};
use std::process::Stdio;

const PROGRAM: &str = "tests/programs/misuse.c";

#[test]
fn misuse_is_an_error() {
    let host = Host::new("alone");
    for flags in [&[][..], &["-fsanitize=address,undefined"]] {
        let program = compile("gcc", PROGRAM, flags);
        assert_eq!(start(&host, &program, &["lo"]).finish(), ["done"]);
    }
}

#[test]
fn valgrind_finds_nothing() {
    let host = Host::new("alone");
    let program = compile("gcc", PROGRAM, &[]);
    let mut command = host.command("valgrind");
    command.args(["--error-exitcode=9", "--quiet", "--leak-check=full"]);
    command.args(["--errors-for-leak-kinds=definite"]);
    command.arg(program).arg("lo").stdout(Stdio::piped());
    assert_eq!(run(command).finish(), ["done"]);
}
