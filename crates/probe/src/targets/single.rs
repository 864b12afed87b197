//! Single addresses of a list that is built, in little memory: a list may have millions.

use std::net::IpAddr;

use super::range::{AddressRange, number};

/// A single address, and which mention of the list it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Single<A> {
    /// In the order of addresses.
    address: A,
    place: u32,
}

/// Single addresses, in the order of their mention.
#[derive(Clone, Debug, Default)]
pub(super) struct Singles {
    v4: Vec<Single<[u8; 4]>>,
    /// As bytes, like the others: a number would take more for its alignment.
    v6: Vec<Single<[u8; 16]>>,
}

/// Numbers of skipped addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SkippedAddresses {
    pub refused: u128,
    pub repeated: u128,
}

impl Singles {
    pub fn push(&mut self, address: IpAddr, place: u32) {
        match address {
            IpAddr::V4(address) => self.v4.push(Single {
                address: address.octets(),
                place,
            }),
            IpAddr::V6(address) => self.v6.push(Single {
                address: address.octets(),
                place,
            }),
        }
    }

    /// Leaves out those that are not `accepted`, and all but the first mention of each.
    pub fn reduce(&mut self, accepted: impl Fn(IpAddr) -> bool) -> SkippedAddresses {
        let mut skipped = SkippedAddresses::default();
        reduce(&mut self.v4, &accepted, &mut skipped);
        reduce(&mut self.v6, &accepted, &mut skipped);
        skipped
    }

    /// Removes those within `ranges`, which are sorted and disjoint, and calls `each` with them.
    pub fn remove_within(&mut self, ranges: &[AddressRange], mut each: impl FnMut(IpAddr, u32)) {
        if ranges.is_empty() {
            return;
        }
        let is_within = |address: IpAddr| {
            let key = number(address);
            let at = ranges.partition_point(|range| range.last < key);
            ranges.get(at).is_some_and(|range| range.first <= key)
        };
        self.v4.retain(|single| keep(single, is_within, &mut each));
        self.v6.retain(|single| keep(single, is_within, &mut each));
    }

    /// All of them, in the order of their mention.
    pub fn in_order(mut self) -> impl Iterator<Item = (u32, IpAddr)> {
        self.v4.sort_unstable_by_key(|single| single.place);
        self.v6.sort_unstable_by_key(|single| single.place);
        let mut v4 = self.v4.into_iter().map(entry).peekable();
        let mut v6 = self.v6.into_iter().map(entry).peekable();
        std::iter::from_fn(move || match (v4.peek(), v6.peek()) {
            (Some((first, _)), Some((second, _))) if first > second => v6.next(),
            (None, _) => v6.next(),
            _ => v4.next(),
        })
    }
}

fn entry<A: Into<IpAddr>>(single: Single<A>) -> (u32, IpAddr) {
    (single.place, single.address.into())
}

fn keep<A: Copy + Into<IpAddr>>(
    single: &Single<A>,
    is_within: impl Fn(IpAddr) -> bool,
    each: &mut impl FnMut(IpAddr, u32),
) -> bool {
    let address = single.address.into();
    let is_out = !is_within(address);
    if !is_out {
        each(address, single.place);
    }
    is_out
}

fn reduce<A: Copy + Ord + Into<IpAddr>>(
    singles: &mut Vec<Single<A>>,
    accepted: impl Fn(IpAddr) -> bool,
    skipped: &mut SkippedAddresses,
) {
    let before = singles.len();
    singles.retain(|single| accepted(single.address.into()));
    let accepted = singles.len();
    singles.sort_unstable();
    singles.dedup_by_key(|single| single.address);
    skipped.refused += (before - accepted) as u128;
    skipped.repeated += (accepted - singles.len()) as u128;
}
