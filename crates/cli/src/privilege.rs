//! Giving up privileges that a job no longer needs.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Gives up every capability but the one that lets root write files anywhere, which files made by
/// rotation may need. Open sockets and maps go on to work.
///
/// It concerns the calling thread, so it is to be called while there is no other.
///
/// # Source
/// capabilities(7).
pub fn drop_all_but_files() -> io::Result<()> {
    let kept = capabilities(None)?.permitted & CapabilitySet::DAC_OVERRIDE;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}
