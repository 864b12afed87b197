//! The border to C: no panic crosses it, and an error becomes a status.

use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::error::{report, tapline_error};
use crate::failure::Error;
use crate::status::tapline_status;

#[cfg(panic = "abort")]
compile_error!("a panic must not end the caller's process: build with `--profile c-library`");

thread_local! {
    /// Whether this thread is in a call.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Text and place of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of an exported function. An error, or a panic, goes to `error`, unless that is null.
///
/// A panic may leave the object of the call half changed: its handle reports `Internal` from then on
/// ([`Table::with`](crate::handle::Table::with)).
pub fn guard(
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
    body: impl FnOnce() -> Result<tapline_status, Error>,
) -> tapline_status {
    record_panics();
    let outer = IS_INSIDE.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let text = PANIC.take();
        let message = format!("a defect of tapline: {text}");
        Err(Error::new(tapline_status::Internal, message).hint("please report it"))
    });
    IS_INSIDE.set(outer);
    match result {
        Ok(status) => status,
        Err(failed) => {
            if let Some(error) = error {
                error.write(report(&failed));
            }
            failed.status
        }
    }
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
                PANIC.set(format!("{text}{}", place.unwrap_or_default()));
            } else {
                printing(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::error::{tapline_error_free, tapline_error_message, tapline_error_status};

    #[test]
    fn a_panic_becomes_an_error_with_its_text_and_place() {
        let mut error = MaybeUninit::uninit();
        let status = guard(Some(&mut error), || panic!("no {}", "way"));
        assert_eq!(status, tapline_status::Internal);
        // SAFETY: a failed call writes it.
        let error = unsafe { error.assume_init() };
        assert_eq!(tapline_error_status(error), status);
        // SAFETY: a string that lives until the error is freed.
        let message = unsafe { CStr::from_ptr(tapline_error_message(error)) };
        let message = message.to_str().expect("UTF-8").to_owned();
        assert!(
            message.starts_with("a defect of tapline: no way (crates/c/src/guard.rs:"),
            "{message}"
        );
        tapline_error_free(error);
        assert_eq!(tapline_error_status(error), tapline_status::InvalidHandle);
        assert_eq!(
            guard(None, || panic!("nobody listens")),
            tapline_status::Internal
        );
    }
}
