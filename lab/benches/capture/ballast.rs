//! Keeps free memory in the guest while files are created and deleted.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// A virtual machine returns free memory to its host in blocks of 2 MiB (`pageblock_order`). The pages of a file may be
/// out of order in a block; a quarter of a block allows for that.
const PIECE: u64 = 512 << 10;
const PAGE: u64 = 4096;
const MIB: usize = 1 << 20;

/// Fragments free memory so that a virtual machine does not return it to its host.
///
/// With free page reporting (mm/page_reporting.c) the host takes free memory within two seconds, and returns it page by
/// page on write. A file on tmpfs then costs its writer two to four times as much in one trial as in the next. The
/// ballast file keeps one page in each piece and releases the rest. The free pages between them stay in the guest, and
/// the kernel allocates them first.
pub struct Ballast {
    _file: File,
}

impl Ballast {
    /// Reserves space for files of `bytes` bytes in `folder`, which must be on tmpfs.
    pub fn hold(folder: &Path, bytes: u64) -> std::io::Result<Self> {
        let path = folder.join("ballast");
        let mut file = File::create_new(&path)?;
        // The kernel deletes it when the last descriptor is closed, however the process exits.
        std::fs::remove_file(&path)?;
        let pieces = bytes.div_ceil(PIECE);
        let written = vec![1; MIB];
        for _ in 0..(pieces * PIECE).div_ceil(MIB as u64) {
            file.write_all(&written)?;
        }
        let give_up = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for piece in 0..pieces {
            fallocate(&file, give_up, piece * PIECE, PIECE - PAGE)?;
        }
        Ok(Self { _file: file })
    }
}
