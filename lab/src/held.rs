//! Resources that a process holds, for tests that check for leaks.

use std::collections::BTreeSet;
use std::fs;

use abi::bpf::{ObjectKind, open_id};

use crate::wait;

/// How many descriptors this process has open.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc").count()
}

/// Memory of this process, pages.
pub fn resident_pages() -> usize {
    let numbers = fs::read_to_string("/proc/self/statm").expect("/proc");
    let resident = numbers.split(' ').nth(1);
    let resident = resident.and_then(|pages| pages.parse().ok());
    resident.expect("a number of pages")
}

/// Programs and maps in the kernel, by their numbers, which no later ones get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    programs: BTreeSet<u32>,
    maps: BTreeSet<u32>,
}

impl Objects {
    /// Those that process `id` has descriptors of; a link counts for its program.
    pub fn of_process(id: u32) -> Self {
        let mut objects = Self::default();
        let descriptors = fs::read_dir(format!("/proc/{id}/fdinfo")).expect("the process is there");
        for descriptor in descriptors {
            let path = descriptor.expect("an entry").path();
            // Those of descriptors that were closed meanwhile are gone.
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

    /// These and `others`.
    pub fn extend(&mut self, others: Self) {
        self.programs.extend(others.programs);
        self.maps.extend(others.maps);
    }

    /// How many of these are still in the kernel: programs and maps.
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

    /// Returns when the kernel has none of these any more: it frees what nobody holds a little later.
    #[track_caller]
    pub fn until_gone(&self) {
        wait::until_ok(|| match self.left() {
            [0, 0] => Ok(()),
            left => Err(format!("programs and maps that are left: {left:?}")),
        });
    }
}
