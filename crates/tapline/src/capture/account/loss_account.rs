//! The account of a capture: `received = delivered + filtered + Σ lost`.

use serde::{Deserialize, Serialize};

/// Packets lost, by place; `None` where the number cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Lost {
    /// By the interface, for lack of buffers (`rx_missed_errors`).
    pub nic: Option<u64>,
    /// By the driver, or by the kernel before any ring. `Some(0)` while `rx_dropped` does not change. If it
    /// changes the number is unknown, because it also counts packets that a ring received and no protocol
    /// handled.
    pub driver: Option<u64>,
    /// By a full ring: the reader was too slow.
    pub ring: u64,
    /// By an XDP program that could not pass them to the reader; packet rings have none.
    pub program: u64,
    /// Left in the ring when the capture ended.
    pub reader: u64,
    /// Read but not written, because the consumer failed.
    pub writer: u64,
}

impl Lost {
    /// Each place by its name, in the order in which packets pass them.
    pub fn places(&self) -> [(&'static str, Option<u64>); 6] {
        [
            ("nic", self.nic),
            ("driver", self.driver),
            ("ring", Some(self.ring)),
            ("program", Some(self.program)),
            ("reader", Some(self.reader)),
            ("writer", Some(self.writer)),
        ]
    }

    /// The sum of all known losses.
    pub fn total(&self) -> u64 {
        self.places().iter().filter_map(|(_, lost)| *lost).sum()
    }
}

/// What became of every packet: `received = delivered + filtered + Σ lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets that the consumer took and, if it writes them, that are written.
    pub delivered: u64,
    /// Packets that the filter refused, that sampling left out, or that came after the packet limit; `None`
    /// if the kernel could not count them.
    pub filtered: Option<u64>,
    /// Sampled-out packets, which are among the filtered; `None` where `filtered` is.
    pub sampled_out: Option<u64>,
    /// Packets lost.
    pub lost: Lost,
}

impl Account {
    /// Packets that the interface offered; `None` where `filtered` is.
    pub fn received(&self) -> Option<u64> {
        self.filtered
            .map(|filtered| self.delivered + filtered + self.lost.total())
    }
}

/// Adds up the accounts of several interfaces.
impl std::iter::Sum for Account {
    fn sum<I: Iterator<Item = Self>>(accounts: I) -> Self {
        let none = Self {
            delivered: 0,
            filtered: Some(0),
            sampled_out: Some(0),
            lost: NOTHING,
        };
        accounts.fold(none, |a, b| Self {
            delivered: a.delivered + b.delivered,
            filtered: both(a.filtered, b.filtered),
            sampled_out: both(a.sampled_out, b.sampled_out),
            lost: Lost {
                nic: both(a.lost.nic, b.lost.nic),
                driver: both(a.lost.driver, b.lost.driver),
                ring: a.lost.ring + b.lost.ring,
                program: a.lost.program + b.lost.program,
                reader: a.lost.reader + b.lost.reader,
                writer: a.lost.writer + b.lost.writer,
            },
        })
    }
}

const NOTHING: Lost = Lost {
    nic: Some(0),
    driver: Some(0),
    ring: 0,
    program: 0,
    reader: 0,
    writer: 0,
};

/// The sum; unknown if a part is.
fn both(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a? + b?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        let lost = Lost {
            nic: Some(1),
            driver: None,
            ring: 2,
            program: 0,
            reader: 3,
            writer: 4,
        };
        let one = Account {
            delivered: 10,
            filtered: Some(5),
            sampled_out: Some(4),
            lost,
        };
        let other = Account {
            delivered: 1,
            filtered: None,
            sampled_out: None,
            lost: NOTHING,
        };
        let sum: Account = [one, other].into_iter().sum();
        assert_eq!(
            (sum.delivered, sum.filtered, sum.received()),
            (11, None, None)
        );
        assert_eq!((sum.lost.nic, sum.lost.driver), (Some(1), None));
        assert_eq!(one.received(), Some(25));
        let twice: Account = [one, one].into_iter().sum();
        assert_eq!((sum.sampled_out, twice.sampled_out), (None, Some(8)));
    }
}
