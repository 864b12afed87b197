//! Diagnoses capture and ping problems on this host and suggests fixes.
//!
//! ```
//! use tapline::doctor::{SystemPaths, examine};
//!
//! let report = examine(Some("lo"), &SystemPaths::default())?;
//! for finding in &report.findings {
//!     println!("{}: {}", finding.severity.name(), finding.observed);
//! }
//! # Ok::<(), tapline::doctor::DoctorError>(())
//! ```
//!
//! [`examine`] runs every check once and returns a [`Report`]: what works ([`Ability`]), what hurts captures
//! or pings ([`Finding`]), and what could not be checked ([`Unknown`]).
//!
//! Checks are safe. Test rings are opened on loopback and receive only the check's own datagrams. Test
//! programs are loaded and never attached. The interface under examination is only queried.
//!
//! [`examine`] changes nothing. A finding may carry a [`Change`] that is safe to make: it affects only the
//! interface or its network namespace, loses no packet, and can be undone.

mod change;
mod checks;
mod examine;
mod loopback;
mod paths;
mod report;

pub(crate) use change::shell_quote;
pub use change::{Change, ChangeCause, ChangeError};
pub use examine::{DoctorError, examine};
pub use paths::{SystemPaths, namespace_cookie};
pub use report::{Ability, Finding, Report, Severity, Unknown};
