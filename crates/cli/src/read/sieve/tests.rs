use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Parser;
use proptest::prelude::*;
use store::model::Packet;
use store::read::{Item, Reader};

use super::{Plan, Receiver, Sieve};
use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::read::expression::Expression;
use crate::read::judge::Judge;
use crate::read::selection::Selection;

/// Writes down what it is given.
struct Record {
    selection: Selection,
    wanted: u64,
    told: Told,
}

#[derive(Debug, Default, PartialEq)]
struct Told {
    items: Vec<String>,
    passed: u64,
    received: u64,
    error: Option<String>,
    failure: Option<String>,
}

impl Receiver for Record {
    fn must_end(&self) -> bool {
        self.told.passed == self.wanted
    }

    fn judge(&self) -> &Judge {
        self.selection.judge()
    }

    fn take(&mut self, item: Item<'_>) -> Result<(), Failure> {
        match item {
            Item::Packet(packet) if self.selection.passes(&packet) => return self.pass(&packet),
            Item::Packet(_) => self.refuse(1),
            other => {
                self.told.items.push(format!("{other:?}"));
                if let Item::Interface { interface, .. } = other {
                    self.selection.add_interface(interface)?;
                }
            }
        }
        Ok(())
    }

    fn pass(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        let number = self.told.received;
        self.told.items.push(format!("{number}: {packet:?}"));
        self.told.passed += 1;
        self.told.received += 1;
        Ok(())
    }

    fn refuse(&mut self, packets: u64) {
        self.told.received += packets;
    }
}

fn record(filter: &str, wanted: u64) -> Record {
    let Command::Read(args) = Args::parse_from(["tapline", "read", "file"]).command else {
        panic!("not read");
    };
    let filter = Expression::new(filter.into(), None);
    Record {
        selection: Selection::new(&args, Some(filter)).expect("no other conditions"),
        wanted,
        told: Told::default(),
    }
}

fn in_order(path: &Path, filter: &str, wanted: u64) -> Option<Told> {
    let mut reader = Reader::open(path).ok()?;
    let mut record = record(filter, wanted);
    while !record.must_end() {
        match reader.next_item() {
            Ok(Some(item)) => {
                if let Err(failure) = record.take(item) {
                    record.told.failure = Some(failure.line);
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => record.told.error = Some(format!("{error:?}")),
        }
    }
    Some(record.told)
}

fn sieved(path: &Path, filter: &str, wanted: u64, plan: Plan) -> Option<Told> {
    let mut reader = Reader::open(path).ok()?;
    let mut record = record(filter, wanted);
    let result = Sieve::new(&mut reader, &mut record, plan).run();
    match result {
        Ok(error) => record.told.error = error.map(|error| format!("{error:?}")),
        Err(failure) => record.told.failure = Some(failure.line),
    }
    Some(record.told)
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
fn every_file_is_sieved_as_it_is_read_in_order() {
    let mut packets = 0;
    for (number, path) in files().iter().enumerate() {
        let filter = FILTERS[number % FILTERS.len()];
        let expected = in_order(path, filter, u64::MAX);
        packets += expected.as_ref().map_or(0, |told| told.passed);
        for part_bytes in [50, 333, 4096] {
            for threads in [1, 3] {
                let plan = Plan {
                    part_bytes,
                    parts_in_turn: 3,
                    threads,
                };
                let found = sieved(path, filter, u64::MAX, plan);
                assert_eq!(found, expected, "{path:?} {plan:?}");
            }
        }
    }
    assert!(packets > 2000, "the filters let packets through: {packets}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_and_counts_end_at_the_same_place(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        filter in prop::sample::select(FILTERS.to_vec()),
        wanted in prop_oneof![1..20_u64, Just(u64::MAX)],
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
        let plan = Plan { part_bytes, parts_in_turn: 4, threads: 2 };
        prop_assert_eq!(
            sieved(copy.path(), filter, wanted, plan),
            in_order(copy.path(), filter, wanted)
        );
    }
}
