//! Tests that need a process of their own.
//!
//! All tests of a crate share one program. A test that counts the descriptors or the memory of its process, that
//! kills its process or that needs other mounts runs itself again:
//!
//! ```no_run
//! # fn count_my_descriptors() {}
//! #[test]
//! fn nothing_stays_open() {
//!     if tapline_lab::rerun::has_run_alone() {
//!         return;
//!     }
//!     count_my_descriptors();
//! }
//! ```

use std::path::PathBuf;
use std::process::{self, Command};
use std::{env, fs, iter, thread};

/// Set in the process that runs a single test.
const ALONE: &str = "TAPLINE_LAB_ALONE";

/// Maximum number of ancestors to examine.
const MAX_ANCESTORS: usize = 16;

/// Path of the running test program.
///
/// # Panics
/// If the kernel does not report its path.
pub fn program() -> PathBuf {
    env::current_exe().expect("the path of the test program")
}

/// Arguments that make the test program run only the calling test and show its output.
///
/// # Panics
/// If the caller is not a test's thread, or if the process is already the second rerun. A test that ignores its
/// environment variable would otherwise start processes without end.
pub fn arguments() -> [String; 3] {
    assert!(ancestors() < 2, "a rerun test must not rerun itself");
    let thread = thread::current();
    let test = thread
        .name()
        .expect("a test's thread bears the test's name");
    ["--exact", test, "--nocapture"].map(str::to_owned)
}

/// Returns a command that runs the calling test again in another process. Set an environment variable that says what
/// the process should do.
///
/// # Panics
/// As [`arguments`].
pub fn command() -> Command {
    let mut command = Command::new(program());
    command.args(arguments());
    command
}

/// Number of ancestors of this process that run the same program.
fn ancestors() -> usize {
    let parent = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse::<u32>().ok()
    };
    let program = program();
    let chain = iter::successors(parent(process::id()), |pid| parent(*pid));
    let same =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
    chain.take(MAX_ANCESTORS).filter(same).count()
}

/// Returns true if the calling test has run and passed in a separate process, and false inside that process.
///
/// # Panics
/// If the test fails there. The message is its output.
#[track_caller]
pub fn has_run_alone() -> bool {
    if env::var_os(ALONE).is_some() {
        return false;
    }
    let output = command().env(ALONE, "1").output().expect("the test starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let has_passed = output.status.success() && stdout.contains(" 1 passed;");
    assert!(has_passed, "alone, {}:\n{stdout}{stderr}", output.status);
    print!("{stdout}");
    true
}
