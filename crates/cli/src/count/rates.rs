//! Rates, as lines and tables for people have them.

use tapline::count::Tally;

use crate::units::amount;

/// `1.2 kpps` and `9.8 Mbps`.
pub fn rates(tally: Tally, span_ns: u64) -> [String; 2] {
    let seconds = (span_ns.max(1)) as f64 / 1e9;
    [
        rate(tally.packets as f64 / seconds) + "pps",
        rate(tally.bytes as f64 * 8.0 / seconds) + "bps",
    ]
}

/// As [`amount`], with a digit behind the point where that is most of it.
fn rate(value: f64) -> String {
    if value > 0.0 && value < 9.95 {
        format!("{value:.1} ")
    } else {
        amount(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_by_the_exact_time() {
        let tally = Tally {
            packets: 1234,
            bytes: 125_000,
        };
        assert_eq!(rates(tally, 1_000_000_000), ["1.2 kpps", "1.0 Mbps"]);
        assert_eq!(rates(tally, 500_000_000), ["2.5 kpps", "2.0 Mbps"]);
        let few = Tally {
            packets: 3,
            bytes: 0,
        };
        assert_eq!(rates(few, 10_000_000_000), ["0.3 pps", "0 bps"]);
        assert_eq!(rates(few, 0)[1], "0 bps");
    }
}
