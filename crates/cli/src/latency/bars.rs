//! Prints the latency histogram as bars.

use tapline::latency::Delays;

use super::delays::time;
use crate::values::units::grouped;

/// Columns in front of a bar.
const BEFORE: usize = 27;

/// Columns of the longest bar at most.
const LONGEST: usize = 40;

/// Text histogram of the delays: one line per power of two that occurred. Only the bars, not the
/// figures, are shortened to fit into `columns`.
pub fn bars(delays: &Delays, columns: usize) -> Vec<String> {
    let mut doublings: Vec<(u32, u64)> = Vec::new();
    for (low_ns, _, packets) in delays.histogram.buckets() {
        let doubling = low_ns.max(1).ilog2();
        match doublings.last_mut() {
            Some((last, sum)) if *last == doubling => *sum += packets,
            _ => doublings.push((doubling, packets)),
        }
    }
    let most = doublings.iter().map(|&(_, packets)| packets).max();
    let most = most.unwrap_or(1).max(1);
    let longest = columns.saturating_sub(BEFORE).min(LONGEST) as u64;
    let line = |&(doubling, packets): &(u32, u64)| {
        let below = 1_u64.checked_shl(doubling + 1).unwrap_or(u64::MAX);
        let length = u128::from(packets) * u128::from(longest);
        let bar = "#".repeat(length.div_ceil(most.into()) as usize);
        format!("  < {:>9} {:>12} {bar}", time(below), grouped(packets))
    };
    doublings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion() {
        let mut delays = Delays::default();
        for delay_ns in [100, 120, 127, 127, 40_000] {
            delays.record(0, delay_ns);
        }
        for (columns, expected) in [(68, [40, 10]), (1000, [40, 10]), (31, [4, 1]), (10, [0, 0])] {
            let bars = bars(&delays, columns);
            let lengths: Vec<usize> = bars.iter().map(|l| l.matches('#').count()).collect();
            assert_eq!(lengths, expected, "{bars:?}");
        }
    }
}
