//! Answers that are counted in the kernel.

/// Type and code of an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpErrorKind {
    /// Its type.
    pub kind: u8,
    /// Its code.
    pub code: u8,
}

/// The answers of a target, or of all, as counted in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedAnswers {
    /// First answers in time.
    pub received: u64,
    /// First answers after the timeout.
    pub late: u64,
    /// Further answers.
    pub duplicate: u64,
    /// Damaged answers.
    pub corrupt: u64,
    /// ICMP errors that were the first answer.
    pub errors: u64,
    /// Sum of the round trips of the answers in time, nanoseconds.
    pub sum_ns: u128,
    /// Sum of their squares.
    pub squares: u128,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The latest.
    pub last_ns: u64,
    /// Smoothed difference between consecutive ones (RFC 3550, 6.4.1), in sixteenths of a nanosecond.
    pub jitter_16: u64,
}

impl CountedAnswers {
    /// Mean, and sum of the squares of the deviations from it.
    pub(crate) fn mean_and_squares(&self) -> (f64, f64) {
        let count = u128::from(self.received.max(1));
        let product = self.squares.saturating_mul(count);
        let squares = product.saturating_sub(self.sum_ns.saturating_mul(self.sum_ns));
        (
            self.sum_ns as f64 / count as f64,
            squares as f64 / count as f64,
        )
    }
}
