//! Outputs for whole buffers, with or without compression.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::path::Path;

use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

use super::options::Output;
use crate::output::OpenOutput;

/// An open output.
pub(super) struct Sink {
    target: Target,
    bytes: u64,
    /// The error after which nothing more can be written.
    broken: Option<RepeatableError>,
}

enum Target {
    /// A descriptor that has a position and can be truncated.
    Regular(File),
    /// Another descriptor, such as a pipe.
    Other(File),
    Stream(Box<dyn Write + Send>),
}

/// An [`io::Error`] that can be returned again.
#[derive(Clone, Copy, Debug)]
enum RepeatableError {
    Os(i32),
    Kind(ErrorKind),
}

/// An incomplete write.
#[derive(Debug)]
pub(super) struct Failure {
    /// Packets that were written anyway.
    pub(super) packets_written: u64,
    pub(super) source: io::Error,
}

impl Sink {
    /// Creates the file `path`, or truncates it.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Self::of_file(OpenOutput::create().truncate().open(path)?)
    }

    /// Uses an output.
    pub(super) fn of_output(output: Output) -> io::Result<Self> {
        match output {
            Output::Path(path) => Self::create(&path),
            Output::Descriptor { file, .. } => Self::of_file(file),
            Output::Stream { writer, .. } => Ok(Self::new(Target::Stream(writer))),
        }
    }

    fn of_file(file: File) -> io::Result<Self> {
        let regular = file.metadata()?.is_file();
        Ok(Self::new(if regular {
            Target::Regular(file)
        } else {
            Target::Other(file)
        }))
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            bytes: 0,
            broken: None,
        }
    }

    /// Whether it is a file with a position.
    pub(super) fn is_regular(&self) -> bool {
        matches!(self.target, Target::Regular(_))
    }

    /// Whether it is a descriptor, to which the kernel writes several ranges of memory in one call.
    pub(super) fn is_descriptor(&self) -> bool {
        !matches!(self.target, Target::Stream(_))
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes all of `data`.
    ///
    /// If only a part could be written, `whole` returns the bytes of its whole records and their number
    /// of packets. A regular file is truncated to these and can be written further; a stream is not
    /// written again.
    pub(super) fn write(
        &mut self,
        data: &[u8],
        whole: impl FnOnce(&[u8]) -> (usize, u64),
    ) -> Result<(), Failure> {
        if let Some(answer) = self.broken {
            return Err(Failure {
                packets_written: 0,
                source: answer.error(),
            });
        }
        let (written, result) = match &mut self.target {
            Target::Regular(file) | Target::Other(file) => write_all(file, data),
            Target::Stream(stream) => {
                let (written, result) = write_all(stream, data);
                (written, result.and_then(|()| stream.flush()))
            }
        };
        self.bytes += written as u64;
        let Err(source) = result else { return Ok(()) };
        let (kept, packets_written) = whole(&data[..written]);
        Err(self.fail((written - kept) as u64, packets_written, source))
    }

    /// As [`write`](Self::write), for all `bytes` bytes of `ranges` in their order, which begin and end with a record.
    ///
    /// Cost: a `writev(2)`. Copies nothing, except for a [`Stream`](Target::Stream), which is written range by range.
    pub(super) fn write_ranges(
        &mut self,
        ranges: &mut [IoSlice<'_>],
        bytes: usize,
        whole: impl Fn(&[u8]) -> (usize, u64),
    ) -> Result<(), Failure> {
        if let Some(answer) = self.broken {
            return Err(Failure {
                packets_written: 0,
                source: answer.error(),
            });
        }
        let (place, result) = match &mut self.target {
            Target::Regular(file) | Target::Other(file) => write_all_ranges(file, ranges, bytes),
            Target::Stream(stream) => {
                let (place, result) = write_all_ranges(stream, ranges, bytes);
                (place, result.and_then(|()| stream.flush()))
            }
        };
        let Err(source) = result else {
            self.bytes += bytes as u64;
            return Ok(());
        };
        let (before, partial) = ranges.split_at(place.range);
        let written = before.iter().map(|range| range.len()).sum::<usize>() + place.bytes;
        self.bytes += written as u64;
        let partial = partial
            .first()
            .map_or(&[][..], |range| &range[..place.bytes]);
        let (kept, mut packets_written) = whole(partial);
        packets_written += before.iter().map(|range| whole(range).1).sum::<u64>();
        Err(self.fail((partial.len() - kept) as u64, packets_written, source))
    }

    /// The last `unusable` bytes written are no whole records.
    fn fail(&mut self, unusable: u64, packets_written: u64, source: io::Error) -> Failure {
        if !self.truncate(unusable) {
            self.broken = Some(RepeatableError::of(&source));
        }
        Failure {
            packets_written,
            source,
        }
    }

    /// Removes the last `bytes`. Returns `false` if that is impossible.
    fn truncate(&mut self, bytes: u64) -> bool {
        let Target::Regular(file) = &mut self.target else {
            return false;
        };
        // The position is queried: with O_APPEND the kernel moves it.
        let cut = file.stream_position().and_then(|position| {
            let end = position.saturating_sub(bytes);
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))
        });
        if cut.is_ok() {
            self.bytes -= bytes;
        }
        cut.is_ok()
    }
}

