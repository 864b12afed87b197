//! Memory shared with the kernel.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Memory shared with the kernel, mapped readable and writable while this value lives.
///
/// The kernel may write to it at any time, so this type returns no `&[u8]`. Words that signal ownership
/// are accessed as atomics; all other memory through [`Region::pointer`], by code that knows what the
/// kernel has handed over.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped once, by the owner.
unsafe impl Send for Region {}
// SAFETY: what a shared reference gives are atomics, and addresses, which are for the caller to use.
unsafe impl Sync for Region {}

impl Region {
    /// Maps the first `bytes` bytes of `fd`.
    ///
    /// # Errors
    /// Errors of mmap(2); EINVAL if `bytes` is 0.
    pub fn map(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        Self::map_at(fd, 0, bytes)
    }

    /// Maps `bytes` bytes of `fd` from byte `offset` on, a multiple of the page size.
    ///
    /// # Errors
    /// Errors of mmap(2); EINVAL if `bytes` is 0.
    pub fn map_at(fd: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        Self::map_with(fd, offset, bytes, ProtFlags::READ | ProtFlags::WRITE)
    }

    fn map_with(
        fd: BorrowedFd<'_>,
        offset: u64,
        bytes: usize,
        protection: ProtFlags,
    ) -> io::Result<Self> {
        let flags = MapFlags::SHARED;
        // SAFETY: a null hint lets the kernel choose an address that nothing else uses.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, fd, offset) }?;
        Self::new(base, bytes)
    }

    /// Maps `bytes` bytes of new memory, zeroed; in large pages where the kernel has them to spare, for
    /// memory that is walked through over and over.
    ///
    /// # Errors
    /// ENOMEM; EINVAL when `bytes` is 0.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a null hint lets the kernel choose an address that nothing else uses.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) }?;
        // SAFETY: the whole of the mapping just made; its contents stay as they are. A kernel without
        // large pages refuses, and has the memory in small ones.
        let _ = unsafe { madvise(base, bytes, Advice::LinuxHugepage) };
        Self::new(base, bytes)
    }

    fn new(base: *mut std::ffi::c_void, bytes: usize) -> io::Result<Self> {
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, bytes })
    }

    /// Size of the mapping, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address of byte `offset`. At least `need` bytes from there lie in the mapping.
    ///
    /// # Panics
    /// If they do not: callers compute offsets from the geometry that they requested.
    #[inline]
    pub fn pointer(&self, offset: usize, need: usize) -> NonNull<u8> {
        assert!(
            offset <= self.bytes && need <= self.bytes - offset,
            "offset lies outside the mapping"
        );
        // SAFETY: the offset was just checked to lie within the mapping.
        unsafe { self.base.add(offset) }
    }

    /// Copies `bytes` to byte `offset`.
    ///
    /// # Panics
    /// If they do not fit into the mapping.
    #[inline]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let at = self.pointer(offset, bytes.len());
        // SAFETY: that many bytes lie within the mapping (checked), which `bytes` is no part of: this type lends none
        // of its memory. The exclusive borrow keeps other threads of this process away; what the kernel does with the
        // memory meanwhile is no access of this program.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.as_ptr(), bytes.len()) };
    }

    /// The 32-bit word at byte `offset`, shared with the kernel.
    ///
    /// # Panics
    /// If the word is not aligned or not within the mapping.
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        let at = self.pointer(offset, size_of::<u32>()).cast::<AtomicU32>();
        assert!(at.is_aligned(), "word is not aligned");
        // SAFETY: within the mapping and aligned (both checked); it lives as long as `self`; all
        // access from this process goes through the atomic.
        unsafe { at.as_ref() }
    }

    /// The 64-bit word at byte `offset`, shared with the kernel.
    ///
    /// # Panics
    /// When it is not aligned or not within the mapping.
    #[inline]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        let at = self.pointer(offset, size_of::<u64>()).cast::<AtomicU64>();
        assert!(at.is_aligned(), "word is not aligned");
        // SAFETY: within the mapping and aligned (both checked); it lives as long as `self`; all
        // access from this process goes through the atomic.
        unsafe { at.as_ref() }
    }
}

