//! What a handle says about itself: errors, counters, types, versions.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::{cell::RefCell, ptr};

use crate::datalinks::{self, DOCSIS, EN10MB, LINUX_SLL, LINUX_SLL2};
use crate::ffi::abi::{ERROR, ERROR_NOT_ACTIVATED, pcap_stat};
use crate::ffi::guard::{guard, guard_with};
use crate::ffi::text::{refuse, status_text, strerror, text};
use crate::handle::{Source, State, pcap_t, reporting, state};
use crate::live::adapter::HOST;
use crate::live::cooked::Version;
use crate::live::devices::{initialize, is_loopback};
use tapline::packet::metadata::Direction;

thread_local! {
    /// The text that a function returned last in this thread.
    static TEXT: RefCell<CString> = RefCell::default();
}

/// A text that is valid until the next call of the thread.
fn keep(text: String) -> *const c_char {
    TEXT.with_borrow_mut(|kept| {
        *kept = CString::new(text).unwrap_or_default();
        kept.as_ptr()
    })
}

/// The version of libpcap, for programs that print the variable. A program that was linked with libpcap has a copy of so many
/// bytes (ld(1), copy relocations).
#[unsafe(no_mangle)]
pub static pcap_version: [u8; 7] = *b"1.10.3\0";

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_lib_version() -> *const c_char {
    const TEXT: &str = concat!(
        "tapline ",
        env!("CARGO_PKG_VERSION"),
        " (libpcap 1.10 interface)\0"
    );
    TEXT.as_ptr().cast()
}

/// Chooses the encoding of strings: 0, that of the locale, or 1, UTF-8, which on Linux are the same. All calls of a process have
/// to agree. `pcap_lookupdev` fails from then on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_init(options: c_uint, errbuf: *mut c_char) -> c_int {
    guard(ERROR, || {
        let message = match initialize(options) {
            Ok(()) => return 0,
            Err(message) => message,
        };
        // SAFETY: the caller's buffer.
        unsafe { refuse(errbuf, message) }
    })
}

/// The text of the last error of a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_geterr(handle: *mut pcap_t) -> *mut c_char {
    // SAFETY: a handle of the caller.
    unsafe { state(handle) }.map_or(ptr::null_mut(), State::errbuf)
}

/// Prints the text of the last error to standard error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_perror(handle: *mut pcap_t, prefix: *const c_char) {
    guard((), || {
        // SAFETY: a handle of the caller.
        let error = unsafe { pcap_geterr(handle) };
        // SAFETY: a string of the handle.
        let error = unsafe { text(error) }.unwrap_or_default();
        // SAFETY: a string of C.
        let prefix = unsafe { text(prefix) }.unwrap_or_default();
        let line = format!(
            "{}: {}\n",
            prefix.to_string_lossy(),
            error.to_string_lossy()
        );
        // SAFETY: as many bytes as the line has.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    });
}

/// The text of a status.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_statustostr(status: c_int) -> *const c_char {
    match status_text(status) {
        Some(text) => text.as_ptr(),
        None => guard(ptr::null(), || keep(format!("Unknown error: {status}"))),
    }
}

/// The text of an error number of the operating system.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_strerror(number: c_int) -> *const c_char {
    guard(ptr::null(), || keep(strerror(number)))
}

/// The counters of a capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_stats(handle: *mut pcap_t, stats: *mut pcap_stat) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if state.is_created() {
            return state.not_activated();
        }
        match state.statistics() {
            Ok(counters) if !stats.is_null() => {
                // SAFETY: the caller's place for the counters.
                unsafe { stats.write(counters) };
                0
            }
            Ok(_) => state.fail(ERROR, "a null pointer was supplied for the statistics"),
            Err(message) => state.fail(ERROR, &message),
        }
    })
}

/// A value of an activated handle. A text is left to `read`, as in libpcap.
unsafe fn value(handle: *mut pcap_t, read: impl FnOnce(&mut State) -> c_int) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: promised by the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if state.is_created() {
            return ERROR_NOT_ACTIVATED;
        }
        read(state)
    })
}

/// The link-layer header type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_datalink(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { value(handle, |state| state.datalink) }
}

/// What a file says about the link-layer header beside its type, such as the length of a checksum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_datalink_ext(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { value(handle, |state| state.datalink_ext.cast_signed()) }
}

/// The maximum bytes of a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_snapshot(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { value(handle, |state| state.snaplen) }
}

/// 1 if the byte order of a file is not that of this machine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_is_swapped(handle: *mut pcap_t) -> c_int {
    let read = |state: &mut State| match &state.source {
        Source::Offline(file) => file.is_swapped().into(),
        _ => 0,
    };
    // SAFETY: a handle of the caller.
    unsafe { value(handle, read) }
}

