//! Capabilities: which ones are missing, and dropping those that a job does not need.

use std::sync::mpsc::sync_channel;
use std::{io, thread};

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// The capabilities of `needed` that the calling thread lacks. `CAP_SYS_ADMIN` includes `CAP_BPF` and
/// `CAP_PERFMON`. Empty if the kernel does not report the thread's capabilities.
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

/// The capabilities of `needed` that the calling thread lacks, as text. `None` if it has all of them in the
/// initial user namespace.
pub fn missing_words(needed: &[(CapabilitySet, &'static str)]) -> Option<String> {
    match missing(needed).as_slice() {
        [] if is_in_user_namespace() => {
            let names: Vec<_> = needed.iter().map(|&(_, name)| name).collect();
            Some(joined(&names) + " in the initial user namespace")
        }
        [] => None,
        missing => Some(joined(missing)),
    }
}

/// `a, b and c`.
fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Whether this process is in a user namespace other than the initial one. Its capabilities do not apply
/// outside that namespace.
///
/// # Source
/// user_namespaces(7): the initial one maps every ID to itself.
pub fn is_in_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !map.is_empty() && !map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Capabilities to read the descriptors of other users' processes (`/proc/PID/fd`): only the owner can read the directory, and
/// following its links requires the right to trace.
pub const FIND_PROCESSES: CapabilitySet =
    CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH);

/// The capability with which root opens, creates and removes files of other users, in their directories.
pub const ANY_FILE: CapabilitySet = CapabilitySet::DAC_OVERRIDE;

/// The capability with which root opens files of other users for reading.
pub const READ_ANY_FILE: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;

/// The capability to read the counters of a program, if one `counts`. Linux 5.19 and later do not require it.
pub fn to_count(counts: bool) -> CapabilitySet {
    let mut needed = CapabilitySet::empty();
    needed.set(CapabilitySet::BPF, counts);
    needed
}

/// Capabilities of a capture that interfaces and namespaces can join.
pub fn to_capture_anywhere() -> CapabilitySet {
    CapabilitySet::NET_RAW
        | CapabilitySet::NET_ADMIN
        | CapabilitySet::SYS_ADMIN
        | CapabilitySet::BPF
        | CapabilitySet::PERFMON
        // The memory of AF_XDP sockets is locked.
        | CapabilitySet::IPC_LOCK
}

/// Drops every capability of the calling thread except `needed`.
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

/// Starts a thread that has only the capabilities `kept`, and returns once it has dropped the others: capabilities belong to
/// each thread. It ends with the program.
pub fn spawn_with(
    kept: CapabilitySet,
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let (dropped, has_dropped) = sync_channel(1);
    let run = move || {
        let result = drop_all_but(kept);
        let is_restricted = result.is_ok();
        let _ = dropped.send(result);
        if is_restricted {
            work();
        }
    };
    thread::Builder::new().name(name.into()).spawn(run)?;
    // An error: it has panicked.
    has_dropped
        .recv()
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}
