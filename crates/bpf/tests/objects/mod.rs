//! What the kernel has of programs, maps and links that carry a given name.

use std::os::fd::{AsFd, OwnedFd};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use abi::bpf::{ObjectKind, link_info, map_info, next_id, open_id, program_info};

const DEADLINE: Duration = Duration::from_secs(20);

/// Numbers of programs, maps, and links of those programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    pub programs: usize,
    pub maps: usize,
    pub links: usize,
}

impl Objects {
    /// Those called `name` now.
    pub fn named(name: &str) -> Self {
        let programs: Vec<u32> = all(ObjectKind::Program)
            .filter_map(|program| program_info(program.as_fd()).ok())
            .filter(|program| program.name() == name)
            .map(|program| program.id)
            .collect();
        let is_ours = |map: &OwnedFd| map_info(map.as_fd()).is_ok_and(|map| map.name() == name);
        let holds = |link: &OwnedFd| {
            let info = link_info(link.as_fd());
            info.is_ok_and(|link| programs.contains(&link.program_id))
        };
        Self {
            programs: programs.len(),
            maps: all(ObjectKind::Map).filter(is_ours).count(),
            links: all(ObjectKind::Link).filter(holds).count(),
        }
    }

    /// Returns when there are none any more: the kernel frees what nobody holds a little later.
    #[track_caller]
    pub fn until_none(name: &str) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = Self::named(name);
            if left == Self::default() {
                return;
            }
            assert!(Instant::now() < deadline, "{name}: {left:?} are left");
            yield_now();
        }
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
