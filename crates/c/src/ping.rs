//! Ping.

use std::ffi::{CString, c_char, c_int};
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use tapline::Stopper;
use tapline::ping::targets::TargetErrorKind;
use tapline::ping::{
    AnswerMessage, Classification, Ping, PingError, PingEvent, Probe, ProbeCounts, Prober,
};

use crate::arguments::{Output, options, put};
use crate::error::{c_string, tapline_error};
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::packet::TAPLINE_UNKNOWN;
use crate::ping_options::{self, tapline_ping_options};
use crate::status::tapline_status;

/// A run of probes to one host, or to a million.
pub struct tapline_ping(());

/// What happened.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum tapline_ping_event_kind {
    /// Something that concerns no single probe, such as a set wall clock.
    Other = 0,
    /// A probe was passed to the kernel.
    Sent = 1,
    /// This host could not send a probe: see `os_error`.
    NotSent = 2,
    /// The first answer to a probe, in time.
    Received = 3,
    /// The first answer, after the timeout.
    Late = 4,
    /// A further answer.
    Duplicate = 5,
    /// An answer whose bytes differ from those sent.
    Corrupt = 6,
    /// An ICMP error: see `icmp_type` and `icmp_code`.
    Error = 7,
    /// A probe timed out.
    Lost = 8,
}

/// Something that happened in a run.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_ping_event {
    /// A `tapline_ping_event_kind`.
    pub kind: u32,
    /// Position of the target; 0 with `OTHER`.
    pub target: u32,
    /// Sequence number of the probe, in the ICMP header.
    pub sequence: u16,
    /// Type of an ICMP error.
    pub icmp_type: u8,
    /// Code of an ICMP error.
    pub icmp_code: u8,
    /// Error number of the kernel, with `NOT_SENT`.
    pub os_error: i32,
    /// Round-trip time of an answer; `TAPLINE_UNKNOWN` without one.
    pub rtt_ns: u64,
    /// When an answer arrived: nanoseconds since 1970; `TAPLINE_UNKNOWN` without one.
    pub time_ns: u64,
}

/// The account of a target, or of all: sent = received + lost + late + errors + those in flight. A time that is not
/// known is `TAPLINE_UNKNOWN`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_ping_stats {
    /// `sizeof(tapline_ping_stats)`; the caller sets it. The library writes no more than that.
    pub size: usize,
    /// Probes sent.
    pub sent: u64,
    /// Probes answered in time.
    pub received: u64,
    /// Probes without an answer.
    pub lost: u64,
    /// Probes answered after the timeout.
    pub late: u64,
    /// Further answers to answered probes.
    pub duplicate: u64,
    /// Answers whose bytes differ from those sent.
    pub corrupt: u64,
    /// Probes that an ICMP error ended.
    pub errors: u64,
    /// Probes that this host could not send.
    pub local_drops: u64,
    /// Shortest round trip.
    pub rtt_min_ns: u64,
    /// Mean round trip.
    pub rtt_mean_ns: u64,
    /// Longest round trip.
    pub rtt_max_ns: u64,
    /// Standard deviation of the round trips.
    pub rtt_stddev_ns: u64,
    /// Half of the round trips take at most this; of a target only with the option `histograms`.
    pub rtt_p50_ns: u64,
    /// 99 % of the round trips take at most this; of a target only with the option `histograms`.
    pub rtt_p99_ns: u64,
    /// The target's address as text; empty if it has none, or for all.
    pub address: [c_char; 48],
}

// SAFETY: `repr(C)`, its size first, and integers after it.
unsafe impl Output for tapline_ping_stats {
    const NAME: &'static str = "tapline_ping_stats";
}

struct Open {
    ping: Ping,
    /// The last events, lent to C until the next call.
    events: Vec<tapline_ping_event>,
    /// The last name, lent likewise.
    name: Option<CString>,
}

impl Object for Open {
    type Handle = tapline_ping;
    type Shared = Stopper;
    const KIND: Kind = Kind::Ping;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Open> = Table::new();
        &TABLE
    }
}

