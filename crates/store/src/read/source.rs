//! Where the bytes of a capture come from: a mapped file, memory, or a stream.

use std::io::{self, Read};
use std::sync::Arc;

use abi::file::Mapping;

use super::error::{ErrorKind, Place, ReadError};

/// A first buffer this large keeps the number of reads small; it grows only for a longer block.
const BUFFER_BYTES: usize = 256 << 10;

/// What a decompressor has made before it meets damage is lost if it has not been handed out: it
/// is asked for little at a time.
const DECOMPRESSED_BYTES: usize = 4 << 10;

/// The input, read forwards: a window of bytes begins at the place that has been reached.
pub(super) struct Source {
    input: Input,
    /// Index in the input's bytes where the window begins.
    start: usize,
    /// Bytes of the capture that have left the stream's buffer.
    gone: u64,
    /// Whether a failing read means damaged data and not a failing device.
    compressed: bool,
}

enum Input {
    /// Shared with those who read other parts of it.
    Mapped(Arc<Mapping>),
    Memory(Vec<u8>),
    Stream(Stream),
}

struct Stream {
    from: Box<dyn Read + Send>,
    /// Initialised in full; the bytes read so far are `buffer[..filled]`.
    buffer: Vec<u8>,
    filled: usize,
    /// Bytes to ask for at most at a time.
    step: usize,
    ended: bool,
}

impl Source {
    pub(super) fn mapped(mapping: Arc<Mapping>) -> Self {
        Self::new(Input::Mapped(mapping))
    }

    pub(super) fn memory(bytes: Vec<u8>) -> Self {
        Self::new(Input::Memory(bytes))
    }

    pub(super) fn stream(from: Box<dyn Read + Send>) -> Self {
        Self::new(Input::Stream(Stream::new(from, usize::MAX)))
    }

    /// The stream that comes out of a decompressor.
    pub(super) fn decompressed(from: Box<dyn Read + Send>) -> Self {
        let input = Input::Stream(Stream::new(from, DECOMPRESSED_BYTES));
        Self {
            compressed: true,
            ..Self::new(input)
        }
    }

    fn new(input: Input) -> Self {
        Self {
            input,
            start: 0,
            gone: 0,
            compressed: false,
        }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match &self.input {
            Input::Mapped(mapping) => mapping,
            Input::Memory(bytes) => bytes,
            Input::Stream(stream) => stream.buffer.get(..stream.filled).unwrap_or_default(),
        }
    }

    /// What is there at and after the place reached, without reading on.
    #[inline]
    pub(super) fn window(&self) -> &[u8] {
        self.bytes().get(self.start..).unwrap_or_default()
    }

    /// Bytes of the capture before the window.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.gone + self.start as u64
    }

    /// Reads on until the window has `need` bytes or the input ends; answers with its length.
    ///
    /// Blocks while a stream has nothing, never longer than `need` asks for. Memory grows with the
    /// bytes that have arrived, not with `need`.
    pub(super) fn fill(&mut self, need: usize) -> io::Result<usize> {
        let length = self.window().len();
        match &mut self.input {
            Input::Stream(stream) if length < need && !stream.ended => {
                stream.forget(self.start);
                self.gone += self.start as u64;
                self.start = 0;
                stream.read_until(need)?;
                Ok(stream.filled)
            }
            _ => Ok(length),
        }
    }

    /// As [`Self::fill`], for a part of the capture whose `place` an error names.
    pub(super) fn fill_for(&mut self, need: usize, place: Place) -> Result<usize, ReadError> {
        self.fill(need).map_err(|source| {
            // A decompressor's own errors carry no number of the operating system.
            let (kind, reason) = match source.kind() {
                _ if !self.compressed || source.raw_os_error().is_some() => {
                    (ErrorKind::Io, "the input cannot be read")
                }
                io::ErrorKind::UnexpectedEof => {
                    (ErrorKind::Truncated, "the compressed input ends early")
                }
                _ => (ErrorKind::Damaged, "the input cannot be decompressed"),
            };
            ReadError {
                needed: need as u64,
                available: self.window().len() as u64,
                source: Some(source),
                ..place.error(kind, reason)
            }
        })
    }

    /// Moves the window on by `bytes` of it.
    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.window().len());
        self.start += bytes;
    }

    /// The index of the window's first byte; with [`Self::slice`], valid until the next `fill`.
    #[inline]
    pub(super) fn mark(&self) -> usize {
        self.start
    }

    #[inline]
    pub(super) fn slice(&self, mark: usize, bytes: usize) -> &[u8] {
        self.bytes()
            .get(mark..)
            .and_then(|rest| rest.get(..bytes))
            .unwrap_or_default()
    }

    /// The mapped file, if the input is one.
    pub(super) fn mapping(&self) -> Option<&Arc<Mapping>> {
        match &self.input {
            Input::Mapped(mapping) => Some(mapping),
            Input::Memory(_) | Input::Stream(_) => None,
        }
    }

    /// Moves the window to `offset` of a mapped file, or to its end; other inputs stay.
    #[inline]
    pub(super) fn seek(&mut self, offset: u64) {
        if let Input::Mapped(mapping) = &self.input {
            self.start = usize::try_from(offset).map_or(mapping.len(), |at| at.min(mapping.len()));
        }
    }

    /// What is at and after the place reached, as a stream.
    pub(super) fn into_read(self) -> Box<dyn Read + Send> {
        match self.input {
            Input::Mapped(mapping) => Box::new(MappedRead {
                mapping,
                at: self.start,
            }),
            Input::Memory(bytes) => {
                let mut cursor = io::Cursor::new(bytes);
                cursor.set_position(self.start as u64);
                Box::new(cursor)
            }
            Input::Stream(mut stream) => {
                stream.forget(self.start);
                stream.buffer.truncate(stream.filled);
                Box::new(io::Cursor::new(stream.buffer).chain(stream.from))
            }
        }
    }
}

impl Stream {
    fn new(from: Box<dyn Read + Send>, step: usize) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            filled: 0,
            step,
            ended: false,
        }
    }

    /// Drops the first `bytes` and moves the rest to the front.
    fn forget(&mut self, bytes: usize) {
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
    }

    fn read_until(&mut self, need: usize) -> io::Result<()> {
        while self.filled < need && !self.ended {
            if self.filled == self.buffer.len() {
                let most = need.max(BUFFER_BYTES);
                self.buffer
                    .resize((self.filled * 2).clamp(BUFFER_BYTES, most), 0);
            }
            let room = (self.buffer.len() - self.filled).min(self.step);
            match self.from.read(&mut self.buffer[self.filled..][..room]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.filled += bytes.min(room),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A mapped file as a stream, for the decompressors.
struct MappedRead {
    mapping: Arc<Mapping>,
    at: usize,
}

impl Read for MappedRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut rest = self.mapping.get(self.at..).unwrap_or_default();
        let bytes = rest.read(into)?;
        self.at += bytes;
        Ok(bytes)
    }
}
