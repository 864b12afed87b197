//! Sending.

use std::mem::MaybeUninit;
use std::num::{NonZeroU64, NonZeroUsize};

use tapline::Stopper;
use tapline::send::{LongFrames, Rate, SendError, SendPath, SendQueue, SendSummary, Sender};

use crate::arguments::{Options, Output, Text, array, options};
use crate::error::tapline_error;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::namespace::{self, HandleNamespace};
use crate::packet::TAPLINE_UNKNOWN;
use crate::status::tapline_status;

/// Packets to send, in order, each with a time.
pub struct tapline_queue(());

/// An open send job.
pub struct tapline_sender(());

/// The unit of a rate.
#[repr(u32)]
pub enum tapline_rate {
    /// As fast as possible.
    Max = 0,
    /// Packets per second, evenly spaced.
    Packets = 1,
    /// Bits per second of the frames as they are given, without FCS.
    Bits = 2,
    /// Bits per second on the wire: with preamble, padding, FCS and gap.
    WireBits = 3,
    /// With the gaps of the packets' times.
    Recorded = 4,
    /// At the packets' times: nanoseconds of `CLOCK_MONOTONIC`.
    Absolute = 5,
}

/// How packets reach the device.
#[repr(u32)]
pub enum tapline_send_path {
    /// The fastest that the device supports.
    Auto = 0,
    /// XDP frames, redirected to the driver. Requires Linux 5.18, CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_SYS_ADMIN.
    LiveFrames = 1,
    /// An AF_XDP socket. Requires Linux 5.4.
    Xdp = 2,
    /// A packet socket that skips the queueing discipline.
    Bypass = 3,
    /// A packet socket through the queueing discipline.
    Qdisc = 4,
}

/// What happens to frames that are longer than the interface allows.
#[repr(u32)]
pub enum tapline_long_frames {
    /// The call fails.
    Refuse = 0,
    /// They are cut.
    Truncate = 1,
    /// They are not sent, and counted.
    Skip = 2,
}

/// What to send on, and how.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_sender_options<'a> {
    /// `sizeof(tapline_sender_options)`.
    pub size: usize,
    /// Name of the interface.
    pub interface: Text<'a>,
    /// Its network namespace: its name below /run/netns, or a path such as /proc/PID/ns/net. Default: that of the calling
    /// thread. Requires CAP_SYS_ADMIN.
    pub netns: Text<'a>,
    /// The rate, in units of `rate_unit`: of `PACKETS`, `BITS` and `WIRE_BITS`. Must be 0 with the others, otherwise
    /// INVALID_ARGUMENT.
    pub rate: u64,
    /// A `tapline_rate`.
    pub rate_unit: u32,
    /// A `tapline_send_path`.
    pub path: u32,
    /// A `tapline_long_frames`.
    pub long_frames: u32,
    /// Not 0: also send on an uplink: an interface with a route wider than 10.0.0.0/8 or fc00::/7.
    pub allow_uplink: u32,
    /// End after this many packets. Default: never.
    pub max_packets: u64,
}

// SAFETY: `repr(C)`, its size first, and integers and strings after it: zeros are the defaults.
unsafe impl Options for tapline_sender_options<'_> {
    const NAME: &'static str = "tapline_sender_options";
}

/// The account of a send job: submitted = accepted + failed. A number that cannot be known is `TAPLINE_UNKNOWN`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_sender_stats {
    /// `sizeof(tapline_sender_stats)`; the caller sets it. The library writes no more than that.
    pub size: usize,
    /// Packets that the job tried to send.
    pub submitted: u64,
    /// Packets that the kernel took.
    pub accepted: u64,
    /// Packets that the kernel refused.
    pub failed: u64,
    /// Packets that the device sent, by its own counters.
    pub delivered: u64,
    /// Bytes of the accepted packets, without FCS.
    pub bytes: u64,
    /// Frames above the MTU that were skipped; they are not submitted.
    pub skipped: u64,
    /// Frames above the MTU that were cut.
    pub truncated: u64,
    /// Sends repeated because the device's queue was full.
    pub retries: u64,
    /// From the first packet to the last.
    pub duration_ns: u64,
}

// SAFETY: `repr(C)`, its size first, and integers after it.
unsafe impl Output for tapline_sender_stats {
    const NAME: &'static str = "tapline_sender_stats";
}

struct Queue(SendQueue);

impl Object for Queue {
    type Handle = tapline_queue;
    type Shared = ();
    const KIND: Kind = Kind::Queue;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Queue> = Table::new();
        &TABLE
    }
}

/// An open send job.
pub(crate) struct Job {
    pub sender: Sender,
    pub interface: String,
    /// The namespace of the interface.
    pub namespace: HandleNamespace,
    /// Whether its rate follows the times of the packets.
    pub needs_times: bool,
}