/// The major version of a file's format.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_major_version(handle: *mut pcap_t) -> c_int {
    let read = |state: &mut State| match &state.source {
        Source::Offline(file) => file.version().0.into(),
        _ => 0,
    };
    // SAFETY: a handle of the caller.
    unsafe { value(handle, read) }
}

/// The minor version of a file's format.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_minor_version(handle: *mut pcap_t) -> c_int {
    let read = |state: &mut State| match &state.source {
        Source::Offline(file) => file.version().1.into(),
        _ => 0,
    };
    // SAFETY: a handle of the caller.
    unsafe { value(handle, read) }
}

/// The stream of a file; null for a capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_file(handle: *mut pcap_t) -> *mut libc::FILE {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ptr::null_mut()) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let state = unsafe { state(handle) };
        match state.map(|state| &mut state.source) {
            Some(Source::Offline(file)) => file.share(),
            _ => ptr::null_mut(),
        }
    })
}

/// The link-layer header types that a handle can have.
fn choices(state: &State) -> Vec<c_int> {
    match &state.source {
        Source::Any(_) => vec![LINUX_SLL, LINUX_SLL2],
        // A cable modem can send DOCSIS frames in place of Ethernet frames; the loopback has no modem.
        Source::Live(live) if live.datalink() == EN10MB && !is_loopback(&live.device) => {
            vec![EN10MB, DOCSIS]
        }
        _ => vec![state.datalink],
    }
}

/// Copies numbers into memory that the program frees.
unsafe fn copy_out(numbers: &[c_int], list: *mut *mut c_int) -> c_int {
    // SAFETY: no pointers are passed.
    let memory: *mut c_int = unsafe { libc::malloc(size_of_val(numbers)) }.cast();
    if memory.is_null() || list.is_null() {
        // SAFETY: from malloc, or null.
        unsafe { libc::free(memory.cast()) };
        return ERROR;
    }
    // SAFETY: room for all numbers, and new.
    unsafe { memory.copy_from_nonoverlapping(numbers.as_ptr(), numbers.len()) };
    // SAFETY: the caller's place for a pointer.
    unsafe { list.write(memory) };
    c_int::try_from(numbers.len()).unwrap_or(ERROR)
}

/// The link-layer header types that a handle can have; `pcap_free_datalinks` frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_list_datalinks(handle: *mut pcap_t, list: *mut *mut c_int) -> c_int {
    // SAFETY: the caller's place for a pointer.
    let read = |state: &mut State| unsafe { copy_out(&choices(state), list) };
    // SAFETY: a handle of the caller.
    unsafe { value(handle, read) }
}

/// Frees what `pcap_list_datalinks` allocated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_free_datalinks(list: *mut c_int) {
    // SAFETY: from malloc, or null.
    unsafe { libc::free(list.cast()) };
}

/// Selects one of the link-layer header types that a handle can have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_datalink(handle: *mut pcap_t, datalink: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if !choices(state).contains(&datalink) {
            let name = match datalinks::names(datalink) {
                Some((name, _)) => name.to_string_lossy().into_owned(),
                None => format!("DLT {datalink}"),
            };
            let text = format!("{name} is not one of the DLTs supported by this device");
            return state.fail(ERROR, &text);
        }
        if let Source::Any(any) = &mut state.source {
            any.version = if datalink == LINUX_SLL2 {
                Version::V2
            } else {
                Version::V1
            };
        }
        state.datalink = datalink;
        0
    })
}

/// The types of time stamps of a handle. `pcap_free_tstamp_types` frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_list_tstamp_types(
    handle: *mut pcap_t,
    list: *mut *mut c_int,
) -> c_int {
    guard(ERROR, || {
        // SAFETY: a handle of the caller.
        let state = unsafe { state(handle) };
        let types = state.map_or_else(|| vec![HOST], |state| state.stamp_types());
        // SAFETY: the caller's place for a pointer.
        unsafe { copy_out(&types, list) }
    })
}

/// Frees what `pcap_list_tstamp_types` allocated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_free_tstamp_types(list: *mut c_int) {
    // SAFETY: from malloc, or null.
    unsafe { libc::free(list.cast()) };
}

/// Selects received packets (1), sent ones (2), or both (0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_setdirection(handle: *mut pcap_t, direction: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        let wanted = match direction {
            0 => None,
            1 => Some(Direction::In),
            2 => Some(Direction::Out),
            _ => return state.fail(ERROR, "Invalid direction"),
        };
        let text = match &mut state.source {
            Source::Live(live) => {
                live.direction = wanted;
                return 0;
            }
            Source::Any(any) => {
                any.direction = wanted;
                return 0;
            }
            Source::Created(_) => return state.not_activated(),
            Source::Dead => "The packet direction cannot be set on a pcap_open_dead pcap_t",
            Source::Offline(_) => "Setting direction is not supported on savefiles",
        };
        state.fail(ERROR, text)
    })
}

