//! Results of calls.

/// The result of a call. Negative values are errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum tapline_status {
    /// Done.
    Ok = 0,
    /// There is no more: the capture, the file or the run has ended.
    End = 1,
    /// An argument or an option is wrong: null, out of range, no address, or in contradiction to another.
    InvalidArgument = -1,
    /// The handle is null, closed, or of another kind.
    InvalidHandle = -2,
    /// Another thread is in a call with this handle.
    InUse = -3,
    /// A privilege is missing.
    Privilege = -4,
    /// This kernel, driver or build does not support it.
    Unsupported = -5,
    /// The interface, file, host name or object does not exist.
    NotFound = -6,
    /// The object exists already.
    Exists = -7,
    /// The text of a filter, or of a target of a ping, is wrong.
    Syntax = -8,
    /// The file is damaged or of an unknown format.
    Damaged = -9,
    /// The operating system reported another error: see `tapline_error_os_error`.
    System = -10,
    /// A defect of the library. The handle of the call can only be closed.
    Internal = -11,
    /// A change of a batch was not carried out, or was rolled back, because another one failed. Only C++ has it, as the
    /// error of such a change.
    Canceled = -12,
}
