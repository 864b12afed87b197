//! Memory that is about to be read.

/// Bytes of a cache line, on most processors.
const LINE_BYTES: usize = 64;

/// Has the processor load `bytes` into its second-level cache, while the program goes on. Does nothing where the processor
/// has no such instruction.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(LINE_BYTES) {
        prefetch_line(line.as_ptr());
    }
}

/// As [`prefetch`], for the cache line in which `value` begins.
#[inline]
pub fn prefetch_value<T>(value: &T) {
    prefetch_line(std::ptr::from_ref(value).cast());
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_line(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T2, _mm_prefetch};
    // SAFETY: a prefetch is a hint. It reads nothing that the program could notice, and cannot fault.
    unsafe { _mm_prefetch::<_MM_HINT_T2>(line.cast()) };
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn prefetch_line(line: *const u8) {
    // SAFETY: a prefetch is a hint. It reads nothing that the program could notice, and cannot fault.
    unsafe {
        std::arch::asm!(
            "prfm pldl2keep, [{0}]",
            in(reg) line,
            options(nostack, readonly, preserves_flags)
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn prefetch_line(_line: *const u8) {}
