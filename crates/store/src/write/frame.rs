//! Compression: each buffer a frame of its own.

use std::fmt;
use std::io;

use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

use super::sink::{Failure, Sink};

/// Makes independent zstd frames, each with its size and checksum.
pub(super) struct Frames {
    compressor: Compressor<'static>,
    frame: Vec<u8>,
}

impl Frames {
    /// `most` is the size of the buffers to come, in bytes; larger ones are taken but cost an
    /// allocation.
    pub(super) fn new(level: i32, most: usize) -> io::Result<Self> {
        let mut compressor = Compressor::new(level)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self {
            compressor,
            frame: Vec::with_capacity(compress_bound(most)),
        })
    }

    /// Writes `data` as one frame. A frame that cannot be written whole holds nothing.
    pub(super) fn write(&mut self, data: &[u8], sink: &mut Sink) -> Result<(), Failure> {
        self.frame.clear();
        self.frame.reserve(compress_bound(data.len()));
        self.compressor
            .compress_to_buffer(data, &mut self.frame)
            .map_err(|source| Failure {
                packets_written: 0,
                source,
            })?;
        sink.write(&self.frame, |_| (0, 0))
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}
