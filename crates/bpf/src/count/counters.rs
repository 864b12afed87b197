//! The counters of all classes in one value.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abi::bpf::{Map, MapLayout, MapType};

use crate::map::MapError;

/// 64-bit counters, kept per CPU in one value: a program finds all counters of its CPU with one lookup.
#[derive(Debug)]
pub struct CounterArray {
    map: Map,
    count: usize,
}

impl CounterArray {
    /// Creates `count` counters, all 0; at most 4096, the limit of one value.
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
        let map = Map::create(&layout, name).map_err(MapError::creating(name, layout.map_type))?;
        Ok(Self {
            map,
            count: count as usize,
        })
    }

    /// The counters, summed over all CPUs.
    ///
    /// Counters are read one after another, not as a snapshot. Costs one system call and a copy of 8 bytes per counter
    /// and CPU.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this type.
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
