//! Skips, counted.
//!
//! A test that needs something not every kernel or machine has begins with
//! `if skip::without(&FEATURE) { return; }`. Whether it is there is found by the feature's own probe,
//! never by the failure of what is being tested. A skip is printed whatever the harness captures, and
//! added as one line to the file that `TAPLINE_SKIPS` names, so that a run can end with their count.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::{env, thread};

/// Something that a kernel or machine may lack.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// What it is called in reports.
    pub name: &'static str,
    /// Finds out: `Err` is the reason why it is not there, in one line.
    pub probe: fn() -> Result<(), String>,
}

/// Whether `feature` is missing; then that is reported and the test is to return.
///
/// # Panics
/// When the file of skips cannot be written: a skip must not be silent.
#[must_use = "a test without the feature it needs is to return"]
#[track_caller]
pub fn without(feature: &Feature) -> bool {
    let Err(reason) = (feature.probe)() else {
        return false;
    };
    let thread = thread::current();
    let line = line(thread.name().unwrap_or("a test"), feature.name, &reason);
    // Standard error itself: the harness keeps what `eprint!` says of a test that passes.
    io::stderr()
        .write_all(format!("skip: {line}").as_bytes())
        .expect("standard error");
    if let Some(file) = env::var_os("TAPLINE_SKIPS") {
        add(Path::new(&file), &line).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    true
}

/// One line a skip: test, feature, reason, parted by tabs.
fn line(test: &str, feature: &str, reason: &str) -> String {
    let reason = reason.replace(['\n', '\t'], " ");
    format!("{test}\t{feature}\t{reason}\n")
}

/// Adds `line` in one write, so that lines of parallel tests stay whole.
fn add(file: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)?
        .write_all(line.as_bytes())
}

/// Whether the running kernel is at least `major.minor`; the reason if not. For probes of what
/// cannot be tried out without doing it.
///
/// # Errors
/// The reason: which kernel is needed and which one runs.
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

    /// Runs itself with a file of skips of its own, so that the run at large counts none.
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
