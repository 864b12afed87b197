//! Counters by key in a kernel hash table.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abi::bpf::{Cursor, Map, MapLayout, MapType, possible_cpus};

use crate::map::MapError;

/// First number of entries copied by one system call.
const BATCH: usize = 256;

/// Options of a [`CounterTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Bytes of a key, at least 1.
    pub key_bytes: u32,
    /// Number of keys. The kernel allocates memory for all of them at once, on every CPU.
    pub max_entries: u32,
    /// What happens to new keys when the table is full.
    pub when_full: FullTablePolicy,
}

/// What happens to new keys when a table is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullTablePolicy {
    /// The kernel refuses them ([`Helper::MapUpdateElem`] returns E2BIG). Existing keys stay.
    ///
    /// [`Helper::MapUpdateElem`]: crate::Helper::MapUpdateElem
    #[doc(alias = "BPF_MAP_TYPE_PERCPU_HASH")]
    Refuse,
    /// The kernel evicts keys that were not used recently, and their counters are lost. Each CPU keeps some free entries, so
    /// this happens before the table has `max_entries` keys.
    #[doc(alias = "BPF_MAP_TYPE_LRU_PERCPU_HASH")]
    Evict,
}

/// `N` 64-bit counters per CPU for each key of a table.
///
/// A program finds its CPU's array of `N` with [`Helper::MapLookupElem`] and inserts a new key with
/// [`Helper::MapUpdateElem`].
///
/// [`Helper::MapLookupElem`]: crate::Helper::MapLookupElem
/// [`Helper::MapUpdateElem`]: crate::Helper::MapUpdateElem
#[derive(Debug)]
pub struct CounterTable<const N: usize> {
    map: Map,
    options: TableOptions,
    keys: Vec<u8>,
    areas: Vec<u8>,
}

impl<const N: usize> CounterTable<N> {
    /// Creates an empty table.
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM; EINVAL for a size of 0, E2BIG or ENOMEM if it is too large.
    /// # Privileges
    /// `CAP_BPF`.
    pub fn create(name: &str, options: TableOptions) -> Result<Self, MapError> {
        let layout = MapLayout {
            map_type: match options.when_full {
                FullTablePolicy::Refuse => MapType::PerCpuHash,
                FullTablePolicy::Evict => MapType::LruPerCpuHash,
            },
            key_bytes: options.key_bytes,
            value_bytes: 8 * N as u32,
            max_entries: options.max_entries,
        };
        let map = Map::create(&layout, name).map_err(MapError::creating(name, layout.map_type))?;
        Ok(Self {
            map,
            options,
            keys: Vec::new(),
            areas: Vec::new(),
        })
    }

    /// Upper limit of the kernel memory for one key, bytes: the entry with its key, its share of the buckets, and the counters
    /// of each CPU.
    ///
    /// # Errors
    /// As [`possible_cpus`].
    /// # Source
    /// `htab_map_mem_usage`, kernel/bpf/hashtab.c.
    pub fn entry_bytes(key_bytes: u32) -> io::Result<u64> {
        // `struct htab_elem`, the address of the counters, and two of `struct bucket`, whose number is a power of 2.
        const FIXED: u64 = 48 + 8 + 2 * 16;
        let counters = 8 * N as u64 * possible_cpus()? as u64;
        Ok(FIXED + u64::from(key_bytes).next_multiple_of(8) + counters)
    }

    /// The options of the table.
    pub fn options(&self) -> TableOptions {
        self.options
    }

    /// The counters of `key`, summed over all CPUs. `None` if there is no such key.
    ///
    /// # Errors
    /// EINVAL if `key` does not have the table's key size.
    pub fn get(&self, key: &[u8]) -> io::Result<Option<[u64; N]>> {
        Ok(self.get_by_cpu(key)?.map(|cpus| sum(cpus.into_iter())))
    }

