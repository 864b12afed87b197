//! Counts resources that a process holds, for tests that check for leaks.

use std::collections::BTreeSet;
use std::fs;

use abi::bpf::{ObjectKind, open_id};

use crate::wait;

/// Number of descriptors that this process has open.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc").count()
}

/// Resident memory of this process, in pages.
pub fn resident_pages() -> usize {
    let numbers = fs::read_to_string("/proc/self/statm").expect("/proc");
    let resident = numbers.split(' ').nth(1);
    let resident = resident.and_then(|pages| pages.parse().ok());
    resident.expect("a number of pages")
}

/// BPF programs and maps in the kernel, by ID. The kernel does not reuse an ID soon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    programs: BTreeSet<u32>,
    maps: BTreeSet<u32>,
}

impl Objects {
    /// Programs and maps that process `id` has descriptors of. A link counts as its program.
    pub fn of_process(id: u32) -> Self {
        let mut objects = Self::default();
        let descriptors = fs::read_dir(format!("/proc/{id}/fdinfo")).expect("the process exists");
        for descriptor in descriptors {
            let path = descriptor.expect("an entry").path();
            // A descriptor that was closed in the meantime reads as empty.
            let told = fs::read_to_string(path).unwrap_or_default();
            for line in told.lines() {
                let Some((key, value)) = line.split_once(':') else {
                    continue;
                };
                let of_key = match key {
                    "prog_id" => &mut objects.programs,
                    "map_id" => &mut objects.maps,
                    _ => continue,
                };
                of_key.extend(value.trim().parse::<u32>());
            }
        }
        objects
    }

    /// Number of programs.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// Number of maps.
    pub fn maps(&self) -> usize {
        self.maps.len()
    }

    /// Adds `others`.
    pub fn extend(&mut self, others: Self) {
        self.programs.extend(others.programs);
        self.maps.extend(others.maps);
    }

    /// Number of these programs and maps that still exist in the kernel.
    pub fn left(&self) -> [usize; 2] {
        let is_there = |kind, id: u32| open_id(kind, id).expect("an answer").is_some();
        let programs = self.programs.iter();
        let maps = self.maps.iter();
        [
            programs
                .filter(|id| is_there(ObjectKind::Program, **id))
                .count(),
            maps.filter(|id| is_there(ObjectKind::Map, **id)).count(),
        ]
    }

    /// Waits until none of these exist in the kernel. The kernel frees unreferenced objects with a delay.
    #[track_caller]
    pub fn until_gone(&self) {
        wait::until_ok(|| match self.left() {
            [0, 0] => Ok(()),
            left => Err(format!("programs and maps that are left: {left:?}")),
        });
    }
}
