//! Reading: `pcap_loop`, `pcap_dispatch`, `pcap_next` and what they wait for.

use std::cell::OnceCell;
use std::ffi::{c_char, c_int, c_uchar};
use std::io;
use std::os::fd::RawFd;
use std::ptr;
use std::time::{Duration, Instant};

use crate::ffi::abi::{ERROR, ERROR_BREAK, pcap_handler, pcap_pkthdr};
use crate::ffi::cancel::without_cancellation;
use crate::ffi::guard::{catch, guard_with, inside};
use crate::ffi::text::refuse;
use crate::handle::{Source, State, pcap_t, reporting, state, wake};
use crate::packet::Ready;
use crate::wake::Wake;

unsafe extern "C-unwind" {
    /// ppoll(2), where `pthread_cancel` may end the thread.
    fn ppoll(
        descriptors: *mut libc::pollfd,
        count: libc::nfds_t,
        time: *const libc::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int;
}

/// How one reading ended.
#[derive(Clone, Copy)]
enum ReadEnd {
    /// With this many packets.
    Packets(c_int),
    /// The source has no more.
    End(c_int),
    /// `pcap_breakloop`.
    Break,
    /// With this status. The error text is in the handle.
    Failed(c_int),
}

/// What a reading does next. Nothing here has a destructor: while the function of the program runs, or the thread sleeps, an
/// exception or the end of the thread may take the frames away.
#[derive(Clone, Copy)]
enum Step {
    /// Passes a packet on.
    Deliver(pcap_pkthdr, *const u8),
    /// Looks again.
    Again,
    /// Sleeps, and looks again.
    Sleep(Sleep),
    /// Ends.
    End(ReadEnd),
}

/// After a panic.
const FAILED: Step = Step::End(ReadEnd::Failed(ERROR));

/// Calls `deliver` with at most `most` packets (all that are ready, if it is not positive). Waits for the first one.
///
/// # Safety
/// `handle` is open, and this thread alone is in a call with it.
unsafe fn read(
    handle: *mut pcap_t,
    most: c_int,
    mut deliver: impl FnMut(pcap_pkthdr, *const u8),
) -> ReadEnd {
    // SAFETY: promised by the caller.
    let Some(wake) = (unsafe { wake(handle) }) else {
        return ReadEnd::Failed(ERROR);
    };
    // SAFETY: promised by the caller.
    let refused = unsafe { with_state(handle, Some(ERROR), State::unreadable) };
    if let Some(status) = refused {
        return ReadEnd::Failed(status);
    }
    let mut packets = 0;
    let until = OnceCell::new();
    let mut slept = None;
    loop {
        if wake.is_requested() {
            if packets > 0 {
                // The next call reports the request.
                return ReadEnd::Packets(packets);
            }
            wake.take();
            return ReadEnd::Break;
        }
        // Most calls find a packet here.
        // SAFETY: promised by the caller.
        let at_hand = unsafe { with_state(handle, Some(FAILED), next_in_batch) };
        let step = at_hand.unwrap_or_else(|| {
            let find = |state: &mut State| find(state, wake, packets, &until, slept.take());
            // SAFETY: promised by the caller.
            without_cancellation(|| unsafe { with_state(handle, FAILED, find) })
        });
        match step {
            Step::Deliver(header, data) => {
                deliver(header, data);
                packets += 1;
                if packets == most || packets == c_int::MAX {
                    return ReadEnd::Packets(packets);
                }
            }
            Step::Again => {}
            Step::Sleep(sleep) => slept = Some(sleep.run()),
            Step::End(ended) => return ended,
        }
    }
}

/// Calls `body` with the state of a handle; the reference ends with it. `failed` is the result if the handle is null, and after
/// a panic, of which the handle then has an error text.
///
/// # Safety
/// As [`read`].
#[inline]
unsafe fn with_state<R: Copy>(
    handle: *mut pcap_t,
    failed: R,
    body: impl FnOnce(&mut State) -> R,
) -> R {
    // SAFETY: promised by the caller.
    let reported = unsafe { reporting(handle, failed) };
    catch(reported, || {
        // SAFETY: promised by the caller.
        unsafe { state(handle) }.map_or(failed, body)
    })
}

/// The next packet of the batch at hand.
#[inline]
fn next_in_batch(state: &mut State) -> Option<Step> {
    let Source::Live(live) = &mut state.source else {
        return None;
    };
    let packet = live.next_in_batch()?;
    Some(Step::Deliver(state.header_of(&packet), packet.data))
}

/// What a reading does that has no packet at hand and has delivered `packets` so far. `until` is when it ends, once that is known.
fn find(
    state: &mut State,
    wake: &Wake,
    packets: c_int,
    until: &OnceCell<Option<Instant>>,
    slept: Option<SleepResult>,
) -> Step {
    if let Some(ended) = slept.and_then(|slept| slept.ended(state, wake)) {
        return Step::End(ended);
    }
    match state.ready() {
        Ok(Ready::Packet(packet)) => Step::Deliver(state.header_of(&packet), packet.data),
        Ok(Ready::Nothing) if packets > 0 || state.is_nonblocking => {
            Step::End(ReadEnd::Packets(packets))
        }
        Ok(Ready::Refused) if packets > 0 => Step::End(ReadEnd::Packets(packets)),
        Ok(found @ (Ready::Nothing | Ready::Refused)) => {
            let timeout = timeout(state);
            let until = *until.get_or_init(|| timeout.map(|time| Instant::now() + time));
            // Packets that are refused do not keep the call from ending.
            if until.is_some_and(|until| Instant::now() >= until) {
                return Step::End(ReadEnd::Packets(0));
            }
            if matches!(found, Ready::Refused) {
                return Step::Again;
            }
            next_wait(state, wake, until)
        }
        Ok(Ready::End) => Step::End(ReadEnd::End(packets)),
        Err(message) => Step::End(if packets > 0 && state.is_live() {
            // The next call finds the same.
            ReadEnd::Packets(packets)
        } else {
            ReadEnd::Failed(state.fail(ERROR, &message))
        }),
    }
}

/// Longest time that a call in non-blocking mode reads packets that are all refused.
const REFUSED_TIME: Duration = Duration::from_millis(10);

/// Longest time of a call that returns without packets; `None`: no end.
fn timeout(state: &State) -> Option<Duration> {
    if state.is_nonblocking {
        return Some(REFUSED_TIME);
    }
    match &state.source {
        Source::Live(live) => live.timeout,
        Source::Any(any) => any.timeout,
        _ => None,
    }
}

/// The descriptor that is readable when packets are ready.
fn descriptor(state: &State) -> Option<RawFd> {
    match &state.source {
        Source::Live(live) => Some(live.descriptor()),
        Source::Any(any) => Some(any.descriptor()),
        _ => None,
    }
}

/// Longest sleep while the interface is down: nothing else tells that it was removed.
const DOWN_SLEEP: Duration = Duration::from_millis(10);

/// [`DOWN_SLEEP`] for programs that sleep themselves.
static DOWN_TIMEOUT: libc::timeval = libc::timeval {
    tv_sec: 0,
    tv_usec: 10_000,
};

/// Whether the interface of a capture is down.
fn is_down(state: &State) -> bool {
    matches!(&state.source, Source::Live(live) if live.is_down())
}

/// The sleep of a reading that ends at `until` at the latest: until packets may be ready, or until there is a request to end.
fn next_wait(state: &mut State, wake: &Wake, until: Option<Instant>) -> Step {
    let batch_time = match &mut state.source {
        Source::Live(live) => live.batch_time(),
        _ => None,
    };
    let packets = match batch_time {
        // Packets are left in the ring for that time.
        Some(_) => -1,
        None => match descriptor(state) {
            Some(descriptor) => descriptor,
            None => return Step::Again,
        },
    };
    let longest = batch_time.or_else(|| is_down(state).then_some(DOWN_SLEEP));
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let is_short = longest.is_some_and(|longest| left.is_none_or(|left| left > longest));
    Step::Sleep(Sleep {
        descriptors: [packets, wake.fd()],
        time: if is_short { longest } else { left },
        is_last: batch_time.is_none() && !is_short,
    })
}

/// A sleep until one of the descriptors is readable.
#[derive(Clone, Copy)]
struct Sleep {
    /// Of the capture and of requests to end; negative ones are none.
    descriptors: [RawFd; 2],
    /// The longest time; `None`: no end.
    time: Option<Duration>,
    /// Whether the reading ends after that time.
    is_last: bool,
}

/// How a sleep ended.
#[derive(Clone, Copy)]
struct SleepResult {
    /// Number of the error; 0 is none.
    error: c_int,
    /// Whether there is, or was, a request to end.
    is_woken: bool,
    /// Whether it was the last one, and its time is over.
    is_over: bool,
}

impl Sleep {
    /// Sleeps. `pthread_cancel` may end the thread here.
    fn run(self) -> SleepResult {
        let mut descriptors = self.descriptors.map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        let time = self.time.map(|time| libc::timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: two descriptors and a time, which live; no signal mask.
        let ready = unsafe { ppoll(descriptors.as_mut_ptr(), 2, time, ptr::null()) };
        SleepResult {
            error: if ready < 0 {
                let error = io::Error::last_os_error();
                error.raw_os_error().unwrap_or(libc::EIO)
            } else {
                0
            },
            is_woken: descriptors[1].revents != 0,
            is_over: ready == 0 && self.is_last,
        }
    }
}

impl SleepResult {
    /// How the reading has ended with this sleep; `None` if it goes on.
    fn ended(self, state: &mut State, wake: &Wake) -> Option<ReadEnd> {
        // A signal handler may have asked to end.
        if self.error != 0 && self.error != libc::EINTR {
            let error = io::Error::from_raw_os_error(self.error);
            let text = format!("can't wait for packets: {error}");
            return Some(ReadEnd::Failed(state.fail(ERROR, &text)));
        }
        if self.is_over {
            return Some(ReadEnd::Packets(0));
        }
        if self.is_woken && !wake.is_requested() {
            wake.drain();
        }
        None
    }
}

/// Calls `callback` with each packet until `count` packets have come (no end, if it is not positive), the file ends, or
/// `pcap_breakloop` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pcap_loop(
    handle: *mut pcap_t,
    count: c_int,
    callback: Option<pcap_handler>,
    user: *mut c_uchar,
) -> c_int {
    inside(|| {
        let mut left = count;
        loop {
            // SAFETY: a handle of the caller.
            match unsafe { dispatch(handle, left, callback, user) } {
                ReadEnd::Packets(packets) if count > 0 => {
                    left -= packets;
                    if left == 0 {
                        return 0;
                    }
                }
                ReadEnd::Packets(_) => {}
                ReadEnd::End(_) => return 0,
                ReadEnd::Break => return ERROR_BREAK,
                ReadEnd::Failed(status) => return status,
            }
        }
    })
}

/// Calls `callback` with at most `count` packets (all that are ready, if it is not positive) and returns their number. Waits
/// for the first one, at most as long as the timeout of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pcap_dispatch(
    handle: *mut pcap_t,
    count: c_int,
    callback: Option<pcap_handler>,
    user: *mut c_uchar,
) -> c_int {
    inside(|| {
        // SAFETY: a handle of the caller.
        match unsafe { dispatch(handle, count, callback, user) } {
            ReadEnd::Packets(packets) | ReadEnd::End(packets) => packets,
            ReadEnd::Break => ERROR_BREAK,
            ReadEnd::Failed(status) => status,
        }
    })
}

