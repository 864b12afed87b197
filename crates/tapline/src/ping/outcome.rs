//! How a run ended.

use std::io;
use std::time::Duration;

use probe::Prober;

use super::options::Backend;

/// Kinds of local drops told apart; what comes beyond counts together.
const MAX_KINDS: usize = 32;

/// Why a run ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// All probes were sent, and answered or lost.
    Count,
    /// The time to send was over, or [`Pinger::end_sending`](super::Pinger::end_sending) called, and what had been sent
    /// answered or lost.
    Duration,
    /// It was stopped; probes in flight are still pending.
    Stopped,
    /// The kernel could not be waited for.
    Wait(io::Error),
}

/// A run that is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Why.
    pub ended: Ended,
    /// Everything known of targets and answers.
    pub prober: Prober,
    /// How probes left.
    pub backend: Backend,
    /// From the first probe to the end.
    pub duration: Duration,
    /// Probes that this host did not send, by reason.
    pub local_drops: LocalDrops,
    /// Answers that the kernel dropped because they were not read in time; `None` when it does not say.
    pub overruns: Option<u64>,
    /// Messages of ICMPv6 that the kernel threw away for a wrong checksum before it was known whose they were;
    /// `None` when it does not say. Only raw sockets have them: ping sockets are spared them, and of IPv4, or
    /// by a ring, damaged answers are told by the counts of their targets.
    pub checksum_drops: Option<u64>,
    /// How often the wall clock was set during the run.
    pub clock_steps: u64,
    /// Who stamped the answers: `kernel`.
    pub timestamp_source: &'static str,
    /// Answers whose probes the kernel had stamped too, when the driver took them.
    pub departures_by_kernel: u64,
    /// Answers whose probes only this program had stamped, before it sent them.
    pub departures_by_program: u64,
}

/// Probes that this host did not send, by the kernel's answer.
#[derive(Clone, Debug, Default)]
pub struct LocalDrops {
    kinds: Vec<(i32, u64)>,
    others: u64,
}

impl LocalDrops {
    pub(super) fn count(&mut self, error: &io::Error) {
        let code = error.raw_os_error().unwrap_or(0);
        if let Some((_, count)) = self.kinds.iter_mut().find(|(known, _)| *known == code) {
            *count += 1;
        } else if self.kinds.len() < MAX_KINDS {
            self.kinds.push((code, 1));
        } else {
            self.others += 1;
        }
    }

    /// Each answer (an error number) with how often it came.
    pub fn iter(&self) -> impl Iterator<Item = (io::Error, u64)> {
        let kinds = self.kinds.iter();
        kinds.map(|(code, count)| (io::Error::from_raw_os_error(*code), *count))
    }

    /// Those of further kinds than are told apart.
    pub fn others(&self) -> u64 {
        self.others
    }
}
