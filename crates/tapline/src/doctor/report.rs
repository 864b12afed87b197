//! What an examination says.

use std::error::Error;
use std::io;

use netlink::NetlinkError;

use super::change::Change;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// What is measured or captured is worse than it could be.
    Warning,
    /// What is measured or captured is wrong, or nothing is.
    Severe,
}

impl Severity {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Severe => "severe",
        }
    }
}

/// Something that spoils captures or probes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What was looked at; stays the same from release to release.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen.
    pub seen: String,
    /// What it spoils.
    pub spoils: String,
    /// What to do: commands of a shell, for root. What no command does is said behind a `#`, which a shell
    /// passes over.
    pub remedy: Vec<String>,
    /// The same, as far as it is safe; empty where it is not.
    pub fix: Vec<Change>,
}

impl Finding {
    pub(super) fn new(
        id: &'static str,
        severity: Severity,
        seen: impl Into<String>,
        spoils: impl Into<String>,
    ) -> Self {
        Self {
            id,
            severity,
            seen: seen.into(),
            spoils: spoils.into(),
            remedy: Vec::new(),
            fix: Vec::new(),
        }
    }

    /// With a command that helps.
    pub(super) fn remedy(mut self, command: impl Into<String>) -> Self {
        self.remedy.push(command.into());
        self
    }

    /// With what to do where no command does it.
    pub(super) fn advice(self, words: &str) -> Self {
        self.remedy(format!("# {words}"))
    }

    /// With a safe change, which is a command too.
    pub(super) fn fix(mut self, change: Change) -> Self {
        self.remedy.push(change.command());
        self.fix.push(change);
        self
    }
}

/// Something that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ability {
    /// What was looked at; stays the same from release to release.
    pub id: &'static str,
    /// What was seen.
    pub value: String,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unknown {
    /// What was to be looked at; stays the same from release to release.
    pub id: &'static str,
    /// What stood in the way.
    pub why: String,
    /// It was a missing privilege.
    pub needs_privilege: bool,
}

/// What an examination says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is there.
    pub abilities: Vec<Ability>,
    /// What spoils captures or probes, the worst first.
    pub findings: Vec<Finding>,
    /// What could not be looked at.
    pub unknown: Vec<Unknown>,
}

impl Report {
    /// How many findings are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let of_it = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(of_it).count()
    }

    pub(super) fn can(&mut self, id: &'static str, value: impl Into<String>) {
        let value = value.into();
        self.abilities.push(Ability { id, value });
    }

    pub(super) fn found(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Notes that `id` could not be looked at.
    pub(super) fn unknown(&mut self, id: &'static str, why: impl Into<String>) {
        self.unknown.push(Unknown {
            id,
            why: why.into(),
            needs_privilege: false,
        });
    }

    /// As [`unknown`](Self::unknown), in the words of an error and its sources.
    pub(super) fn failed(&mut self, id: &'static str, error: &(dyn Error + 'static)) {
        let mut why = words(error);
        let mut needs_privilege = false;
        let mut next = Some(error);
        while let Some(cause) = next {
            needs_privilege |= is_refused(cause);
            let words = words(cause);
            if !why.ends_with(&words) {
                why = format!("{why}: {words}");
            }
            next = cause.source();
        }
        self.unknown.push(Unknown {
            id,
            why,
            needs_privilege,
        });
    }

    /// Takes the value, or notes why it could not be had.
    pub(super) fn known<T, E: Error + 'static>(
        &mut self,
        id: &'static str,
        answer: Result<T, E>,
    ) -> Option<T> {
        answer.map_err(|error| self.failed(id, &error)).ok()
    }

    /// The worst first; of the same severity in the order they were found.
    pub(super) fn sort(&mut self) {
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }
}

/// What an error says, without the number that Rust appends to the system's words.
fn words(error: &dyn Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

fn is_refused(error: &(dyn Error + 'static)) -> bool {
    let source = error.downcast_ref::<io::Error>();
    let kind = source.map(io::Error::kind);
    let errno = error
        .downcast_ref::<NetlinkError>()
        .and_then(NetlinkError::errno);
    kind == Some(io::ErrorKind::PermissionDenied)
        || errno == Some(rustix::io::Errno::PERM.raw_os_error())
}
