//! The filter of a class.

use filter::ebpf::{Fragment, KnownProtocol, PacketAssumptions};
use filter::{Filter, FilterError};

use super::section::CountingHook;
use crate::filter_map::FilterMaps;
use crate::map::MapError;

/// A filter compiled for each kind of packet at one hook, with its sets as maps.
#[derive(Debug)]
pub struct CountedFilter {
    reads_vlan_tag: bool,
    pub(super) fragments: Vec<(PacketAssumptions, Fragment)>,
    pub(super) maps: FilterMaps,
}

impl CountedFilter {
    /// Compiles a filter that was parsed for [`CountingHook::filters_at`].
    ///
    /// # Errors
    /// As [`Filter::ebpf`].
    pub fn write(filter: &Filter, place: CountingHook) -> Result<WrittenFilter, FilterError> {
        let mut fragments = Vec::new();
        for shape in place.shapes() {
            let mut fragment = filter.ebpf_specialized(shape)?;
            if fragment.loses_bounds {
                // It follows the others, where nothing is known about the bytes any more.
                let protocol = KnownProtocol::Any;
                fragment = filter.ebpf_specialized(PacketAssumptions { protocol, ..shape })?;
            }
            fragments.push((shape, fragment));
        }
        Ok(WrittenFilter {
            reads_vlan_tag: filter.reads_vlan_tag(),
            fragments,
        })
    }

    /// Whether the filter tests VLAN tags.
    pub fn reads_vlan_tag(&self) -> bool {
        self.reads_vlan_tag
    }

    /// Instructions for all kinds of packets.
    pub(super) fn instructions(&self) -> usize {
        let fragments = self.fragments.iter();
        fragments.map(|(_, fragment)| fragment.code.len()).sum()
    }

    /// The code for packets of `shape`.
    pub(super) fn fragment(&self, shape: PacketAssumptions) -> Option<&Fragment> {
        let mut fragments = self.fragments.iter();
        let (_, fragment) = fragments.find(|(of, _)| *of == shape)?;
        Some(fragment)
    }
}

/// The code of a filter whose maps are not created yet.
#[derive(Debug)]
pub struct WrittenFilter {
    reads_vlan_tag: bool,
    fragments: Vec<(PacketAssumptions, Fragment)>,
}

impl WrittenFilter {
    /// Creates the maps of its sets.
    ///
    /// # Errors
    /// As [`FilterMaps::create`].
    pub fn with_maps(self, name: &str) -> Result<CountedFilter, MapError> {
        let fragments = self.fragments.iter().map(|(_, fragment)| fragment);
        Ok(CountedFilter {
            reads_vlan_tag: self.reads_vlan_tag,
            maps: FilterMaps::of_all(name, fragments)?,
            fragments: self.fragments,
        })
    }
}
