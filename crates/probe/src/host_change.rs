//! How the hosts of a run change.

use std::net::IpAddr;

use crate::statistics::ProbeCounts;

/// A requested change. It takes effect when the probes in flight to its host have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingChange {
    Address(Option<IpAddr>),
    Remove,
}

/// A change that waits for probes in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingChange {
    pub host: u32,
    pub change: PendingChange,
    /// If answers are counted in the kernel, all probes sent before the request have ended at this time.
    pub final_ns: u64,
}

/// A change of a host that took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostChange {
    /// The host: [`Targets::of_host`](crate::targets::Targets::of_host) has its targets.
    pub host: u32,
    /// What changed.
    pub kind: HostChangeKind,
    /// The account of the address that it had, over all paths. Complete: no probe is in flight.
    pub account: ProbeCounts,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostChangeKind {
    /// The address of a name. `None` means that it has none, and no probe is sent.
    Address {
        /// The previous address.
        from: Option<IpAddr>,
        /// The current address.
        to: Option<IpAddr>,
    },
    /// It was removed. Its name and counters can be read until another host takes its place.
    Removed,
}

/// Hosts that were removed, and what was counted for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedHosts {
    /// Their number.
    pub hosts: u64,
    /// Sum of their counters, which the totals of the run contain.
    pub counts: ProbeCounts,
}
