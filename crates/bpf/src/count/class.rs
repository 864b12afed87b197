//! The filter of a class.

use filter::ebpf::{Fragment, Packet, Shape};
use filter::{Filter, FilterError};

use super::section::CountingPlace;
use crate::filter_map::FilterMaps;
use crate::map::MapError;

/// A filter as code for each kind of packet that is told apart at one place, and its sets as maps.
#[derive(Debug)]
pub struct CountedFilter {
    looks_at_tags: bool,
    pub(super) fragments: Vec<(Shape, Fragment)>,
    pub(super) maps: FilterMaps,
}

impl CountedFilter {
    /// Writes the code of a filter that was read for [`CountingPlace::filters_at`].
    ///
    /// # Errors
    /// As [`Filter::ebpf`].
    pub fn write(filter: &Filter, place: CountingPlace) -> Result<WrittenFilter, FilterError> {
        let mut fragments = Vec::new();
        for shape in place.shapes() {
            let mut fragment = filter.ebpf_for(shape)?;
            if fragment.forgets {
                // It comes behind the others, where nothing is known of bytes any more.
                let packet = Packet::Any;
                fragment = filter.ebpf_for(Shape { packet, ..shape })?;
            }
            fragments.push((shape, fragment));
        }
        Ok(WrittenFilter {
            looks_at_tags: filter.looks_at_tags(),
            fragments,
        })
    }

    /// Whether it asks about VLAN tags.
    pub fn looks_at_tags(&self) -> bool {
        self.looks_at_tags
    }

    /// What becomes of packets of `shape`.
    pub(super) fn fragment(&self, shape: Shape) -> Option<&Fragment> {
        let mut fragments = self.fragments.iter();
        let (_, fragment) = fragments.find(|(of, _)| *of == shape)?;
        Some(fragment)
    }
}

/// The code of a filter, whose sets are no maps yet.
#[derive(Debug)]
pub struct WrittenFilter {
    looks_at_tags: bool,
    fragments: Vec<(Shape, Fragment)>,
}

impl WrittenFilter {
    /// Makes the maps of its sets.
    ///
    /// # Errors
    /// As [`FilterMaps::create`].
    pub fn with_maps(self, name: &str) -> Result<CountedFilter, MapError> {
        let fragments = self.fragments.iter().map(|(_, fragment)| fragment);
        Ok(CountedFilter {
            looks_at_tags: self.looks_at_tags,
            maps: FilterMaps::of_all(name, fragments)?,
            fragments: self.fragments,
        })
    }
}
