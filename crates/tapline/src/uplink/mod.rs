//! Interfaces that connect this host to others, which jobs use for a high rate only with consent.

mod guard;
mod uplinks;
mod watch;

pub(crate) use guard::UplinkGuard;
pub(crate) use uplinks::Uplinks;
pub(crate) use watch::{NewWatch, UplinkWatch};
