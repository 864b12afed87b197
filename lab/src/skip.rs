//! Skips and counts tests whose requirements are missing.
//!
//! A test that requires an optional kernel or machine feature begins with `if skip::without(&FEATURE) { return; }`. The
//! feature's own probe decides, never a failure of the code under test. A skip is printed even if the harness captures
//! output. It is also appended as one line to the file named by `TAPLINE_SKIPS`, so that a test run can print the
//! number of skips.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::{env, thread};

/// A feature that a kernel or machine may lack.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Its name in reports.
    pub name: &'static str,
    /// Checks for the feature. `Err` is a one-line reason why it is missing.
    pub probe: fn() -> Result<(), String>,
}

/// Returns true if `feature` is missing, and reports the skip. The test must then return.
///
/// # Panics
/// If the skip file cannot be written, because a skip must not be silent.
#[must_use = "a test without the feature it needs is to return"]
#[track_caller]
pub fn without(feature: &Feature) -> bool {
    let Err(reason) = (feature.probe)() else {
        return false;
    };
    let thread = thread::current();
    let line = line(thread.name().unwrap_or("a test"), feature.name, &reason);
    // Writes to standard error directly: the harness captures `eprint!` in passing tests.
    io::stderr()
        .write_all(format!("skip: {line}").as_bytes())
        .expect("standard error");
    if let Some(file) = env::var_os("TAPLINE_SKIPS") {
        add(Path::new(&file), &line).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    true
}

/// Formats a skip as one line: test, feature, reason, separated by tabs.
fn line(test: &str, feature: &str, reason: &str) -> String {
    let reason = reason.replace(['\n', '\t'], " ");
    format!("{test}\t{feature}\t{reason}\n")
}

/// Appends `line` in one write, so that lines of parallel tests are not interleaved.
fn add(file: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)?
        .write_all(line.as_bytes())
}

/// Checks that the running kernel is at least `major.minor`. For features that cannot be probed without side effects.
///
/// # Errors
/// The reason: the required and the running kernel version.
pub fn kernel_at_least(major: u32, minor: u32) -> Result<(), String> {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    match version(&release) {
        Some(version) if version >= (major, minor) => Ok(()),
        _ => Err(format!("needs Linux {major}.{minor}, this is {release}")),
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rerun;

    const ABSENT: Feature = Feature {
        name: "wings",
        probe: || Err("this is\na fish".into()),
    };
    const PRESENT: Feature = Feature {
        name: "fins",
        probe: || Ok(()),
    };

    #[test]
    fn a_present_feature_is_not_skipped() {
        assert!(!without(&PRESENT));
    }

    const NAME: &str = "skip::tests::an_absent_feature_is_a_line_on_the_screen_and_in_the_file";

    /// Reruns itself with a separate skip file, so that the real test run does not count these skips.
    #[test]
    fn an_absent_feature_is_a_line_on_the_screen_and_in_the_file() {
        if env::var_os("TAPLINE_LAB_SKIPPING").is_some() {
            assert!(without(&ABSENT) && without(&ABSENT));
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("skips");
        let mut command = rerun::command();
        command
            .env("TAPLINE_LAB_SKIPPING", "1")
            .env("TAPLINE_SKIPS", &file);
        let output = command.output().expect("it runs");
        assert!(output.status.success());
        let line = format!("{NAME}\twings\tthis is a fish\n");
        assert_eq!(
            std::fs::read_to_string(&file).expect("the file"),
            line.repeat(2)
        );
        let screen = String::from_utf8(output.stderr).expect("text");
        assert_eq!(screen, format!("skip: {line}").repeat(2));
    }

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(version("6.18.44-fc-v595"), Some((6, 18)));
        assert_eq!(version("6.9.0"), Some((6, 9)));
        assert_eq!(version("unknown"), None);
        assert!(version("6.18.1") > version("6.9"));
        assert_eq!(kernel_at_least(2, 6), Ok(()));
        assert!(kernel_at_least(1000, 0).is_err_and(|reason| reason.contains("1000.0")));
    }
}
