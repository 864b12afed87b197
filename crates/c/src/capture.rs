//! Captures.

use std::ffi::{CString, c_int};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use tapline::capture::{
    Backend, Capture, CaptureError, CaptureErrorKind, CaptureOptions, CaptureSummary, DeliveryMode,
    DirectionFilter, LiveCounters, Mode, TimestampSource, UnmatchedAction, XdpAttachMode,
};
use tapline::{Namespace, Stopper};

use crate::arguments::{Options, Output, Text, array, options, put};
use crate::error::{c_string, tapline_error};
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::packet::{TAPLINE_UNKNOWN, tapline_interface, tapline_packet};
use crate::status::tapline_status;

/// A running capture: packets gather in its rings.
pub struct tapline_capture(());

/// Whether the network stack still sees the packets.
#[repr(u32)]
pub enum tapline_capture_mode {
    /// It does.
    Mirror = 0,
    /// An XDP program takes them from the driver. Requires CAP_BPF, CAP_NET_ADMIN and Linux 5.9.
    Drop = 1,
}

/// When packets are delivered.
#[repr(u32)]
pub enum tapline_delivery {
    /// In batches: when `delivery_bytes` have gathered or `delivery_ns` have passed. Defaults: 1 MiB, 10 ms.
    Batch = 0,
    /// Each packet at once.
    Immediate = 1,
    /// At once while packets are rare; otherwise a packet waits at most `delivery_ns`. Default: 1 ms.
    Adaptive = 2,
}

/// Which packets of an interface are captured.
#[repr(u32)]
pub enum tapline_capture_direction {
    /// Received and sent ones; in drop mode received ones.
    Both = 0,
    /// Received ones.
    In = 1,
    /// Sent ones.
    Out = 2,
}

/// How packets cross from the kernel.
#[repr(u32)]
pub enum tapline_backend {
    /// As suits mode and delivery.
    Auto = 0,
    /// Packet socket with a frame per packet.
    PacketV2 = 1,
    /// Packet socket with many packets in a block.
    PacketV3 = 2,
    /// AF_XDP sockets, in drop mode.
    Xdp = 3,
    /// BPF ring buffers that an XDP program fills.
    XdpRingbuf = 4,
}

/// Where XDP programs may run.
#[repr(u32)]
pub enum tapline_xdp_mode {
    /// In the driver, or else in the stack.
    Auto = 0,
    /// In the driver only.
    Native = 1,
    /// In the stack.
    Generic = 2,
}

/// What to capture, and how.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_capture_options<'a> {
    /// `sizeof(tapline_capture_options)`.
    pub size: usize,
    /// Names of the interfaces; at least one.
    pub interfaces: *const Text<'a>,
    /// Number of the interfaces.
    pub interface_count: usize,
    /// Name of the network namespace of the interfaces. Default: that of the calling thread.
    pub netns: Text<'a>,
    /// Packets to capture, in the language of pcap-filter(7). Default: all.
    pub filter: Text<'a>,
    /// Ring size per interface, bytes. Default: 32 MiB.
    pub buffer_bytes: usize,
    /// Bytes to keep of each packet. Default: 262144.
    pub snaplen: u32,
    /// A `tapline_capture_mode`.
    pub mode: u32,
    /// A `tapline_delivery`.
    pub delivery: u32,
    /// A `tapline_capture_direction`.
    pub direction: u32,
    /// See `tapline_delivery`.
    pub delivery_ns: u64,
    /// See `tapline_delivery`.
    pub delivery_bytes: usize,
    /// How long to look for the next packet before sleeping. Default: 0.
    pub spin_ns: u64,
    /// End after this many packets. Default: never.
    pub max_packets: u64,
    /// End after this time. Default: never.
    pub max_ns: u64,
    /// A `tapline_backend`.
    pub backend: u32,
    /// A `tapline_xdp_mode`.
    pub xdp_mode: u32,
    /// Not 0: do not put the interfaces into promiscuous mode.
    pub no_promiscuous: u32,
    /// Not 0: time stamps of the interface's hardware clock, instead of the kernel's.
    pub hardware_timestamps: u32,
    /// Not 0: in drop mode, also drop the packets that the filter refuses, instead of passing them to the stack.
    pub drop_others: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: `repr(C)`, its size first, and integers and strings after it: zeros are the defaults.
