//! Opening capture files: `pcap_open_offline` and its kin.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::ffi::abi::PRECISION_MICRO;
use crate::ffi::guard::guard;
use crate::ffi::stream::standard_input;
use crate::ffi::text::{last_os_error, report, text};
use crate::file::offline::Offline;
use crate::handle::{Source, State, pcap_t};
use crate::wake::Wake;

/// Opens a stream that is the handle's from then on.
fn open_stream(
    file: *mut libc::FILE,
    is_fresh: bool,
    precision: c_int,
) -> Result<*mut pcap_t, String> {
    let offline = Offline::open(file, is_fresh, precision)?;
    let (datalink, snaplen) = (offline.datalink(), offline.snaplen());
    let datalink_ext = offline.datalink_ext();
    let mut state = State::new(Source::Offline(Box::new(offline)));
    (state.datalink, state.snaplen, state.precision) = (datalink, snaplen, precision);
    state.datalink_ext = datalink_ext;
    Ok(pcap_t::into_raw(state, Wake::without_sleep()))
}

fn open_path(path: &CStr, precision: c_int) -> Result<*mut pcap_t, String> {
    if path.to_bytes() == b"-" {
        return open_stream(standard_input(), true, precision);
    }
    // SAFETY: two strings that live.
    let file = unsafe { libc::fopen(path.as_ptr(), c"rb".as_ptr()) };
    if file.is_null() {
        return Err(format!("{}: {}", path.to_string_lossy(), last_os_error()));
    }
    open_stream(file, true, precision).inspect_err(|_| {
        // SAFETY: opened above, and no handle has it.
        unsafe { libc::fclose(file) };
    })
}

/// The handle, or null with the error in `errbuf`.
unsafe fn opened(result: Result<*mut pcap_t, String>, errbuf: *mut c_char) -> *mut pcap_t {
    result.unwrap_or_else(|message| {
        // SAFETY: promised by the caller.
        unsafe { report(errbuf, &message) };
        ptr::null_mut()
    })
}

/// Opens a capture file; `-` is standard input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_open_offline(
    path: *const c_char,
    errbuf: *mut c_char,
) -> *mut pcap_t {
    // SAFETY: as promised to this function.
    unsafe { pcap_open_offline_with_tstamp_precision(path, PRECISION_MICRO.unsigned_abs(), errbuf) }
}

/// As `pcap_open_offline`, with time stamps in microseconds or nanoseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_open_offline_with_tstamp_precision(
    path: *const c_char,
    precision: u32,
    errbuf: *mut c_char,
) -> *mut pcap_t {
    guard(ptr::null_mut(), || {
        // SAFETY: a string of C.
        let path = unsafe { text(path) }
            .ok_or_else(|| "A null pointer was supplied as the file name".to_owned());
        let result = path.and_then(|path| open_path(path, precision.cast_signed()));
        // SAFETY: the caller's buffer.
        unsafe { opened(result, errbuf) }
    })
}

/// Reads a capture from a stream, which `pcap_close` closes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_fopen_offline(
    file: *mut libc::FILE,
    errbuf: *mut c_char,
) -> *mut pcap_t {
    // SAFETY: as promised to this function.
    unsafe {
        pcap_fopen_offline_with_tstamp_precision(file, PRECISION_MICRO.unsigned_abs(), errbuf)
    }
}

/// As `pcap_fopen_offline`, with time stamps in microseconds or nanoseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_fopen_offline_with_tstamp_precision(
    file: *mut libc::FILE,
    precision: u32,
    errbuf: *mut c_char,
) -> *mut pcap_t {
    guard(ptr::null_mut(), || {
        let result = if file.is_null() {
            Err("Null FILE * pointer provided to savefile open routine".to_owned())
        } else {
            open_stream(file, false, precision.cast_signed())
        };
        // SAFETY: the caller's buffer.
        unsafe { opened(result, errbuf) }
    })
}
