//! The bytes of a capture: from a regular file, a stream or memory, decompressed if needed.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::io::Errno;

use super::error::{ErrorKind, Location, ReadError};

/// Default size of the buffer. It grows only for a longer block.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// Maximum bytes requested from a decompressor at a time. Its output that is not yet returned is
/// lost when it meets corrupt data.
const DECOMPRESSED_BYTES: usize = 4 << 10;

const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The sixteen magic numbers of a skippable frame differ in the low half of their first byte.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// The compression of a capture file, as found in its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DetectedCompression {
    /// None.
    None,
    /// One or more gzip members.
    Gzip,
    /// One or more zstd frames.
    Zstd,
}

/// An input read forwards through a buffer. Its *window* begins at the current offset.
pub(super) struct Input {
    from: Origin,
    /// Fully initialised. The bytes read so far are `buffer[..filled]`.
    buffer: Vec<u8>,
    filled: usize,
    /// Index in the buffer where the window begins.
    start: usize,
    /// Bytes of the capture before the buffer.
    discarded: u64,
    /// Size of the buffer, unless a block is longer.
    buffer_bytes: usize,
    /// Maximum bytes to request at a time.
    request_bytes: usize,
    ended: bool,
    /// Whether a failed read means corrupt data instead of a failed device.
    compressed: bool,
}

enum Origin {
    Stream(Box<dyn Read + Send>),
    File(FileCursor),
}

/// A regular file with the length it had when it was opened. Bytes appended later are not read.
///
/// It is read with `pread(2)`: a file that is truncated or overwritten by another process gives an
/// error or other bytes, never a signal.
#[derive(Clone)]
pub(super) struct RegularFile {
    file: Arc<File>,
    bytes: u64,
}

impl RegularFile {
    pub(super) fn new(file: File, bytes: u64) -> Self {
        let file = Arc::new(file);
        Self { file, bytes }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A position in a regular file, which several threads can read side by side.
struct FileCursor {
    file: RegularFile,
    /// Offset of the next byte to read into the buffer.
    position: u64,
    /// Bytes behind this offset are read only when a block needs them.
    read_ahead_end: u64,
}

impl Read for FileCursor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.file.bytes.saturating_sub(self.position);
        let most = usize::try_from(left).map_or(into.len(), |left| left.min(into.len()));
        if most == 0 {
            return Ok(0);
        }
        let bytes = self.file.file.read_at(&mut into[..most], self.position)?;
        if bytes == 0 {
            let reason = "the file was shortened while it was read";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        self.position += bytes as u64;
        Ok(bytes)
    }
}

impl Input {
    pub(super) fn stream(from: Box<dyn Read + Send>) -> Self {
        Self::new(Origin::Stream(from))
    }

    pub(super) fn memory(bytes: Vec<u8>) -> Self {
        let mut input = Self::new(Origin::Stream(Box::new(io::empty())));
        input.replace_memory(bytes);
        input
    }

    /// Reads `file` from its start through a buffer of `buffer_bytes`.
    pub(super) fn file(file: RegularFile, buffer_bytes: usize) -> Self {
        let cursor = FileCursor {
            file,
            position: 0,
            read_ahead_end: u64::MAX,
        };
        Self {
            buffer_bytes,
            ..Self::new(Origin::File(cursor))
        }
    }

