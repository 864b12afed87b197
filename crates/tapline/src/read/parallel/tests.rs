use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use filter::NoNames;
use proptest::prelude::*;
use store::model::Packet;
use store::read::{Item, Reader};

use super::{ItemReceiver, ParallelPlan, ParallelReader};
use crate::Expression;
use crate::read::error::ReadError;
use crate::read::selection::{Conditions, PacketMatcher, Selection};

/// Records what it receives.
struct Recorder {
    selection: Selection,
    limit: u64,
    /// Whether it takes native blocks.
    takes_blocks: bool,
    blocks: Vec<u8>,
    record: Record,
}

#[derive(Debug, Default, PartialEq)]
struct Record {
    /// Each with the number of packets received before it.
    items: Vec<(u64, String)>,
    accepted: u64,
    received: u64,
    error: Option<String>,
    failure: Option<String>,
}

impl Record {
    fn push(&mut self, item: String) {
        self.items.push((self.received, item));
    }

    /// The items without numbers, sorted.
    fn sorted(&self) -> Vec<String> {
        let mut items: Vec<_> = self.items.iter().map(|(_, item)| item.clone()).collect();
        items.sort();
        items
    }
}

impl ItemReceiver for Recorder {
    fn is_done(&mut self) -> bool {
        self.record.accepted == self.limit
    }

    fn matcher(&self) -> &PacketMatcher {
        self.selection.matcher()
    }

    fn item(&mut self, item: Item<'_>) -> Result<(), ReadError> {
        match item {
            Item::Packet(packet) if self.selection.matcher().accepts(&packet) => {
                return self.accepted(&packet);
            }
            Item::Packet(_) => self.rejected(1),
            other => {
                self.record.push(format!("{other:?}"));
                if let Item::Interface { interface, .. } = other {
                    self.selection.add_interface(interface)?;
                }
            }
        }
        Ok(())
    }

    fn accepted(&mut self, packet: &Packet<'_>) -> Result<(), ReadError> {
        self.record.push(format!("{packet:?}"));
        self.record.accepted += 1;
        self.record.received += 1;
        Ok(())
    }

    fn blocks_max(&self) -> u64 {
        if self.takes_blocks {
            self.limit - self.record.accepted
        } else {
            0
        }
    }

    fn accepted_blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), ReadError> {
        self.blocks.extend_from_slice(blocks);
        self.record.accepted += packets;
        self.record.received += packets;
        Ok(())
    }

    fn rejected(&mut self, packets: u64) {
        self.record.received += packets;
    }
}

fn recorder(filter: &str, limit: u64) -> Recorder {
    let conditions = Conditions {
        expression: Some(Expression::new(filter, Arc::new(NoNames))),
        ..Conditions::default()
    };
    Recorder {
        selection: Selection::new(conditions).expect("no other conditions"),
        limit,
        takes_blocks: false,
        blocks: Vec::new(),
        record: Record::default(),
    }
}

fn read_in_order(path: &Path, filter: &str, limit: u64) -> Option<Record> {
    let mut reader = Reader::open(path).ok()?;
    let mut recorder = recorder(filter, limit);
    while !recorder.is_done() {
        match reader.next_item() {
            Ok(Some(item)) => {
                if let Err(failure) = recorder.item(item) {
                    recorder.record.failure = Some(format!("{failure:?}"));
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => recorder.record.error = Some(format!("{error:?}")),
        }
    }
    Some(recorder.record)
}

fn read_in_parallel(path: &Path, filter: &str, limit: u64, plan: ParallelPlan) -> Option<Record> {
    let mut reader = Reader::open(path).ok()?;
    let mut recorder = recorder(filter, limit);
    let result = ParallelReader::new(&mut reader, &mut recorder, plan).run();
    match result {
        Ok(error) => recorder.record.error = error.map(|error| format!("{error:?}")),
        Err(failure) => recorder.record.failure = Some(format!("{failure:?}")),
    }
    assert_blocks(path, filter, limit, plan, &recorder.record);
    Some(recorder.record)
}

/// With native blocks the counts are the same, and so are the packets in the blocks.
fn assert_blocks(path: &Path, filter: &str, limit: u64, plan: ParallelPlan, expected: &Record) {
    let mut reader = Reader::open(path).expect("a capture");
    let mut with_blocks = Recorder {
        takes_blocks: true,
        ..recorder(filter, limit)
    };
    let _ = ParallelReader::new(&mut reader, &mut with_blocks, plan).run();
    let counts = |record: &Record| (record.accepted, record.received);
    assert_eq!(counts(&with_blocks.record), counts(expected));
    let mut decoder = reader.block_decoder();
    decoder.load(with_blocks.blocks);
    while let Some(packet) = decoder.next_packet() {
        with_blocks.record.push(format!("{packet:?}"));
    }
    assert_eq!(with_blocks.record.sorted(), expected.sorted());
}

fn files() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus");
    let mut files = Vec::new();
    for folder in ["captures", "made"] {
        let folder = std::fs::read_dir(corpus.join(folder)).expect("the corpus");
        files.extend(folder.map(|entry| entry.expect("an entry").path()));
    }
    files.sort();
    files
}

const FILTERS: [&str; 4] = ["ip", "not tcp", "greater 100", "udp or ip6"];

#[test]
fn every_file_gives_the_same_in_parallel_as_in_order() {
    let mut packets = 0;
    for (number, path) in files().iter().enumerate() {
        let filter = FILTERS[number % FILTERS.len()];
        let expected = read_in_order(path, filter, u64::MAX);
        packets += expected.as_ref().map_or(0, |record| record.accepted);
        for part_bytes in [50, 333, 4096] {
            for threads in [1, 3] {
                let plan = ParallelPlan {
                    part_bytes,
                    threads,
                };
                let found = read_in_parallel(path, filter, u64::MAX, plan);
                assert_eq!(found, expected, "{path:?} {plan:?}");
            }
        }
    }
    assert!(packets > 2000, "the filters accept few packets: {packets}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn corrupt_files_and_limits_end_at_the_same_packet(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        filter in prop::sample::select(FILTERS.to_vec()),
        limit in prop_oneof![1..20_u64, Just(u64::MAX)],
        part_bytes in 1..2000_u64,
    ) {
        let files = files();
        let mut bytes = std::fs::read(&files[file.index(files.len())]).expect("a file");
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let mut copy = tempfile::NamedTempFile::new().expect("a file");
        copy.write_all(&bytes).expect("written");
        let plan = ParallelPlan { part_bytes, threads: 2 };
        prop_assert_eq!(
            read_in_parallel(copy.path(), filter, limit, plan),
            read_in_order(copy.path(), filter, limit)
        );
    }
}
