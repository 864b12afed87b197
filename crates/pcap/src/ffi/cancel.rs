//! `pthread_cancel` of a thread in a call: it takes effect where the library sleeps, and not in the middle of its work.

use std::ffi::{c_char, c_int};

/// `PTHREAD_CANCEL_DISABLE` of glibc.
const DISABLE: c_int = 1;

unsafe extern "C" {
    /// Whether the process has one thread. glibc 2.32.
    static __libc_single_threaded: c_char;
}

unsafe extern "C-unwind" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Whether the process has one thread.
pub fn is_single_threaded() -> bool {
    let place = &raw const __libc_single_threaded;
    // SAFETY: glibc has it, and writes it before there is another thread.
    unsafe { place.read_volatile() != 0 }
}

/// Runs `body`, which does not panic. A cancellation of this thread waits until it has returned: it must not unwind frames
/// of Rust code that have destructors or catch panics.
///
/// Not protected is a process with one thread that cancels itself: `__libc_single_threaded` may then stay set. glibc before 2.36
/// does not clear it, and later versions do not clear the copy that a program may have of it (`__pthread_cancel`,
/// nptl/pthread_cancel.c). The process ends with SIGABRT if `body` reaches a cancellation point.
#[inline]
pub fn without_cancellation<R>(body: impl FnOnce() -> R) -> R {
    // No other thread is there to cancel this one. Two atomic instructions would cost as much as writing a short packet.
    if is_single_threaded() {
        return body();
    }
    let mut old = 0;
    // SAFETY: a place for the previous state, which lives.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut old) };
    let result = body();
    // SAFETY: as above. It is the previous state.
    unsafe { pthread_setcancelstate(old, &raw mut old) };
    result
}
