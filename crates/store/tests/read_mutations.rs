//! Corpus files with random changes: no panic, and the same result for every chunk size.

use std::sync::LazyLock;

use crate::read_support::build::{BIG, LITTLE, frame};
use crate::read_support::{corpus, read_all, stream};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tapline_store::read::Reader;

/// The corpus, and files of several sections and both byte orders, which the corpus lacks.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut files: Vec<_> = corpus()
        .into_iter()
        .map(|path| std::fs::read(path).expect("read"))
        .collect();
    files.retain(|file| file.len() < 20_000);
    let sections: Vec<u8> = [LITTLE, BIG, LITTLE]
        .into_iter()
        .flat_map(|build| {
            let options = build.option(2, &build.u32(1));
            let packet = build.enhanced(0, 1 << 40, &frame(1), &options);
            let counters = build.statistics(0, 9, &build.option(4, &build.u64(7)));
            let others = [
                build.simple(60, &frame(2)),
                build.obsolete(0, 0, 5, &frame(3)),
            ]
            .concat();
            let start = [
                build.section(&[]),
                build.interface(1, 0, &build.option(9, &[9])),
            ]
            .concat();
            [start, packet.repeat(3), others, counters].concat()
        })
        .collect();
    for _ in 0..files.len() / 4 {
        files.push(sections.clone());
    }
    files
});

#[derive(Clone, Debug)]
enum Change {
    Octet(Index, u8),
    Word(Index, u32),
    Remove(Index, u8),
    Repeat(Index, u8),
    Cut(Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let range = |index: &Index, length: u8| {
            let at = index.index(bytes.len());
            at..(at + usize::from(length)).min(bytes.len())
        };
        match self {
            Self::Octet(index, value) => {
                let at = index.index(bytes.len());
                bytes[at] = *value;
            }
            Self::Word(index, value) => {
                let range = range(index, 4);
                let length = range.len();
                bytes[range].copy_from_slice(&value.to_le_bytes()[..length]);
            }
            Self::Remove(index, length) => drop(bytes.drain(range(index, *length))),
            Self::Repeat(index, length) => {
                let range = range(index, *length);
                let copy = bytes[range.clone()].to_vec();
                bytes.splice(range.start..range.start, copy);
            }
            Self::Cut(index) => bytes.truncate(index.index(bytes.len())),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        (index(), any::<u8>()).prop_map(|(at, value)| Change::Octet(at, value)),
        (index(), prop_oneof![any::<u32>(), 0..64u32])
            .prop_map(|(at, value)| Change::Word(at, value)),
        (index(), any::<u8>()).prop_map(|(at, length)| Change::Remove(at, length)),
        (index(), any::<u8>()).prop_map(|(at, length)| Change::Repeat(at, length)),
        index().prop_map(Change::Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_files_are_read_the_same_from_memory_and_stream(
        file in any::<Index>(),
        changes in vec(change(), 1..6),
        chunk in 1..5000usize,
    ) {
        let mut bytes = file.get(&FILES).clone();
        for change in &changes {
            change.apply(&mut bytes);
        }
        let whole = read_all(Reader::from_bytes(bytes.clone()));
        let given: usize = whole.packets.iter().map(|packet| packet.bytes.len()).sum();
        prop_assert!(given <= bytes.len(), "no byte is given twice");
        prop_assert_eq!(whole, read_all(stream(&bytes, chunk)));
    }
}
