//! Captures.

use std::ffi::{CString, c_int};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use tapline::Stopper;
use tapline::capture::{Capture, CaptureError, CaptureErrorKind, CaptureSummary, LiveCounters};
use tapline::filter::{CompiledFilter, FilterOptions, FilterTarget, LinkType};
use tapline::latency::Delays;

use crate::arguments::{Output, Text, options, put};
use crate::capture_options::{self, tapline_capture_options};
use crate::cursor::{Cursor, Untaken, tapline_cursor};
use crate::delays::{self, tapline_delays};
use crate::error::{c_string, tapline_error};
use crate::expression::ServiceNames;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::packet::{TAPLINE_UNKNOWN, tapline_interface, tapline_packet};
use crate::status::tapline_status;

/// A running capture: packets gather in its rings.
pub struct tapline_capture(());

/// The account of a capture: received = delivered + filtered + the sum of all lost. A number that cannot be known is
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
    /// The packets of the last batch are at its beginning, lent to C until the next call.
    packets: Box<[tapline_packet; MAX_BATCH]>,
    /// Number of packets of the last batch.
    count: usize,
    cursor: Cursor,
    names: Vec<CString>,
    /// The delays of the packets that were lent, if they are measured.
    delays: Option<Delays>,
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
                let drop_mode =
                    || "drop mode requires CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW".to_owned();
                let hint = capability.map_or_else(drop_mode, |name| format!("requires {name}"));
                return Self::from_source(tapline_status::Privilege, &error).hint(hint);
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
            Of::Other if matches!(error, CaptureError::FixedFilter) => (
                tapline_status::Unsupported,
                Some("open another capture, with one interface, mirror mode and backend auto"),
            ),
            _ => return Self::system(&error),
        };
        Self::from_source(status, &error).optional_hint(hint)
    }
}

/// Opens a capture: packets gather in its rings from here on. Close it with `tapline_capture_close` or
/// `tapline_capture_finish`.
///
/// The thread that first waits for packets gets a timer slack of 1 ns, so that its sleeps end on time (prctl(2),
/// PR_SET_TIMERSLACK), and with IMMEDIATE and ADAPTIVE a time slice of 0.1 ms. It has its own settings again when it has closed
/// all its captures. If another thread closes the last one, it keeps them.
///
/// Privileges: CAP_NET_RAW. Drop mode also requires CAP_BPF and CAP_NET_ADMIN, and CAP_PERFMON for shared memory.
/// CAP_SYS_ADMIN to enter a network namespace. Kernel: Linux 4.20; 5.9 in drop mode.
///
/// Errors: NOT_FOUND without such an interface, SYNTAX of the filter, PRIVILEGE, UNSUPPORTED, INVALID_ARGUMENT.
///
/// Threads: any.
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
        let wanted = unsafe { capture_options::wanted(&given) }?;
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
            packets: Box::new([tapline_packet::NONE; MAX_BATCH]),
            count: 0,
            cursor: Cursor::new(),
            names,
            delays: (given.measure_delays != 0).then(Delays::default),
        };
        out_capture.write(Open::table().insert(open, shared)?);
        Ok(tapline_status::Ok)
    })
}

/// Waits at most `timeout_ns` for packets, for ever if it is negative, and lends those that are ready: an array of at
/// most 128. Without packets in that time the array is empty. With a timeout of 0 packets do not wait for their batch.
///
/// For callers that need several packets at once, or each more than once. Every field of every packet is written to
/// memory and read again, which `tapline_capture_next_packets` avoids: docs/benchmarks.md compares their CPU time.
///
/// Nothing is copied or allocated. The array and the bytes are valid until the next call with this handle, other than
/// `tapline_capture_stats_read`, `tapline_capture_interface_stats`, `tapline_capture_delays` and `tapline_capture_stop`.
/// Meanwhile their memory is not free for new packets.
/// Packets of several interfaces come in the order of their times, as far as they are ready together.
///
/// Returns END when the capture has ended and its rings are empty.
///
/// Threads: one at a time with this handle.
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
            let untaken = open.cursor.take_back(&mut open.capture);
            let packets = if let Untaken::Array(left @ 1..) = untaken {
                &open.packets[open.count - left..open.count]
            } else if open.capture.next_batch(timeout)?.is_some() {
                open.fill()
            } else {
                return Ok(tapline_status::End);
            };
            out_packets.write(packets.as_ptr());
            out_count.write(packets.len());
            Ok(tapline_status::Ok)
        })
    })
}

impl Open {
    /// Puts packets that are ready into the array.
    fn fill(&mut self) -> &[tapline_packet] {
        let mut places = self.packets.iter_mut();
        self.capture.ready_batch().lend_each(MAX_BATCH, |packet| {
            if let Some(place) = places.next() {
                *place = tapline_packet::of(packet);
            }
        });
        self.count = MAX_BATCH - places.len();
        let packets = &self.packets[..self.count];
        if let Some(delays) = &mut self.delays {
            delays::record(delays, packets);
        }
        packets
    }
}

