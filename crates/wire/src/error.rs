//! Errors of headers.

/// The bytes end inside a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer} header at byte {at} needs {need} bytes and has {have}")]
#[non_exhaustive]
pub struct Truncated {
    /// The name of the header.
    pub layer: &'static str,
    /// Offset of the header in the frame, in bytes.
    pub at: usize,
    /// Length of the header.
    pub need: usize,
    /// Bytes available.
    pub have: usize,
}

/// A header field has a value that its standard forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer} header at byte {at} has {field} {value}")]
#[non_exhaustive]
pub struct Inconsistent {
    /// The name of the header.
    pub layer: &'static str,
    /// Offset of the header in the frame, in bytes.
    pub at: usize,
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: u32,
}

/// Why a header cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes end inside it.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// It is inconsistent.
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
}

/// Splits the first `N` bytes off `bytes`.
pub(crate) fn split_header<'a, const N: usize>(
    layer: &'static str,
    bytes: &'a [u8],
    at: usize,
) -> Result<(&'a [u8; N], &'a [u8]), Truncated> {
    bytes.split_first_chunk().ok_or(Truncated {
        layer,
        at,
        need: N,
        have: bytes.len(),
    })
}

/// Splits the options off `rest`, the bytes after the fixed part (`fixed` bytes) of the header at
/// `at`.
pub(crate) fn split_options<'a>(
    layer: &'static str,
    rest: &'a [u8],
    at: usize,
    fixed: usize,
    header_len: usize,
) -> Result<(&'a [u8], &'a [u8]), HeaderError> {
    let Some(options_len) = header_len.checked_sub(fixed) else {
        return Err(Inconsistent {
            layer,
            at,
            field: "header length",
            value: header_len as u32,
        }
        .into());
    };
    rest.split_at_checked(options_len).ok_or(
        Truncated {
            layer,
            at,
            need: header_len,
            have: fixed + rest.len(),
        }
        .into(),
    )
}
