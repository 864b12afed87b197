//! What the tests of counting share.

#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lab::Host;
use tapline::capture::Expression;
use tapline::count::{Class, ClassTotals, Count, Direction, Options, Snapshot, Tally};
use tapline::filter::NoNames;

/// How long anything may take before a test fails.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// A class called as its filter.
pub fn class(filter: &str) -> Class {
    named(filter, filter)
}

pub fn named(name: &str, filter: &str) -> Class {
    let filter = (!filter.is_empty()).then(|| Expression {
        text: filter.to_owned(),
        names: Arc::new(NoNames),
    });
    Class {
        name: name.to_owned(),
        filter,
    }
}

pub fn options(host: &Host, direction: Direction, filters: &[&str]) -> Options {
    Options {
        links: vec![host.interface().name.to_string()],
        classes: filters.iter().map(|filter| class(filter)).collect(),
        direction,
        ..Options::default()
    }
}

#[track_caller]
pub fn open(host: &Host, options: Options) -> Count {
    let count = host.run(|| Count::open(options));
    count.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Waits until the totals are as they ought to be. There is no event to wait for, so the processor is
/// offered between two looks.
#[track_caller]
pub fn until(count: &mut Count, mut is_there: impl FnMut(&Snapshot) -> bool) -> Snapshot {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let snapshot = count.read().unwrap();
        if is_there(&snapshot) {
            return snapshot;
        }
        if Instant::now() >= deadline {
            let tallies: Vec<_> = snapshot.classes.iter().map(|class| class.tally).collect();
            panic!("not all came: {tallies:?}");
        }
        thread::yield_now();
    }
}

#[track_caller]
pub fn totals<'s>(snapshot: &'s Snapshot, name: &str) -> &'s ClassTotals {
    let mut classes = snapshot.classes.iter();
    let class = classes.find(|class| class.name == name);
    class.unwrap_or_else(|| panic!("no class {name}"))
}

pub fn tally(packets: u64, bytes: u64) -> Tally {
    Tally { packets, bytes }
}

/// `frame` with a VLAN tag behind its addresses.
pub fn tagged(kind: u16, vlan: u16, frame: &[u8]) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(12);
    let tag = [kind.to_be_bytes(), vlan.to_be_bytes()].concat();
    [addresses, &tag, rest].concat()
}
