use std::fmt;

/// The bytes end inside a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Truncated {
    /// The header, in the words of its standard.
    pub layer: &'static str,
    /// Where the header begins in the frame, in bytes.
    pub at: usize,
    /// Bytes the header needs.
    pub need: usize,
    /// Bytes there are.
    pub have: usize,
}

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            layer,
            at,
            need,
            have,
        } = self;
        write!(
            f,
            "{layer} header at byte {at} needs {need} bytes, {have} there"
        )
    }
}

impl std::error::Error for Truncated {}

/// A header field has a value that the header's own standard excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inconsistent {
    /// The header, in the words of its standard.
    pub layer: &'static str,
    /// Where the header begins in the frame, in bytes.
    pub at: usize,
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: u32,
}

impl fmt::Display for Inconsistent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            layer,
            at,
            field,
            value,
        } = self;
        write!(f, "{layer} header at byte {at} has {field} {value}")
    }
}

impl std::error::Error for Inconsistent {}

/// Why a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes end inside it.
    Truncated(Truncated),
    /// It contradicts itself.
    Inconsistent(Inconsistent),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated(error) => error.fmt(f),
            Self::Inconsistent(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HeaderError {}

impl From<Truncated> for HeaderError {
    fn from(error: Truncated) -> Self {
        Self::Truncated(error)
    }
}

impl From<Inconsistent> for HeaderError {
    fn from(error: Inconsistent) -> Self {
        Self::Inconsistent(error)
    }
}

/// Takes the first `N` bytes off `bytes`.
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

/// Takes the options off `rest`, the bytes behind the fixed part (`fixed` bytes) of the header at `at`.
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
