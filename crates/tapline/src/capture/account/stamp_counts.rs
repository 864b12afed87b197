//! What made the time stamps of the delivered packets.

use std::ops::Add;

use ring::TimestampSource;

/// Delivered packets by the source of their time stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimestampCounts {
    /// Stamped by the interface's hardware.
    pub hardware: u64,
    /// Stamped by the kernel when the driver passed them to the stack.
    pub driver: u64,
    /// Stamped by the kernel.
    pub kernel: u64,
    /// Stamped by the reader when it took them.
    pub reader: u64,
}

impl TimestampCounts {
    /// Counts a packet that the kernel did not stamp. The others are [the rest](Self::of_delivered), so that the usual
    /// packet costs nothing.
    #[inline]
    pub(in super::super) fn count(&mut self, source: TimestampSource) {
        match source {
            TimestampSource::Kernel => {}
            TimestampSource::Hardware => self.hardware += 1,
            TimestampSource::Driver => self.driver += 1,
            TimestampSource::Reader => self.reader += 1,
        }
    }

    /// The counts of `delivered` packets, all of which were counted.
    pub(in super::super) fn of_delivered(self, delivered: u64) -> Self {
        let others = self.hardware + self.driver + self.reader;
        Self {
            kernel: delivered.saturating_sub(others),
            ..self
        }
    }

    /// The number of packets of each source.
    pub fn by_source(&self) -> [(TimestampSource, u64); 4] {
        [
            (TimestampSource::Hardware, self.hardware),
            (TimestampSource::Driver, self.driver),
            (TimestampSource::Kernel, self.kernel),
            (TimestampSource::Reader, self.reader),
        ]
    }

    /// The source of all time stamps. `None` if packets have several, or if there are none.
    pub fn source(&self) -> Option<TimestampSource> {
        let counts = self.by_source();
        let mut present = counts.iter().filter(|(_, packets)| *packets > 0);
        let (source, _) = present.next()?;
        present.next().is_none().then_some(*source)
    }

    /// Packets counted.
    pub fn total(&self) -> u64 {
        self.by_source().iter().map(|(_, packets)| packets).sum()
    }
}

impl Add for TimestampCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            hardware: self.hardware + other.hardware,
            driver: self.driver + other.driver,
            kernel: self.kernel + other.kernel,
            reader: self.reader + other.reader,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_never_mixed_silently() {
        let mut counts = TimestampCounts::default();
        assert_eq!(counts.source(), None);
        for (number, source) in (1..).zip([
            TimestampSource::Kernel,
            TimestampSource::Driver,
            TimestampSource::Hardware,
            TimestampSource::Reader,
        ]) {
            let mut only = TimestampCounts::default();
            only.count(source);
            let only = only.of_delivered(1);
            assert_eq!((only.source(), only.total()), (Some(source), 1));
            counts.count(source);
            assert_eq!(counts.of_delivered(number).total(), number);
        }
        let counts = counts.of_delivered(7);
        assert_eq!((counts.source(), counts.kernel), (None, 4));
    }
}
