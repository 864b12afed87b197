//! What happens during a run.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use probe::{Classification, IcmpMessage, NetworkError, PlanError, Probe, ProbeCounts};

use super::resolver::LookupFailure;

/// Something that happened during a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum PingEvent {
    /// A probe was passed to the kernel.
    Sent {
        /// The probe.
        probe: Probe,
    },
    /// This host could not send a probe.
    NotSent {
        /// The probe.
        probe: Probe,
        /// Error of the kernel.
        error: io::Error,
    },
    /// A message arrived and was counted.
    Answer {
        /// Its classification: received, late, duplicate, error …
        class: Classification,
        /// Its contents.
        message: AnswerMessage,
        /// Its arrival time in nanoseconds of `CLOCK_REALTIME`.
        wall_ns: Option<u64>,
    },
    /// The probes to a target have ended that has a count of its own
    /// ([`TargetSettings::count`](super::TargetSettings::count)), or is probed once by [`Backend::Xdp`](super::Backend::Xdp).
    /// [`Prober::counts`](super::Prober::counts) says how. It can be removed now.
    Ended {
        /// The target.
        target: u32,
    },
    /// A probe timed out.
    Lost {
        /// The probe.
        probe: Probe,
    },
    /// The wall clock was set. Replies that arrived at that moment are untimed.
    ClockStep {
        /// By how many nanoseconds.
        by_ns: i64,
    },
    /// A target changed.
    TargetChange {
        /// The target; of several paths to a host, the first.
        target: u32,
        /// What changed.
        change: TargetChange,
    },
    /// [`TargetControl::replace`](super::TargetControl::replace) has replaced the list. The targets that were added were
    /// reported before; those that are removed follow when their probes in flight have ended.
    TargetsReplaced {
        /// Hosts that were added.
        added: u32,
        /// Hosts that are removed.
        removed: u32,
        /// Hosts that stay.
        unchanged: u32,
    },
    /// Targets were not added: there is no room for them, or their settings are out of range.
    NotAdded {
        /// Their number.
        hosts: u32,
        /// What is out of range.
        error: PlanError,
    },
    /// The interface of [`Backend::Xdp`](super::Backend::Xdp) has become an uplink, which
    /// [`PingOptions::allow_uplink`](super::PingOptions::allow_uplink) does not permit: the rate is limited from now on.
    UplinkLimit {
        /// Maximum probes per second.
        pps: u32,
    },
    /// [`PingOptions::tick`](super::PingOptions::tick) has elapsed.
    Tick {
        /// Replies that the kernel has dropped so far because the buffer was full; `None` if unknown.
        overruns: Option<u64>,
    },
}

impl PingEvent {
    /// The probe that this event concerns, if it is known.
    pub fn probe(&self) -> Option<Probe> {
        match *self {
            Self::Sent { probe } | Self::NotSent { probe, .. } | Self::Lost { probe } => {
                Some(probe)
            }
            Self::Answer { class, .. } => match class {
                Classification::Received { probe, .. }
                | Classification::Late { probe, .. }
                | Classification::Duplicate { probe, .. }
                | Classification::Stale { probe }
                | Classification::WrongSource { probe, .. }
                | Classification::Error { probe, .. }
                | Classification::Notice { probe, .. } => Some(probe),
                Classification::Corrupt { probe, .. } => probe,
                _ => None,
            },
            Self::ClockStep { .. }
            | Self::Ended { .. }
            | Self::TargetChange { .. }
            | Self::TargetsReplaced { .. }
            | Self::NotAdded { .. }
            | Self::UplinkLimit { .. }
            | Self::Tick { .. } => None,
        }
    }

    /// The round-trip time, if this event is the first reply to a probe, in time and timed.
    pub fn rtt(&self) -> Option<Duration> {
        match *self {
            Self::Answer {
                class: Classification::Received { rtt_ns, .. },
                ..
            } => rtt_ns.map(Duration::from_nanos),
            _ => None,
        }
    }
}

/// How a target changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetChange {
    /// It was added to the list.
    Added,
    /// It was removed from the list.
    Removed {
        /// The account of its last address, over all paths.
        account: ProbeCounts,
    },
    /// Its name has another address. The counters of the target go on; [`Prober::accounts`](super::Prober::accounts) has
    /// them by address.
    Address {
        /// The previous address; `None` if it had none.
        from: Option<IpAddr>,
        /// The current address; `None` if it has none, and is not pinged until it has one.
        to: Option<IpAddr>,
        /// The account of the previous address, over all paths. Complete: no probe is in flight.
        account: ProbeCounts,
        /// Why it has no address.
        failure: Option<LookupFailure>,
    },
    /// The resolver failed. The target is pinged at its known address. Reported once, until a lookup succeeds.
    LookupFailed {
        /// What the resolver says.
        failure: LookupFailure,
    },
}

