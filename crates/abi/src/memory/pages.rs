//! Private memory in large pages, divided into parts of which each thread can own some.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use crate::region::{Region, page_bytes};

/// Whole pages of memory, zeroed at first. Parts of one mapping share large pages where the kernel has them to spare,
/// so that a part's first use costs less than a page fault for each of its small pages.
#[derive(Debug)]
pub struct Pages {
    base: NonNull<u8>,
    bytes: usize,
    /// Unmapped with the last part.
    _mapping: Arc<Mapping>,
}

/// A region that is used for nothing but to be unmapped.
#[derive(Debug)]
struct Mapping {
    _region: Region,
}

// SAFETY: nothing reaches the region through a reference to this.
unsafe impl Sync for Mapping {}

// SAFETY: the memory belongs to the process, not to a thread, and only this value reaches this part of it.
unsafe impl Send for Pages {}

// SAFETY: through a shared reference it is only read.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps `count` parts of at least `bytes` bytes each.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn map(count: usize, bytes: usize) -> io::Result<Vec<Self>> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = bytes.max(1).checked_next_multiple_of(page_bytes());
        let bytes = bytes.ok_or_else(too_large)?;
        let all = bytes.checked_mul(count.max(1)).ok_or_else(too_large)?;
        let region = Region::anonymous(all)?;
        let bases: Vec<_> = (0..count)
            .map(|number| region.pointer(number * bytes, bytes))
            .collect();
        let mapping = Arc::new(Mapping { _region: region });
        let part = |base| Self {
            base,
            bytes,
            _mapping: mapping.clone(),
        };
        Ok(bases.into_iter().map(part).collect())
    }
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: mapped for as long as the region lives (checked by `pointer`), zeroed by the kernel, private to the
        // process, and written through this value alone, which is borrowed.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and parts do not overlap.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr(), self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_zeroed_whole_pages_that_do_not_overlap_and_outlive_each_other() {
        let mut parts = Pages::map(3, 5000).unwrap();
        for (number, part) in (1..).zip(&mut parts) {
            assert_eq!(part.as_ptr().align_offset(page_bytes()), 0);
            assert!(part.len() >= 5000 && part.len().is_multiple_of(page_bytes()));
            assert!(part.iter().all(|&byte| byte == 0));
            part.fill(number);
        }
        let last = parts.pop().unwrap();
        assert!(parts[0].iter().all(|&byte| byte == 1));
        drop(parts);
        let seen = std::thread::spawn(move || last.iter().all(|&byte| byte == 3));
        assert!(seen.join().unwrap());
    }

    #[test]
    fn what_no_memory_can_hold_is_refused() {
        assert!(Pages::map(2, usize::MAX / 2).is_err());
        assert!(Pages::map(1, usize::MAX).is_err());
        assert_eq!(Pages::map(1, 0).unwrap()[0].len(), page_bytes());
    }
}
