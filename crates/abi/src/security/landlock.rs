//! Landlock, by which a program restricts itself to some files.

use std::io;
use std::ptr;

/// `LANDLOCK_CREATE_RULESET_VERSION`, include/uapi/linux/landlock.h.
const CREATE_RULESET_VERSION: u32 = 1;

/// The version of Landlock that the kernel has; `None` if it has none, or if it is not enabled.
///
/// # Errors
/// Other errors of landlock_create_ruleset(2).
/// # Kernel
/// Linux 5.13.
/// # Source
/// Documentation/userspace-api/landlock.rst.
#[doc(alias = "landlock_create_ruleset")]
pub fn landlock_version() -> io::Result<Option<u32>> {
    // SAFETY: with this flag the kernel reads no memory, and makes no descriptor.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<u8>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    if let Ok(version) = u32::try_from(answer) {
        return Ok(Some(version));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EOPNOTSUPP) => Ok(None),
        _ => Err(error),
    }
}
