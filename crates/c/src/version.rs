//! The version of the library.

use std::ffi::c_char;

/// The version of the library that runs, such as `0.1.0`. Valid for ever.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
