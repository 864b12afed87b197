//! Figures, and the differences between them.

use std::ops::{Add, AddAssign, Sub};

use super::key::GroupKey;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes of the layer asked for.
    pub bytes: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_add(other.packets),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_sub(other.packets),
            bytes: self.bytes.wrapping_sub(other.bytes),
        }
    }
}

/// What was counted from one moment to the next.
///
/// The intervals of a count follow one another without a gap: their sum is the totals.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interval {
    /// When it ended, nanoseconds since 1970 (`CLOCK_REALTIME`).
    pub at_ns: u64,
    /// How long it was, nanoseconds (`CLOCK_MONOTONIC`).
    pub span_ns: u64,
    /// Each class, in the order of the count.
    pub classes: Vec<ClassInterval>,
}

/// What was counted in one class.
///
/// With groups, `tally` is the sum of `groups`, `other` and `without_key` when nobody counts; under
/// traffic the tables are read one after the other, and a packet may be in the next interval's groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassInterval {
    /// Name of the class.
    pub name: String,
    /// All its packets.
    pub tally: Tally,
    /// Its groups with at least one packet, most packets first.
    pub groups: Vec<Group>,
    /// Packets of groups that the table had no room for.
    pub other: Tally,
    /// Packets without what is grouped by, such as ARP by address.
    pub without_key: Tally,
}

/// Packets of a class that have something in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// What they have in common.
    pub key: GroupKey,
    /// How many they are.
    pub tally: Tally,
}

/// Everything counted up to one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The moment, nanoseconds since 1970 (`CLOCK_REALTIME`).
    pub at_ns: u64,
    /// Time since the count began, nanoseconds (`CLOCK_MONOTONIC`).
    pub since_start_ns: u64,
    /// Each class, in the order of the count.
    pub classes: Vec<ClassTotals>,
}

/// Everything counted in one class since it is there; never reset.
///
/// Each number is read whole, one after the other: a packet may be in one and its bytes not yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassTotals {
    /// Name of the class.
    pub name: String,
    /// All its packets.
    pub tally: Tally,
    /// The same by place, in the order of [`Count::places`](super::Count::places).
    pub places: Vec<Tally>,
    /// Its groups, most packets first.
    pub groups: Vec<Group>,
    /// Packets of groups that the table had no room for.
    pub other: Tally,
    /// Packets without what is grouped by.
    pub without_key: Tally,
}
