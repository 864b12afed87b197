//! Lists kernel programs and maps by name, and the links of a process.
//!
//! Links are not enumerated by ID: that would hold links of other tests for a moment and keep them attached. A freed
//! program has no links.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::{ObjectKind, map_info, next_id, open_id, program_info};
use lab::wait;

/// Numbers of programs and maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    pub programs: usize,
    pub maps: usize,
}

impl Objects {
    /// Counts those named `name`.
    pub fn named(name: &str) -> Self {
        let is_program = |program: &OwnedFd| {
            program_info(program.as_fd()).is_ok_and(|program| program.name() == name)
        };
        let is_map = |map: &OwnedFd| map_info(map.as_fd()).is_ok_and(|map| map.name() == name);
        Self {
            programs: all(ObjectKind::Program).filter(is_program).count(),
            maps: all(ObjectKind::Map).filter(is_map).count(),
        }
    }

    /// Waits until none are left. The kernel frees unreferenced objects with a delay.
    #[track_caller]
    pub fn until_none(name: &str) {
        wait::until_ok(|| match Self::named(name) {
            left if left == Self::default() => Ok(()),
            left => Err(format!("{name}: {left:?} are left")),
        });
    }
}

/// Descriptors of all objects of a kind, one after another.
fn all(kind: ObjectKind) -> impl Iterator<Item = OwnedFd> {
    let mut last = 0;
    let ids = std::iter::from_fn(move || {
        last = next_id(kind, last).unwrap()?;
        Some(last)
    });
    ids.filter_map(move |id| open_id(kind, id).unwrap())
}

/// Links that process `id` has open.
pub fn links_of(id: u32) -> usize {
    let descriptors = fs::read_dir(format!("/proc/{id}/fdinfo")).unwrap();
    // A descriptor of another thread may be closed meanwhile.
    let about = descriptors.map(|entry| fs::read_to_string(entry.unwrap().path()));
    about
        .filter(|about| about.as_ref().is_ok_and(|about| about.contains("link_id:")))
        .count()
}
