//! Errors as C code sees them.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use crate::catch::guard_value;
use crate::failure::Error;
use crate::handle::{Kind, Object, Table};
use crate::status::tapline_status;

/// What failed, on what, why, and what to do. Free it with `tapline_error_free`.
pub struct tapline_error(());

/// The strings of an error. Nothing changes them, so all threads may read them.
pub struct Strings {
    status: tapline_status,
    message: CString,
    hint: Option<CString>,
    kernel_text: Option<CString>,
    attribute: Option<CString>,
    errno: c_int,
}

struct Reported;

impl Object for Reported {
    type Handle = tapline_error;
    type Shared = Strings;
    const KIND: Kind = Kind::Error;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Reported> = Table::new();
        &TABLE
    }
}

/// The text as C reads it. A text has no zero bytes, except where it quotes what the caller or a file had.
pub fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Gives an error a handle; null if there are too many.
pub fn report(error: &Error) -> *mut tapline_error {
    let optional = |text: &Option<String>| text.as_deref().map(c_string);
    let strings = Strings {
        status: error.status,
        message: c_string(&error.message),
        hint: optional(&error.hint),
        kernel_text: optional(&error.kernel_text),
        attribute: optional(&error.attribute),
        errno: error.errno,
    };
    Reported::table()
        .insert(Reported, strings)
        .unwrap_or(ptr::null_mut())
}

fn read<R: Copy>(error: *const tapline_error, otherwise: R, get: impl FnOnce(&Strings) -> R) -> R {
    guard_value(otherwise, || {
        let read = Reported::table().shared(error, |strings| Ok(get(strings)));
        read.unwrap_or(otherwise)
    })
}

/// The status that the failed call returned. `TAPLINE_STATUS_INVALID_HANDLE` if `error` is null or freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_error_status(error: *const tapline_error) -> tapline_status {
    read(error, tapline_status::InvalidHandle, |strings| {
        strings.status
    })
}

/// What failed, on what, and why: one line without a full stop. Never null; valid until the error is freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_error_message(error: *const tapline_error) -> *const c_char {
    read(error, c"no error".as_ptr(), |strings| {
        strings.message.as_ptr()
    })
}

/// What to do about it; null if nothing is known. Valid until the error is freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_error_hint(error: *const tapline_error) -> *const c_char {
    read(error, ptr::null(), |strings| {
        optional(strings.hint.as_ref())
    })
}

/// The kernel's own text in its reply to a netlink request (extended acknowledgement); null without one. What the kernel says
/// about a program that it does not load is in the message. Valid until the error is freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_error_kernel_text(error: *const tapline_error) -> *const c_char {
    read(error, ptr::null(), |strings| {
        optional(strings.kernel_text.as_ref())
    })
}

/// Path of the netlink attribute that the kernel rejected or missed, such as `linkinfo.data.vlan-id`; null without
/// one. Valid until the error is freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_error_attribute(error: *const tapline_error) -> *const c_char {
    read(error, ptr::null(), |strings| {
        optional(strings.attribute.as_ref())
    })
}

/// The error number of the operating system, as in `errno`; 0 if the error has none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_error_os_error(error: *const tapline_error) -> c_int {
    read(error, 0, |strings| strings.errno)
}

/// Frees an error and its strings. Does nothing if `error` is null or freed.
///
/// Threads: any, once no other thread reads its strings.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_error_free(error: *mut tapline_error) {
    guard_value((), || {
        // Any other failure is that there is nothing to free.
        let _ = Reported::table().remove(error);
    });
}

fn optional(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}