impl From<PingError> for Error {
    fn from(error: PingError) -> Self {
        let status = match &error {
            PingError::Target(target) => match status_of(&target.kind) {
                Some(status) => status,
                None => return Self::system(&error),
            },
            PingError::Options(plan) => {
                let field = field_of(plan.what);
                let (value, low, high) = (plan.value, plan.low, plan.high);
                return Self::argument(format!("{field} is {value}, not between {low} and {high}"));
            }
            PingError::NotPermitted { .. } => tapline_status::Privilege,
            PingError::Removed => tapline_status::NotFound,
            _ => return Self::system(&error),
        };
        Self::from_source(status, &error)
    }
}

/// What a wrong target is; `None` if the system's error says it.
fn status_of(wrong: &TargetErrorKind) -> Option<tapline_status> {
    match wrong {
        TargetErrorKind::Unresolved { source } if source.kind() != ErrorKind::NotFound => None,
        TargetErrorKind::Zone { .. } => None,
        TargetErrorKind::Unresolved { .. } | TargetErrorKind::NoAddress => {
            Some(tapline_status::NotFound)
        }
        TargetErrorKind::TooMany { .. } | TargetErrorKind::WrongFamily => {
            Some(tapline_status::InvalidArgument)
        }
        _ => Some(tapline_status::Syntax),
    }
}

/// The field of the options that sets a value of the plan.
fn field_of(what: &str) -> &str {
    match what {
        "payload (bytes)" => "payload_bytes",
        "interval (ns)" => "interval_ns",
        "timeout (ns)" => "timeout_ns",
        "rate" => "rate_pps",
        "targets" => "target_count",
        other => other,
    }
}

impl tapline_ping_event {
    fn of(event: &PingEvent) -> Self {
        use tapline_ping_event_kind as Of;
        let probe = event.probe();
        let mut seen = Self {
            kind: Of::Other as u32,
            target: probe.map_or(0, |probe| probe.target),
            sequence: probe.map_or(0, Probe::sequence),
            icmp_type: 0,
            icmp_code: 0,
            os_error: 0,
            rtt_ns: TAPLINE_UNKNOWN,
            time_ns: TAPLINE_UNKNOWN,
        };
        let kind = match event {
            PingEvent::Sent { .. } => Of::Sent,
            PingEvent::Lost { .. } => Of::Lost,
            PingEvent::NotSent { error, .. } => {
                seen.os_error = error.raw_os_error().unwrap_or(0);
                Of::NotSent
            }
            PingEvent::Answer {
                class,
                message,
                wall_ns,
            } => {
                seen.time_ns = wall_ns.unwrap_or(TAPLINE_UNKNOWN);
                if let AnswerMessage::Error { error, .. } = message {
                    (seen.icmp_type, seen.icmp_code) = (error.kind, error.code);
                }
                seen.answer(class)
            }
            _ => Of::Other,
        };
        seen.kind = kind as u32;
        seen
    }

    fn answer(&mut self, class: &Classification) -> tapline_ping_event_kind {
        use tapline_ping_event_kind as Of;
        let (kind, rtt_ns) = match class {
            Classification::Received { rtt_ns, .. } => (Of::Received, *rtt_ns),
            Classification::Late { rtt_ns, .. } => (Of::Late, *rtt_ns),
            Classification::Duplicate { rtt_ns, .. } => (Of::Duplicate, *rtt_ns),
            Classification::Corrupt { target, .. } => {
                self.target = *target;
                (Of::Corrupt, None)
            }
            Classification::Error { .. } => (Of::Error, None),
            _ => (Of::Other, None),
        };
        self.rtt_ns = rtt_ns.unwrap_or(TAPLINE_UNKNOWN);
        kind
    }
}

impl tapline_ping_stats {
    fn of(counts: &ProbeCounts) -> Self {
        Self {
            size: size_of::<Self>(),
            sent: counts.sent,
            received: counts.received,
            lost: counts.lost,
            late: counts.late,
            duplicate: counts.duplicate,
            corrupt: counts.corrupt,
            errors: counts.errors,
            local_drops: counts.local_drops,
            rtt_min_ns: TAPLINE_UNKNOWN,
            rtt_mean_ns: TAPLINE_UNKNOWN,
            rtt_max_ns: TAPLINE_UNKNOWN,
            rtt_stddev_ns: TAPLINE_UNKNOWN,
            rtt_p50_ns: TAPLINE_UNKNOWN,
            rtt_p99_ns: TAPLINE_UNKNOWN,
            address: [0; 48],
        }
    }

