//! How much waits in a packet ring.

use std::time::Duration;

use abi::packet::{BlockDesc, TP_STATUS_USER, Tpacket2Hdr, Tpacket3Hdr};

use crate::options::Backend;
use crate::packet::Header;
use crate::ring::PacketRing;

/// Slots from the head on that are known to be the reader's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scanned {
    slots: usize,
    /// Bytes of their packets.
    bytes: usize,
}

impl PacketRing {
    /// Whether the packets that wait take `bytes` of the ring or more, with their headers; 1 asks whether
    /// there is any. In TPACKET_V3 those of a block count once it is handed over.
    ///
    /// Cost: a look at each slot that has come since it was asked the last time.
    #[inline]
    pub fn holds(&self, bytes: usize) -> bool {
        if bytes <= 1 {
            return self.is_handed_over(self.head);
        }
        if bytes > self.geometry.bytes() {
            return false;
        }
        let mut scanned = self.scanned.get();
        while scanned.bytes < bytes && scanned.slots < self.geometry.count {
            let slot = (self.head + scanned.slots) % self.geometry.count;
            if !self.is_handed_over(slot) {
                break;
            }
            scanned.bytes += self.taken(slot);
            scanned.slots += 1;
        }
        self.scanned.set(scanned);
        scanned.bytes >= bytes
    }

    /// Whether a quarter of the ring or more waits to be read.
    pub fn is_filling(&self) -> bool {
        self.is_handed_over((self.head + self.geometry.count / 4) % self.geometry.count)
    }

    /// Time stamp of the oldest packet that waits, by whichever clock its stamps are of.
    pub fn oldest_ns(&self) -> Option<u64> {
        if !self.is_handed_over(self.head) {
            return None;
        }
        match self.geometry.backend {
            Backend::PacketV2 => Some(self.frame(self.head).timestamp_ns()),
            Backend::PacketV3 => {
                let first = self.block(self.head).offset_to_first_pkt as usize;
                let fits = first.is_multiple_of(8)
                    && first + size_of::<Tpacket3Hdr>() <= self.geometry.slot_bytes;
                if !fits {
                    return None;
                }
                let at = self.head * self.geometry.slot_bytes + first;
                let header = self.region.pointer(at, size_of::<Tpacket3Hdr>());
                // SAFETY: mapped (checked), aligned to 8 (checked; blocks are page-aligned), and the
                // reader's, which the status says.
                let header = unsafe { header.cast::<Tpacket3Hdr>().read() };
                Some(header.timestamp_ns())
            }
        }
    }

    /// Time of a block in TPACKET_V3, after which it is handed over though not full.
    pub fn block_time(&self) -> Option<Duration> {
        let ms = self.geometry.retire_ms;
        (self.geometry.backend == Backend::PacketV3).then(|| Duration::from_millis(ms.into()))
    }

    fn is_handed_over(&self, slot: usize) -> bool {
        self.status(slot) & TP_STATUS_USER != 0
    }

    /// Bytes that packets take of a slot, which is the reader's.
    fn taken(&self, slot: usize) -> usize {
        match self.geometry.backend {
            Backend::PacketV2 => {
                let header = self.frame(slot);
                (header.start() + header.kept()).min(self.geometry.slot_bytes)
            }
            Backend::PacketV3 => {
                let block = self.block(slot);
                block.blk_len.saturating_sub(block.offset_to_first_pkt) as usize
            }
        }
    }

    /// The header of a frame that is the reader's.
    fn frame(&self, slot: usize) -> Tpacket2Hdr {
        let at = slot * self.geometry.slot_bytes;
        let header = self.region.pointer(at, size_of::<Tpacket2Hdr>());
        // SAFETY: mapped (checked), aligned as frames are, to 16; the kernel writes no frame whose status
        // says that it is the reader's, which the caller has seen.
        unsafe { header.cast::<Tpacket2Hdr>().read() }
    }

    /// The header of a block that is the reader's.
    fn block(&self, slot: usize) -> BlockDesc {
        let at = slot * self.geometry.slot_bytes;
        let block = self.region.pointer(at, size_of::<BlockDesc>());
        // SAFETY: mapped (checked) and page-aligned; the kernel writes no block whose status says that it is
        // the reader's, which the caller has seen.
        unsafe { block.cast::<BlockDesc>().read() }
    }
}
