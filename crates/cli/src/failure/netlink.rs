//! What the kernel refuses of the configuration.

use std::error::Error;
use std::io;

use abi::namespace::NamespaceError;
use netlink::{Cause, NamesError, NetlinkError};
use rustix::thread::CapabilitySet;

use super::{Exit, Failure};
use crate::privilege;

impl From<NetlinkError> for Failure {
    fn from(error: NetlinkError) -> Self {
        Self::from(&error)
    }
}

impl From<&NetlinkError> for Failure {
    fn from(error: &NetlinkError) -> Self {
        let line = Failure::job(error).line;
        match (error.errno(), &error.cause) {
            (_, Cause::Unfit(_)) => Self::new(Exit::Usage, line),
            // With the privilege it is another reason that the kernel has.
            (Some(libc::EPERM | libc::EACCES), _) if !may_configure() => {
                Self::new(Exit::Privilege, line + "; run with sudo or setcap")
            }
            (Some(libc::EOPNOTSUPP), _) => Self::new(Exit::Unsupported, line),
            _ => Self::new(Exit::Failed, line),
        }
    }
}

impl From<NamesError> for Failure {
    fn from(error: NamesError) -> Self {
        namespace(&error, &error.source)
    }
}

impl From<NamespaceError> for Failure {
    fn from(error: NamespaceError) -> Self {
        namespace(&error, &error.source)
    }
}

/// What was refused of a namespace, or of its name.
fn namespace(error: &dyn Error, source: &io::Error) -> Failure {
    let needed = [(CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN")];
    let mut failure = Failure::job(error);
    if source.kind() == io::ErrorKind::PermissionDenied && !privilege::missing(&needed).is_empty() {
        failure.exit = Exit::Privilege;
        failure.line += " (needs CAP_SYS_ADMIN; run with sudo or setcap)";
    }
    failure
}

fn may_configure() -> bool {
    privilege::missing(&[(CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN")]).is_empty()
}
