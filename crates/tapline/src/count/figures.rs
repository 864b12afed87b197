//! Counted packets and bytes: intervals, totals and the summary.

use super::group_key::GroupKey;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes, in the [`CountLayer`](super::CountLayer) of the options.
    pub bytes: u64,
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_add(other.packets),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_sub(other.packets),
            bytes: self.bytes.wrapping_sub(other.bytes),
        }
    }
}

/// The packets of one interval.
///
/// Intervals have no gaps: their sum is the totals.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountInterval {
    /// End of the interval, nanoseconds since 1970 (`CLOCK_REALTIME`).
    pub at_ns: u64,
    /// Length of the interval, nanoseconds (`CLOCK_MONOTONIC`).
    pub span_ns: u64,
    /// Each class, in the order of the count.
    pub classes: Vec<ClassInterval>,
}

/// The packets of one class in one interval.
///
/// With groups, `traffic` is the sum of `groups`, `other` and `without_key`. Under load a packet
/// may appear in the groups of the next interval, because the tables are read one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassInterval {
    /// Name of the class.
    pub name: String,
    /// All packets of the class.
    pub traffic: Traffic,
    /// Its groups with at least one packet, most packets first.
    pub groups: Vec<Group>,
    /// Packets of groups that did not fit in the table.
    pub other: Traffic,
    /// Packets without the key, such as ARP by address.
    pub without_key: Traffic,
}

/// Packets of a class with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The common key.
    pub key: GroupKey,
    /// Packets and bytes.
    pub traffic: Traffic,
}

/// The totals of a count at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountTotals {
    /// The time, nanoseconds since 1970 (`CLOCK_REALTIME`).
    pub at_ns: u64,
    /// Time since the start of the count, nanoseconds (`CLOCK_MONOTONIC`).
    pub since_start_ns: u64,
    /// Each class, in the order of the count.
    pub classes: Vec<ClassTotals>,
}

/// The totals of one class since it was added; never reset.
///
/// Each counter is read atomically, one after the other: a packet may be counted before its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassTotals {
    /// Name of the class.
    pub name: String,
    /// All packets of the class.
    pub traffic: Traffic,
    /// The same for each point, in the order of [`Count::points`](super::Count::points).
    pub points: Vec<Traffic>,
    /// Its groups, most packets first.
    pub groups: Vec<Group>,
    /// Packets of groups that did not fit in the table.
    pub other: Traffic,
    /// Packets without the key.
    pub without_key: Traffic,
}

/// What ended a count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountEnd {
    /// A stop request.
    Stopped,
    /// The duration is over.
    Duration,
    /// The closure of [`Count::run`](super::Count::run) returned `Break`.
    Consumer,
    /// [`Count::finish`](super::Count::finish), before anything else ended the count.
    Finished,
    /// An interface was removed.
    LinkRemoved {
        /// Its name.
        link: String,
    },
}

/// The result of a count. `Display` prints it as one paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct CountSummary {
    /// What ended the count.
    pub end: CountEnd,
    /// The totals at the end of the last interval.
    pub totals: CountTotals,
}

impl fmt::Display for CountSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.totals.since_start_ns as f64 / 1e9;
        write!(f, "counted for {seconds:.3} s")?;
        for (number, class) in self.totals.classes.iter().enumerate() {
            let separator = if number == 0 { ": " } else { ", " };
            let Traffic { packets, bytes } = class.traffic;
            write!(
                f,
                "{separator}{} {packets} packets ({bytes} bytes)",
                class.name
            )?;
        }
        if let CountEnd::LinkRemoved { link } = &self.end {
            write!(f, "; interface {link} was removed")?;
        }
        Ok(())
    }
}
