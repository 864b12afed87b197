//! Helpers for the tests of counting.

use std::sync::Arc;
use std::time::Duration;

use lab::{Host, wait};
use tapline::Expression;
use tapline::count::{
    ClassTotals, Count, CountClass, CountDirection, CountOptions, CountTotals, Traffic,
};
use tapline::filter::NoNames;

/// The options `$base` with some fields changed.
macro_rules! with {
    ($base:expr; $($field:ident: $value:expr),+ $(,)?) => {{
        let mut options = $base;
        $(options.$field = $value;)+
        options
    }};
}
pub(crate) use with;

/// Time limit for any step of a test.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// A class named after its filter.
pub fn class(filter: &str) -> CountClass {
    named(filter, filter)
}

pub fn named(name: &str, filter: &str) -> CountClass {
    let filter = (!filter.is_empty()).then(|| Expression::new(filter, Arc::new(NoNames)).into());
    CountClass {
        name: name.to_owned(),
        filter,
    }
}

pub fn options(host: &Host, direction: CountDirection, filters: &[&str]) -> CountOptions {
    with!(
        CountOptions::default();
        interfaces: vec![host.interface().name.to_string()],
        classes: filters.iter().map(|filter| class(filter)).collect(),
        direction: direction,
    )
}

#[track_caller]
pub fn open(host: &Host, options: CountOptions) -> Count {
    let count = host.run(|| Count::open(options));
    count.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Counts packets that match these filters.
#[track_caller]
pub fn start(host: &Host, direction: CountDirection, filters: &[&str]) -> Count {
    open(host, options(host, direction, filters))
}

/// The first totals that satisfy a condition.
#[track_caller]
pub fn until(count: &mut Count, mut is_there: impl FnMut(&CountTotals) -> bool) -> CountTotals {
    wait::until_ok(|| {
        let snapshot = count.read().unwrap();
        if is_there(&snapshot) {
            return Ok(snapshot);
        }
        let traffic: Vec<_> = snapshot.classes.iter().map(|class| class.traffic).collect();
        Err(traffic)
    })
}

#[track_caller]
pub fn totals<'s>(snapshot: &'s CountTotals, name: &str) -> &'s ClassTotals {
    let mut classes = snapshot.classes.iter();
    let class = classes.find(|class| class.name == name);
    class.unwrap_or_else(|| panic!("no class {name}"))
}

pub fn traffic(packets: u64, bytes: u64) -> Traffic {
    Traffic { packets, bytes }
}

/// `frame` with a VLAN tag after its addresses.
pub fn tagged(kind: u16, vlan: u16, frame: &[u8]) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(12);
    let tag = [kind.to_be_bytes(), vlan.to_be_bytes()].concat();
    [addresses, &tag, rest].concat()
}