unsafe fn dispatch(
    handle: *mut pcap_t,
    count: c_int,
    callback: Option<pcap_handler>,
    user: *mut c_uchar,
) -> ReadEnd {
    let Some(callback) = callback else {
        return ReadEnd::Failed(ERROR);
    };
    let deliver = |header: pcap_pkthdr, data: *const u8| {
        // SAFETY: the caller's function, with a header and as many bytes as it says.
        unsafe { callback(user, &raw const header, data) };
    };
    // SAFETY: promised by the caller.
    match unsafe { read(handle, count, deliver) } {
        // A capture reports a request that was made meanwhile at once, a file when it is read next.
        // SAFETY: promised by the caller.
        ReadEnd::Packets(1..) if unsafe { takes_request(handle) } => ReadEnd::Break,
        ended => ended,
    }
}

/// Takes the request to end the loop of a capture, if there is one.
///
/// # Safety
/// As [`read`].
unsafe fn takes_request(handle: *mut pcap_t) -> bool {
    // SAFETY: promised by the caller.
    let is_live = unsafe { state(handle) }.is_some_and(|state| state.is_live());
    // SAFETY: promised by the caller.
    is_live && unsafe { wake(handle) }.is_some_and(|wake| wake.is_requested() && wake.take())
}

/// The next packet: its bytes, and its header in `*header`. Null if there is none. Both are valid until the next call.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pcap_next(
    handle: *mut pcap_t,
    header: *mut pcap_pkthdr,
) -> *const c_uchar {
    inside(|| {
        let mut found = None;
        // SAFETY: a handle of the caller.
        unsafe { read(handle, 1, |header, data| found = Some((header, data))) };
        let Some((next, data)) = found else {
            return ptr::null();
        };
        if !header.is_null() {
            // SAFETY: the caller's place for a header.
            unsafe { header.write(next) };
        }
        data
    })
}