/// Memory shared with the kernel, mapped readable only; otherwise as [`Region`].
#[derive(Debug)]
pub struct ReadOnlyRegion(Region);

// SAFETY: what a shared reference gives are values, loaded atomically, and addresses, which are for the
// caller to use; nothing in here changes but by the kernel, before and after as in one thread.
unsafe impl Sync for ReadOnlyRegion {}

impl ReadOnlyRegion {
    /// Maps `bytes` bytes of `fd` from byte `offset` on, a multiple of the page size.
    ///
    /// # Errors
    /// Errors of mmap(2); EINVAL if `bytes` is 0.
    pub fn map_at(fd: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        Region::map_with(fd, offset, bytes, ProtFlags::READ).map(Self)
    }

    /// The address of byte `offset`. At least `need` bytes from there lie in the mapping and must not be
    /// written to.
    ///
    /// # Panics
    /// When they do not.
    #[inline]
    pub fn pointer(&self, offset: usize, need: usize) -> NonNull<u8> {
        self.0.pointer(offset, need)
    }

    /// Reads the 32-bit word at byte `offset`.
    ///
    /// # Panics
    /// If the word is not aligned or not within the mapping.
    #[inline]
    pub fn load_acquire(&self, offset: usize) -> u32 {
        // A relaxed load and a fence: of memory that cannot be written, only relaxed loads are defined
        // (std::sync::atomic, "Atomic accesses to read-only memory").
        let value = self.0.word(offset).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    /// Reads the 64-bit word at byte `offset`, as [`ReadOnlyRegion::load_acquire`].
    ///
    /// # Panics
    /// When it is not aligned or not within the mapping.
    #[inline]
    pub fn load64_acquire(&self, offset: usize) -> u64 {
        let value = self.0.word64(offset).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    /// Copies the double words from byte `offset` on into `into`.
    ///
    /// Concurrent writes are not a data race, but the copy may then mix old and new words.
    ///
    /// # Panics
    /// When `offset` is not a multiple of 8, or they are not all within the mapping.
    #[inline]
    pub fn copy(&self, offset: usize, into: &mut [[u8; 8]]) {
        let first = self.pointer(offset, size_of_val(into)).cast::<AtomicU64>();
        assert!(first.is_aligned(), "double word is not aligned");
        // SAFETY: that many lie within the mapping and are aligned (both checked); they live as long as `self`.
        unsafe { copy(first, into) };
    }
}

/// Copies as many double words as `into` has from `from` on.
///
/// # Safety
/// They are mapped and aligned.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn copy(from: NonNull<AtomicU64>, into: &mut [[u8; 8]]) {
    // SAFETY: reads what is mapped (the caller's promise) and writes `into` from its beginning to its end; the
    // direction flag is clear. The compiler does not see the reads, so there is no data race. Without
    // `nomem` loads before it and stores after it stay there.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") size_of_val(into) => _,
            inout("rsi") from.as_ptr() => _,
            inout("rdi") into.as_mut_ptr() => _,
            options(nostack, preserves_flags),
        );
    }
}

/// The same.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn copy(from: NonNull<AtomicU64>, into: &mut [[u8; 8]]) {
    // SAFETY: mapped and aligned (the caller's promise); of memory that cannot be written, relaxed loads are defined
    // (std::sync::atomic, "Atomic accesses to read-only memory").
    let shared = unsafe { std::slice::from_raw_parts(from.as_ptr(), into.len()) };
    for (to, from) in into.iter_mut().zip(shared) {
        *to = from.load(Ordering::Relaxed).to_ne_bytes();
    }
}

/// Page size in bytes. Mappings and ring blocks are multiples of it.
pub fn page_bytes() -> usize {
    // SAFETY: sysconf takes no pointers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Every Linux has a page size; POSIX lets the call answer -1 for what a system does not have.
    usize::try_from(bytes).unwrap_or(4096)
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the pair is what mmap returned; references into it borrow `self` and are gone.
        // munmap of a valid mapping does not fail.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
