//! Private memory in large pages, divided into parts of which each thread can own some.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use rustix::mm::{Advice, madvise};

use crate::region::{Region, page_bytes};

/// A large page. Some architectures have larger ones.
const LARGE_BYTES: usize = 2 << 20;

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

/// Has the kernel use large pages, where it has them to spare, for the memory that `values` has reserved and not used yet.
///
/// Use it for large memory with random access, where most accesses to small pages miss the TLB. Costs a system call.
pub fn prefer_large<T>(values: &mut Vec<T>) {
    let reserved = values.spare_capacity_mut().as_mut_ptr_range();
    let start = reserved.start.cast::<u8>();
    let skipped = start.addr().next_multiple_of(page_bytes()) - start.addr();
    let bytes = (reserved.end.addr() - start.addr()).saturating_sub(skipped);
    let bytes = bytes / page_bytes() * page_bytes();
    if bytes < LARGE_BYTES {
        return;
    }
    // SAFETY: whole pages of the memory that the vector has reserved; their contents stay as they are. A kernel without large
    // pages refuses, and has the memory in small ones.
    let _ = unsafe {
        madvise(
            start.wrapping_add(skipped).cast(),
            bytes,
            Advice::LinuxHugepage,
        )
    };
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

    /// Compared with what the kernel says of the mapping.
    #[test]
    fn reserved_memory_may_have_large_pages() {
        let mut values = Vec::<u64>::with_capacity(1 << 20);
        prefer_large(&mut values);
        let middle = values.spare_capacity_mut()[1 << 19..].as_ptr().addr();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        let mut is_here = false;
        let flags = maps.lines().find_map(|line| {
            if let Some(flags) = line.strip_prefix("VmFlags:") {
                return is_here.then_some(flags);
            }
            let range = line.split(' ').next()?.split_once('-')?;
            is_here = (number(range.0)?..number(range.1)?).contains(&middle);
            None
        });
        let is_large = flags.unwrap().split(' ').any(|flag| flag == "hg");
        let has_large = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        assert_eq!(is_large, has_large);
    }

    #[test]
    fn what_no_memory_can_hold_is_refused() {
        assert!(Pages::map(2, usize::MAX / 2).is_err());
        assert!(Pages::map(1, usize::MAX).is_err());
        assert_eq!(Pages::map(1, 0).unwrap()[0].len(), page_bytes());
    }
}
