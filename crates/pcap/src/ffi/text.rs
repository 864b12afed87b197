//! Strings of C, read and written.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;

use crate::ffi::abi::{ERRBUF_BYTES, ERROR};

/// The caller's string; `None` if it is null.
///
/// # Safety
/// `text` is null or a string that ends with a zero and lives for `'a`.
pub unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: promised by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Writes an error text to the caller's buffer, as far as it fits.
///
/// # Safety
/// `errbuf` is null or has `PCAP_ERRBUF_SIZE` bytes.
pub unsafe fn report(errbuf: *mut c_char, message: &str) {
    if errbuf.is_null() {
        return;
    }
    let mut cut = message.len().min(ERRBUF_BYTES - 1);
    while !message.is_char_boundary(cut) {
        cut -= 1;
    }
    let bytes = message.as_ptr().cast();
    // SAFETY: `cut` is less than the size of the buffer, and the message does not overlap it.
    unsafe { errbuf.copy_from_nonoverlapping(bytes, cut) };
    // SAFETY: inside the buffer, see above.
    let end = unsafe { errbuf.add(cut) };
    // SAFETY: as above.
    unsafe { end.write(0) };
}

/// Writes `message` where a caller without a handle looks for it.
///
/// # Safety
/// `errbuf` is null or has `PCAP_ERRBUF_SIZE` bytes.
pub unsafe fn refuse(errbuf: *mut c_char, message: &str) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { report(errbuf, message) };
    ERROR
}

/// The text of a known status.
pub fn status_text(status: c_int) -> Option<&'static CStr> {
    Some(match status {
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
        _ => return None,
    })
}

/// An error with all its sources: `cannot open the ring: Operation not permitted`.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        // Writing to a string does not fail.
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}

/// What the operating system says about its last error.
pub fn last_os_error() -> String {
    strerror(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

/// The text of an error number, without the number.
pub fn strerror(number: i32) -> String {
    let text = std::io::Error::from_raw_os_error(number).to_string();
    let end = text.rfind(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}
