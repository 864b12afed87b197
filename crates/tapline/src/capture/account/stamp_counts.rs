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
    /// Counts a packet.
    #[inline]
    pub(in super::super) fn count(&mut self, source: TimestampSource) {
        let counter = match source {
            TimestampSource::Kernel => &mut self.kernel,
            TimestampSource::Hardware => &mut self.hardware,
            TimestampSource::Driver => &mut self.driver,
            TimestampSource::Reader => &mut self.reader,
        };
        *counter += 1;
    }

    /// The source of all time stamps. `None` if packets have several, or if there are none.
    pub fn source(&self) -> Option<TimestampSource> {
        match self {
            Self {
                hardware: 0,
                driver: 0,
                reader: 0,
                kernel: 1..,
            } => Some(TimestampSource::Kernel),
            Self {
                driver: 0,
                kernel: 0,
                reader: 0,
                hardware: 1..,
            } => Some(TimestampSource::Hardware),
            Self {
                hardware: 0,
                kernel: 0,
                reader: 0,
                driver: 1..,
            } => Some(TimestampSource::Driver),
            Self {
                hardware: 0,
                driver: 0,
                kernel: 0,
                reader: 1..,
            } => Some(TimestampSource::Reader),
            _ => None,
        }
    }

    /// Packets counted.
    pub fn total(&self) -> u64 {
        self.hardware + self.driver + self.kernel + self.reader
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
        for source in [
            TimestampSource::Kernel,
            TimestampSource::Driver,
            TimestampSource::Hardware,
            TimestampSource::Reader,
        ] {
            let mut only = TimestampCounts::default();
            only.count(source);
            assert_eq!((only.source(), only.total()), (Some(source), 1));
            counts.count(source);
        }
        assert_eq!((counts.source(), counts.total()), (None, 4));
    }
}