unsafe impl Options for tapline_capture_options<'_> {
    const NAME: &'static str = "tapline_capture_options";
}

/// What became of every packet: received = delivered + filtered + the sum of all lost. A number that cannot be known is
/// `TAPLINE_UNKNOWN`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_capture_stats {
    /// `sizeof(tapline_capture_stats)`; the caller sets it. The library writes no more than that.
    pub size: usize,
    /// Packets that the interfaces offered.
    pub received: u64,
    /// Packets delivered to the caller.
    pub delivered: u64,
    /// Length on the wire of the delivered packets, bytes.
    pub delivered_bytes: u64,
    /// Packets that the filter refused, or that came after the packet limit.
    pub filtered: u64,
    /// Lost by the interface, for lack of buffers.
    pub lost_nic: u64,
    /// Lost by the driver, or by the kernel before any ring.
    pub lost_driver: u64,
    /// Lost because the ring was full: the reader was too slow.
    pub lost_ring: u64,
    /// Lost by an XDP program that could not pass them to the reader.
    pub lost_program: u64,
    /// Left in the ring when the capture ended.
    pub lost_reader: u64,
    /// From the opening of the rings to the end of reception; `TAPLINE_UNKNOWN` while the capture runs.
    pub duration_ns: u64,
}

// SAFETY: `repr(C)`, its size first, and integers after it.
unsafe impl Output for tapline_capture_stats {
    const NAME: &'static str = "tapline_capture_stats";
}

/// The packets of a batch at most: their views stay in the first-level cache.
const MAX_BATCH: usize = 128;

struct Open {
    capture: Capture,
    /// The packets of the last batch, lent to C until the next call.
    packets: Vec<tapline_packet>,
    names: Vec<CString>,
}

/// What all threads may use.
struct Shared {
    stopper: Stopper,
    counters: LiveCounters,
}

impl Object for Open {
    type Handle = tapline_capture;
    type Shared = Shared;
    const KIND: Kind = Kind::Capture;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Open> = Table::new();
        &TABLE
    }
}

impl From<CaptureError> for Error {
    fn from(error: CaptureError) -> Self {
        use CaptureErrorKind as Of;
        let kind = error.kind();
        let (status, hint) = match kind {
            Of::InvalidOptions => match &error {
                CaptureError::Filter { .. } => (tapline_status::Syntax, None),
                _ => (tapline_status::InvalidArgument, None),
            },
            Of::MissingPrivilege { capability } => {
                let hint = capability.map(|name| format!("requires {name}"));
                return Self::from_source(tapline_status::Privilege, &error).optional_hint(hint);
            }
            Of::NoSuchInterface => (
                tapline_status::NotFound,
                Some("'ip link' lists the interfaces"),
            ),
            Of::InterfaceDown => (tapline_status::System, Some("bring the interface up first")),
            Of::NoMemoryForRing => (tapline_status::System, Some("use smaller buffer_bytes")),
            Of::NoMemoryForStall => (tapline_status::System, Some("use a smaller snaplen")),
            Of::NoHardwareTimestamps => (
                tapline_status::Unsupported,
                Some("leave hardware_timestamps at 0"),
            ),
            Of::OldKernel => (tapline_status::Unsupported, Some("requires Linux 4.20")),
            Of::NoXdp | Of::XdpProgramRefused => (
                tapline_status::Unsupported,
                Some("use mirror mode and backend auto"),
            ),
            Of::NoNativeXdp => (
                tapline_status::Unsupported,
                Some("use xdp_mode auto or generic"),
            ),
            Of::Unsupported | Of::FilterTooLongToSample => (tapline_status::Unsupported, None),
            _ => return Self::system(&error),
        };
        Self::from_source(status, &error).optional_hint(hint)
    }
}

