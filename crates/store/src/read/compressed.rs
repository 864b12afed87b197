//! gzip and zstd around a capture.

use super::error::{ErrorKind, Place, ReadError};
use super::source::Source;

const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The fifteen magic numbers of a skippable frame differ in the low half of their first byte.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// How a capture file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// One gzip member or more.
    Gzip,
    /// One zstd frame or more.
    Zstd,
}

/// The same capture without its compression, if it has one; at most one layer is taken off.
///
/// Several gzip members or zstd frames one after another are one stream.
pub(super) fn unwrap(mut source: Source, place: Place) -> Result<(Source, Compression), ReadError> {
    source.fill_for(4, place)?;
    let window = source.window();
    if window.starts_with(&GZIP) {
        let decoder = flate2::read::MultiGzDecoder::new(source.into_read());
        let source = Source::decompressed(Box::new(decoder));
        return Ok((source, Compression::Gzip));
    }
    if window.starts_with(&ZSTD) || is_skippable(window) {
        return match zstd::stream::read::Decoder::new(source.into_read()) {
            Ok(decoder) => {
                let source = Source::decompressed(Box::new(decoder));
                Ok((source, Compression::Zstd))
            }
            Err(error) => Err(ReadError {
                source: Some(error),
                ..place.error(ErrorKind::Io, "the decompressor cannot be set up")
            }),
        };
    }
    Ok((source, Compression::None))
}

fn is_skippable(window: &[u8]) -> bool {
    matches!(window, [first, rest @ ..] if first & 0xf0 == 0x50 && rest.starts_with(&ZSTD_SKIPPABLE))
}
