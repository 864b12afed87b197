//! An error before it gets a handle.

use std::error::Error as StdError;
use std::ffi::c_int;
use std::io;

use tapline::filter::FilterError;

use crate::status::tapline_status;

/// Why a call failed.
#[derive(Debug)]
pub struct Error {
    /// Its status; never `Ok` or `End`.
    pub status: tapline_status,
    /// What failed, on what, and why.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The kernel's own text in its reply to a netlink request (extended acknowledgement).
    pub kernel_text: Option<String>,
    /// Path of the netlink attribute that the kernel rejected.
    pub attribute: Option<String>,
    /// The error number of the operating system; 0 without one.
    pub errno: c_int,
}

impl Error {
    /// An error without further facts.
    pub fn new(status: tapline_status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            hint: None,
            kernel_text: None,
            attribute: None,
            errno: 0,
        }
    }

    /// A wrong argument or option.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(tapline_status::InvalidArgument, message)
    }

    /// A pointer that must not be null.
    pub fn null(name: &str) -> Self {
        Self::argument(format!("{name} is null"))
    }

    /// A field with a value that it cannot have.
    pub fn value(field: &str, value: u32) -> Self {
        Self::argument(format!(
            "{field} is {value}, which is not one of its values"
        ))
    }

    /// There is no interface with the name that the message has, as the kernel reports it for an index.
    pub fn no_interface(message: impl Into<String>) -> Self {
        Self {
            errno: ENODEV,
            ..Self::new(tapline_status::NotFound, message).hint("'ip link' lists the interfaces")
        }
    }

    /// There is no file, as the kernel reports it.
    pub fn no_file(message: impl Into<String>) -> Self {
        Self {
            errno: ENOENT,
            ..Self::new(tapline_status::NotFound, message)
        }
    }

    /// An error of the library with all its sources. The error number is that of the innermost source that has one.
    ///
    /// What the text of an error advises in `(needs …)` becomes the hint, so that both have it once.
    pub fn from_source(status: tapline_status, error: &(dyn StdError + 'static)) -> Self {
        let (message, hint) = without_advice(chain(error));
        Self {
            errno: os_error(error).unwrap_or(0),
            hint,
            ..Self::new(status, message)
        }
    }

    /// As [`from_source`](Self::from_source), with the status that follows from the error number.
    pub fn system(error: &(dyn StdError + 'static)) -> Self {
        let status = match os_error(error) {
            Some(EPERM | EACCES) => tapline_status::Privilege,
            Some(ENOENT | ENODEV) => tapline_status::NotFound,
            Some(EEXIST) => tapline_status::Exists,
            Some(EOPNOTSUPP | ENOSYS | EAFNOSUPPORT) => tapline_status::Unsupported,
            _ => tapline_status::System,
        };
        Self::from_source(status, error)
    }

    /// There is not enough memory for `what`.
    pub fn no_memory(what: &str) -> Self {
        Self {
            errno: ENOMEM,
            ..Self::new(
                tapline_status::System,
                format!("cannot allocate memory for {what}"),
            )
        }
    }

    /// Adds what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.optional_hint(Some(hint))
    }

    /// Adds what to do about it, if anything is known.
    pub fn optional_hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into).or(self.hint);
        self
    }
}

impl From<FilterError> for Error {
    fn from(mut error: FilterError) -> Self {
        // The text of the error has it, too.
        let suggestion = error.suggestion.take();
        let hint = suggestion.map(|word| format!("did you mean \"{word}\"?"));
        Self::from_source(tapline_status::Syntax, &error).optional_hint(hint)
    }
}

// The numbers of asm-generic/errno.h, which x86-64 and aarch64 share.
const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const EEXIST: i32 = 17;
const ENODEV: i32 = 19;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;
const EAFNOSUPPORT: i32 = 97;

/// Separates `(needs ADVICE)` from a message.
fn without_advice(message: String) -> (String, Option<String>) {
    const START: &str = " (needs ";
    let found = message.split_once(START).and_then(|(before, rest)| {
        let (advice, after) = rest.split_once(')')?;
        Some((format!("{before}{after}"), format!("requires {advice}")))
    });
    match found {
        Some((message, advice)) => (message, Some(advice)),
        None => (message, None),
    }
}

/// The error number of the innermost source that has one.
pub fn os_error(error: &(dyn StdError + 'static)) -> Option<i32> {
    let inner = error.source().and_then(os_error);
    inner.or_else(|| error.downcast_ref::<io::Error>()?.raw_os_error())
}

/// An error and its sources in one line, without the number that Rust appends to the system's text.
fn chain(error: &dyn StdError) -> String {
    let mut line = text(error);
    let mut next = error.source();
    while let Some(source) = next {
        let text = text(source);
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        next = source.source();
    }
    line
}

fn text(error: &dyn StdError) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) if text.ends_with(')') => text[..end].to_owned(),
        _ => text,
    }
}
