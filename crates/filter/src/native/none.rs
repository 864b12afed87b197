use super::NativeError;
use super::program::Code;
use crate::filter::Filter;

/// Says that there is no native code for this architecture.
pub(super) fn make(_filter: &Filter, _has_text: bool) -> Result<Code, NativeError> {
    Err(NativeError::Unsupported {
        architecture: std::env::consts::ARCH,
    })
}
