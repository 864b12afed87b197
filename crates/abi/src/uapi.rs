//! Types that system calls copy byte for byte.

/// A plain value that system calls copy byte for byte.
///
/// # Safety
/// The type has no padding and every bit pattern is a valid value.
pub unsafe trait Uapi: Copy + Default {}

// SAFETY: integers have no padding and no invalid values.
unsafe impl Uapi for i32 {}
// SAFETY: as above.
unsafe impl Uapi for u32 {}
// SAFETY: as above.
unsafe impl Uapi for u64 {}
// SAFETY: as above; an array has no padding of its own.
unsafe impl Uapi for [u32; 8] {}
// SAFETY: as above.
unsafe impl Uapi for [u32; 9] {}
