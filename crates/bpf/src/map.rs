//! Maps, and the counters kept in one.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abi::bpf::{MapLayout, MapType};

/// Memory that programs and this process share: an array of values of one size.
#[derive(Debug)]
pub struct Map(abi::bpf::Map);

/// Why there are no maps at all.
pub(crate) const WITHOUT_BPF: &str = "this kernel is built without BPF";

/// The value of a key that is in a set.
const KEY_VALUE: [u8; 4] = [1, 0, 0, 0];

/// Puts all keys in at once where the kernel can do that, else one by one.
fn fill(map: &abi::bpf::Map, keys: &[u8], key_bytes: usize) -> io::Result<()> {
    let values = KEY_VALUE.repeat(keys.len() / key_bytes.max(1));
    if map.update_batch(keys, &values).is_err() {
        for key in keys.chunks_exact(key_bytes.max(1)) {
            map.update(key, &KEY_VALUE)?;
        }
    }
    map.freeze()
}

/// The kernel did not make a map.
#[derive(Debug)]
#[non_exhaustive]
pub struct MapError {
    /// Name of the map.
    pub name: String,
    /// What the kernel answered; EPERM: needs `CAP_BPF`, before Linux 5.11 also a larger
    /// `RLIMIT_MEMLOCK`.
    pub source: io::Error,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot create BPF map {}", self.name)?;
        if self.source.kind() == io::ErrorKind::PermissionDenied {
            f.write_str(" (needs CAP_BPF)")?;
        } else if self.is_without_bpf() {
            write!(f, " ({WITHOUT_BPF})")?;
        }
        Ok(())
    }
}

impl MapError {
    /// Whether the kernel does not know the system call.
    pub(crate) fn is_without_bpf(&self) -> bool {
        // ENOSYS on every architecture that Rust has a tier for, but MIPS and SPARC.
        self.source.raw_os_error() == Some(38)
    }
}

impl std::error::Error for MapError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Map {
    /// Makes an array of one value of `value_bytes` bytes, zeroed, for [`Insn::LoadMapValue`].
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

    /// Copies value 0 into `value`, in the machine's byte order.
    ///
    /// # Errors
    /// EINVAL when `value` has not the size of the map's values.
    pub fn read(&self, value: &mut [u8]) -> io::Result<()> {
        self.0.lookup(&0u32.to_ne_bytes(), value)
    }

    /// Sets value 0.
    ///
    /// # Errors
    /// EINVAL when `value` has not the size of the map's values.
    pub fn write(&self, value: &[u8]) -> io::Result<()> {
        self.0.update(&0u32.to_ne_bytes(), value)
    }

    /// Makes a map of keys, `key_bytes` long each, whose values mean nothing, and lets nobody change it.
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
        fill(&map.0, keys, key_bytes).map_err(|source| MapError {
            name: name.to_owned(),
            source,
        })?;
        Ok(map)
    }

    fn create(name: &str, layout: &MapLayout) -> Result<Self, MapError> {
        abi::bpf::Map::create(layout, name)
            .map(Self)
            .map_err(|source| MapError {
                name: name.to_owned(),
                source,
            })
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `N` counters of 64 bits, kept once per CPU: each CPU counts in memory of its own.
///
/// A program finds its CPU's array of `N` under key 0 with [`Helper::MapLookupElem`].
///
/// [`Helper::MapLookupElem`]: crate::Helper::MapLookupElem
#[derive(Debug)]
pub struct Counters<const N: usize> {
    map: Map,
    /// Bytes from one CPU's to the next.
    stride: usize,
}

impl<const N: usize> Counters<N> {
    /// Makes the counters, all 0.
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    pub fn create(name: &str) -> Result<Self, MapError> {
        Self::with_scratch(name, 0)
    }

    /// Makes the counters, all 0, and behind them `scratch_bytes` bytes of each CPU's own for the program,
    /// both 32 KiB at most.
    pub(crate) fn with_scratch(name: &str, scratch_bytes: u32) -> Result<Self, MapError> {
        let layout = MapLayout {
            map_type: MapType::PerCpuArray,
            key_bytes: 4,
            value_bytes: 8 * N as u32 + scratch_bytes,
            max_entries: 1,
        };
        let map = Map::create(name, &layout)?;
        // Each CPU's value is rounded up to 8 bytes.
        let stride = layout.value_bytes.next_multiple_of(8) as usize;
        Ok(Self { map, stride })
    }

    /// The counters, summed over all CPUs.
    ///
    /// Each is read whole, but one after another: two counters of one instant are only to be had
    /// when nobody counts.
    ///
    /// # Errors
    /// What the kernel answers to `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this kind.
    pub fn read(&self) -> io::Result<[u64; N]> {
        let mut area = vec![0; self.map.0.area_bytes()];
        self.map.read(&mut area)?;
        let mut sums = [0u64; N];
        for cpu in area.chunks_exact(self.stride) {
            for (sum, value) in sums.iter_mut().zip(cpu.as_chunks().0) {
                *sum = sum.wrapping_add(u64::from_ne_bytes(*value));
            }
        }
        Ok(sums)
    }
}

impl<const N: usize> AsFd for Counters<N> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
