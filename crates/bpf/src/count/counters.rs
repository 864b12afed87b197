//! The counters of all classes, in one value.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abi::bpf::{Map, MapLayout, MapType};

use crate::map::MapError;

/// Counters of 64 bits, as many as asked for, kept once per CPU in one value: a program finds all of
/// its CPU's with one look.
#[derive(Debug)]
pub struct CounterArray {
    map: Map,
    count: usize,
}

impl CounterArray {
    /// Makes `count` counters, all 0; at most 4096, which is as much as a value holds.
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM; E2BIG for more.
    /// # Privileges
    /// `CAP_BPF`.
    pub fn create(name: &str, count: u32) -> Result<Self, MapError> {
        let layout = MapLayout {
            map_type: MapType::PerCpuArray,
            key_bytes: 4,
            value_bytes: count.saturating_mul(8),
            max_entries: 1,
        };
        let map = Map::create(&layout, name).map_err(|source| MapError {
            name: name.to_owned(),
            source,
        })?;
        Ok(Self {
            map,
            count: count as usize,
        })
    }

    /// The counters, summed over all CPUs.
    ///
    /// Each is read whole, one after the other. Cost: one system call, and 8 bytes copied for each
    /// counter and CPU.
    ///
    /// # Errors
    /// What the kernel answers to `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this kind.
    pub fn read(&self) -> io::Result<Vec<u64>> {
        let mut area = vec![0; self.map.area_bytes()];
        self.map.lookup(&0u32.to_ne_bytes(), &mut area)?;
        let mut sums = vec![0u64; self.count];
        for cpu in area.chunks_exact(8 * self.count.max(1)) {
            for (sum, value) in sums.iter_mut().zip(cpu.as_chunks().0) {
                *sum = sum.wrapping_add(u64::from_ne_bytes(*value));
            }
        }
        Ok(sums)
    }
}

impl AsFd for CounterArray {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
