//! Bringing packets near before they are read.

use std::ptr::NonNull;

/// Fetches `bytes` (512 at most) of what lies some packets behind `at`, the place being read.
///
/// Another processor has written that memory, so it takes longer to come than one packet takes to
/// be handled. A hint, which may reach beyond the ring's end; x86-64 only.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ahead(at: NonNull<u8>, bytes: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    /// About ten packets of 96 bytes and their headers.
    const AHEAD_BYTES: usize = 2048;
    /// Beyond it, long packets are read on and on, which the processor notices itself.
    const MOST_BYTES: usize = 512;
    /// Fetched always: a loop whose length is known costs its work only.
    const LEAST_BYTES: usize = 192;
    const LINE_BYTES: usize = 64;

    let fetch = |offset| {
        let line = at.as_ptr().wrapping_add(AHEAD_BYTES + offset);
        // SAFETY: a prefetch is defined for every address, mapped or not, and changes nothing that
        // a program can see. SSE, which has it, is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    };
    (0..LEAST_BYTES).step_by(LINE_BYTES).for_each(fetch);
    if bytes > LEAST_BYTES {
        (LEAST_BYTES..bytes.min(MOST_BYTES))
            .step_by(LINE_BYTES)
            .for_each(fetch);
    }
}

/// Fetches the beginning of a packet, and what lies directly before it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn headers(packet: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for offset in [-64, 0, 64] {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(packet.wrapping_offset(offset).cast()) };
    }
}

/// Nothing: the hint has no stable name on this architecture.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn headers(_packet: *const u8) {}

/// Nothing: the hint has no stable name on this architecture.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn ahead(_at: NonNull<u8>, _bytes: usize) {}

/// Fetches the first lines of what is at `at`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn two_lines(at: NonNull<u8>) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for offset in [0, 64] {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().wrapping_add(offset).cast()) };
    }
}

/// Nothing: the hint has no stable name on this architecture.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn two_lines(_at: NonNull<u8>) {}