    fn total(prober: &Prober) -> Self {
        let mut stats = Self::of(&prober.total());
        let times = prober.histogram();
        if let Some((min, max)) = times.range_ns() {
            (stats.rtt_min_ns, stats.rtt_max_ns) = (min, max);
        }
        if let Some((mean, stddev)) = times.mean_and_stddev_ns() {
            stats.set_mean(mean, stddev);
        }
        stats.rtt_p50_ns = times.quantile(0.5).unwrap_or(TAPLINE_UNKNOWN);
        stats.rtt_p99_ns = times.quantile(0.99).unwrap_or(TAPLINE_UNKNOWN);
        stats
    }

    fn target(prober: &Prober, target: u32) -> Self {
        let mut stats = Self::of(&prober.counts(target));
        if let Some(rtt) = prober.rtt(target) {
            (stats.rtt_min_ns, stats.rtt_max_ns) = (rtt.min_ns, rtt.max_ns);
            stats.set_mean(rtt.mean_ns, rtt.stddev_ns);
        }
        stats.rtt_p50_ns = prober.quantile(target, 0.5).unwrap_or(TAPLINE_UNKNOWN);
        stats.rtt_p99_ns = prober.quantile(target, 0.99).unwrap_or(TAPLINE_UNKNOWN);
        if let Some(address) = prober.targets().address(target) {
            stats.set_address(address);
        }
        stats
    }

    #[expect(clippy::cast_sign_loss, reason = "durations")]
    fn set_mean(&mut self, mean_ns: f64, stddev_ns: f64) {
        (self.rtt_mean_ns, self.rtt_stddev_ns) = (mean_ns as u64, stddev_ns as u64);
    }

    fn set_address(&mut self, address: IpAddr) {
        // At most 45 characters, and a zero byte.
        let text = address.to_string();
        for (place, byte) in self.address.iter_mut().zip(text.bytes()) {
            *place = c_char::from_ne_bytes([byte]);
        }
    }
}

/// Opens a run: its first probe is due at once. Host names are resolved here, which may take seconds. Close it with
/// `tapline_ping_finish`.
///
/// Privileges: CAP_NET_RAW, or a process group within `net.ipv4.ping_group_range`; CAP_SYS_ADMIN to enter a network namespace.
///
/// Errors: SYNTAX of a target; NOT_FOUND for a host name that does not exist or has no address of the family; SYSTEM if the
/// resolver does not answer, if this host does not have the source address, and with ENOMEM if there is no memory for the
/// statistics of all targets; INVALID_ARGUMENT, PRIVILEGE.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_ping_open(
    ping_options: *const tapline_ping_options<'_>,
    out_ping: Option<&mut MaybeUninit<*mut tapline_ping>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_ping = out_ping.ok_or_else(|| Error::null("out_ping"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(ping_options) }?;
        // SAFETY: its strings come from C.
        let ping = unsafe { ping_options::open(&given) }?;
        let stopper = ping.stopper();
        let open = Open {
            ping,
            events: Vec::new(),
            name: None,
        };
        out_ping.write(Open::table().insert(open, stopper)?);
        Ok(tapline_status::Ok)
    })
}

/// Sends what is due, and lends all events up to now; or waits at most `timeout_ns` for some, for ever if it is
/// negative. Without events in that time the array is empty. It is valid until the next call with this handle other than
/// `tapline_ping_stop`. Probes are sent within this function only.
///
/// Returns END when the run is over.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_ping_next_batch(
    ping: *mut tapline_ping,
    timeout_ns: i64,
    out_events: Option<&mut MaybeUninit<*const tapline_ping_event>>,
    out_count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_events = out_events.ok_or_else(|| Error::null("out_events"))?;
        let out_count = out_count.ok_or_else(|| Error::null("out_count"))?;
        let timeout = u64::try_from(timeout_ns).map_or(FOR_EVER, Duration::from_nanos);
        Open::table().with(ping, |open| {
            open.events.clear();
            let Some(events) = open.ping.next_batch(timeout)? else {
                return Ok(tapline_status::End);
            };
            // Their account has them, too.
            let reserved = open.events.try_reserve(events.len());
            reserved.map_err(|_| Error::no_memory("the events"))?;
            open.events
                .extend(events.map(|event| tapline_ping_event::of(&event)));
            out_events.write(open.events.as_ptr());
            out_count.write(open.events.len());
            Ok(tapline_status::Ok)
        })
    })
}

