//! What the kernel refuses of the configuration.

use netlink::{Cause, NetlinkError};
use rustix::thread::CapabilitySet;

use super::{Exit, Failure};
use crate::privilege;

impl From<NetlinkError> for Failure {
    fn from(error: NetlinkError) -> Self {
        let line = Failure::job(&error).line;
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

fn may_configure() -> bool {
    privilege::missing(&[(CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN")]).is_empty()
}