impl Object for Job {
    type Handle = tapline_sender;
    type Shared = Stopper;
    const KIND: Kind = Kind::Sender;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Job> = Table::new();
        &TABLE
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        if error.is_privilege() {
            return Self::from_source(tapline_status::Privilege, &error)
                .hint("requires CAP_NET_RAW, and CAP_SYS_ADMIN for a namespace");
        }
        match &error {
            SendError::LinkDown { .. } => Self::from_source(tapline_status::System, &error)
                .hint("bring the interface up first"),
            SendError::Uplink { .. } | SendError::BecameUplink { .. } => {
                Self::from_source(tapline_status::InvalidArgument, &error)
                    .hint("set allow_uplink to send on it nevertheless")
            }
            SendError::TooLong { .. } => Self::from_source(tapline_status::InvalidArgument, &error)
                .hint("set long_frames to truncate or skip"),
            _ => Self::system(&error),
        }
    }
}

/// Creates a queue with memory for `packets` packets of `bytes` bytes in total. It grows when more are added: both may be 0.
/// Free it with `tapline_queue_free`.
///
/// Privileges: none. Errors: INVALID_ARGUMENT above 2^32 packets or 2^40 bytes, SYSTEM with ENOMEM.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_queue_create(
    packets: usize,
    bytes: usize,
    out_queue: Option<&mut MaybeUninit<*mut tapline_queue>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_queue = out_queue.ok_or_else(|| Error::null("out_queue"))?;
        if packets > 1 << 32 || bytes > 1 << 40 {
            return Err(Error::argument("a queue of that size is too large"));
        }
        let queue = SendQueue::try_with_capacity(packets, bytes).map_err(|_| {
            Error::no_memory(&format!(
                "a queue for {packets} packets of {bytes} bytes in total"
            ))
        })?;
        let queue = Queue(queue);
        out_queue.write(Queue::table().insert(queue, ())?);
        Ok(tapline_status::Ok)
    })
}

/// Adds a packet to a queue: its bytes from the link-layer header on, which are copied, and its time, which counts with
/// the rates `RECORDED` and `ABSOLUTE`. Allocates only if the queue's memory is used up.
///
/// Errors: SYSTEM with ENOMEM; the queue is unchanged then.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_queue_push(
    queue: *mut tapline_queue,
    time_ns: u64,
    data: *const u8,
    len: usize,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: an array of C.
        let frame = unsafe { array(data, len, "data") }?;
        if frame.is_empty() {
            return Err(Error::argument("a packet has no bytes"));
        }
        Queue::table().with(queue, |queue| {
            let pushed = queue.0.try_push(time_ns, frame);
            pushed.map_err(|_| Error::no_memory(&format!("a packet of {len} bytes")))?;
            Ok(tapline_status::Ok)
        })
    })
}

/// Removes all packets from a queue and keeps its memory.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_queue_clear(
    queue: *mut tapline_queue,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Queue::table().with(queue, |queue| {
            queue.0.clear();
            Ok(tapline_status::Ok)
        })
    })
}

/// Frees a queue. Does nothing if `queue` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_queue_free(
    queue: *mut tapline_queue,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !queue.is_null() {
            Queue::table().remove(queue)?;
        }
        Ok(tapline_status::Ok)
    })
}

fn rate(given: &tapline_sender_options<'_>) -> Result<Rate, Error> {
    let number = || NonZeroU64::new(given.rate).ok_or_else(|| Error::argument("rate is 0"));
    if given.rate != 0 && matches!(given.rate_unit, 0 | 4 | 5) {
        let rate = given.rate;
        return Err(match given.rate_unit {
            0 => Error::argument(format!(
                "rate is {rate}, and rate_unit does not say of what"
            ))
            .hint("set rate_unit to PACKETS, BITS or WIRE_BITS"),
            _ => Error::argument(format!(
                "rate is {rate}, and rate_unit takes the times of the packets"
            ))
            .hint("leave rate at 0"),
        });
    }
    Ok(match given.rate_unit {
        0 => Rate::Max,
        1 => Rate::Packets(number()?),
        2 => Rate::Bits(number()?),
        3 => Rate::WireBits(number()?),
        4 => Rate::Recorded(1.0),
        5 => Rate::Absolute,
        other => return Err(Error::value("rate_unit", other)),
    })
}

