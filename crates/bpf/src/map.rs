//! Maps and per-CPU counters.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use abi::bpf::{MapLayout, MapType};
use abi::kernel::counts_bpf_as_locked;

/// A BPF map: memory that BPF programs share with this process.
#[derive(Debug)]
pub struct Map(abi::bpf::Map);

/// Value of a key that is in a set.
const KEY_VALUE: [u8; 4] = [1, 0, 0, 0];

/// Inserts all keys, with one system call if the kernel supports that.
fn fill(map: &abi::bpf::Map, keys: &[u8], key_bytes: usize) -> io::Result<()> {
    let values = KEY_VALUE.repeat(keys.len() / key_bytes.max(1));
    if map.update_batch(keys, &values).is_err() {
        for key in keys.chunks_exact(key_bytes.max(1)) {
            map.update(key, &KEY_VALUE)?;
        }
    }
    map.freeze()
}

/// A map could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("cannot create BPF map {name}{}", reason(*.map_type, .source))]
pub struct MapError {
    /// Name of the map.
    pub name: String,
    map_type: MapType,
    /// The kernel's error. EPERM: requires `CAP_BPF`; before Linux 5.11 also a sufficient `RLIMIT_MEMLOCK`.
    pub source: io::Error,
}

impl MapError {
    /// Returns a function that wraps a kernel error with this map's name and type.
    pub(crate) fn creating(name: &str, map_type: MapType) -> impl Fn(io::Error) -> Self {
        move |source| Self {
            name: name.to_owned(),
            map_type,
            source,
        }
    }
}

/// Reason for the kernel's error and a suggested fix; empty if the error is not specific.
fn reason(map_type: MapType, error: &io::Error) -> &'static str {
    match (map_type, error.raw_os_error()) {
        (MapType::XskMap, Some(libc::EPERM | libc::EACCES)) => " (needs CAP_BPF and CAP_NET_ADMIN)",
        (_, Some(libc::EPERM)) if counts_bpf_as_locked() => {
            " (needs CAP_BPF, and before Linux 5.11 enough locked memory: ulimit -l unlimited)"
        }
        (_, Some(libc::EPERM | libc::EACCES)) => " (needs CAP_BPF)",
        (_, Some(libc::ENOSYS)) => " (this kernel is built without BPF)",
        (MapType::RingBuffer, Some(libc::EINVAL)) => {
            " (ring buffers need Linux 5.8, and their size is a power of two and a multiple of the page size)"
        }
        (MapType::RingBuffer, Some(libc::ENOMEM)) => " (try a smaller buffer)",
        _ => "",
    }
}

impl Map {
    /// Creates an array with one zeroed value of `value_bytes` bytes, for [`Insn::LoadMapValue`].
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    ///
    /// [`Insn::LoadMapValue`]: crate::Insn::LoadMapValue
    pub fn value(name: &str, value_bytes: u32) -> Result<Self, MapError> {
        let layout = MapLayout {
            map_type: MapType::Array,
            key_bytes: 4,
            value_bytes,
            max_entries: 1,
        };
        Self::create(name, &layout)
    }

    /// Copies value 0 into `value`, in native byte order.
    ///
    /// # Errors
    /// EINVAL if `value` does not have the size of the map's values.
    pub fn read(&self, value: &mut [u8]) -> io::Result<()> {
        self.read_at(0, value)
    }

    /// As [`read`](Self::read), of value `index`.
    fn read_at(&self, index: u32, value: &mut [u8]) -> io::Result<()> {
        self.0.lookup(&index.to_ne_bytes(), value)
    }

    /// Sets value 0.
    ///
    /// # Errors
    /// EINVAL if `value` does not have the size of the map's values.
    pub fn write(&self, value: &[u8]) -> io::Result<()> {
        self.0.update(&0u32.to_ne_bytes(), value)
    }

    /// Creates an array whose entry 0 is `program`, for [`Helper::TailCall`](crate::Helper::TailCall).
    ///
    /// The kernel empties the array when its last descriptor is closed: keep this value while programs use it.
    pub(crate) fn of_program(name: &str, program: BorrowedFd<'_>) -> Result<Self, MapError> {
        let map_type = MapType::ProgramArray;
        let layout = MapLayout {
            map_type,
            key_bytes: 4,
            value_bytes: 4,
            max_entries: 1,
        };
        let map = Self::create(name, &layout)?;
        let descriptor = program.as_raw_fd().to_ne_bytes();
        map.write(&descriptor)
            .map_err(MapError::creating(name, map_type))?;
        Ok(map)
    }

