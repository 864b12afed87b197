//! Architectures without native code.

use crate::backend::native::program::{Code, NativeError};
use crate::filter::Filter;

/// Returns the error that native code is not supported on this architecture.
pub(super) fn generate(_filter: &Filter, _has_text: bool) -> Result<Code, NativeError> {
    Err(NativeError::Unsupported {
        architecture: std::env::consts::ARCH,
    })
}
