//! Memory that stays the machine's own while files come and go.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// Free memory is given back to the host of a virtual machine in whole blocks of 2 MiB (`pageblock_order`), whose pages
/// need not lie in the order of the file: a quarter leaves room for that.
const PIECE: u64 = 512 << 10;
const PAGE: u64 = 4096;
const MIB: usize = 1 << 20;

/// Keeps free memory in pieces that a virtual machine does not give back to its host.
///
/// With free page reporting (mm/page_reporting.c) the host takes what is free within two seconds, and gives it
/// again page by page when it is written to: a file on tmpfs then costs its writer two to four times as much in
/// one trial as in the next. Of this file everything is given up but a page in each piece, so what is free
/// between these pages stays, and the kernel takes it first.
pub struct Ballast {
    _file: File,
}

impl Ballast {
    /// Holds room for files of `bytes` bytes in `folder`, which is on tmpfs.
    pub fn hold(folder: &Path, bytes: u64) -> std::io::Result<Self> {
        let path = folder.join("ballast");
        let mut file = File::create_new(&path)?;
        // It ends with the last one that has it open, however that ends.
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