/// A timeout that never passes: 292 years.
const FOR_EVER: Duration = Duration::from_nanos(i64::MAX as u64);

/// The account of all targets so far.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_ping_stats_read(
    ping: *mut tapline_ping,
    out_stats: *mut tapline_ping_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if out_stats.is_null() {
            return Err(Error::null("out_stats"));
        }
        let stats = Open::table().with(ping, |open| {
            Ok(tapline_ping_stats::total(open.ping.statistics()))
        })?;
        // SAFETY: a struct of C.
        unsafe { stats.write_to(out_stats) }?;
        Ok(tapline_status::Ok)
    })
}

/// The account of the target at position `target` so far. A prefix or range is as many targets as it has addresses.
/// Returns END behind the last target.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_ping_target_stats(
    ping: *mut tapline_ping,
    target: u32,
    out_stats: *mut tapline_ping_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if out_stats.is_null() {
            return Err(Error::null("out_stats"));
        }
        let stats = Open::table().with(ping, |open| {
            let prober = open.ping.statistics();
            let is_known = target < prober.targets().len();
            Ok(is_known.then(|| tapline_ping_stats::target(prober, target)))
        })?;
        let Some(stats) = stats else {
            return Ok(tapline_status::End);
        };
        // SAFETY: a struct of C.
        unsafe { stats.write_to(out_stats) }?;
        Ok(tapline_status::Ok)
    })
}

/// Lends the host name of the target at position `target`, or null if it was given as an address. It is valid until the next
/// call with this handle other than `tapline_ping_stop`. Returns END behind the last target.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_ping_target_name(
    ping: *mut tapline_ping,
    target: u32,
    out_name: Option<&mut MaybeUninit<*const c_char>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_name = out_name.ok_or_else(|| Error::null("out_name"))?;
        Open::table().with(ping, |open| {
            let targets = open.ping.statistics().targets();
            if target >= targets.len() {
                return Ok(tapline_status::End);
            }
            open.name = targets.name(target).map(c_string);
            out_name.write(open.name.as_ref().map_or(ptr::null(), |name| name.as_ptr()));
            Ok(tapline_status::Ok)
        })
    })
}

/// Ends the run: probes in flight stay unanswered.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_ping_stop(
    ping: *const tapline_ping,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Open::table().shared(ping, |stopper| {
            stopper.stop();
            Ok(tapline_status::Ok)
        })
    })
}

/// A descriptor for poll(2) and epoll(7): readable when `tapline_ping_next_batch` has work; call that with a timeout of
/// 0. It belongs to the run: do not close it.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_ping_fd(
    ping: *mut tapline_ping,
    out_fd: Option<&mut MaybeUninit<c_int>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let fd = Open::table().with(ping, |open| Ok(open.ping.as_fd().as_raw_fd()))?;
        put(out_fd, fd, "out_fd")?;
        Ok(tapline_status::Ok)
    })
}

/// Ends and closes a run, and returns the account of all targets unless `out_stats` is null. Does nothing if `ping` is
/// null. The handle is invalid afterwards, also after an error, unless that is INVALID_HANDLE, IN_USE or INVALID_ARGUMENT.
///
/// Errors: SYSTEM if the run cannot be closed in order; the account is lost then.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_ping_finish(
    ping: *mut tapline_ping,
    out_stats: *mut tapline_ping_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: a struct of C.
        unsafe { tapline_ping_stats::check(out_stats) }?;
        if ping.is_null() {
            return Ok(tapline_status::Ok);
        }
        let summary = Open::table().take(ping)?.ping.finish()?;
        let stats = tapline_ping_stats::total(&summary.statistics);
        // SAFETY: a struct of C.
        unsafe { stats.write_to(out_stats) }?;
        Ok(tapline_status::Ok)
    })
}