/// As `pcap_next`: 1 with a packet, 0 if the time is over, `PCAP_ERROR_BREAK` at the end of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pcap_next_ex(
    handle: *mut pcap_t,
    header: *mut *mut pcap_pkthdr,
    data: *mut *const c_uchar,
) -> c_int {
    inside(|| {
        let mut found = None;
        // SAFETY: a handle of the caller.
        let ended = unsafe { read(handle, 1, |header, data| found = Some((header, data))) };
        let (next, bytes) = match (ended, found) {
            (ReadEnd::Packets(_), Some(found)) => found,
            (ReadEnd::Packets(_), None) => return 0,
            (ReadEnd::End(_) | ReadEnd::Break, _) => return ERROR_BREAK,
            (ReadEnd::Failed(status), _) => return status,
        };
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        state.header = next;
        if !header.is_null() {
            // SAFETY: the caller's place for a pointer.
            unsafe { header.write(&raw mut state.header) };
        }
        if !data.is_null() {
            // SAFETY: as above.
            unsafe { data.write(bytes) };
        }
        1
    })
}

/// Ends the loop that runs, or the next one. For any thread, and for signal handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_breakloop(handle: *mut pcap_t) {
    // SAFETY: a handle of the caller.
    if let Some(wake) = unsafe { wake(handle) } {
        wake.request();
    }
}

