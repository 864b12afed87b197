//! The result of an examination.

use std::error::Error;
use std::io;

use netlink::NetlinkError;

use super::change::Change;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Useful to know.
    Info,
    /// Captures or measurements are worse than they could be.
    Warning,
    /// Captures or measurements are wrong or impossible.
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

/// A problem for captures or pings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Name of the check. Stable across releases.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What the check observed.
    pub observed: String,
    /// How that affects captures or pings.
    pub effect: String,
    /// Shell commands, for root, that solve the problem. A line that starts with `#` is advice for which
    /// there is no command.
    pub remedy: Vec<String>,
    /// The remedy as changes that are safe to make; empty if it is not safe.
    pub changes: Vec<Change>,
}

impl Finding {
    pub(super) fn info(id: &'static str, observed: impl Into<String>, effect: &str) -> Self {
        Self::new(id, Severity::Info, observed, effect)
    }

    pub(super) fn warning(id: &'static str, observed: impl Into<String>, effect: &str) -> Self {
        Self::new(id, Severity::Warning, observed, effect)
    }

    pub(super) fn severe(id: &'static str, observed: impl Into<String>, effect: &str) -> Self {
        Self::new(id, Severity::Severe, observed, effect)
    }

    pub(super) fn new(
        id: &'static str,
        severity: Severity,
        observed: impl Into<String>,
        effect: &str,
    ) -> Self {
        Self {
            id,
            severity,
            observed: observed.into(),
            effect: effect.into(),
            remedy: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Adds a command that solves the problem.
    pub(super) fn command(mut self, command: impl Into<String>) -> Self {
        self.remedy.push(command.into());
        self
    }

    /// Adds advice for which there is no command.
    pub(super) fn advice(self, text: &str) -> Self {
        self.command(format!("# {text}"))
    }

    /// Adds a safe change and the command that equals it.
    pub(super) fn change(mut self, change: Change) -> Self {
        self.remedy.push(change.command());
        self.changes.push(change);
        self
    }
}

/// Something that works.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ability {
    /// Name of the check. Stable across releases.
    pub id: &'static str,
    /// What the check observed.
    pub value: String,
}

/// Something that could not be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unknown {
    /// Name of the check. Stable across releases.
    pub id: &'static str,
    /// Why it failed.
    pub why: String,
    /// Whether it failed because a privilege is missing.
    pub needs_privilege: bool,
}

/// The result of an examination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What works.
    pub abilities: Vec<Ability>,
    /// Problems for captures or pings, the most severe first.
    pub findings: Vec<Finding>,
    /// What could not be checked.
    pub unknown: Vec<Unknown>,
}

impl Report {
    /// Number of findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let matches = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(matches).count()
    }

    pub(super) fn add_ability(&mut self, id: &'static str, value: impl Into<String>) {
        let value = value.into();
        self.abilities.push(Ability { id, value });
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Records that the check `id` has no result.
    pub(super) fn add_unknown(&mut self, id: &'static str, why: impl Into<String>) {
        self.unknown.push(Unknown {
            id,
            why: why.into(),
            needs_privilege: false,
        });
    }

    /// Records that the check `id` failed with `error`, and the error's sources.
    pub(super) fn add_error(&mut self, id: &'static str, error: &(dyn Error + 'static)) {
        let mut why = without_errno(error);
        let mut needs_privilege = false;
        let mut next = Some(error);
        while let Some(cause) = next {
            needs_privilege |= is_permission_error(cause);
            let text = without_errno(cause);
            if !why.ends_with(&text) {
                why = format!("{why}: {text}");
            }
            next = cause.source();
        }
        self.unknown.push(Unknown {
            id,
            why,
            needs_privilege,
        });
    }

    /// Returns the value, or records the error under `id`.
    pub(super) fn value_or_unknown<T, E: Error + 'static>(
        &mut self,
        id: &'static str,
        result: Result<T, E>,
    ) -> Option<T> {
        result.map_err(|error| self.add_error(id, &error)).ok()
    }

    /// Puts the most severe findings first and keeps the order within a severity.
    pub(super) fn sort(&mut self) {
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }
}

/// The error's text without the number that Rust appends to the system's message.
fn without_errno(error: &dyn Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((message, _)) => message.to_owned(),
        None => text,
    }
}

fn is_permission_error(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let errno = error
        .downcast_ref::<NetlinkError>()
        .and_then(NetlinkError::errno);
    kind == Some(io::ErrorKind::PermissionDenied)
        || errno == Some(rustix::io::Errno::PERM.raw_os_error())
}
