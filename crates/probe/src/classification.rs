//! How a received message relates to the probes of the run.

use std::net::IpAddr;

use crate::probe::Probe;
use crate::statistics::NetworkError;

/// How a received message was classified, and which probe it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classification {
    /// The first answer, in time.
    Received {
        /// The probe.
        probe: Probe,
        /// Round-trip time; `None` if the reply has no trustworthy time stamp.
        rtt_ns: Option<u64>,
        /// A later probe to the same target was answered earlier.
        is_reordered: bool,
    },
    /// The first answer, after the timeout.
    Late {
        /// The probe.
        probe: Probe,
        /// Round-trip time, as for [`Classification::Received`].
        rtt_ns: Option<u64>,
    },
    /// A further answer to an answered probe.
    Duplicate {
        /// The probe.
        probe: Probe,
        /// Round-trip time, as for [`Classification::Received`].
        rtt_ns: Option<u64>,
    },
    /// An answer so late that the prober no longer knows whether it is the first.
    Stale {
        /// The probe.
        probe: Probe,
    },
    /// An answer whose bytes differ from those sent.
    Corrupt {
        /// The target, identified by the intact part.
        target: u32,
        /// The probe, if the cookie is intact.
        probe: Option<Probe>,
    },
    /// An answer with our identifier that is too short to hold a cookie. It is truncated, or answers another
    /// program's probe.
    CutShort {
        /// The target that answered.
        target: u32,
    },
    /// An answer to a probe from an address other than its target's.
    WrongSource {
        /// The probe.
        probe: Probe,
        /// Source address of the answer.
        source: IpAddr,
    },
    /// An ICMP error that ends a probe. A proven error ends it at once. An unproven one is counted at
    /// the timeout, unless an answer arrives first.
    Error {
        /// The probe.
        probe: Probe,
        /// Router, type and code.
        error: NetworkError,
        /// The quote contains the probe's cookie. Many routers quote less; such an error could be
        /// forged by anyone who guesses identifier and sequence number.
        is_proven: bool,
    },
    /// An ICMP message about a probe that does not end it, such as a redirect.
    Notice {
        /// The probe.
        probe: Probe,
        /// Router, type and code.
        error: NetworkError,
    },
    /// It has our identifier and format, but not our cookie.
    Forged,
    /// Not an answer to this run.
    Foreign,
}

/// Counters of the run that belong to no target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherCounts {
    /// Answers from an address other than the target's. Their probes stay in flight.
    pub wrong_source: u64,
    /// Messages with our identifier and format but a wrong cookie.
    pub forged: u64,
    /// Answers from targets with our identifier that are too short to hold a cookie. Of those that are
    /// [counted in the kernel](crate::Prober::with_kernel_counters) also those that arrive without their end.
    pub cut_short: u64,
    /// Messages of other programs that passed the kernel's filter.
    pub foreign: u64,
    /// Answers too late to know whether they are the first.
    pub stale: u64,
    /// Answers in time that a later probe's answer overtook; also counted as received.
    pub reordered: u64,
    /// Answers in time without a trustworthy time stamp; also counted as received.
    pub untimed: u64,
    /// Errors counted for a target although their quote is too short for a cookie, and no answer
    /// disproved them.
    pub unproven: u64,
    /// Messages about a probe that do not end it, such as redirects; of answers that are counted in the kernel, errors whose quote
    /// is too short for a cookie.
    pub notices: u64,
    /// Probes that were due but withdrawn before they were sent.
    pub unsent: u64,
}
