//! Values that flags and output share: sizes, durations, rates, numbers and points in time.

pub mod moment;
pub mod units;