    /// Creates a frozen map that is used as a set: keys of `key_bytes` bytes each, values unused.
    pub(crate) fn of_keys(
        name: &str,
        map_type: MapType,
        keys: &[u8],
        key_bytes: usize,
    ) -> Result<Self, MapError> {
        let count = keys.len() / key_bytes.max(1);
        let layout = MapLayout {
            map_type,
            key_bytes: key_bytes as u32,
            value_bytes: KEY_VALUE.len() as u32,
            max_entries: count.max(1) as u32,
        };
        let map = Self::create(name, &layout)?;
        fill(&map.0, keys, key_bytes).map_err(MapError::creating(name, map_type))?;
        Ok(map)
    }

    /// Creates an empty map of at most `max_entries` keys and values of 4 bytes.
    pub(crate) fn of_ports(
        name: &str,
        map_type: MapType,
        max_entries: u32,
    ) -> Result<Self, MapError> {
        let layout = MapLayout {
            map_type,
            key_bytes: 4,
            value_bytes: 4,
            max_entries,
        };
        Self::create(name, &layout)
    }

    fn create(name: &str, layout: &MapLayout) -> Result<Self, MapError> {
        abi::bpf::Map::create(layout, name)
            .map(Self)
            .map_err(MapError::creating(name, layout.map_type))
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `N` 64-bit counters per CPU, once or several times.
///
/// A program finds its CPU's arrays of `N` under the keys from 0 on with [`Helper::MapLookupElem`].
///
/// [`Helper::MapLookupElem`]: crate::Helper::MapLookupElem
#[derive(Debug)]
pub struct Counters<const N: usize> {
    map: Map,
    /// Distance between the values of two CPUs, bytes.
    stride: usize,
}

impl<const N: usize> Counters<N> {
    /// Creates the counters, all 0.
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    pub fn create(name: &str) -> Result<Self, MapError> {
        Self::with_scratch(name, 0)
    }

    /// As [`create`](Self::create), `times` times.
    pub(crate) fn several(name: &str, times: u32) -> Result<Self, MapError> {
        Self::with_layout(name, 8 * N as u32, times)
    }

    /// Creates the counters, all 0, followed by `scratch_bytes` bytes of per-CPU scratch memory. Both together are at most
    /// 32 KiB.
    pub(crate) fn with_scratch(name: &str, scratch_bytes: u32) -> Result<Self, MapError> {
        Self::with_layout(name, 8 * N as u32 + scratch_bytes, 1)
    }

    fn with_layout(name: &str, value_bytes: u32, max_entries: u32) -> Result<Self, MapError> {
        let layout = MapLayout {
            map_type: MapType::PerCpuArray,
            key_bytes: 4,
            value_bytes,
            max_entries,
        };
        let map = Map::create(name, &layout)?;
        // The kernel rounds each CPU's value up to 8 bytes.
        let stride = layout.value_bytes.next_multiple_of(8) as usize;
        Ok(Self { map, stride })
    }

    /// The counters, summed over all CPUs.
    ///
    /// Counters are read one after another, not as a snapshot.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this type.
    pub fn read(&self) -> io::Result<[u64; N]> {
        self.read_at(0)
    }

    /// The counters under key `index`, summed over all CPUs.
    pub(crate) fn read_at(&self, index: u32) -> io::Result<[u64; N]> {
        let by_cpu = self.read_by_cpu(index)?;
        Ok(by_cpu.into_iter().fold([0; N], |sums, of_cpu| {
            std::array::from_fn(|n| sums[n].wrapping_add(of_cpu[n]))
        }))
    }

    /// The counters under key `index`, by the number of the CPU.
    pub(crate) fn read_by_cpu(&self, index: u32) -> io::Result<Vec<[u64; N]>> {
        let mut area = vec![0; self.map.0.area_bytes()];
        self.map.read_at(index, &mut area)?;
        let of_cpu = |cpu: &[u8]| {
            let mut values = cpu.as_chunks().0.iter();
            // The kernel's value has at least N.
            std::array::from_fn(|_| values.next().map_or(0, |value| u64::from_ne_bytes(*value)))
        };
        Ok(area.chunks_exact(self.stride).map(of_cpu).collect())
    }
}

impl<const N: usize> AsFd for Counters<N> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
