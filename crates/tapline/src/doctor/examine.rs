//! One examination: every check, once.

use netlink::{Netlink, NetlinkError};

use super::checks;
use super::paths::{InterfaceContext, SystemPaths};
use super::report::Report;

/// Why an examination could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoctorError {
    /// The interface could not be looked up.
    #[error(transparent)]
    Link(#[from] NetlinkError),
}

/// Checks the host, the network namespace of the calling thread and, if `interface` is given, that
/// interface.
///
/// Takes about 0.1 s, most of it for measurements, and at most 2 s on a busy host. Changes nothing.
///
/// # Errors
/// [`DoctorError::Link`] if the interface does not exist. Every other failure becomes an
/// [`Unknown`](super::Unknown) in the report.
/// # Privileges
/// `CAP_NET_RAW`, `CAP_BPF` and `CAP_NET_ADMIN` for all checks. Without them more results are
/// [unknown](super::Unknown).
pub fn examine(interface: Option<&str>, paths: &SystemPaths) -> Result<Report, DoctorError> {
    let look_up = |name| Netlink::open().and_then(|mut netlink| netlink.link_named(name));
    let link = interface.map(look_up).transpose()?;
    let mut report = Report::default();
    for check in checks::HOST_CHECKS {
        check(paths, &mut report);
    }
    if let Some(link) = &link {
        let context = InterfaceContext { paths, link };
        for check in checks::INTERFACE_CHECKS {
            check(&context, &mut report);
        }
    }
    report.sort();
    Ok(report)
}
