//! Maps: key-value memory that BPF programs and user space share.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::attr::{
    BPF_BTF_LOAD, BPF_MAP_CREATE, BPF_MAP_DELETE_ELEM, BPF_MAP_FREEZE, BPF_MAP_LOOKUP_ELEM,
    BPF_MAP_UPDATE_BATCH, BPF_MAP_UPDATE_ELEM, MapBatch, MapCreate, MapElement, TypesLoad, bpf,
    object_name,
};

const BPF_F_NO_PREALLOC: u32 = 1;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const BPF_F_LOCK: u64 = 4;

/// Map types that [`Map`] supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapType {
    /// Hash table.
    #[doc(alias = "BPF_MAP_TYPE_HASH")]
    Hash = 1,
    /// Array of values, one for all CPUs.
    #[doc(alias = "BPF_MAP_TYPE_ARRAY")]
    Array = 2,
    /// Array of programs to continue with. Values are set as descriptors and cannot be read. The kernel empties it
    /// when its last descriptor is closed.
    #[doc(alias = "BPF_MAP_TYPE_PROG_ARRAY")]
    ProgramArray = 3,
    /// Hash table whose values exist once per possible CPU.
    #[doc(alias = "BPF_MAP_TYPE_PERCPU_HASH")]
    PerCpuHash = 5,
    /// Array of values, each once per possible CPU.
    #[doc(alias = "BPF_MAP_TYPE_PERCPU_ARRAY")]
    PerCpuArray = 6,
    /// Array of maps of one layout. Values are set as descriptors and cannot be read.
    #[doc(alias = "BPF_MAP_TYPE_ARRAY_OF_MAPS")]
    ArrayOfMaps = 12,
    /// As [`MapType::PerCpuHash`]; when it is full, it evicts the least recently used keys.
    #[doc(alias = "BPF_MAP_TYPE_LRU_PERCPU_HASH")]
    LruPerCpuHash = 10,
    /// Longest-prefix match. A key is its length in bits followed by its bytes.
    #[doc(alias = "BPF_MAP_TYPE_LPM_TRIE")]
    LpmTrie = 11,
    /// Array of interfaces to redirect frames to. Values are set as interface indices of the calling thread's network
    /// namespace.
    #[doc(alias = "BPF_MAP_TYPE_DEVMAP")]
    DevMap = 14,
    /// Array of AF_XDP sockets. Values are set as descriptors and cannot be read.
    #[doc(alias = "BPF_MAP_TYPE_XSKMAP")]
    XskMap = 17,
    /// Records of any length in the order they were written, read through shared memory
    /// ([`crate::ring_buffer`]). It has no keys and no values, and `max_entries` bytes: a power of two,
    /// and a multiple of the page size.
    #[doc(alias = "BPF_MAP_TYPE_RINGBUF")]
    RingBuffer = 27,
}

/// Layout of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapLayout {
    /// Type of the map.
    pub map_type: MapType,
    /// Bytes of a key.
    pub key_bytes: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Number of entries.
    pub max_entries: u32,
}

/// The types of a map's keys and values (BTF), which the kernel needs for values that contain a lock.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "BTF")]
pub struct MapTypes<'a> {
    /// The types, in the kernel's encoding.
    ///
    /// # Source
    /// Documentation/bpf/btf.rst.
    pub encoded: &'a [u8],
    /// Number of the keys' type.
    pub key: u32,
    /// Number of the values' type.
    pub value: u32,
}