/// Compresses each buffer into an independent zstd frame with its size and checksum.
pub(super) struct Frames {
    compressor: Compressor<'static>,
    frame: Vec<u8>,
}

impl Frames {
    /// `most` is the expected size of the buffers in bytes. A larger one costs an allocation.
    pub(super) fn new(level: i32, most: usize) -> io::Result<Self> {
        let mut compressor = Compressor::new(level)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self {
            compressor,
            frame: Vec::with_capacity(compress_bound(most)),
        })
    }

    /// Writes `data` as one frame. A partly written frame contains no packets.
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

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("bytes", &self.bytes)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

impl RepeatableError {
    fn of(error: &io::Error) -> Self {
        error
            .raw_os_error()
            .map_or(Self::Kind(error.kind()), Self::Os)
    }

    fn error(self) -> io::Error {
        match self {
            Self::Os(number) => io::Error::from_raw_os_error(number),
            Self::Kind(kind) => kind.into(),
        }
    }
}

/// Writes all of `data`. Returns the number of bytes written, also after an error.
fn write_all(writer: &mut impl Write, data: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    // Bound: each round writes at least one byte, ends, or was interrupted by a signal.
    while written < data.len() {
        match writer.write(&data[written..]) {
            Ok(0) => return (written, Err(ErrorKind::WriteZero.into())),
            Ok(taken) => written += taken,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

/// Up to where ranges were written.
#[derive(Clone, Copy, Debug, Default)]
struct RangePlace {
    /// Number of whole ranges.
    range: usize,
    /// Bytes of the next one.
    bytes: usize,
}

/// Writes all of `ranges`, none of which is empty, and which are `bytes` bytes together. Returns up to where it did, also
/// after an error.
fn write_all_ranges(
    writer: &mut impl Write,
    ranges: &mut [IoSlice<'_>],
    bytes: usize,
) -> (RangePlace, io::Result<()>) {
    let mut place = RangePlace::default();
    let mut left = bytes;
    // Bound: each round writes at least one byte, ends, or was interrupted by a signal.
    while let Some(&first) = ranges.get(place.range) {
        ranges[place.range].advance(place.bytes);
        let result = writer.write_vectored(&ranges[place.range..]);
        ranges[place.range] = first;
        match result {
            Ok(0) => return (place, Err(ErrorKind::WriteZero.into())),
            // Nearly always. The ranges are many, and looking for the place among them takes time.
            Ok(taken) if taken == left => {
                place.range = ranges.len();
                place.bytes = 0;
            }
            Ok(taken) => {
                place.bytes += taken;
                left = left.saturating_sub(taken);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (place, Err(error)),
        }
        while let Some(range) = ranges.get(place.range)
            && place.bytes >= range.len()
        {
            place.bytes -= range.len();
            place.range += 1;
        }
    }
    (place, Ok(()))
}