/// Sends a frame: 0, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_sendpacket(
    handle: *mut pcap_t,
    frame: *const u8,
    bytes: c_int,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        let Ok(bytes @ 1..) = usize::try_from(bytes) else {
            return state.fail(ERROR, "The number of bytes to be sent must be positive");
        };
        // SAFETY: as promised to this function.
        unsafe { send(state, frame, bytes) }.min(0)
    })
}

/// Sends a frame: the number of bytes sent, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_inject(
    handle: *mut pcap_t,
    frame: *const std::ffi::c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if bytes > c_int::MAX.unsigned_abs() as usize {
            let text = format!("More than {} bytes cannot be injected", c_int::MAX);
            return state.fail(ERROR, &text);
        }
        if bytes == 0 {
            return state.fail(ERROR, "The number of bytes to be injected must not be zero");
        }
        // SAFETY: as promised to this function.
        unsafe { send(state, frame.cast(), bytes) }
    })
}

/// Sends a frame of at most `c_int::MAX` bytes: their number, or an error.
///
/// # Safety
/// `frame` is null or points to as many bytes.
unsafe fn send(state: &mut State, frame: *const u8, bytes: usize) -> c_int {
    if frame.is_null() {
        return state.fail(ERROR, "a null pointer was supplied for the frame");
    }
    // SAFETY: promised by the caller.
    let frame = unsafe { std::slice::from_raw_parts(frame, bytes) };
    let text = match &state.source {
        Source::Live(live) => match live.send(frame) {
            Ok(()) => return c_int::try_from(bytes).unwrap_or(c_int::MAX),
            Err(message) => return state.fail(ERROR, &message),
        },
        Source::Created(_) => return state.not_activated(),
        Source::Any(_) => "Sending packets isn't supported on the \"any\" device",
        Source::Dead => "Packets can't be sent on a pcap_open_dead pcap_t",
        Source::Offline(_) => "Sending packets isn't supported on savefiles",
    };
    state.fail(ERROR, text)
}

/// The name of a link-layer header type, or null.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_datalink_val_to_name(datalink: c_int) -> *const c_char {
    datalinks::names(datalink).map_or(ptr::null(), |(name, _)| name.as_ptr())
}

/// The description of a link-layer header type, or null.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_datalink_val_to_description(datalink: c_int) -> *const c_char {
    datalinks::names(datalink).map_or(ptr::null(), |(_, description)| description.as_ptr())
}

/// The description of a link-layer header type, or its number.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_datalink_val_to_description_or_dlt(datalink: c_int) -> *const c_char {
    match datalinks::names(datalink) {
        Some((_, description)) => description.as_ptr(),
        None => guard(ptr::null(), || keep(format!("DLT {datalink}"))),
    }
}

/// The link-layer header type with a name, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_datalink_name_to_val(name: *const c_char) -> c_int {
    // SAFETY: a string of C.
    let name = unsafe { text(name) };
    name.and_then(|name| datalinks::by_name(name.to_bytes()))
        .unwrap_or(-1)
}

/// Sources of time stamps: name and description.
const TIMESTAMP_TYPES: [(&CStr, &CStr); 6] = [
    (c"host", c"Host"),
    (c"host_lowprec", c"Host, low precision"),
    (c"host_hiprec", c"Host, high precision"),
    (c"adapter", c"Adapter"),
    (c"adapter_unsynced", c"Adapter, not synced with system time"),
    (
        c"host_hiprec_unsynced",
        c"Host, high precision, not synced with system time",
    ),
];

fn timestamp_type(number: c_int) -> Option<&'static (&'static CStr, &'static CStr)> {
    TIMESTAMP_TYPES.get(usize::try_from(number).ok()?)
}

/// The name of a source of time stamps, or null.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_tstamp_type_val_to_name(number: c_int) -> *const c_char {
    timestamp_type(number).map_or(ptr::null(), |(name, _)| name.as_ptr())
}

/// The description of a source of time stamps, or null.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_tstamp_type_val_to_description(number: c_int) -> *const c_char {
    timestamp_type(number).map_or(ptr::null(), |(_, description)| description.as_ptr())
}

/// The source of time stamps with a name, or `PCAP_ERROR`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_tstamp_type_name_to_val(name: *const c_char) -> c_int {
    // SAFETY: a string of C.
    let Some(name) = (unsafe { text(name) }) else {
        return ERROR;
    };
    let place = TIMESTAMP_TYPES
        .iter()
        .position(|known| known.0.to_bytes().eq_ignore_ascii_case(name.to_bytes()));
    place
        .and_then(|place| c_int::try_from(place).ok())
        .unwrap_or(ERROR)
}
