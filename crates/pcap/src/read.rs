//! Reading: `pcap_loop`, `pcap_dispatch`, `pcap_next` and what they wait for.

use std::ffi::{c_char, c_int, c_uchar};
use std::io;
use std::os::fd::RawFd;
use std::ptr;
use std::time::{Duration, Instant};

use crate::abi::{ERROR, ERROR_BREAK, pcap_handler, pcap_pkthdr};
use crate::guard::guard_with;
use crate::handle::{Source, State, pcap_t, reporting, state, wake};
use crate::packet::Ready;
use crate::text::refuse;
use crate::wake::Wake;

/// How one reading ended.
enum Ended {
    /// With this many packets.
    Packets(c_int),
    /// The source has no more.
    End(c_int),
    /// `pcap_breakloop`.
    Break,
    /// With this status. The error text is in the handle.
    Failed(c_int),
}

/// Calls `deliver` with at most `most` packets (all that are ready, if it is not positive). Waits for the first one.
///
/// # Safety
/// `handle` is open, and this thread alone is in a call with it.
unsafe fn read(
    handle: *mut pcap_t,
    most: c_int,
    mut deliver: impl FnMut(pcap_pkthdr, *const u8),
) -> Ended {
    // SAFETY: promised by the caller.
    let Some(wake) = (unsafe { wake(handle) }) else {
        return Ended::Failed(ERROR);
    };
    // SAFETY: promised by the caller; the reference ends here.
    if let Some(status) = unsafe { state(handle) }.and_then(State::unreadable) {
        return Ended::Failed(status);
    }
    let mut packets = 0;
    let mut until = None;
    loop {
        if wake.is_requested() {
            if packets > 0 {
                // The next call reports the request.
                return Ended::Packets(packets);
            }
            wake.take();
            return Ended::Break;
        }
        // SAFETY: promised by the caller; the reference ends before `deliver` runs.
        let Some(state) = (unsafe { state(handle) }) else {
            return Ended::Failed(ERROR);
        };
        // Most calls find a packet here.
        let next = match &mut state.source {
            Source::Live(live) => live.next_in_batch(),
            _ => None,
        };
        let ready = match next {
            Some(packet) => Ok(Ready::Packet(packet)),
            None => state.ready(),
        };
        match ready {
            Ok(Ready::Packet(packet)) => {
                let header = state.header_of(&packet);
                deliver(header, packet.data);
                packets += 1;
                if packets == most || packets == c_int::MAX {
                    return Ended::Packets(packets);
                }
            }
            Ok(Ready::Nothing) if packets > 0 || state.is_nonblocking => {
                return Ended::Packets(packets);
            }
            Ok(Ready::Refused) if packets > 0 => return Ended::Packets(packets),
            Ok(found @ (Ready::Nothing | Ready::Refused)) => {
                let timeout = timeout(state);
                let until = *until.get_or_insert_with(|| timeout.map(|time| Instant::now() + time));
                // Packets that are refused do not keep the call from ending.
                if until.is_some_and(|until| Instant::now() >= until) {
                    return Ended::Packets(0);
                }
                if matches!(found, Ready::Refused) {
                    continue;
                }
                let batch_time = match &mut state.source {
                    Source::Live(live) => live.batch_time(),
                    _ => None,
                };
                let waited = match batch_time {
                    Some(time) => sleep_while_queued(wake, time, until),
                    None => wait(state, wake, until),
                };
                match waited {
                    Ok(true) => {}
                    Ok(false) => return Ended::Packets(0),
                    Err(error) => {
                        let text = format!("can't wait for packets: {error}");
                        return Ended::Failed(state.fail(ERROR, &text));
                    }
                }
            }
            Ok(Ready::End) => return Ended::End(packets),
            Err(message) => {
                if packets > 0 && state.is_live() {
                    // The next call finds the same.
                    return Ended::Packets(packets);
                }
                return Ended::Failed(state.fail(ERROR, &message));
            }
        }
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

/// Sleeps until packets may be ready, or until there is a request to end; `false` if the time is over.
fn wait(state: &State, wake: &Wake, until: Option<Instant>) -> io::Result<bool> {
    let Some(descriptor) = descriptor(state) else {
        return Ok(true);
    };
    let is_down = is_down(state);
    while !wake.is_requested() {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let is_short = is_down && left.is_none_or(|left| left > DOWN_SLEEP);
        let sleep = if is_short { Some(DOWN_SLEEP) } else { left };
        match poll([descriptor, wake.fd()], sleep) {
            Ok([false, true]) if !wake.is_requested() => wake.drain(),
            Ok(ready) => return Ok(ready != [false; 2] || is_short),
            // A signal handler may have asked to end.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Leaves packets in the ring for `time`, at most until `until`, unless there is a request to end. Always `true`: there may be
/// packets.
fn sleep_while_queued(wake: &Wake, time: Duration, until: Option<Instant>) -> io::Result<bool> {
    let left = until.map_or(time, |until| {
        until.saturating_duration_since(Instant::now())
    });
    match poll([wake.fd()], Some(time.min(left))) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        ready => {
            if ready.is_ok_and(|[is_woken]| is_woken) && !wake.is_requested() {
                wake.drain();
            }
            Ok(true)
        }
    }
}

/// Waits until some of the descriptors are readable; none of them is if the time is over.
fn poll<const N: usize>(descriptors: [RawFd; N], time: Option<Duration>) -> io::Result<[bool; N]> {
    let mut descriptors = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let time = time.map(|time| libc::timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: as many descriptors as are passed and a time, which live; no signal mask.
    match unsafe {
        libc::ppoll(
            descriptors.as_mut_ptr(),
            N as libc::nfds_t,
            time,
            ptr::null(),
        )
    } {
        0.. => Ok(descriptors.map(|descriptor| descriptor.revents != 0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Calls `callback` with each packet until `count` packets have come (no end, if it is not positive), the file ends, or
/// `pcap_breakloop` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_loop(
    handle: *mut pcap_t,
    count: c_int,
    callback: Option<pcap_handler>,
    user: *mut c_uchar,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        let mut left = count;
        loop {
            // SAFETY: a handle of the caller.
            match unsafe { dispatch(handle, left, callback, user) } {
                Ended::Packets(packets) if count > 0 => {
                    left -= packets;
                    if left == 0 {
                        return 0;
                    }
                }
                Ended::Packets(_) => {}
                Ended::End(_) => return 0,
                Ended::Break => return ERROR_BREAK,
                Ended::Failed(status) => return status,
            }
        }
    })
}

/// Calls `callback` with at most `count` packets (all that are ready, if it is not positive) and returns their number. Waits
/// for the first one, at most as long as the timeout of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_dispatch(
    handle: *mut pcap_t,
    count: c_int,
    callback: Option<pcap_handler>,
    user: *mut c_uchar,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        match unsafe { dispatch(handle, count, callback, user) } {
            Ended::Packets(packets) | Ended::End(packets) => packets,
            Ended::Break => ERROR_BREAK,
            Ended::Failed(status) => status,
        }
    })
}

unsafe fn dispatch(
    handle: *mut pcap_t,
    count: c_int,
    callback: Option<pcap_handler>,
    user: *mut c_uchar,
) -> Ended {
    let Some(callback) = callback else {
        return Ended::Failed(ERROR);
    };
    let deliver = |header: pcap_pkthdr, data: *const u8| {
        // SAFETY: the caller's function, with a header and as many bytes as it says.
        unsafe { callback(user, &raw const header, data) };
    };
    // SAFETY: promised by the caller.
    match unsafe { read(handle, count, deliver) } {
        // A capture reports a request that was made meanwhile at once, a file when it is read next.
        // SAFETY: promised by the caller.
        Ended::Packets(1..) if unsafe { takes_request(handle) } => Ended::Break,
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
pub unsafe extern "C" fn pcap_next(
    handle: *mut pcap_t,
    header: *mut pcap_pkthdr,
) -> *const c_uchar {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ptr::null()) };
    guard_with(failed, || {
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
pub unsafe extern "C" fn pcap_next_ex(
    handle: *mut pcap_t,
    header: *mut *mut pcap_pkthdr,
    data: *mut *const c_uchar,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        let mut found = None;
        // SAFETY: a handle of the caller.
        let ended = unsafe { read(handle, 1, |header, data| found = Some((header, data))) };
        let (next, bytes) = match (ended, found) {
            (Ended::Packets(_), Some(found)) => found,
            (Ended::Packets(_), None) => return 0,
            (Ended::End(_) | Ended::Break, _) => return ERROR_BREAK,
            (Ended::Failed(status), _) => return status,
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