    /// The counters of `key` on each possible CPU. `None` if there is no such key.
    ///
    /// # Errors
    /// EINVAL if `key` does not have the table's key size.
    pub fn get_by_cpu(&self, key: &[u8]) -> io::Result<Option<Vec<[u64; N]>>> {
        let mut area = vec![0; self.map.area_bytes()];
        match self.map.lookup(key, &mut area) {
            Ok(()) => Ok(Some(by_cpu(&area).collect())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes `key`. Returns whether it existed.
    ///
    /// # Errors
    /// EINVAL if `key` does not have the table's key size.
    pub fn remove(&self, key: &[u8]) -> io::Result<bool> {
        self.map.delete(key)
    }

    /// Calls `row` with each key and its counters, summed over all CPUs, in no particular order.
    ///
    /// Visits a key that exists all the time once. Visits a key that is inserted or removed meanwhile once or not at all. Costs
    /// a system call per 256 keys (before Linux 5.6, two per key). The buffers are reused.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_LOOKUP_BATCH` and related commands; ENOMEM.
    pub fn read(&mut self, mut row: impl FnMut(&[u8], [u64; N])) -> io::Result<()> {
        let mut cursor = Cursor::default();
        self.resize(BATCH.min(self.options.max_entries as usize));
        // Terminates: each round advances by at least one bucket, or doubles the buffer until one bucket fits. A bucket has at
        // most all entries.
        while !cursor.is_at_end() {
            let answer = self
                .map
                .lookup_batch(&mut cursor, &mut self.keys, &mut self.areas);
            match answer {
                Ok(count) => self.rows(count, &mut row),
                Err(error) if error.kind() == io::ErrorKind::StorageFull && self.can_grow() => {
                    self.resize(2 * self.room());
                }
                Err(_) if !cursor.has_begun() => return self.read_singly(row),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// As [`read`](Self::read), key by key, for kernels without batch lookup.
    fn read_singly(&mut self, mut row: impl FnMut(&[u8], [u64; N])) -> io::Result<()> {
        self.resize(1);
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        let mut last: Option<Box<[u8]>> = None;
        // If the last key was removed meanwhile, the kernel starts again: keys may come twice.
        for _ in 0..4 * u64::from(self.options.max_entries) {
            if !self.map.next_key(last.as_deref(), &mut self.keys)? {
                break;
            }
            let key: Box<[u8]> = self.keys.as_slice().into();
            if seen.insert(key.clone()) {
                match self.map.lookup(&key, &mut self.areas) {
                    Ok(()) => row(&key, sum(by_cpu(&self.areas))),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            last = Some(key);
        }
        Ok(())
    }

    fn rows(&self, count: usize, row: &mut impl FnMut(&[u8], [u64; N])) {
        let keys = self.keys.chunks_exact(self.options.key_bytes as usize);
        let areas = self.areas.chunks_exact(self.map.area_bytes());
        for (key, area) in keys.zip(areas).take(count) {
            row(key, sum(by_cpu(area)));
        }
    }

    fn room(&self) -> usize {
        self.keys.len() / self.options.key_bytes as usize
    }

    fn can_grow(&self) -> bool {
        self.room() < self.options.max_entries as usize
    }

    /// Resizes the buffers to `entries` entries.
    fn resize(&mut self, entries: usize) {
        self.keys
            .resize(entries * self.options.key_bytes as usize, 0);
        self.areas.resize(entries * self.map.area_bytes(), 0);
    }
}

impl<const N: usize> AsFd for CounterTable<N> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// The counters of each CPU in the kernel's copy of one key.
fn by_cpu<const N: usize>(area: &[u8]) -> impl Iterator<Item = [u64; N]> {
    let (words, _) = area.as_chunks();
    words.chunks_exact(N).map(|words: &[[u8; 8]]| {
        let mut counters = [0; N];
        for (counter, word) in counters.iter_mut().zip(words) {
            *counter = u64::from_ne_bytes(*word);
        }
        counters
    })
}

fn sum<const N: usize>(cpus: impl Iterator<Item = [u64; N]>) -> [u64; N] {
    cpus.fold([0; N], |mut sums, cpu| {
        for (sum, counter) in sums.iter_mut().zip(cpu) {
            *sum = sum.wrapping_add(counter);
        }
        sums
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch is read by the same kernel's other call.
    #[test]
    fn keys_read_singly_are_those_of_a_batch() {
        let options = TableOptions {
            key_bytes: 6,
            max_entries: 1000,
            when_full: FullTablePolicy::Refuse,
        };
        let mut table = CounterTable::<3>::create("tapline_test", options).unwrap();
        let cpus = table.map.area_bytes() / 24;
        for number in 0..700_u64 {
            let key = &number.to_be_bytes()[2..];
            let values = (0..3 * cpus as u64).flat_map(|at| (number << at).to_ne_bytes());
            table.map.update(key, &values.collect::<Vec<u8>>()).unwrap();
        }
        let [mut batch, mut single] = [(); 2].map(|()| Vec::new());
        table
            .read(|key, values| batch.push((key.to_vec(), values)))
            .unwrap();
        table
            .read_singly(|key, values| single.push((key.to_vec(), values)))
            .unwrap();
        batch.sort_unstable();
        single.sort_unstable();
        assert_eq!(batch, single);
        assert_eq!(batch.len(), 700);
        let [first, ..] = batch[5].1;
        let expected = (0..cpus).fold(0_u64, |sum, cpu| sum.wrapping_add(5 << (3 * cpu)));
        assert_eq!(
            (batch[5].0.as_slice(), first),
            (&[0, 0, 0, 0, 0, 5][..], expected)
        );
    }
}