    fn new(from: Origin) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            filled: 0,
            start: 0,
            discarded: 0,
            buffer_bytes: BUFFER_BYTES,
            request_bytes: usize::MAX,
            ended: false,
            compressed: false,
        }
    }

    /// Removes one layer of compression, if there is one.
    ///
    /// Consecutive gzip members or zstd frames are one stream.
    pub(super) fn decompressed(
        mut self,
        location: Location,
    ) -> Result<(Self, DetectedCompression), ReadError> {
        self.fill_for(4, location)?;
        let window = self.window();
        let (decoder, compression): (Box<dyn Read + Send>, _) = if window.starts_with(&GZIP) {
            let decoder = flate2::read::MultiGzDecoder::new(self.into_read());
            (Box::new(decoder), DetectedCompression::Gzip)
        } else if window.starts_with(&ZSTD) || is_skippable(window) {
            let decoder =
                zstd::stream::read::Decoder::new(self.into_read()).map_err(|error| ReadError {
                    source: Some(error),
                    ..location.error(ErrorKind::Io, "cannot set up the decompressor")
                })?;
            (Box::new(decoder), DetectedCompression::Zstd)
        } else {
            return Ok((self, DetectedCompression::None));
        };
        let input = Self {
            compressed: true,
            request_bytes: DECOMPRESSED_BYTES,
            ..Self::stream(decoder)
        };
        Ok((input, compression))
    }

    /// Closes a regular file whose rest is in the buffer. Such an input cannot [`seek`](Self::seek).
    pub(super) fn close_if_buffered(&mut self) {
        if let Origin::File(file) = &self.from
            && file.position >= file.file.bytes
        {
            self.from = Origin::Stream(Box::new(io::empty()));
            self.ended = true;
        }
    }

    /// The rest of the input, as a stream.
    fn into_read(mut self) -> Box<dyn Read + Send> {
        self.close_if_buffered();
        self.discard_consumed();
        self.buffer.truncate(self.filled);
        let buffered = io::Cursor::new(self.buffer);
        match self.from {
            Origin::Stream(stream) => Box::new(buffered.chain(stream)),
            Origin::File(file) => Box::new(buffered.chain(file)),
        }
    }

    /// Bytes at and behind the current offset that are in the buffer.
    #[inline]
    pub(super) fn window(&self) -> &[u8] {
        self.buffer.get(self.start..self.filled).unwrap_or_default()
    }

    /// Whether more bytes than those in the window have to be waited for: those of an uncompressed stream that has not ended.
    #[inline]
    pub(super) fn is_live(&self) -> bool {
        matches!(self.from, Origin::Stream(_)) && !self.compressed && !self.ended
    }

    /// The current offset in the (uncompressed) capture.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.discarded + self.start as u64
    }

    /// Reads until the window has `need` bytes or the input ends. Returns the window's length.
    ///
    /// Blocks while a stream has no data, and never waits for more than `need`. Memory grows with the
    /// bytes that arrive, not with `need`.
    pub(super) fn fill(&mut self, need: usize) -> io::Result<usize> {
        if self.window().len() < need && !self.ended {
            self.discard_consumed();
            self.read_until(need)?;
        }
        Ok(self.window().len())
    }

    /// As [`Self::fill`], for the block at `location`.
    pub(super) fn fill_for(&mut self, need: usize, location: Location) -> Result<usize, ReadError> {
        self.fill(need)
            .map_err(|error| self.read_error(error, need, location))
    }

    #[cold]
    fn read_error(&self, error: io::Error, need: usize, location: Location) -> ReadError {
        let is_end = error.kind() == io::ErrorKind::UnexpectedEof && error.raw_os_error().is_none();
        if is_end && matches!(self.from, Origin::File(_)) {
            let reason = "the file was shortened while it was read";
            return location.error(ErrorKind::Truncated, reason);
        }
        // A decompressor's own errors have no errno.
        let (kind, reason) = if !self.compressed || error.raw_os_error().is_some() {
            (ErrorKind::Io, "the input cannot be read")
        } else if is_end {
            (ErrorKind::Truncated, "the compressed input ends early")
        } else {
            (ErrorKind::Corrupt, "the input cannot be decompressed")
        };
        ReadError {
            needed: need as u64,
            available: self.window().len() as u64,
            source: Some(error),
            ..location.error(kind, reason)
        }
    }

    /// Moves the rest of the buffer to its front.
    fn discard_consumed(&mut self) {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.discarded += self.start as u64;
        self.start = 0;
    }

    /// Reads until the buffer has `need` bytes or the input ends.
    fn read_until(&mut self, need: usize) -> io::Result<()> {
        while self.filled < need && !self.ended {
            if self.filled == self.buffer.len() {
                let most = need.max(self.buffer_bytes);
                let bytes = (self.filled * 2).clamp(self.buffer_bytes, most);
                let reserved = self.buffer.try_reserve_exact(bytes - self.filled);
                reserved.map_err(|_| Errno::NOMEM)?;
                self.buffer.resize(bytes, 0);
            }
            let room = (self.buffer.len() - self.filled).min(self.request_bytes);
            let read = match &mut self.from {
                Origin::Stream(stream) => stream.read(&mut self.buffer[self.filled..][..room]),
                Origin::File(file) => {
                    let ahead = file.read_ahead_end.saturating_sub(file.position);
                    let most = (need - self.filled).max(usize::try_from(ahead).unwrap_or(room));
                    let room = room.min(most);
                    file.read(&mut self.buffer[self.filled..][..room])
                }
            };
            match read {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.filled += bytes.min(room),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves the current offset behind `bytes` bytes of the window.
    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.window().len());
        self.start += bytes;
    }

    /// The index of the window's first byte. Like [`Self::slice`], valid until the next `fill`.
    #[inline]
    pub(super) fn index(&self) -> usize {
        self.start
    }

    #[inline]
    pub(super) fn slice(&self, index: usize, bytes: usize) -> &[u8] {
        self.buffer
            .get(index..)
            .and_then(|rest| rest.get(..bytes))
            .unwrap_or_default()
    }

    /// The bytes from `offset` to the current offset, if they are still in the buffer.
    pub(super) fn consumed_since(&self, offset: u64) -> &[u8] {
        let start = offset.saturating_sub(self.discarded) as usize;
        self.buffer.get(start..self.start).unwrap_or_default()
    }

    /// The regular file, if the input is one.
    pub(super) fn regular_file(&self) -> Option<&RegularFile> {
        match &self.from {
            Origin::File(cursor) => Some(&cursor.file),
            Origin::Stream(_) => None,
        }
    }

    /// Moves the current offset of a regular file, and its read-ahead limit. Other inputs stay.
    pub(super) fn seek(&mut self, offset: u64, read_ahead_end: u64) {
        let Origin::File(file) = &mut self.from else {
            return;
        };
        file.read_ahead_end = read_ahead_end;
        self.ended = false;
        match offset.checked_sub(self.discarded) {
            Some(index) if index <= self.filled as u64 => self.start = index as usize,
            _ => {
                (self.start, self.filled) = (0, 0);
                self.discarded = offset;
                file.position = offset;
            }
        }
    }

    /// Continues an input in memory, all of whose bytes are consumed, with `bytes`.
    pub(super) fn continue_memory(&mut self, bytes: &[u8]) {
        self.discarded = self.offset();
        self.buffer.clear();
        self.buffer.extend_from_slice(bytes);
        self.filled = bytes.len();
        (self.start, self.ended) = (0, true);
    }

    /// Passes over `bytes` bytes that follow an input in memory, all of whose bytes are consumed, and that somebody else reads.
    #[inline]
    pub(super) fn pass(&mut self, bytes: usize) {
        self.discarded += bytes as u64;
    }

    /// Exchanges the bytes of an input in memory, and starts at the first of them.
    pub(super) fn replace_memory(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        self.filled = bytes.len();
        (self.start, self.discarded, self.ended) = (0, 0, true);
        std::mem::replace(&mut self.buffer, bytes)
    }
}

fn is_skippable(window: &[u8]) -> bool {
    matches!(window, [first, rest @ ..] if first & 0xf0 == 0x50 && rest.starts_with(&ZSTD_SKIPPABLE))
}
