//! libtapline for programs in C and C++.

use std::path::Path;
use std::process::Command;

/// The repository.
pub fn repository() -> &'static Path {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().expect("the repository")
}

/// Builds the library as `make c-library` does, which takes minutes if it is not up to date, and installs it and its headers
/// below `prefix`.
///
/// # Panics
/// If it cannot be built.
pub fn install_c_library(prefix: &Path) {
    let mut make = Command::new("make");
    make.arg("-C").arg(repository()).arg("c-library");
    // Those of a `make bench` that runs this are not for this one.
    succeed(make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL"));
    let archive = repository().join("target/c-library/libtapline_c.a");
    let script = repository().join("packaging/c-library.sh");
    succeed(Command::new(script).arg(archive).args([prefix, prefix]));
}

/// A compiler with the headers and the library of [`install_c_library`]. Sources and `-o` are to be added.
pub fn c_compiler(compiler: &Path, prefix: &Path) -> Command {
    let library = prefix.join("lib");
    let mut command = Command::new(compiler);
    command.arg("-I").arg(prefix.join("include"));
    command.arg("-L").arg(&library);
    command.arg(format!("-Wl,-rpath,{}", library.display()));
    command
}

/// The output of a command that succeeds.
pub fn succeed(command: &mut Command) -> Vec<u8> {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output.stdout
}
