//! What a handle says about itself: errors, counters, types, versions.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::{cell::RefCell, ptr};

use crate::abi::{ERROR, pcap_stat};
use crate::cooked::Version;
use crate::datalinks::{self, DOCSIS, EN10MB, LINUX_SLL, LINUX_SLL2};
use crate::devices::is_loopback;
use crate::guard::guard;
use crate::handle::{Source, State, pcap_t, state};
use crate::text::{strerror, text};
use tapline::packet::metadata::Direction;

/// What `pcap_version` points to.
const VERSION: &CStr = c"1.10 (tapline)";

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

/// A pointer that other threads may read.
#[repr(transparent)]
pub struct Shared(*const c_char);

// SAFETY: it points to a text that never changes.
unsafe impl Sync for Shared {}

/// The version, for programs that print the variable.
#[unsafe(no_mangle)]
pub static pcap_version: Shared = Shared(VERSION.as_ptr());

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

/// Strings are UTF-8, whatever `options` says: on Linux both encodings are the same.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_init(_options: c_uint, _errbuf: *mut c_char) -> c_int {
    0
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
    let known = match status {
        1 => c"Generic warning",
        2 => c"That device doesn't support promiscuous mode",
        3 => c"That type of time stamp is not supported by that device",
        -1 => c"Generic error",
        -2 => c"Loop terminated by pcap_breakloop",
        -3 => c"The pcap_t has not been activated",
        -4 => c"The setting can't be changed after the pcap_t is activated",
        -5 => c"No such device exists",
        -6 => c"That device doesn't support monitor mode",
        -7 => c"That operation is supported only in monitor mode",
        -8 => c"You don't have permission to perform this capture on that device",
        -9 => c"That device is not up",
        -10 => c"That device doesn't support setting the time stamp type",
        -11 => c"You don't have permission to capture in promiscuous mode on that device",
        -12 => c"That device doesn't support that time stamp precision",
        _ => return guard(ptr::null(), || keep(format!("Unknown error: {status}"))),
    };
    known.as_ptr()
}

/// The text of an error number of the operating system.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_strerror(number: c_int) -> *const c_char {
    guard(ptr::null(), || keep(strerror(number)))
}

/// The counters of a capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_stats(handle: *mut pcap_t, stats: *mut pcap_stat) -> c_int {
    guard(ERROR, || {
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

/// A value of an activated handle.
unsafe fn value(handle: *mut pcap_t, read: impl FnOnce(&mut State) -> c_int) -> c_int {
    guard(ERROR, || {
        // SAFETY: promised by the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if state.is_created() {
            return state.not_activated();
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

/// What is known about the link-layer header beside its type, such as the length of a checksum: nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_datalink_ext(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { value(handle, |_| 0) }
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
    guard(ptr::null_mut(), || {
        // SAFETY: a handle of the caller.
        let state = unsafe { state(handle) };
        match state.map(|state| &state.source) {
            Some(Source::Offline(file)) => file.file(),
            _ => ptr::null_mut(),
        }
    })
}

/// The link-layer header types that a handle can have.
fn choices(state: &State) -> Vec<c_int> {
    match &state.source {
        Source::Any(_) => vec![LINUX_SLL, LINUX_SLL2],
        // A cable modem can send DOCSIS frames in place of Ethernet frames; the loopback has no modem.
        Source::Live(live) if state.datalink == EN10MB && !is_loopback(&live.device) => {
            vec![EN10MB, DOCSIS]
        }
        _ => vec![state.datalink],
    }
}

/// Copies numbers into memory that the program frees.
unsafe fn give(numbers: &[c_int], list: *mut *mut c_int) -> c_int {
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
    let read = |state: &mut State| unsafe { give(&choices(state), list) };
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
    let read = |state: &mut State| {
        if !choices(state).contains(&datalink) {
            let name = match datalinks::names(datalink) {
                Some((name, _)) => name.to_string_lossy().into_owned(),
                None => datalink.to_string(),
            };
            return state.fail(
                ERROR,
                &format!("{name} is not one of the DLTs supported by this device"),
            );
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
    };
    // SAFETY: a handle of the caller.
    unsafe { value(handle, read) }
}

/// The sources of time stamps of a handle: the host. `pcap_free_tstamp_types` frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_list_tstamp_types(_: *mut pcap_t, list: *mut *mut c_int) -> c_int {
    // SAFETY: the caller's place for a pointer.
    guard(ERROR, || unsafe { give(&[0], list) })
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
    let read = |state: &mut State| {
        let wanted = match direction {
            0 => None,
            1 => Some(Direction::In),
            2 => Some(Direction::Out),
            _ => return state.fail(ERROR, "Invalid direction"),
        };
        match &mut state.source {
            Source::Live(live) => live.direction = wanted,
            Source::Any(any) => any.direction = wanted,
            Source::Dead => {
                let text = "The packet direction cannot be set on a pcap_open_dead pcap_t";
                return state.fail(ERROR, text);
            }
            _ => return state.fail(ERROR, "Setting direction is not supported on savefiles"),
        }
        0
    };
    // SAFETY: a handle of the caller.
    unsafe { value(handle, read) }
}

/// Sends a frame: 0, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_sendpacket(
    handle: *mut pcap_t,
    frame: *const u8,
    bytes: c_int,
) -> c_int {
    // SAFETY: as promised to this function.
    let sent = unsafe { pcap_inject(handle, frame.cast(), bytes.max(0).unsigned_abs() as usize) };
    sent.min(0)
}

/// Sends a frame: the number of bytes sent, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_inject(
    handle: *mut pcap_t,
    frame: *const std::ffi::c_void,
    bytes: usize,
) -> c_int {
    let send = |state: &mut State| {
        if frame.is_null() || bytes == 0 {
            return state.fail(ERROR, "The number of bytes to be injected must not be zero");
        }
        // SAFETY: as many bytes of the caller as it says.
        let frame = unsafe { std::slice::from_raw_parts(frame.cast::<u8>(), bytes) };
        let sent = match &state.source {
            Source::Live(live) => live.send(frame),
            Source::Any(_) => {
                Err("Sending packets isn't supported on the \"any\" device".to_owned())
            }
            Source::Dead => Err("Packets can't be sent on a pcap_open_dead pcap_t".to_owned()),
            _ => Err("Sending packets isn't supported on savefiles".to_owned()),
        };
        match sent {
            Ok(()) => c_int::try_from(bytes).unwrap_or(c_int::MAX),
            Err(message) => state.fail(ERROR, &message),
        }
    };
    // SAFETY: a handle of the caller.
    unsafe { value(handle, send) }
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
