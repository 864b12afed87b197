//! What a machine can do for captures and probes, what spoils them, and what to do about it.
//!
//! [`examine`] asks the kernel, by doing where that disturbs nothing: it opens rings on the loopback
//! and sends datagrams there, loads programs without attaching them, makes sockets. Of an interface
//! it only asks. The [`Report`] says what there is ([`Ability`]), what spoils it ([`Finding`]) and what
//! could not be looked at ([`Unknown`]); nothing is taken for granted.
//!
//! Nothing is changed here. A finding may come with a [`Change`] that is safe: it concerns the
//! interface or its network namespace only, costs no packet and can be taken back.

mod change;
mod checks;
mod examine;
mod measure;
mod place;
mod report;
mod shell;

pub use change::{Change, ChangeCause, ChangeError};
pub use examine::{DoctorError, examine};
pub use place::Roots;
pub use report::{Ability, Finding, Report, Severity, Unknown};
