//! The caller's `FILE` streams.

use std::ffi::{c_char, c_void};
use std::io::{self, Read};

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    /// Whether the process has one thread. glibc 2.32.
    static __libc_single_threaded: c_char;
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

fn is_single_threaded() -> bool {
    let place = &raw const __libc_single_threaded;
    // SAFETY: glibc has it, and writes it before there is another thread.
    unsafe { place.read_volatile() != 0 }
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

/// The bytes of a stream.
pub struct Stream {
    file: *mut libc::FILE,
    way: Way,
}

/// How bytes are read without waiting for more than the next one.
#[derive(Clone, Copy)]
enum Way {
    /// read(2): the stream's own buffer is empty.
    Descriptor,
    /// fread(3) of a regular file, which never waits.
    Whole,
    /// fread(3) of one byte: nobody knows how many more are there.
    Bytes,
}

// SAFETY: stdio streams lock themselves, and the handle that owns the reader is used by one thread at a time.
unsafe impl Send for Stream {}

impl Stream {
    /// Reads `file`, which must outlive it. `is_fresh`: nobody has read from it.
    pub fn new(file: *mut libc::FILE, is_fresh: bool) -> Self {
        let way = if is_fresh {
            Way::Descriptor
        } else if is_regular(file) {
            Way::Whole
        } else {
            Way::Bytes
        };
        Self { file, way }
    }
}

fn is_regular(file: *mut libc::FILE) -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: an open stream of the caller.
    let descriptor = unsafe { libc::fileno(file) };
    // SAFETY: the kernel writes a `struct stat` there.
    if unsafe { libc::fstat(descriptor, status.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call succeeded.
    let status = unsafe { status.assume_init() };
    status.st_mode & libc::S_IFMT == libc::S_IFREG
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let place = into.as_mut_ptr().cast();
        let wanted = match self.way {
            Way::Descriptor => {
                // SAFETY: an open stream.
                let descriptor = unsafe { libc::fileno(self.file) };
                // SAFETY: at most as many bytes as there is room for.
                let bytes = unsafe { libc::read(descriptor, place, into.len()) };
                return usize::try_from(bytes).map_err(|_| io::Error::last_os_error());
            }
            Way::Whole => into.len(),
            Way::Bytes => into.len().min(1),
        };
        // SAFETY: at most as many bytes as there is room for, from an open stream.
        let bytes = unsafe { libc::fread(place, 1, wanted, self.file) };
        // SAFETY: an open stream.
        if bytes == 0 && wanted > 0 && unsafe { libc::ferror(self.file) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(bytes)
    }
}
