//! Iterates over the keys of a map.

use std::io;
use std::os::fd::AsRawFd;

use super::attr::{BPF_MAP_GET_NEXT_KEY, BPF_MAP_LOOKUP_BATCH, MapBatch, MapElement, bpf};
use super::map::Map;

/// Position of [`Map::lookup_batch`] in a map. A new cursor is at the beginning.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// Opaque position of the kernel, at most as long as a key or four bytes.
    place: Vec<u8>,
    has_begun: bool,
    is_at_end: bool,
}

impl Cursor {
    /// Whether a lookup has succeeded.
    pub fn has_begun(&self) -> bool {
        self.has_begun || self.is_at_end
    }

    /// Whether the whole map was seen.
    pub fn is_at_end(&self) -> bool {
        self.is_at_end
    }
}

impl Map {
    /// Copies the next keys and values into `keys` and `areas`, as many as fit into both, one behind
    /// the other. Returns their number and advances `cursor`.
    ///
    /// A hash table is read bucket by bucket. A key that exists all the time is returned once. A key that
    /// is inserted or removed meanwhile is returned once or not at all.
    ///
    /// # Errors
    /// ENOSPC ([`io::ErrorKind::StorageFull`]) when not even the next bucket fits, and then nothing
    /// was copied: retry with larger buffers. ENOTSUPP (524; before Linux 5.6 EINVAL) for maps without batch lookup.
    /// # Kernel
    /// Linux 5.6.
    /// # Source
    /// `__htab_map_lookup_and_delete_batch`, kernel/bpf/hashtab.c; `generic_map_lookup_batch`,
    /// kernel/bpf/syscall.c.
    #[doc(alias = "BPF_MAP_LOOKUP_BATCH")]
    pub fn lookup_batch(
        &self,
        cursor: &mut Cursor,
        keys: &mut [u8],
        areas: &mut [u8],
    ) -> io::Result<usize> {
        if cursor.is_at_end {
            return Ok(0);
        }
        let keys_room = keys.len().checked_div(self.key_bytes).unwrap_or(0);
        let areas_room = areas.len().checked_div(self.area_bytes).unwrap_or(0);
        let room = keys_room.min(areas_room);
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // The kernel's position is a bucket number for hash tables, and a key for other maps.
        cursor.place.resize(self.key_bytes.max(4), 0);
        let place = cursor.place.as_mut_ptr() as u64;
        let mut attr = MapBatch {
            in_batch: if cursor.has_begun { place } else { 0 },
            out_batch: place,
            keys: keys.as_mut_ptr() as u64,
            values: areas.as_mut_ptr() as u64,
            count: u32::try_from(room).unwrap_or(u32::MAX),
            map_fd: self.fd.as_raw_fd().cast_unsigned(),
            ..MapBatch::default()
        };
        // SAFETY: the kernel writes at most `count` keys and value areas of the map's sizes, and reads
        // and writes a key or four bytes at the place: the three are as long and outlive the call.
        match unsafe { bpf(BPF_MAP_LOOKUP_BATCH, &mut attr) } {
            Ok(_) => cursor.has_begun = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => cursor.is_at_end = true,
            Err(error) => return Err(error),
        }
        Ok(room.min(attr.count as usize))
    }

    /// Copies the key after `key` into `next`, the first one if there is no such key (any more) or it
    /// is `None`; `false` at the end.
    ///
    /// # Errors
    /// EINVAL if `key` or `next` does not have the map's key size.
    #[doc(alias = "BPF_MAP_GET_NEXT_KEY")]
    pub fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> io::Result<bool> {
        let is_whole = |bytes: usize| bytes == self.key_bytes;
        if !is_whole(next.len()) || !key.is_none_or(|key| is_whole(key.len())) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attr = MapElement {
            map_fd: self.fd.as_raw_fd().cast_unsigned(),
            key: key.map_or(0, |key| key.as_ptr() as u64),
            value: next.as_mut_ptr() as u64,
            ..MapElement::default()
        };
        // SAFETY: the kernel reads a key of the map's size, if its address is not null, and writes one
        // to `next`; the slices are as long (checked above) and outlive the call.
        match unsafe { bpf(BPF_MAP_GET_NEXT_KEY, &mut attr) } {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}