impl fmt::Display for TargetChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added => write!(f, "added"),
            Self::Removed { .. } => write!(f, "removed"),
            Self::Address {
                from: Some(from),
                to: Some(to),
                ..
            } => write!(f, "the address changed from {from} to {to}"),
            Self::Address { to: Some(to), .. } => write!(f, "the address is {to}"),
            Self::Address { failure, .. } => {
                write!(f, "not pinged any more")?;
                failure
                    .as_ref()
                    .map_or(Ok(()), |failure| write!(f, ": {failure}"))
            }
            Self::LookupFailed { failure } => {
                write!(f, "lookup failed, still pinged: {failure}")
            }
        }
    }
}

/// The contents of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerMessage {
    /// An echo reply.
    #[non_exhaustive]
    Reply {
        /// Source address.
        source: IpAddr,
        /// TTL or hop limit on arrival; `None` if the back end does not report it.
        hops: Option<u8>,
        /// Sequence number in the ICMP header.
        sequence: u16,
        /// Length of the payload.
        payload_bytes: usize,
        /// Whether the checksum is right.
        is_intact: bool,
    },
    /// An ICMP error.
    #[non_exhaustive]
    Error {
        /// Router, type and code.
        error: NetworkError,
        /// The second word of the ICMP header: MTU, next hop or pointer, depending on the type.
        parameter: [u8; 4],
    },
}

impl From<&IcmpMessage<'_>> for AnswerMessage {
    #[inline]
    fn from(message: &IcmpMessage<'_>) -> Self {
        match message {
            IcmpMessage::Reply(reply) => Self::Reply {
                source: reply.source,
                hops: reply.hops,
                sequence: reply.sequence,
                payload_bytes: reply.payload.len(),
                is_intact: reply.intact,
            },
            IcmpMessage::Error(error) => Self::Error {
                error: NetworkError {
                    router: error.router,
                    kind: error.kind,
                    code: error.code,
                },
                parameter: error.parameter,
            },
        }
    }
}

/// A probe by target and sequence number.
struct Named(Probe);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(probe) = self;
        write!(f, "target {}, sequence {}", probe.target, probe.sequence())
    }
}

/// One line, such as `reply from 192.0.2.1: sequence 3, 812µs`.
impl fmt::Display for PingEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self {
            Self::Sent { probe } => return write!(f, "sent: {}", Named(*probe)),
            Self::NotSent { probe, error } => {
                return write!(f, "not sent: {}: {error}", Named(*probe));
            }
            Self::Lost { probe } => return write!(f, "lost: {}", Named(*probe)),
            Self::ClockStep { by_ns } => return write!(f, "the wall clock was set by {by_ns} ns"),
            Self::Tick { .. } => return write!(f, "tick"),
            Self::Ended { target } => return write!(f, "target {target}: its probes have ended"),
            Self::UplinkLimit { pps } => {
                return write!(
                    f,
                    "the interface has become an uplink: at most {pps} probes per second from now on"
                );
            }
            Self::NotAdded { hosts, error } => {
                return write!(f, "{hosts} targets were not added: {error}");
            }
            Self::TargetChange { target, change } => {
                return write!(f, "target {target}: {change}");
            }
            Self::TargetsReplaced {
                added,
                removed,
                unchanged,
            } => {
                return write!(
                    f,
                    "targets: {added} added, {removed} removed, {unchanged} unchanged"
                );
            }
            Self::Answer { class, message, .. } => {
                match message {
                    AnswerMessage::Reply { source, .. } => write!(f, "reply from {source}")?,
                    AnswerMessage::Error { error, .. } => {
                        let NetworkError { router, kind, code } = error;
                        write!(f, "ICMP error {kind}/{code} from {router}")?;
                    }
                }
                class
            }
        };
        if let Some(probe) = self.probe() {
            write!(f, ": sequence {}", probe.sequence())?;
        }
        match class {
            Classification::Received { .. } => {
                self.rtt().map_or(Ok(()), |rtt| write!(f, ", {rtt:?}"))
            }
            Classification::Error { .. } | Classification::Notice { .. } => Ok(()),
            Classification::Late { .. } => write!(f, ", late"),
            Classification::Duplicate { .. } => write!(f, ", duplicate"),
            Classification::Stale { .. } => write!(f, ", too late"),
            Classification::Corrupt { .. } => write!(f, ", corrupt"),
            Classification::CutShort { .. } => write!(f, ", truncated"),
            Classification::WrongSource { .. } => write!(f, ", wrong source"),
            Classification::Forged => write!(f, ", forged"),
            Classification::Foreign => write!(f, ", foreign"),
        }
    }
}
