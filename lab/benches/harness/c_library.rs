//! libtapline for programs in C and C++.

use std::path::Path;
use std::process::Command;

/// The repository.
pub fn repository() -> &'static Path {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().expect("the repository")
}

/// Installs the library that `make c-library` built, and its headers, below `prefix`.
///
/// # Panics
/// If it has not been built.
pub fn install_c_library(prefix: &Path) {
    let archive = repository().join("target/c-library/libtapline_c.a");
    assert!(
        archive.exists(),
        "{} is missing: run `make c-library`",
        archive.display()
    );
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
