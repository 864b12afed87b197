//! What became of the packets that a ring was offered.

use abi::packet::TpacketStats;

/// Packets of one ring since it was opened; never reset, never wrapping.
///
/// Every packet that passed the filter is in `accepted`; it is then `dropped`, or `delivered`, or
/// still in the ring: `accepted = delivered + dropped + unreadable + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Passed the filter, as the kernel last told.
    pub accepted: u64,
    /// Of those, dropped because the ring was full.
    pub dropped: u64,
    /// Times the ring was full (TPACKET_V3).
    pub freezes: u64,
    /// Handed to the reader in batches that have been given back.
    pub delivered: u64,
    /// In blocks whose layout was not what the kernel's headers say.
    pub unreadable: u64,
}

impl Account {
    /// Packets that lay in the ring when the kernel was last asked.
    pub fn waiting(&self) -> u64 {
        self.accepted
            .saturating_sub(self.dropped + self.delivered + self.unreadable)
    }

    /// Adds what the kernel counted since it was last asked: reading clears its 32-bit counters.
    pub(crate) fn count(&mut self, since: TpacketStats) {
        self.accepted += since.packets as u64;
        self.dropped += since.drops as u64;
        self.freezes += since.freeze_q_cnt as u64;
    }
}

/// The packets of two rings.
impl std::ops::Add for Account {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            accepted: self.accepted + other.accepted,
            dropped: self.dropped + other.dropped,
            freezes: self.freezes + other.freezes,
            delivered: self.delivered + other.delivered,
            unreadable: self.unreadable + other.unreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_past_32_bits() {
        let mut account = Account::default();
        for _ in 0..3 {
            account.count(TpacketStats {
                packets: u32::MAX,
                drops: 1 << 31,
                freeze_q_cnt: 1,
            });
        }
        assert_eq!(account.accepted, 3 * (u32::MAX as u64));
        assert_eq!(account.dropped, 3 << 31);
        assert_eq!(account.freezes, 3);
        assert_eq!(account.waiting(), account.accepted - account.dropped);
    }
}
