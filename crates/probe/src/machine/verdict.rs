//! What an answer turned out to be.

use std::net::IpAddr;

use super::network_error::NetworkError;
use super::probe::Probe;

/// What became of a message, and of which probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The first answer, in time.
    Received {
        /// The probe.
        probe: Probe,
        /// The round trip; `None` when the answer has no time stamp that can be trusted.
        rtt_ns: Option<u64>,
        /// A later probe to the target was answered before.
        is_reordered: bool,
    },
    /// The first answer, after the timeout.
    Late {
        /// The probe.
        probe: Probe,
        /// The round trip, as for [`Verdict::Received`].
        rtt_ns: Option<u64>,
    },
    /// An answer to what had been answered.
    Duplicate {
        /// The probe.
        probe: Probe,
        /// The round trip, as for [`Verdict::Received`].
        rtt_ns: Option<u64>,
    },
    /// An answer so late that whether it is the first is no longer known.
    Stale {
        /// The probe.
        probe: Probe,
    },
    /// An answer with bytes that were not sent, too few, or too many.
    Corrupt {
        /// The target that is named by what is right of it.
        target: u32,
        /// The probe, where its cookie is right.
        probe: Option<Probe>,
    },
    /// An answer with our identifier, but with too few bytes to tell of which probe: cut short, or to another
    /// program's probe.
    CutShort {
        /// Who answered.
        target: u32,
    },
    /// An answer to a probe, but not from where it was sent to.
    WrongSource {
        /// The probe.
        probe: Probe,
        /// Who answered.
        source: IpAddr,
    },
    /// An ICMP error that ends a probe, at once if it is proven. One that is not is counted when the probe's time is
    /// up, unless there is an answer by then.
    Error {
        /// The probe.
        probe: Probe,
        /// What it says, and who.
        error: NetworkError,
        /// The quote carries the probe's cookie. Without, as many routers quote, who guesses identifier
        /// and sequence could have sent it.
        is_proven: bool,
    },
    /// An ICMP message about a probe that does not end it, such as a redirect.
    Notice {
        /// The probe.
        probe: Probe,
        /// What it says, and who.
        error: NetworkError,
    },
    /// It has our identifier and form, but its cookie is not ours.
    Forged,
    /// No answer to this run.
    Foreign,
}

/// Messages that ended up with no target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Others {
    /// Answers to probes from elsewhere than they were sent to; the probes go on to be waited for.
    pub wrong_source: u64,
    /// Messages with our identifier and form whose cookie is not ours.
    pub forged: u64,
    /// Answers of targets with our identifier and too few bytes to tell whose they are.
    pub cut_short: u64,
    /// Messages of others that passed the kernel's filter.
    pub foreign: u64,
    /// Answers too late to tell whether they are the first.
    pub stale: u64,
    /// Answers in time that were overtaken by a later probe's; they count as received too.
    pub reordered: u64,
    /// Answers in time without a time stamp that can be trusted; they count as received too.
    pub untimed: u64,
    /// Errors counted for a target whose quote was too short for a cookie, and that nothing has disproved.
    pub unproven: u64,
    /// Messages about a probe that do not end it, such as redirects.
    pub notices: u64,
    /// Probes that had their turn but were taken back before they were sent.
    pub unsent: u64,
}
