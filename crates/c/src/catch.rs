//! No panic crosses the border to C, and no thread is cancelled in Rust code.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

#[cfg(panic = "abort")]
compile_error!("a panic must not end the caller's process: build with `--profile c-library`");

thread_local! {
    /// Whether this thread is in a call.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Text and place of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of an exported function that cannot fail. After a panic it returns `otherwise`.
pub fn guard_value<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    catch(body).unwrap_or(otherwise)
}

/// Runs `body`. Returns the text and the place of a panic. `pthread_cancel` of this thread takes effect afterwards: a
/// cancellation must not unwind frames of Rust code.
pub fn catch<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    record_panics();
    let outer = IS_INSIDE.replace(true);
    let cancellation = set_cancellation(CANCELLATION_DISABLED);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        provoked::defect();
        body()
    }));
    set_cancellation(cancellation);
    IS_INSIDE.set(outer);
    // A thread that ends has no text any more.
    result.map_err(|_| PANIC.try_with(RefCell::take).unwrap_or_default())
}

/// `PTHREAD_CANCEL_DISABLE` of glibc.
const CANCELLATION_DISABLED: c_int = 1;

/// Sets whether this thread can be cancelled. Returns the previous setting.
fn set_cancellation(state: c_int) -> c_int {
    // Outside of a function it would be part of the generated header.
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    }
    let mut old = 0;
    // SAFETY: a place for the previous state, which lives.
    unsafe { pthread_setcancelstate(state, &raw mut old) };
    old
}

/// Has panics inside a call recorded instead of printed. The library has a standard library of its own, so the hook is
/// not that of a Rust program that loads it.
fn record_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let printing = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if IS_INSIDE.get() {
                let text = panic.payload_as_str().unwrap_or("a panic");
                let place = panic.location().map(|place| format!(" ({place})"));
                let text = format!("{text}{}", place.unwrap_or_default());
                // A thread that ends has no place for it any more.
                let _ = PANIC.try_with(|last| last.replace(text));
            } else {
                printing(panic);
            }
        }));
    });
}

/// Defects that tests provoke.
#[cfg(test)]
pub mod provoked {
    use std::cell::Cell;

    thread_local! {
        /// How many of the next bodies on this thread panic.
        pub static DEFECTS: Cell<u32> = const { Cell::new(0) };
    }

    pub fn defect() {
        if let Some(left) = DEFECTS.get().checked_sub(1) {
            DEFECTS.set(left);
            panic!("provoked");
        }
    }
}
