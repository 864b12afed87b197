//! The sets of a filter as maps.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use abi::bpf::MapType;
use filter::SetId;
use filter::ebpf::{Fragment, MapKind, map_keys};

use crate::Insn;
use crate::map::{Map, MapError};

/// The maps of the sets that a filter's code uses. They are frozen.
#[derive(Debug)]
pub struct FilterMaps(BTreeMap<SetId, Map>);

impl FilterMaps {
    /// Creates and fills a map called `name` for each set in the code of `fragment`.
    ///
    /// Costs three system calls per set; before Linux 5.6 (for ranges 5.13), one per key.
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF`.
    pub fn create(name: &str, fragment: &Fragment) -> Result<Self, MapError> {
        Self::of_all(name, [fragment])
    }

    /// As [`create`](Self::create), for several fragments of one filter, which share the maps.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn of_all<'f>(
        name: &str,
        fragments: impl IntoIterator<Item = &'f Fragment>,
    ) -> Result<Self, MapError> {
        let mut maps = BTreeMap::new();
        for fragment in fragments {
            for insn in &fragment.code {
                let filter::ebpf::Insn::LoadMap { map: id, .. } = *insn else {
                    continue;
                };
                if let Some(set) = fragment.sets.get(usize::from(id.0))
                    && !maps.contains_key(&id)
                {
                    let map_type = match MapKind::of(set) {
                        MapKind::Hash => MapType::Hash,
                        MapKind::LongestPrefix => MapType::LpmTrie,
                    };
                    let (keys, key_bytes) = map_keys(set);
                    maps.insert(id, Map::of_keys(name, map_type, &keys, key_bytes)?);
                }
            }
        }
        Ok(Self(maps))
    }

    /// `code` with its sets replaced by these maps. `None` if it names a set that the fragments do not.
    pub fn resolve(&self, code: &[filter::ebpf::Insn<SetId>]) -> Option<Vec<Insn<'_>>> {
        let map = |id| self.0.get(&id).map(AsFd::as_fd);
        code.iter().map(|insn| insn.with_map(map)).collect()
    }
}