/// As `tapline_capture_next_batch`, for a reader that takes packet after packet with `tapline_cursor_next` of
/// tapline/cursor.h. That costs less per packet: where packets lie in a packet ring, only the fields that the caller
/// reads are made.
///
/// The cursor, the packets and their bytes are valid as the array of `tapline_capture_next_batch` is. Packets that the
/// cursor has not passed are lent again by the next call, which may add newer ones. At the end of the capture they count as
/// filtered, or as delivered if they were in an array.
///
/// Returns END when the capture has ended and its rings are empty.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_next_packets(
    capture: *mut tapline_capture,
    timeout_ns: i64,
    out_cursor: Option<&mut MaybeUninit<*mut tapline_cursor>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_cursor = out_cursor.ok_or_else(|| Error::null("out_cursor"))?;
        let timeout = u64::try_from(timeout_ns).map_or(Duration::MAX, Duration::from_nanos);
        Open::table().with(capture, |open| {
            let untaken = open.cursor.take_back(&mut open.capture);
            if let Untaken::Array(left @ 1..) = untaken {
                let packets = &open.packets[open.count - left..open.count];
                out_cursor.write(open.cursor.lend_array(packets));
                return Ok(tapline_status::Ok);
            }
            let Some(mut batch) = open.capture.next_batch(timeout)? else {
                return Ok(tapline_status::End);
            };
            let is_inline = open.delays.is_none() && !matches!(untaken, Untaken::AllFrames);
            let frames = is_inline.then(|| batch.frames()).flatten();
            out_cursor.write(if let Some((frames, interface)) = frames {
                open.cursor.lend_frames(frames, interface)
            } else {
                open.fill();
                open.cursor.lend_array(&open.packets[..open.count])
            });
            Ok(tapline_status::Ok)
        })
    })
}

/// Replaces the filter of a capture with one packet ring: of one interface in mirror mode, and of no XDP program. Null or an
/// empty text captures all packets. Each packet that is lent from here on has passed the new filter. Exception: packets of an
/// array that a cursor has not passed are lent once more. Packets in the ring that do not pass count as filtered.
///
/// Requires no privilege. Without CAP_BPF the number of filtered packets is not known.
///
/// Errors: SYNTAX of the filter, also for `ip broadcast`, which requires the netmask; UNSUPPORTED for another capture, or if the
/// filter is too long for classic BPF. The filter stays as it was then.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_capture_set_filter(
    capture: *mut tapline_capture,
    filter: Text<'_>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let text = filter.optional("filter")?.unwrap_or_default();
        Open::table().with(capture, |open| open.set_filter(text))?;
        Ok(tapline_status::Ok)
    })
}

impl Open {
    fn set_filter(&mut self, text: &str) -> Result<(), Error> {
        let interfaces = self.capture.interfaces();
        let link_type = interfaces.first().map_or(1, |one| one.link_type.0);
        let mut wanted = FilterOptions::new(LinkType::from_number(link_type));
        wanted.target = FilterTarget::Socket;
        let program = CompiledFilter::new(text, &wanted, &ServiceNames)?.classic();
        let program =
            program.map_err(|error| Error::from_source(tapline_status::Unsupported, &error))?;
        if let Untaken::Array(left) = self.cursor.take_back(&mut self.capture) {
            // The next call lends them.
            self.cursor
                .lend_array(&self.packets[self.count - left..self.count]);
        }
        Ok(self.capture.replace_filter(&program)?)
    }
}

/// The interfaces of a capture by position. END if there is none at `index`. The name is valid until the capture is
/// closed.
///
/// Threads: one at a time with this handle.
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

/// A descriptor for poll(2) and epoll(7): readable when `tapline_capture_next_batch` has work, which includes the end that
/// `max_ns` sets; call that with a timeout of 0 until it lends nothing. It belongs to the capture: do not close it.
///
/// Threads: one at a time with this handle.
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

/// The account of all interfaces so far: `delivered` as of the last call that lends packets, the rest as of the last tick,
/// which is at most a second old while such calls are made.
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

/// How long after their time stamps the packets so far were lent, if the option `measure_delays` is set. A packet that
/// waits because the caller is busy has a longer delay.
///
/// Errors: INVALID_ARGUMENT without the option.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_capture_delays(
    capture: *mut tapline_capture,
    out_delays: *mut tapline_delays,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if out_delays.is_null() {
            return Err(Error::null("out_delays"));
        }
        let delays = Open::table().with(capture, |open| {
            let none = || Error::argument("the capture has no option measure_delays");
            open.delays
                .as_ref()
                .map(tapline_delays::from)
                .ok_or_else(none)
        })?;
        // SAFETY: a struct of C.
        unsafe { delays.write_to(out_delays) }?;
        Ok(tapline_status::Ok)
    })
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
/// capture: do not close it, and disable the handler before you close the capture. Later another file may have its number.
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
/// as filtered. Does nothing if `capture` is null. The handle is invalid afterwards, also after an error, unless that is
/// INVALID_HANDLE, IN_USE or INVALID_ARGUMENT.
///
/// Errors: SYSTEM if waiting for packets failed earlier; the account is written nevertheless.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_capture_finish(
    capture: *mut tapline_capture,
    out_stats: *mut tapline_capture_stats,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: a struct of C.
        unsafe { tapline_capture_stats::check(out_stats) }?;
        if capture.is_null() {
            return Ok(tapline_status::Ok);
        }
        let counters = Open::table().shared(capture, |shared| Ok(shared.counters.clone()))?;
        let mut open = Open::table().take(capture)?;
        open.cursor.take_back(&mut open.capture);
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

/// Ends and closes a capture. Does nothing if `capture` is null. Packets and cursors that it has lent become invalid.
/// Using them is undefined behaviour; using the closed handle is an error.
///
/// Threads: one at a time with this handle.
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
