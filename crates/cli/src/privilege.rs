//! Giving up privileges that a job no longer needs.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Those of `needed` that the calling thread does not have. `CAP_SYS_ADMIN` stands for the two that were
/// made out of it; where it cannot be asked nothing is missing.
pub fn missing(needed: &[(CapabilitySet, &'static str)]) -> Vec<&'static str> {
    let Ok(sets) = capabilities(None) else {
        return Vec::new();
    };
    let mut held = sets.effective;
    if held.contains(CapabilitySet::SYS_ADMIN) {
        held |= CapabilitySet::BPF | CapabilitySet::PERFMON;
    }
    let missing = needed.iter().filter(|(one, _)| !held.contains(*one));
    missing.map(|&(_, name)| name).collect()
}

/// Those of `needed` that the calling thread does not have, in words; `None` if it has them all, and where
/// they are worth something.
pub fn missing_words(needed: &[(CapabilitySet, &'static str)]) -> Option<String> {
    match missing(needed).as_slice() {
        [] if is_in_user_namespace() => {
            let names: Vec<_> = needed.iter().map(|&(_, name)| name).collect();
            Some(enumerated(&names) + " outside of this user namespace")
        }
        [] => None,
        missing => Some(enumerated(missing)),
    }
}

/// `a, b and c`.
fn enumerated(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Whether capabilities are those of a user namespace, which count for nothing outside of it.
///
/// # Source
/// user_namespaces(7): the first one maps all numbers to themselves.
pub fn is_in_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !map.is_empty() && !map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Gives up every capability but two: `CAP_DAC_OVERRIDE`, with which root writes files anywhere, as
/// files made by rotation may need, and, if a program `counts`, `CAP_BPF`, without which its
/// counters cannot be read before Linux 5.19. Open sockets go on to work.
///
/// It concerns the calling thread, so it is to be called while there is no other.
pub fn drop_unneeded(counts: bool) -> io::Result<()> {
    let mut needed = CapabilitySet::DAC_OVERRIDE;
    needed.set(CapabilitySet::BPF, counts);
    drop_all_but(needed)
}

/// Gives up every capability of the calling thread but those `needed`.
///
/// # Source
/// capabilities(7).
pub fn drop_all_but(needed: CapabilitySet) -> io::Result<()> {
    let kept = capabilities(None)?.permitted & needed;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}
