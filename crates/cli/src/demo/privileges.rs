//! What the demo may not do without.

use rustix::thread::{CapabilitySet, capabilities};

use crate::failure::{Exit, Failure};

const NEEDED: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
    (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
];

/// Checks that hosts can be made, configured and captured on.
pub fn check() -> Result<(), Failure> {
    let held = capabilities(None).map_err(std::io::Error::from)?.effective;
    let missing: Vec<_> = NEEDED
        .into_iter()
        .filter(|(capability, _)| !held.contains(*capability))
        .map(|(_, name)| name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Privilege,
        format!(
            "cannot make test hosts: needs {} (run with sudo, or with 'unshare --map-root-user' \
             where users may do that)",
            missing.join(", ")
        ),
    ))
}