/// Whether calls return at once if there are no packets. Before `pcap_activate` too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_setnonblock(
    handle: *mut pcap_t,
    nonblock: c_int,
    errbuf: *mut c_char,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        let text = match state.source {
            Source::Created(_) | Source::Live(_) | Source::Any(_) => {
                state.is_nonblocking = nonblock != 0;
                return 0;
            }
            Source::Offline(_) => "Savefiles cannot be put into non-blocking mode",
            Source::Dead => NO_NONBLOCK,
        };
        state.fail(ERROR, text);
        // SAFETY: the caller's buffer.
        unsafe { refuse(errbuf, text) }
    })
}

const NO_NONBLOCK: &str = "A pcap_open_dead pcap_t does not have a non-blocking mode setting";

/// 1 if calls return at once if there are no packets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_getnonblock(handle: *mut pcap_t, errbuf: *mut c_char) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        match state.source {
            Source::Created(_) => state.not_activated(),
            Source::Live(_) | Source::Any(_) | Source::Offline(_) => state.is_nonblocking.into(),
            Source::Dead => {
                state.fail(ERROR, NO_NONBLOCK);
                // SAFETY: the caller's buffer.
                unsafe { refuse(errbuf, NO_NONBLOCK) }
            }
        }
    })
}

/// The descriptor for select(2) and poll(2); of a file, that of its stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_get_selectable_fd(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        match &state.source {
            // SAFETY: an open stream.
            Source::Offline(file) => unsafe { libc::fileno(file.file()) },
            _ => descriptor(state).unwrap_or(-1),
        }
    })
}

/// How long a program may sleep in select(2) before it has to read anyway; null is no limit. There is one while the interface is
/// down.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_get_required_select_timeout(
    handle: *mut pcap_t,
) -> *const libc::timeval {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ptr::null()) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let state = unsafe { state(handle) };
        if state.is_some_and(|state| is_down(state)) {
            &raw const DOWN_TIMEOUT
        } else {
            ptr::null()
        }
    })
}

/// The descriptor of a capture; -1 for a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_fileno(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let state = unsafe { state(handle) };
        state.and_then(|state| descriptor(state)).unwrap_or(ERROR)
    })
}