fn delivery(given: &tapline_capture_options<'_>) -> Result<DeliveryMode, Error> {
    let duration = |default| match given.delivery_ns {
        0 => default,
        ns => Duration::from_nanos(ns),
    };
    Ok(match given.delivery {
        0 => DeliveryMode::Batch {
            min_bytes: match given.delivery_bytes {
                0 => 1 << 20,
                bytes => bytes,
            },
            timeout: duration(Duration::from_millis(10)),
        },
        1 => DeliveryMode::Immediate,
        2 => DeliveryMode::Adaptive {
            target: duration(Duration::from_millis(1)),
        },
        other => return Err(Error::value("delivery", other)),
    })
}

/// # Safety
/// The strings of `given` are those of C.
unsafe fn wanted_options(given: &tapline_capture_options<'_>) -> Result<CaptureOptions, Error> {
    // SAFETY: an array of C (promised by the caller).
    let names = unsafe { array(given.interfaces, given.interface_count, "interfaces") }?;
    let mut wanted = CaptureOptions::default();
    for name in names {
        wanted = wanted.interface(name.required("the name of an interface")?);
    }
    if let Some(name) = given.netns.optional("netns")? {
        let namespace = Namespace::named(name).map_err(|error| Error::system(&error))?;
        wanted.namespace = Some(namespace);
    }
    if let Some(text) = given.filter.optional("filter")? {
        wanted = wanted.filter(text)?;
    }
    if given.buffer_bytes > 0 {
        wanted.buffer_bytes = given.buffer_bytes;
    }
    if given.snaplen > 0 {
        wanted.snaplen = given.snaplen;
    }
    wanted.mode = match given.mode {
        0 => Mode::Mirror,
        1 => Mode::Drop,
        other => return Err(Error::value("mode", other)),
    };
    wanted.delivery = delivery(given)?;
    wanted.direction = match given.direction {
        0 => DirectionFilter::Both,
        1 => DirectionFilter::In,
        2 => DirectionFilter::Out,
        other => return Err(Error::value("direction", other)),
    };
    wanted.backend = match given.backend {
        0 => None,
        1 => Some(Backend::PacketV2),
        2 => Some(Backend::PacketV3),
        3 => Some(Backend::Xdp),
        4 => Some(Backend::XdpRingbuf),
        other => return Err(Error::value("backend", other)),
    };
    wanted.xdp = match given.xdp_mode {
        0 => XdpAttachMode::NativeOrGeneric,
        1 => XdpAttachMode::Native,
        2 => XdpAttachMode::Generic,
        other => return Err(Error::value("xdp_mode", other)),
    };
    wanted.spin = Duration::from_nanos(given.spin_ns);
    wanted.limits.packets = (given.max_packets > 0).then_some(given.max_packets);
    wanted.limits.duration = (given.max_ns > 0).then(|| Duration::from_nanos(given.max_ns));
    wanted.promiscuous = given.no_promiscuous == 0;
    if given.hardware_timestamps != 0 {
        wanted.timestamps = TimestampSource::Hardware;
    }
    if given.drop_others != 0 {
        wanted.others = UnmatchedAction::Drop;
    }
    Ok(wanted)
}

/// Opens a capture: packets gather in its rings from here on. Close it with `tapline_capture_close` or
/// `tapline_capture_finish`.
///
/// Privileges: CAP_NET_RAW. Drop mode also requires CAP_BPF and CAP_NET_ADMIN, and CAP_PERFMON for shared memory.
/// CAP_SYS_ADMIN to enter a network namespace. Kernel: Linux 4.20; 5.9 in drop mode.
///
/// Errors: NOT_FOUND without such an interface, SYNTAX of the filter, PRIVILEGE, UNSUPPORTED, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_capture_open(
    capture_options: *const tapline_capture_options<'_>,
    out_capture: Option<&mut MaybeUninit<*mut tapline_capture>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_capture = out_capture.ok_or_else(|| Error::null("out_capture"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(capture_options) }?;
        // SAFETY: its strings are those of C.
        let wanted = unsafe { wanted_options(&given) }?;
        let mut capture = wanted.open()?;
        let names = capture.interfaces().iter();
        let names = names.map(|interface| c_string(interface.name.as_deref().unwrap_or_default()));
        let names = names.collect();
        let shared = Shared {
            stopper: capture.stopper(),
            counters: capture.live(),
        };
        let open = Open {
            capture,
            packets: Vec::with_capacity(MAX_BATCH),
            names,
        };
        out_capture.write(Open::table().insert(open, shared)?);
        Ok(tapline_status::Ok)
    })
}