impl MapTypes<'_> {
    fn load(&self) -> io::Result<OwnedFd> {
        let mut attr = TypesLoad {
            btf: self.encoded.as_ptr() as u64,
            btf_size: u32::try_from(self.encoded.len()).unwrap_or(u32::MAX),
            ..TypesLoad::default()
        };
        // SAFETY: the kernel reads `btf_size` bytes; the slice is at least as long and lives until the call returns.
        let fd = unsafe { bpf(BPF_BTF_LOAD, &mut attr) }?;
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// A map created by this process. It stores the layout, so that sizes can be checked before the kernel copies.
#[derive(Debug)]
pub struct Map {
    pub(super) fd: OwnedFd,
    pub(super) key_bytes: usize,
    pub(super) area_bytes: usize,
}

impl Map {
    /// Creates a map.
    ///
    /// # Errors
    /// EPERM without the privilege, EINVAL for a layout the type does not allow, ENOMEM; for a
    /// per-CPU map also errors of reading `/sys/devices/system/cpu/possible`.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    pub fn create(layout: &MapLayout, name: &str) -> io::Result<Self> {
        Self::create_as(layout, None, None, 0, name)
    }

    /// As [`Map::create`], for values that contain a lock.
    ///
    /// # Errors
    /// As [`Map::create`]; EINVAL for types that the kernel rejects, or that do not have the sizes of the layout.
    /// # Privileges
    /// `CAP_BPF`.
    /// # Kernel
    /// Linux 5.1.
    #[doc(alias = "bpf_spin_lock")]
    pub fn create_typed(layout: &MapLayout, types: &MapTypes<'_>, name: &str) -> io::Result<Self> {
        Self::create_as(layout, None, Some(types), 0, name)
    }

    /// Creates an array of `count` maps of `first`'s layout; all entries are empty.
    ///
    /// # Errors
    /// As [`Map::create`].
    /// # Privileges
    /// `CAP_BPF`.
    #[doc(alias = "BPF_MAP_TYPE_ARRAY_OF_MAPS")]
    pub fn array_of(first: BorrowedFd<'_>, count: u32, name: &str) -> io::Result<Self> {
        let layout = MapLayout {
            map_type: MapType::ArrayOfMaps,
            key_bytes: 4,
            value_bytes: 4,
            max_entries: count,
        };
        Self::create_as(&layout, Some(first), None, 0, name)
    }

    /// As [`Map::create`], for an array whose memory can be mapped.
    ///
    /// # Errors
    /// As [`Map::create`].
    /// # Kernel
    /// Linux 5.5.
    #[doc(alias = "BPF_F_MMAPABLE")]
    pub fn create_mappable(layout: &MapLayout, name: &str) -> io::Result<Self> {
        Self::create_as(layout, None, None, BPF_F_MMAPABLE, name)
    }

    fn create_as(
        layout: &MapLayout,
        inner: Option<BorrowedFd<'_>>,
        types: Option<&MapTypes<'_>>,
        flags: u32,
        name: &str,
    ) -> io::Result<Self> {
        // The map keeps the types.
        let loaded = types.map(MapTypes::load).transpose()?;
        let mut attr = MapCreate {
            map_type: layout.map_type as u32,
            key_size: layout.key_bytes,
            value_size: layout.value_bytes,
            max_entries: layout.max_entries,
            // The kernel requires this flag for LPM tries, which allocate entry by entry.
            map_flags: match layout.map_type {
                MapType::LpmTrie => BPF_F_NO_PREALLOC,
                _ => flags,
            },
            inner_map_fd: inner.map_or(0, |inner| inner.as_raw_fd().cast_unsigned()),
            map_name: object_name(name),
            btf_fd: (loaded.as_ref()).map_or(0, |types| types.as_raw_fd().cast_unsigned()),
            btf_key_type_id: types.map_or(0, |types| types.key),
            btf_value_type_id: types.map_or(0, |types| types.value),
            ..MapCreate::default()
        };
        let value_bytes = layout.value_bytes as usize;
        let area_bytes = match layout.map_type {
            MapType::Array
            | MapType::ArrayOfMaps
            | MapType::DevMap
            | MapType::Hash
            | MapType::LpmTrie
            | MapType::ProgramArray
            | MapType::RingBuffer
            | MapType::XskMap => value_bytes,
            // The kernel copies each value rounded up to 8 bytes (`bpf_map_value_size`).
            MapType::PerCpuArray | MapType::PerCpuHash | MapType::LruPerCpuHash => {
                value_bytes.next_multiple_of(8) * possible_cpus()?
            }
        };
        // SAFETY: `MapCreate` holds no address.
        let fd = unsafe { bpf(BPF_MAP_CREATE, &mut attr) }?;
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self {
            fd,
            key_bytes: layout.key_bytes as usize,
            area_bytes,
        })
    }

    /// Bytes that [`Map::lookup`] fills: the value, or for a per-CPU map the values of all CPUs,
    /// each rounded up to 8 bytes.
    pub fn area_bytes(&self) -> usize {
        self.area_bytes
    }

    /// Copies the value of `key` into `area`, in native byte order.
    ///
    /// # Errors
    /// ENOENT if there is no such key; EINVAL if `key` or `area` does not have the map's size.
    pub fn lookup(&self, key: &[u8], area: &mut [u8]) -> io::Result<()> {
        self.lookup_with(key, area, 0)
    }

    /// As [`Map::lookup`], for a value that contains a lock: no program changes it meanwhile.
    ///
    /// # Errors
    /// As [`Map::lookup`]; EINVAL also if the value contains no lock.
    #[doc(alias = "BPF_F_LOCK")]
    pub fn lookup_locked(&self, key: &[u8], area: &mut [u8]) -> io::Result<()> {
        self.lookup_with(key, area, BPF_F_LOCK)
    }

    fn lookup_with(&self, key: &[u8], area: &mut [u8], flags: u64) -> io::Result<()> {
        self.check_sizes(key, area)?;
        let mut attr = MapElement {
            flags,
            ..self.element(key, area.as_mut_ptr() as u64)
        };
        // SAFETY: the kernel reads the map's key size and writes its value area; the slices have
        // those sizes (checked above) and live until the call returns.
        unsafe { bpf(BPF_MAP_LOOKUP_ELEM, &mut attr) }?;
        Ok(())
    }

    /// Sets the value of `key` from `area`.
    ///
    /// # Errors
    /// E2BIG if the key is outside an array; EINVAL if `key` or `area` does not have the map's size.
    pub fn update(&self, key: &[u8], area: &[u8]) -> io::Result<()> {
        self.check_sizes(key, area)?;
        let mut attr = self.element(key, area.as_ptr() as u64);
        // SAFETY: the kernel reads the map's key size and its value area; the slices have those
        // sizes (checked above) and live until the call returns.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &mut attr) }?;
        Ok(())
    }

    /// Sets the values of several keys, which follow one another in `keys`, from `areas`.
    ///
    /// # Errors
    /// As [`Map::update`]; some of the entries may be set nevertheless. EINVAL also if the number of
    /// keys and values differs; ENOTSUPP (524) for a map type without batch operations.
    /// # Kernel
    /// Linux 5.6; for tries Linux 5.13.
    #[doc(alias = "BPF_MAP_UPDATE_BATCH")]
    pub fn update_batch(&self, keys: &[u8], areas: &[u8]) -> io::Result<()> {
        let count = keys.len() / self.key_bytes.max(1);
        let is_whole =
            keys.len() == count * self.key_bytes && areas.len() == count * self.area_bytes;
        let (true, Ok(count)) = (is_whole, u32::try_from(count)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut attr = MapBatch {
            keys: keys.as_ptr() as u64,
            values: areas.as_ptr() as u64,
            count,
            map_fd: self.fd.as_raw_fd().cast_unsigned(),
            ..MapBatch::default()
        };
        // SAFETY: the kernel reads `count` keys and values of the map's sizes; the slices are as long
        // (checked above) and live until the call returns.
        unsafe { bpf(BPF_MAP_UPDATE_BATCH, &mut attr) }?;
        Ok(())
    }

    /// Removes `key`. Returns whether it existed.
    ///
    /// # Errors
    /// EINVAL if `key` does not have the map's size, and for an array, whose keys cannot be removed.
    pub fn delete(&self, key: &[u8]) -> io::Result<bool> {
        if key.len() != self.key_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attr = self.element(key, 0);
        // SAFETY: the kernel reads the map's key size; the slice is as long (checked above) and lives
        // until the call returns.
        match unsafe { bpf(BPF_MAP_DELETE_ELEM, &mut attr) } {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes the map read-only for user space.
    ///
    /// # Errors
    /// EBUSY when the map is frozen or mapped writable.
    /// # Kernel
    /// Linux 5.2.
    #[doc(alias = "BPF_MAP_FREEZE")]
    pub fn freeze(&self) -> io::Result<()> {
        let mut attr = MapElement {
            map_fd: self.fd.as_raw_fd().cast_unsigned(),
            ..MapElement::default()
        };
        // SAFETY: the command uses the descriptor only.
        unsafe { bpf(BPF_MAP_FREEZE, &mut attr) }?;
        Ok(())
    }

    fn element(&self, key: &[u8], value: u64) -> MapElement {
        MapElement {
            map_fd: self.fd.as_raw_fd().cast_unsigned(),
            key: key.as_ptr() as u64,
            value,
            ..MapElement::default()
        }
    }

    fn check_sizes(&self, key: &[u8], area: &[u8]) -> io::Result<()> {
        if key.len() != self.key_bytes || area.len() != self.area_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(())
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Numbers of the online CPUs, ascending.
///
/// # Errors
/// Errors of reading `/sys/devices/system/cpu/online`.
pub fn online_cpus() -> io::Result<Vec<u32>> {
    cpus("online")
}

/// Parses one of the kernel's ascending CPU lists, such as `0-3` or `0,2-5`.
fn cpus(list: &str) -> io::Result<Vec<u32>> {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{list}"))?;
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse().ok()?, last.parse::<u32>().ok()?);
        // The kernel's own limit (`NR_CPUS`, arch/x86/Kconfig).
        (last < 8192).then_some(first..=last)
    };
    let ranges: Option<Vec<_>> = text.trim().split(',').map(range).collect();
    let ranges = ranges.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(ranges.into_iter().flatten().collect())
}

/// Number of possible CPUs: the number of values that the kernel stores and copies for a per-CPU value.
///
/// # Errors
/// Those of reading sysfs.
/// # Source
/// Documentation/admin-guide/cputopology.rst.
pub fn possible_cpus() -> io::Result<usize> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    count_cpus(&list).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Number of CPUs in a list such as `0-3` or `0,2-5`.
fn count_cpus(list: &str) -> Option<usize> {
    let count_range = |range: &str| -> Option<usize> {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last]: [usize; 2] = [first.parse().ok()?, last.parse().ok()?];
        last.checked_sub(first)?.checked_add(1)
    };
    let mut counts = list.trim().split(',').map(count_range);
    counts.try_fold(0_usize, |sum, count| sum.checked_add(count?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_counted_and_gaps_are_not() {
        let counts = ["0\n", "0-3\n", "0,2-5\n", "0-1,4-5,9\n"].map(count_cpus);
        assert_eq!(counts, [1, 4, 5, 5].map(Some));
        let nonsense = ["", "3-1", "0-", "a", "0,,1"].map(count_cpus);
        assert_eq!(nonsense, [None; 5]);
    }
}
