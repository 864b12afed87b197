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

/// The version of the library that runs, as a number: to be compared with `TAPLINE_VERSION_NUMBER`, which is that of the header.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_version_number() -> u32 {
    const NUMBER: u32 = part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
        + part(env!("CARGO_PKG_VERSION_PATCH"));
    NUMBER
}

const fn part(digits: &str) -> u32 {
    match u32::from_str_radix(digits, 10) {
        Ok(number) if number < 1_000 => number,
        _ => panic!("each part has a place of three digits"),
    }
}
