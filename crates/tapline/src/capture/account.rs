//! What became of the packets that a capture was offered.

/// Packets lost, by place; `None` where it cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// By the interface, which had no buffer for them (`rx_missed_errors`).
    pub nic: Option<u64>,
    /// By its driver, or by the kernel before any ring: `Some(0)` as long as `rx_dropped` stands
    /// still. When it moves, the number cannot be known, since it also counts packets that a ring
    /// has seen and that no protocol wanted.
    pub driver: Option<u64>,
    /// Because the ring was full: the reader did not keep up.
    pub ring: u64,
    /// By a program in the kernel that should have passed them on; packet rings have none.
    pub program: u64,
    /// In the ring when the capture had to leave it.
    pub reader: u64,
    /// Read, and then not written, because the consumer failed.
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

    /// Those that are known of.
    pub fn total(&self) -> u64 {
        self.places().iter().filter_map(|(_, lost)| *lost).sum()
    }
}

/// What became of every packet: `received = delivered + filtered + Σ lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Packets that the consumer took and, if it writes them, that are written.
    pub delivered: u64,
    /// Packets that the filter refused or that came after the last one asked for; `None` where the
    /// kernel did not let the filter count.
    pub filtered: Option<u64>,
    /// Those of the filtered packets that the filter accepted and sampling left out; `None` where
    /// `filtered` is.
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

/// The account of several interfaces together.
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

/// A sum with an unknown part is unknown.
fn both(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a? + b?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_part_makes_the_sum_unknown() {
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