/// Waits at most `timeout_ns` for packets, for ever if it is negative, and lends those that are ready: an array of at
/// most 128. Without packets in that time the array is empty. With a timeout of 0 packets do not wait for their batch.
///
/// Nothing is copied or allocated. The array and the bytes are valid until the next call with this handle, other than
/// `tapline_capture_stats_read`, `tapline_capture_interface_stats` and `tapline_capture_stop`. Meanwhile their memory is not free for new packets.
/// Packets of several interfaces come in the order of their times, as far as they are ready together.
///
/// Returns END when the capture has ended and its rings are empty.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_next_batch(
    capture: *mut tapline_capture,
    timeout_ns: i64,
    out_packets: Option<&mut MaybeUninit<*const tapline_packet>>,
    out_count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_packets = out_packets.ok_or_else(|| Error::null("out_packets"))?;
        let out_count = out_count.ok_or_else(|| Error::null("out_count"))?;
        let timeout = u64::try_from(timeout_ns).map_or(Duration::MAX, Duration::from_nanos);
        Open::table().with(capture, |open| {
            open.packets.clear();
            let Some(mut batch) = open.capture.next_batch(timeout)? else {
                return Ok(tapline_status::End);
            };
            while open.packets.len() < MAX_BATCH
                && let Some(packet) = batch.next()
            {
                open.packets.push(tapline_packet::of(&packet));
            }
            out_packets.write(open.packets.as_ptr());
            out_count.write(open.packets.len());
            Ok(tapline_status::Ok)
        })
    })
}

/// The interfaces of a capture by position. END if there is none at `index`. The name is valid until the capture is
/// closed.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_interface(
    capture: *mut tapline_capture,
    index: usize,
    out_interface: Option<&mut MaybeUninit<tapline_interface>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Open::table().with(capture, |open| {
            let Some(interface) = open.capture.interfaces().get(index) else {
                return Ok(tapline_status::End);
            };
            let described = tapline_interface {
                name: open.names[index].as_ptr(),
                snaplen: interface.snaplen,
                link_type: interface.link_type.0,
                reserved: 0,
            };
            put(out_interface, described, "out_interface")?;
            Ok(tapline_status::Ok)
        })
    })
}

/// A descriptor for poll(2) and epoll(7): readable when `tapline_capture_next_batch` has work; call that with a timeout
/// of 0 until it lends nothing. It belongs to the capture: do not close it.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_fd(
    capture: *mut tapline_capture,
    out_fd: Option<&mut MaybeUninit<c_int>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let fd = Open::table().with(capture, |open| Ok(open.capture.as_fd().as_raw_fd()))?;
        put(out_fd, fd, "out_fd")?;
        Ok(tapline_status::Ok)
    })
}

/// The account of all interfaces so far: `delivered` as of now, the rest as of the last tick, which is at most a second
/// old while `tapline_capture_next_batch` is called.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_capture_stats_read(
    capture: *const tapline_capture,
    out_stats: *mut tapline_capture_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let accounts = Open::table().shared(capture, |shared| Ok(shared.counters.accounts()))?;
        let bytes = accounts.iter().map(|live| live.bytes).sum();
        let account = accounts.into_iter().map(|live| live.account).sum();
        let stats = stats(&account, bytes, TAPLINE_UNKNOWN);
        if out_stats.is_null() {
            return Err(Error::null("out_stats"));
        }
        // SAFETY: a struct of C.
        unsafe { stats.write_to(out_stats) }?;
        Ok(tapline_status::Ok)
    })
}

