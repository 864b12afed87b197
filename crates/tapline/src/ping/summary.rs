//! The summary of a run.

use std::fmt;
use std::io;
use std::time::Duration;

use probe::Prober;

use super::options::Backend;
use crate::send::SendPath;

/// Maximum distinct local errors counted separately; further ones are counted together.
const MAX_KINDS: usize = 32;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// All probes were sent, and answered or lost.
    Count,
    /// The duration was over or [`Ping::end_sending`](super::Ping::end_sending) was called, and all sent probes were
    /// answered or lost.
    Duration,
    /// It was stopped. Probes may still be in flight.
    Stopped,
    /// Waiting for replies failed. [`Ping::run`](super::Ping::run) or [`Ping::next`](super::Ping::next) returned
    /// the error.
    Failed,
}

/// The clock that stamped replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampSource {
    /// The kernel, on arrival or departure.
    Kernel,
    /// This process: replies were stamped when they were read, probes just before they were sent.
    User,
    /// Some by the kernel, some by this process.
    Mixed,
}

impl TimestampSource {
    /// The name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::User => "user",
            Self::Mixed => "mixed",
        }
    }
}

/// Timed replies by the clock that stamped them, or their probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimestampCounts {
    /// Stamped by the kernel.
    pub kernel: u64,
    /// Stamped by this process.
    pub user: u64,
}

impl TimestampCounts {
    /// The clock that stamped them; `None` if no reply was timed.
    pub fn source(self) -> Option<TimestampSource> {
        match (self.kernel, self.user) {
            (0, 0) => None,
            (_, 0) => Some(TimestampSource::Kernel),
            (0, _) => Some(TimestampSource::User),
            _ => Some(TimestampSource::Mixed),
        }
    }

    #[inline]
    pub(super) fn count(&mut self, is_kernel: bool) {
        if is_kernel {
            self.kernel += 1;
        } else {
            self.user += 1;
        }
    }
}

/// The account of a run. `Display` prints it as one paragraph.
#[derive(Debug)]
#[non_exhaustive]
#[must_use]
pub struct PingSummary {
    /// Why the run ended.
    pub ended: Ended,
    /// Counters and round-trip times of each target and of all.
    pub statistics: Prober,
    /// The back end that was used.
    pub backend: Backend,
    /// How requests left; only of [`Backend::Xdp`].
    pub send_path: Option<SendPath>,
    /// Time from the first probe to the end.
    pub duration: Duration,
    /// Probes that this host could not send, by error.
    pub local_drops: LocalDrops,
    /// The rate; only of [`Backend::Xdp`].
    pub rate: Option<PingRate>,
    /// Replies that the kernel dropped because the buffer was full; `None` if unknown. [`Backend::Xdp`] has no buffer, and does
    /// not know what the interface dropped before its program.
    pub overruns: Option<u64>,
    /// ICMPv6 messages that the kernel dropped for a wrong checksum, before it knew their target; `None` if unknown.
    /// Applies to raw sockets only. Other damaged replies are counted as `corrupt` for their targets.
    pub checksum_drops: Option<u64>,
    /// Number of times the wall clock was set during the run.
    pub clock_steps: u64,
    /// The clocks that stamped timed replies on arrival.
    pub rx_timestamps: TimestampCounts,
    /// The clocks that stamped the probes of timed replies on departure.
    pub tx_timestamps: TimestampCounts,
}

impl fmt::Display for PingSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.statistics.total();
        write!(
            f,
            "{} probes sent to {} targets in {:.1?}: {} received, {} lost, {} late, {} errors, {} in flight",
            total.sent,
            self.statistics.targets().indices().count(),
            self.duration,
            total.received,
            total.lost,
            total.late,
            total.errors,
            total.pending()
        )?;
        if total.local_drops > 0 {
            write!(f, "; {} not sent", total.local_drops)?;
        }
        let histogram = self.statistics.histogram();
        if let Some((min, max)) = histogram.range_ns() {
            let [min, max] = [min, max].map(Duration::from_nanos);
            write!(f, "; round trip min {min:?}")?;
            if let Some(median) = histogram.quantile(0.5) {
                write!(f, ", median {:?}", Duration::from_nanos(median))?;
            }
            write!(f, ", max {max:?}")?;
        }
        Ok(())
    }
}

/// The rate of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PingRate {
    /// Probes per second that the interval and the rate of the options ask for. `None` if they set no limit, if targets have
    /// settings of their own, or have changed.
    pub asked_pps: Option<f64>,
    /// Probes per second that were sent or refused, from the first to the last one, and those that waited in vain for their
    /// neighbour or route. `None` if there were no others, or too few.
    pub reached_pps: Option<f64>,
    /// What the run has waited for, if its rate was [not reached](Self::is_reached) and that is known. Without a rate to
    /// reach, only [`RateLimit::InFlight`] and [`RateLimit::Uplink`].
    pub limit: Option<RateLimit>,
}

impl PingRate {
    /// Whether the rate is at least 90 % of what was asked for, as far as is known.
    pub fn is_reached(&self) -> bool {
        let rates = self.asked_pps.zip(self.reached_pps);
        rates.is_none_or(|(asked, reached)| reached >= 0.9 * asked)
    }
}

/// What a run has waited for that did not reach its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateLimit {
    /// Neighbours, which are resolved at a pace ([`PingOptions::neighbours`](super::PingOptions::neighbours)).
    Neighbours,
    /// Answers: no more probes in flight can be tracked.
    InFlight,
    /// The driver, which took no frame, or the interface, which was down.
    Interface,
    /// The limit of a prefix ([`PingOptions::prefix_pps`](super::PingOptions::prefix_pps)).
    PrefixRate,
    /// Consent: the interface has become an uplink ([`PingOptions::allow_uplink`](super::PingOptions::allow_uplink)).
    Uplink,
    /// Nothing: sending took the whole time.
    Cpu,
}

impl RateLimit {
    /// The name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neighbours => "neighbours",
            Self::InFlight => "in-flight",
            Self::Interface => "interface",
            Self::PrefixRate => "prefix-rate",
            Self::Uplink => "uplink",
            Self::Cpu => "cpu",
        }
    }
}

/// Probes that this host could not send, by error.
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

    /// Each distinct error with its count.
    pub fn iter(&self) -> impl Iterator<Item = (io::Error, u64)> {
        let kinds = self.kinds.iter();
        kinds.map(|(code, count)| (io::Error::from_raw_os_error(*code), *count))
    }

    /// Number of errors beyond the kinds that [`LocalDrops::iter`] returns.
    pub fn others(&self) -> u64 {
        self.others
    }
}
