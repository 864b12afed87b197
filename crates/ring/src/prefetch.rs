//! Prefetches packets into the cache before they are read.

use std::ptr::NonNull;

/// Prefetches `bytes` bytes (at most 512) some packets after `at`, the address being read.
///
/// Another CPU has written that memory, so a cache miss costs more than handling one packet. A hint, which may point
/// past the end of the ring; x86-64 only.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ahead(at: NonNull<u8>, bytes: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    /// About ten packets of 96 bytes with their headers.
    const AHEAD_BYTES: usize = 2048;
    /// Longer packets are read sequentially, which the hardware prefetcher detects.
    const MOST_BYTES: usize = 512;
    /// Always fetched: a loop of constant length costs nothing more.
    const LEAST_BYTES: usize = 192;
    const LINE_BYTES: usize = 64;

    let fetch = |offset| {
        let line = at.as_ptr().wrapping_add(AHEAD_BYTES + offset);
        // SAFETY: a prefetch is defined for every address, mapped or not, and has no visible effect. SSE, which
        // provides it, is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    };
    (0..LEAST_BYTES).step_by(LINE_BYTES).for_each(fetch);
    if bytes > LEAST_BYTES {
        (LEAST_BYTES..bytes.min(MOST_BYTES))
            .step_by(LINE_BYTES)
            .for_each(fetch);
    }
}

/// Prefetches the beginning of a packet and the bytes directly before it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn headers(packet: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for offset in [-64, 0, 64] {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(packet.wrapping_offset(offset).cast()) };
    }
}

/// Does nothing: stable Rust has no prefetch on this architecture.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn headers(_packet: *const u8) {}

/// Does nothing: stable Rust has no prefetch on this architecture.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn ahead(_at: NonNull<u8>, _bytes: usize) {}

/// Prefetches the two cache lines at `at`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn two_lines(at: NonNull<u8>) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for offset in [0, 64] {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().wrapping_add(offset).cast()) };
    }
}

/// Does nothing: stable Rust has no prefetch on this architecture.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn two_lines(_at: NonNull<u8>) {}
