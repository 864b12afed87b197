//! Files mapped for reading.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::slice;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// A whole regular file as bytes, without copying it.
///
/// The length is the file's when it was mapped; what is appended later is not seen. `Send` and
/// `Sync`: the bytes are only read. Dropping it unmaps the file.
///
/// A mapping shows the file itself. Another process that overwrites the file changes the bytes,
/// and one that shortens it makes the next access to the lost pages end this process with SIGBUS:
/// files that may shrink while they are read are to be read with `read(2)`.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is owned by this value alone and its pages are PROT_READ, so a thread that
// receives it can do no more than the thread that made it: read them and unmap them once.
unsafe impl Send for Mapping {}
// SAFETY: through a shared reference the pages can only be read (PROT_READ); no state is changed.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `file` for reading, from its first byte to its present end.
    ///
    /// Cost: three system calls; pages are read ahead as they are touched in order.
    ///
    /// # Errors
    /// Of `fstat(2)` and `mmap(2)`; `InvalidInput` for a file without length (an empty file, a pipe
    /// or a device cannot be mapped).
    /// # Source
    /// mmap(2), madvise(2).
    #[doc(alias = "mmap")]
    pub fn new(file: &File) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(|_| too_long())?;
        if bytes == 0 || isize::try_from(bytes).is_err() {
            return Err(too_long());
        }
        // SAFETY: the address is null, so the kernel chooses a range that nothing else in this
        // process uses; no existing memory can be affected.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ,
                MapFlags::PRIVATE,
                file,
                0,
            )
        }?;
        let mapping = Self {
            start: NonNull::new(start.cast()).ok_or_else(too_long)?,
            bytes,
        };
        // SAFETY: the range is the mapping just made, whole; MADV_SEQUENTIAL changes only how the
        // kernel reads ahead, never the contents. That it may be refused is harmless.
        let _ = unsafe { madvise(start, bytes, Advice::Sequential) };
        Ok(mapping)
    }

    /// Has the processor fetch the cache line of the byte at `at`, for a read some time later.
    ///
    /// Does not wait and cannot fail; a place outside of the file is passed over.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        if let Some(byte) = self.get(at) {
            fetch_ahead(byte);
        }
    }

    /// Maps the pages of `range` that the kernel has, all at once instead of fault by fault.
    ///
    /// Advice: that it may be refused (before Linux 5.14) is harmless.
    /// # Source
    /// `MADV_POPULATE_READ`, madvise(2).
    pub fn populate(&self, range: Range<usize>) {
        self.advise(range, Advice::LinuxPopulateRead);
    }

    /// Unmaps the pages of `range`, which are mapped again when they are read again: the thread that
    /// is done with them pays for it, not the one that drops the mapping.
    ///
    /// # Source
    /// `MADV_DONTNEED`, madvise(2).
    pub fn release(&self, range: Range<usize>) {
        self.advise(range, Advice::LinuxDontNeed);
    }

    fn advise(&self, range: Range<usize>, advice: Advice) {
        let page = rustix::param::page_size();
        let start = range.start.next_multiple_of(page);
        let end = range.end.min(self.bytes) / page * page;
        if start >= end {
            return;
        }
        // SAFETY: `start` is below `end`, which is within the mapping.
        let from = unsafe { self.start.add(start) };
        // SAFETY: whole pages of this mapping of a file, which are never written: whatever is given up
        // is read from the file again, so no slice of them sees other contents than without.
        let _ = unsafe { madvise(from.as_ptr().cast(), end - start, advice) };
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch_ahead(byte: &u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of x86-64 (SSE), changes no architectural state and never
    // faults; the address is that of a live reference besides.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
}

/// Elsewhere the processor is left to itself.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch_ahead(_: &u8) {}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `bytes` are those of a successful mmap with PROT_READ that lives as
        // long as `self`; every page is initialised (file contents, the tail of the last page
        // zeros), `bytes` was checked to fit an isize, and no `&mut` to the range is ever made.
        // Nothing in this process writes the pages. If another process writes the file, octets may
        // change, but every value of an octet is valid for `u8`, and whoever parses them checks a
        // copy of each length and not the memory twice.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is the one mmap gave, unmapped only here; slices of it borrow `self`,
        // so none is left.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn too_long() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "a file of this length cannot be mapped",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_bytes_are_those_of_the_file() {
        let wrote: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let mut file = tempfile::tempfile().expect("file");
        file.write_all(&wrote).expect("write");
        let mapping = Mapping::new(&file).expect("map");
        drop(file);
        assert_eq!(*mapping, *wrote);
    }

    #[test]
    fn fetching_ahead_is_harmless_everywhere() {
        let mut file = tempfile::tempfile().expect("file");
        file.write_all(b"12345").expect("write");
        let mapping = Mapping::new(&file).expect("map");
        for at in [0, 4, 5, 4096, usize::MAX] {
            mapping.prefetch(at);
        }
        assert_eq!(*mapping, *b"12345");
    }

    #[test]
    fn an_empty_file_is_refused() {
        let null = File::open("/dev/null").expect("open");
        assert_eq!(
            Mapping::new(&null).expect_err("no length").kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