/// Opens a send job. Close it with `tapline_sender_finish`.
///
/// Rejects an uplink, an interface with a route wider than 10.0.0.0/8 or fc00::/7, unless the options allow it.
///
/// Privileges: CAP_NET_RAW; CAP_SYS_ADMIN to enter a network namespace; see also `tapline_send_path`.
///
/// Errors: NOT_FOUND without such an interface, PRIVILEGE, UNSUPPORTED, INVALID_ARGUMENT, SYSTEM if it is down.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_sender_open(
    sender_options: *const tapline_sender_options<'_>,
    out_sender: Option<&mut MaybeUninit<*mut tapline_sender>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_sender = out_sender.ok_or_else(|| Error::null("out_sender"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(sender_options) }?;
        let interface = given.interface.required("interface")?.to_owned();
        let mut wanted = tapline::send(&interface);
        let namespace = match given.netns.optional("netns")? {
            None => HandleNamespace::current(),
            Some(name) => {
                let namespace = namespace::named_or_at(name)?;
                wanted = wanted.namespace(namespace.clone());
                HandleNamespace::Known(namespace)
            }
        };
        wanted.rate = rate(&given)?;
        let needs_times = matches!(wanted.rate, Rate::Recorded(_) | Rate::Absolute);
        wanted.path = match given.path {
            0 => SendPath::Auto,
            1 => SendPath::LiveFrames,
            2 => SendPath::Xdp,
            3 => SendPath::Bypass,
            4 => SendPath::Qdisc,
            other => return Err(Error::value("path", other)),
        };
        wanted.long_frames = match given.long_frames {
            0 => LongFrames::Refuse,
            1 => LongFrames::Truncate,
            2 => LongFrames::Skip,
            other => return Err(Error::value("long_frames", other)),
        };
        wanted.threads = NonZeroUsize::MIN;
        wanted.allow_uplink = given.allow_uplink != 0;
        wanted.packets = (given.max_packets > 0).then_some(given.max_packets);
        let sender = wanted.open()?;
        let stopper = sender.stopper();
        let open = Job {
            sender,
            interface,
            namespace,
            needs_times,
        };
        out_sender.write(Job::table().insert(open, stopper)?);
        Ok(tapline_status::Ok)
    })
}

/// Sends one packet now, whatever the rate.
///
/// Errors: SYSTEM with the kernel's error; INVALID_ARGUMENT above the MTU. The account stays true.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_sender_inject(
    sender: *mut tapline_sender,
    data: *const u8,
    len: usize,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: an array of C.
        let frame = unsafe { array(data, len, "data") }?;
        if frame.is_empty() {
            return Err(Error::argument("a packet has no bytes"));
        }
        Job::table().with(sender, |open| Ok(open.sender.inject(frame)?))?;
        Ok(tapline_status::Ok)
    })
}

/// Sends the packets of `queue` at the rate of the job, and returns when the kernel has taken them. Several queues
/// continue one schedule. The queue keeps its packets, and nobody may change it meanwhile. Returns END if not all were
/// sent, because the job was stopped or has reached its packet limit.
///
/// Errors: as `tapline_sender_inject`; SYSTEM if the device takes no packets any more.
///
/// Threads: one at a time with either handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_sender_transmit(
    sender: *mut tapline_sender,
    queue: *mut tapline_queue,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Job::table().with(sender, |open| {
            Queue::table().with(queue, |queue| {
                let is_done = open.sender.transmit(&queue.0)?;
                Ok(if is_done {
                    tapline_status::Ok
                } else {
                    tapline_status::End
                })
            })
        })
    })
}

/// Ends `tapline_sender_transmit` or `tapline_sender_generate`, which returns END, as do all later calls of them.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_sender_stop(
    sender: *const tapline_sender,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Job::table().shared(sender, |stopper| {
            stopper.stop();
            Ok(tapline_status::Ok)
        })
    })
}

/// Closes a send job, and returns its account unless `out_stats` is null. Waits up to half a second for the device's
/// counters. Does nothing if `sender` is null. The handle is invalid afterwards, also after an error, unless that is
/// INVALID_HANDLE, IN_USE or INVALID_ARGUMENT.
///
/// Errors: SYSTEM if the job cannot be closed in order; the account is lost then.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_sender_finish(
    sender: *mut tapline_sender,
    out_stats: *mut tapline_sender_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: a struct of C.
        unsafe { tapline_sender_stats::check(out_stats) }?;
        if sender.is_null() {
            return Ok(tapline_status::Ok);
        }
        let stats = stats(&Job::table().take(sender)?.sender.finish()?);
        // SAFETY: a struct of C.
        unsafe { stats.write_to(out_stats) }?;
        Ok(tapline_status::Ok)
    })
}

fn stats(summary: &SendSummary) -> tapline_sender_stats {
    tapline_sender_stats {
        size: size_of::<tapline_sender_stats>(),
        submitted: summary.submitted,
        accepted: summary.accepted,
        failed: summary.all_failed(),
        delivered: summary.delivered.unwrap_or(TAPLINE_UNKNOWN),
        bytes: summary.bytes,
        skipped: summary.skipped,
        truncated: summary.truncated,
        retries: summary.retries,
        duration_ns: summary.duration.as_nanos() as u64,
    }
}
