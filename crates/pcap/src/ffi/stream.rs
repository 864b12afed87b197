//! The caller's `FILE` streams.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::io::{self, Read};

use crate::ffi::cancel::is_single_threaded;

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    fn fwrite_unlocked(
        from: *const c_void,
        bytes: usize,
        count: usize,
        file: *mut libc::FILE,
    ) -> usize;
}

/// fwrite(3) of `bytes` bytes at `from`: whether all were written. The lock of a stream costs as much as writing a short packet, and
/// is not taken while the process has one thread.
///
/// # Safety
/// As many bytes are at `from`, and `file` is an open stream.
#[inline]
pub unsafe fn write(file: *mut libc::FILE, from: *const u8, bytes: usize) -> bool {
    let from = from.cast();
    let written = if is_single_threaded() {
        // SAFETY: promised by the caller; no other thread uses the stream.
        unsafe { fwrite_unlocked(from, bytes, 1, file) }
    } else {
        // SAFETY: promised by the caller.
        unsafe { libc::fwrite(from, bytes, 1, file) }
    };
    written == 1 || bytes == 0
}

/// The stream of standard input.
pub fn standard_input() -> *mut libc::FILE {
    // SAFETY: the C library initialises it before `main`.
    unsafe { stdin }
}

/// The stream of standard output.
pub fn standard_output() -> *mut libc::FILE {
    // SAFETY: as above.
    unsafe { stdout }
}

/// The bytes of a stream, read ahead. A regular file keeps its position meanwhile.
pub struct Stream {
    file: *mut libc::FILE,
    /// Bytes to read first.
    first: VecDeque<u8>,
    method: ReadMethod,
}

/// How bytes are read without waiting for more than the next one.
#[derive(Clone, Copy)]
enum ReadMethod {
    /// pread(2) of a regular file, from this offset on.
    Offset(i64),
    /// read(2): the stream's own buffer is empty.
    Descriptor,
    /// fread(3) of one byte: nobody knows how many more are there.
    Bytes,
}

// SAFETY: stdio streams lock themselves, and the handle that owns the reader is used by one thread at a time.
unsafe impl Send for Stream {}

impl Stream {
    /// Reads `file`, which must outlive it, from its position on. `is_fresh`: nobody has read from it.
    pub fn new(file: *mut libc::FILE, is_fresh: bool) -> Self {
        let method = match offset(file) {
            Some(offset) => ReadMethod::Offset(offset),
            None if is_fresh => ReadMethod::Descriptor,
            None => ReadMethod::Bytes,
        };
        Self {
            file,
            first: VecDeque::new(),
            method,
        }
    }

    /// Reads a regular file from an offset on.
    pub fn at(file: *mut libc::FILE, offset: i64) -> Self {
        Self {
            file,
            first: VecDeque::new(),
            method: ReadMethod::Offset(offset),
        }
    }

    /// Reads `bytes` before all others.
    pub fn put_back(&mut self, bytes: &[u8]) {
        self.first.extend(bytes);
    }

    /// Reads until `into` is full or the stream ends. Returns the number of bytes.
    pub fn fill(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut there = 0;
        while there < into.len() {
            match self.read(&mut into[there..]) {
                Ok(0) => break,
                Ok(bytes) => there += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(there)
    }
}

/// The position of a regular file; `None` for other streams.
pub fn offset(file: *mut libc::FILE) -> Option<i64> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: an open stream of the caller.
    let descriptor = unsafe { libc::fileno(file) };
    // SAFETY: the kernel writes a `struct stat` there.
    if unsafe { libc::fstat(descriptor, status.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded.
    let status = unsafe { status.assume_init() };
    if status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return None;
    }
    // SAFETY: an open stream of the caller.
    let offset = unsafe { libc::ftello(file) };
    (offset >= 0).then_some(offset)
}

/// Sets the position of a regular file. Errors leave it where it is.
pub fn seek(file: *mut libc::FILE, offset: i64) {
    // SAFETY: an open stream of the caller.
    unsafe { libc::fseeko(file, offset, libc::SEEK_SET) };
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.first.is_empty() {
            return self.first.read(into);
        }
        // SAFETY: an open stream.
        let descriptor = unsafe { libc::fileno(self.file) };
        let (place, room) = (into.as_mut_ptr().cast(), into.len());
        let bytes = match self.method {
            // SAFETY: at most as many bytes as there is room for.
            ReadMethod::Offset(offset) => unsafe { libc::pread(descriptor, place, room, offset) },
            // SAFETY: as above.
            ReadMethod::Descriptor => unsafe { libc::read(descriptor, place, room) },
            ReadMethod::Bytes => return self.read_byte(into),
        };
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
        if let ReadMethod::Offset(offset) = &mut self.method {
            *offset += (bytes as u64).cast_signed();
        }
        Ok(bytes)
    }
}

impl Stream {
    fn read_byte(&self, into: &mut [u8]) -> io::Result<usize> {
        let wanted = into.len().min(1);
        // SAFETY: at most as many bytes as there is room for, from an open stream.
        let bytes = unsafe { libc::fread(into.as_mut_ptr().cast(), 1, wanted, self.file) };
        // SAFETY: an open stream.
        if bytes == 0 && wanted > 0 && unsafe { libc::ferror(self.file) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(bytes)
    }
}
