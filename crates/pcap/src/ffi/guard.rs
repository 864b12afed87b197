//! The border to C: no panic crosses it. A fuzz target has to see panics, so with `--cfg fuzzing` none is caught: nothing in the
//! process catches it either, so it is printed and the process aborts.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::ffi::cancel::without_cancellation;

#[cfg(panic = "abort")]
compile_error!("a panic must not end the caller's process: build with `--profile c-library`");

thread_local! {
    /// Whether this thread is in a call.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs the body of an exported function; `failed` is its result if it panics.
pub fn guard<R>(failed: R, body: impl FnOnce() -> R) -> R {
    guard_with(|| failed, body)
}

/// As [`guard`]; `failed` runs after a panic.
pub fn guard_with<R>(failed: impl FnOnce() -> R, body: impl FnOnce() -> R) -> R {
    inside(|| without_cancellation(|| catch(failed, body)))
}

/// Runs the body of an exported function that sleeps or calls a function of the program. The body leaves to [`catch`] what may
/// panic, and does the rest outside: an exception of the program, or the end of its thread, has to pass. The thread then stays
/// marked as in a call. That has no effect: outside of calls, the library runs no code on it.
pub fn inside<R>(body: impl FnOnce() -> R) -> R {
    if cfg!(fuzzing) {
        return body();
    }
    silence_panics();
    let outer = IS_INSIDE.replace(true);
    let result = body();
    IS_INSIDE.set(outer);
    result
}

/// Runs `body`; after a panic, `failed`. Exceptions of C++ must not come here: they would end the process.
#[inline]
pub fn catch<R>(failed: impl FnOnce() -> R, body: impl FnOnce() -> R) -> R {
    if cfg!(fuzzing) {
        return body();
    }
    panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| failed())
}

/// Has panics inside a call not printed. The library has a standard library of its own, so the hook is not that of a Rust
/// program that loads it.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let printing = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_INSIDE.get() {
                printing(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_result_of_a_failure() {
        assert_eq!(guard(-1, || panic!("no way")), -1);
        assert_eq!(guard(-1, || 3), 3);
    }
}
