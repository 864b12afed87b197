//! Packet counters of a ring.

use abi::packet::TpacketStats;

/// Packets of one ring since it was opened. The counters are never reset and never wrap.
///
/// Every packet that passed the filter counts as `accepted`. It is then `dropped`, `delivered`, `unreadable`, or
/// still in the ring: `accepted = delivered + dropped + unreadable + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounters {
    /// Passed the filter, as of the last [refresh](crate::PacketRing::refresh).
    pub accepted: u64,
    /// Dropped because the ring was full.
    pub dropped: u64,
    /// Number of times the ring was full (TPACKET_V3).
    pub freezes: u64,
    /// Delivered to the reader in batches that have been dropped since.
    pub delivered: u64,
    /// In blocks with invalid headers.
    pub unreadable: u64,
}

impl RingCounters {
    /// Packets in the ring as of the last refresh.
    pub fn waiting(&self) -> u64 {
        self.accepted
            .saturating_sub(self.dropped + self.delivered + self.unreadable)
    }

    /// Adds the kernel's 32-bit counters, which each read resets to 0.
    pub(crate) fn count(&mut self, since: TpacketStats) {
        self.accepted += since.packets as u64;
        self.dropped += since.drops as u64;
        self.freezes += since.freeze_q_cnt as u64;
    }
}

/// The sum of two rings' counters.
impl std::ops::Add for RingCounters {
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
        let mut account = RingCounters::default();
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
