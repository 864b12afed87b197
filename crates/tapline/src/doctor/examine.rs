//! An examination: every check once.

use std::error::Error;
use std::fmt;

use netlink::{Netlink, NetlinkError};

use super::checks;
use super::place::{Place, Roots};
use super::report::Report;

/// Why an examination could not begin.
#[derive(Debug)]
#[non_exhaustive]
pub enum DoctorError {
    /// The interface could not be looked up.
    Link(NetlinkError),
}

impl fmt::Display for DoctorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => error.fmt(f),
        }
    }
}

impl Error for DoctorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Link(error) => error.source(),
        }
    }
}

/// Looks at the machine, the network namespace of the calling thread and, if one is named, an
/// interface in it.
///
/// Takes about a tenth of a second, most of it to measure; up to two on a busy machine. Changes nothing; opens rings on the
/// loopback interface only, of others it only asks.
///
/// # Errors
/// [`DoctorError::Link`] when there is no such interface. What else fails is part of the report.
/// # Privileges
/// `CAP_NET_RAW`, `CAP_BPF` and `CAP_NET_ADMIN` to look at everything; without them there is more
/// that is [unknown](super::Unknown).
pub fn examine(link: Option<&str>, roots: &Roots) -> Result<Report, DoctorError> {
    let look_up = |name| Netlink::open().and_then(|mut netlink| netlink.link_named(name));
    let link = link.map(look_up).transpose().map_err(DoctorError::Link)?;
    let mut report = Report::default();
    for check in checks::OF_THE_MACHINE {
        check(roots, &mut report);
    }
    if let Some(link) = &link {
        let place = Place { roots, link };
        for check in checks::OF_AN_INTERFACE {
            check(&place, &mut report);
        }
    }
    report.sort();
    Ok(report)
}
