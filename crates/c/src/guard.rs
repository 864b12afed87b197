//! The border to C: an error, or a panic, becomes a status.

use std::mem::MaybeUninit;
use std::ptr;

use crate::catch::catch;
use crate::error::{report, tapline_error};
use crate::failure::Error;
use crate::status::tapline_status;

/// Runs the body of an exported function. An error, or a panic, goes to `error`, unless that is null.
///
/// A panic may leave the object of the call half changed: its handle reports `Internal` from then on
/// ([`Table::with`](crate::handle::Table::with)).
pub fn guard(
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
    body: impl FnOnce() -> Result<tapline_status, Error>,
) -> tapline_status {
    let result = catch(body).unwrap_or_else(|text| {
        let message = format!("a defect of tapline: {text}");
        Err(Error::new(tapline_status::Internal, message).hint("please report it"))
    });
    match result {
        Ok(status) => status,
        Err(failed) => {
            if let Some(error) = error {
                error.write(catch(|| report(&failed)).unwrap_or(ptr::null_mut()));
            }
            failed.status
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::arguments::Text;
    use crate::catch::provoked::DEFECTS;
    use crate::error::*;
    use crate::filter::{tapline_filter_compile, tapline_filter_free};
    use crate::netlink::*;

    fn message(error: *const tapline_error) -> String {
        // SAFETY: a string that lives until the error is freed.
        let message = unsafe { CStr::from_ptr(tapline_error_message(error)) };
        message.to_str().expect("UTF-8").to_owned()
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_text_and_place() {
        let mut error = MaybeUninit::uninit();
        let status = guard(Some(&mut error), || panic!("no {}", "way"));
        assert_eq!(status, tapline_status::Internal);
        // SAFETY: a failed call writes it.
        let error = unsafe { error.assume_init() };
        assert_eq!(tapline_error_status(error), status);
        let message = message(error);
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

    #[test]
    fn a_panic_in_an_exported_function_is_an_error_of_its_caller() {
        let mut filter = MaybeUninit::new(ptr::null_mut());
        let mut error = MaybeUninit::new(ptr::null_mut());
        // SAFETY: a string that lives as long as the program.
        let text = unsafe { Text::of(c"udp".as_ptr()) };
        let mut compile = || {
            // SAFETY: null options are all defaults.
            let status = unsafe {
                tapline_filter_compile(text, ptr::null(), Some(&mut filter), Some(&mut error))
            };
            // SAFETY: both have a value from the beginning.
            (status, unsafe { filter.assume_init() }, unsafe {
                error.assume_init()
            })
        };
        DEFECTS.set(1);
        let (status, filter, error) = compile();
        assert_eq!(status, tapline_status::Internal);
        assert!(filter.is_null());
        assert_eq!(tapline_error_status(error), status);
        let text = message(error);
        assert!(
            text.starts_with("a defect of tapline: provoked ("),
            "{text}"
        );
        tapline_error_free(error);

        // A second defect, in the report of the first one.
        DEFECTS.set(2);
        let (status, _, error) = compile();
        assert_eq!(status, tapline_status::Internal);
        assert!(error.is_null());

        let (status, filter, _) = compile();
        assert_eq!(status, tapline_status::Ok);
        assert_eq!(tapline_filter_free(filter, None), tapline_status::Ok);
    }

    #[test]
    fn a_panic_in_a_function_that_cannot_fail_gives_its_default() {
        let mut error = MaybeUninit::uninit();
        let refused = || Err(Error::argument("no"));
        assert_eq!(
            guard(Some(&mut error), refused),
            tapline_status::InvalidArgument
        );
        // SAFETY: a failed call writes it.
        let error = unsafe { error.assume_init() };
        let defective = || DEFECTS.set(1);
        defective();
        assert_eq!(tapline_error_status(error), tapline_status::InvalidHandle);
        defective();
        assert_eq!(message(error), "no error");
        defective();
        assert!(tapline_error_hint(error).is_null());
        defective();
        assert!(tapline_error_kernel_text(error).is_null());
        defective();
        assert!(tapline_error_attribute(error).is_null());
        defective();
        assert_eq!(tapline_error_os_error(error), 0);
        defective();
        tapline_error_free(error);
        assert_eq!(message(error), "no", "it was not freed");
        tapline_error_free(error);
        defective();
        assert_eq!(tapline_batch_count(ptr::null()), 0);
        defective();
        assert!(!tapline_batch_is_done(ptr::null()));
        defective();
        assert!(!tapline_list_is_interrupted(ptr::null()));
        assert_eq!(DEFECTS.get(), 0);
    }
}
