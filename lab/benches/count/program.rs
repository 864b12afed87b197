//! The counting programs to measure with the kernel's test run.

use std::os::fd::AsFd;

use bpf::count::{
    COUNTERS_PER_SLOT, ClassSlot, CountedClass, CountedFilter, CounterArray, CountingHook,
    CountingOptions, CountingProgram, Overhead,
};
use filter::classic::Ancillary;
use filter::{Filter, FilterOptions, FilterTarget, LinkType, NoNames};

use crate::harness::run_once;

/// A counting program loaded in the kernel.
pub struct CountingSubject {
    pub name: &'static str,
    filters: Vec<Option<Filter>>,
    counters: CounterArray,
    pub program: CountingProgram,
}

impl CountingSubject {
    /// Loads a program with one class for each of `filters`. An empty filter accepts all packets.
    pub fn load(name: &'static str, filters: &[String]) -> Self {
        let place = CountingHook::new(FilterTarget::Xdp, LinkType::Ethernet);
        let mut options = FilterOptions::new(LinkType::Ethernet);
        options.target = place.filters_at();
        let filter = |text: &String| {
            let filter = Filter::new(text, &options, &NoNames);
            (!text.is_empty()).then(|| filter.expect("a filter"))
        };
        let filters: Vec<_> = filters.iter().map(filter).collect();
        let count = |filter: &Filter| {
            let written = CountedFilter::write(filter, place).expect("eBPF");
            written.with_maps("tapline_bench").expect("maps")
        };
        let counted = filters.iter().map(|filter| filter.as_ref().map(count));
        let counted: Vec<_> = counted.collect();
        let counters = COUNTERS_PER_SLOT * filters.len() as u32;
        let counters = CounterArray::create("tapline_bench", counters).expect("a map");
        let classes = (0..).zip(&counted).map(|(number, filter)| CountedClass {
            slot: ClassSlot { number, serial: 0 },
            filter: filter.as_ref(),
        });
        let options = CountingOptions {
            place,
            overhead: Overhead::default(),
            counters: counters.as_fd(),
            groups: None,
            streams: None,
        };
        let classes: Vec<_> = classes.collect();
        let program = CountingProgram::load("tapline_bench", &options, &classes);
        Self {
            name,
            program: program.expect("the kernel takes the program"),
            filters,
            counters,
        }
    }

    /// Number of classes that count the frame. Checked against the filters' interpreter.
    pub fn classes_of(&self, frame: &[u8]) -> usize {
        let before = self.counters.read().expect("counters");
        run_once(self.program.program(), frame);
        let after = self.counters.read().expect("counters");
        let slot = COUNTERS_PER_SLOT as usize;
        let changes = before.iter().zip(&after).step_by(slot);
        let counted: Vec<bool> = changes.map(|(before, after)| after > before).collect();
        // Here the VLAN tag is in the metadata, not in the packet bytes.
        let is_tagged = frame[12..14] == [0x81, 0];
        let (bytes, vlan_tag) = if is_tagged {
            let tag = u16::from_be_bytes([frame[14], frame[15]]);
            ([&frame[..12], &frame[16..]].concat(), Some(tag))
        } else {
            (frame.to_vec(), None)
        };
        let ancillary = Ancillary {
            vlan_tag,
            ..Default::default()
        };
        let accepts = |filter: &Option<Filter>| {
            let len = bytes.len() as u32;
            (filter.as_ref()).is_none_or(|filter| filter.run(&bytes, len, &ancillary) > 0)
        };
        let expected: Vec<bool> = self.filters.iter().map(accepts).collect();
        assert_eq!(counted, expected, "{}", self.name);
        counted.into_iter().filter(|&is_in| is_in).count()
    }
}
