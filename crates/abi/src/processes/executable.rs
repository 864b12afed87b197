//! Memory for machine code that is generated at run time.

use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// Generated machine code in its own pages, which can be read and executed but never written again.
///
/// The pages are written first and made executable afterwards; they are never both. `Send` and `Sync`, because
/// the bytes do not change. Dropping this value unmaps the code, so callers of the code must keep it alive.
#[derive(Debug)]
pub struct Executable {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped once, by the owner.
unsafe impl Send for Executable {}
// SAFETY: through a shared reference the pages can only be read and run; they cannot be written.
unsafe impl Sync for Executable {}

impl Executable {
    /// Copies `code` into new pages and makes them executable.
    ///
    /// Cost: two system calls and a copy.
    ///
    /// # Errors
    /// Of mmap(2) and mprotect(2): ENOMEM, or EACCES or EPERM where a security module forbids code
    /// made at run time; `InvalidInput` for no code.
    /// # Source
    /// mmap(2), mprotect(2).
    #[doc(alias = "mprotect")]
    pub fn new(code: &[u8]) -> io::Result<Self> {
        if code.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a null hint lets the kernel choose an address that nothing else uses.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), code.len(), protection, flags) }?;
        let mapping = Self {
            start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            bytes: code.len(),
        };
        // SAFETY: the mapping was just made for this many bytes, writable and referenced nowhere else,
        // so it cannot overlap `code`.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), mapping.start.as_ptr(), code.len());
        }
        // SAFETY: the range is the mapping just made, whole, to which no reference exists. On
        // processors whose instruction caches do not follow writes (aarch64) the kernel cleans them
        // where a page becomes executable (`__sync_icache_dcache`, arch/arm64/mm/flush.c).
        unsafe { mprotect(start, code.len(), MprotectFlags::READ | MprotectFlags::EXEC) }?;
        Ok(mapping)
    }
}

impl Deref for Executable {
    type Target = [u8];

    /// The code; its address is where to call it.
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `bytes` are those of a mapping that is readable and lives as long as
        // `self`; all of it was written before it became executable, and nothing writes it since.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the range is the one mmap returned, unmapped only here; callers of the code keep
        // this value alive. munmap of a valid mapping does not fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permissions of the mapping that `address` is in, as /proc/self/maps shows them.
    fn permissions(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let has = |line: &&str| {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'));
            range.is_some_and(|(start, end)| {
                let number = |text| usize::from_str_radix(text, 16).expect("an address");
                (number(start)..number(end)).contains(&address)
            })
        };
        let line = maps.lines().find(has).expect("the mapping");
        line.split(' ').nth(1).expect("permissions").into()
    }

    #[test]
    fn code_can_be_run_and_not_written() {
        let code = Executable::new(&[0xc3; 5000]).expect("memory");
        assert_eq!(*code, [0xc3; 5000]);
        let start = code.as_ptr().addr();
        assert_eq!(permissions(start), "r-xp");
        assert_eq!(permissions(start + 4999), "r-xp");
    }

    #[test]
    fn no_code_is_refused() {
        let error = Executable::new(&[]).expect_err("no code");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
