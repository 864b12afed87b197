//! The TPACKET header before a packet, of either version.

use abi::packet::{TP_STATUS_VLAN_VALID, Tpacket2Hdr, Tpacket3Hdr};

pub(crate) const VLAN_TAG_BYTES: usize = 4;

/// Status bit that we set when a packet's VLAN tag has been put back. No `TP_STATUS_*` uses this bit, and the kernel
/// overwrites the whole word with the next packet.
pub(crate) const VLAN_REINSERTED: u32 = 1 << 24;

/// The ring header before a packet, of either version.
pub(crate) trait Header: Copy {
    fn status(&self) -> u32;
    fn timestamp_ns(&self) -> u64;
    fn len(&self) -> u32;
    fn kept(&self) -> usize;
    fn start(&self) -> usize;
    fn vlan(&self) -> (u16, u16);
    /// Records that the VLAN tag was put back and that `kept_more` bytes of it are readable.
    fn put_back(&mut self, kept_more: usize);
}

macro_rules! header {
    ($kind:ty) => {
        impl Header for $kind {
            #[inline]
            fn status(&self) -> u32 {
                self.status
            }
            #[inline]
            fn timestamp_ns(&self) -> u64 {
                self.sec as u64 * 1_000_000_000 + self.nsec as u64
            }
            #[inline]
            fn len(&self) -> u32 {
                self.len
            }
            #[inline]
            fn kept(&self) -> usize {
                self.snaplen as usize
            }
            #[inline]
            fn start(&self) -> usize {
                self.mac as usize
            }
            #[inline]
            fn vlan(&self) -> (u16, u16) {
                (self.vlan_tpid, self.vlan_tci as u16)
            }
            #[inline]
            fn put_back(&mut self, kept_more: usize) {
                self.status = self.status & !TP_STATUS_VLAN_VALID | VLAN_REINSERTED;
                self.mac -= kept_more as u16;
                self.snaplen += kept_more as u32;
                self.len += VLAN_TAG_BYTES as u32;
            }
        }
    };
}
header!(Tpacket2Hdr);
header!(Tpacket3Hdr);