/// The account of the interface at `index` so far, as `tapline_capture_stats_read`. END if there is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_capture_interface_stats(
    capture: *const tapline_capture,
    index: usize,
    out_stats: *mut tapline_capture_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if out_stats.is_null() {
            return Err(Error::null("out_stats"));
        }
        let accounts = Open::table().shared(capture, |shared| Ok(shared.counters.accounts()))?;
        let Some(live) = accounts.get(index) else {
            return Ok(tapline_status::End);
        };
        let stats = stats(&live.account, live.bytes, TAPLINE_UNKNOWN);
        // SAFETY: a struct of C.
        unsafe { stats.write_to(out_stats) }?;
        Ok(tapline_status::Ok)
    })
}

fn stats(
    account: &tapline::capture::Account,
    bytes: u64,
    duration_ns: u64,
) -> tapline_capture_stats {
    let known = |count: Option<u64>| count.unwrap_or(TAPLINE_UNKNOWN);
    tapline_capture_stats {
        size: size_of::<tapline_capture_stats>(),
        received: known(account.received()),
        delivered: account.delivered,
        delivered_bytes: bytes,
        filtered: known(account.filtered),
        lost_nic: known(account.lost.nic),
        lost_driver: known(account.lost.driver),
        lost_ring: account.lost.ring,
        lost_program: account.lost.program,
        lost_reader: account.lost.reader,
        duration_ns,
    }
}

/// Ends the flow of packets. Those in the rings can still be read, up to END. Further calls change nothing.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_stop(
    capture: *const tapline_capture,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Open::table().shared(capture, |shared| {
            shared.stopper.stop();
            Ok(tapline_status::Ok)
        })
    })
}

/// A descriptor for signal handlers: writing a byte to it does what `tapline_capture_stop` does. It belongs to the
/// capture: do not close it.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_stop_fd(
    capture: *const tapline_capture,
    out_fd: Option<&mut MaybeUninit<c_int>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let fd = Open::table().shared(capture, |shared| Ok(shared.stopper.as_fd().as_raw_fd()))?;
        put(out_fd, fd, "out_fd")?;
        Ok(tapline_status::Ok)
    })
}

/// Ends and closes a capture, and returns its final account unless `out_stats` is null. Packets still in the rings count
/// as filtered. The handle is invalid afterwards, unless the call returns INVALID_HANDLE, IN_USE or INVALID_ARGUMENT.
///
/// Errors: SYSTEM if waiting for packets failed earlier; the account is written nevertheless.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_capture_finish(
    capture: *mut tapline_capture,
    out_stats: *mut tapline_capture_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: a struct of C.
        unsafe { tapline_capture_stats::check(out_stats) }?;
        let counters = Open::table().shared(capture, |shared| Ok(shared.counters.clone()))?;
        let Some(open) = Open::table().remove(capture)? else {
            return Ok(tapline_status::Ok);
        };
        let (summary, failure) = match open.capture.finish() {
            Ok(summary) => (Some(summary), None),
            Err(error) => {
                let text = Error::system(&error);
                (error.into_summary().ok(), Some(text))
            }
        };
        if let Some(summary) = summary {
            let CaptureSummary {
                account, duration, ..
            } = &summary;
            let (_, bytes) = counters.delivered();
            let stats = stats(account, bytes, duration.as_nanos() as u64);
            // SAFETY: a struct of C.
            unsafe { stats.write_to(out_stats) }?;
        }
        failure.map_or(Ok(tapline_status::Ok), Err)
    })
}

/// Ends and closes a capture. Does nothing if `capture` is null.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_close(
    capture: *mut tapline_capture,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !capture.is_null() {
            Open::table().remove(capture)?;
        }
        Ok(tapline_status::Ok)
    })
}
