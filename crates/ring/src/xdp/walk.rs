//! The packets behind descriptors.

use abi::xdp::{XDP_PKT_CONTD, XdpDesc};
use wire::metadata::{Checksum, Direction, Reception};

use super::clock::Offset;
use super::memory::Memory;
use super::queue::Consumer;
use crate::options::TimestampSource;
use crate::packet::Packet;
use crate::prefetch;

/// How far ahead packets are brought near, descriptors.
const AHEAD: u32 = 8;

/// What is the same for all packets of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub snaplen: u32,
    /// Index of the interface.
    pub link: u32,
    /// Its hardware address; `None` where packets begin without one.
    pub mac: Option<[u8; 6]>,
    /// It had several queues when it was asked, so that packets tell theirs.
    pub has_queues: bool,
    pub offset: Offset,
}

impl View {
    /// What a packet of `queue` tells of it. Queues may have been added since it was asked how many there are.
    #[inline]
    pub fn queue(&self, queue: u32) -> Option<u32> {
        (self.has_queues || queue != 0).then_some(queue)
    }
}

/// A walk over the descriptors of a batch, oldest first.
#[derive(Debug)]
pub(crate) struct Descriptors<'b> {
    pub(super) rx: &'b Consumer,
    pub(super) memory: &'b Memory,
    /// The next descriptor, counted from the oldest.
    pub(super) at: u32,
    /// Those of the batch.
    pub(super) count: u32,
    /// Where packets of several buffers are put together.
    pub(super) scratch: &'b mut [u8],
    pub(super) view: View,
    /// The ring's.
    pub(super) queue: u32,
}

impl<'b> Descriptors<'b> {
    /// The next packet; `None` when a descriptor does not lie in the packet memory.
    #[inline]
    pub fn next(&mut self) -> Option<Packet<'b>> {
        let desc = self.step()?;
        let ahead = self.rx.descriptor(self.at.wrapping_add(AHEAD));
        prefetch::headers(self.memory.hint(&ahead));
        // SAFETY: the descriptor is one of the batch's, whose chunks are given back when the batch is
        // dropped, which `'b` borrows.
        let bytes = unsafe { self.memory.bytes(&desc) }?;
        let (bytes, original_len) = if desc.options & XDP_PKT_CONTD == 0 {
            (
                &bytes[..bytes.len().min(self.view.snaplen as usize)],
                desc.len,
            )
        } else {
            self.join(bytes)?
        };
        // SAFETY: as above.
        let stamp = unsafe { self.memory.metadata(&desc) };
        let (timestamp_ns, timestamp_source) = match stamp {
            Some(stamp) => {
                let real_ns = self.view.offset.realtime_ns(stamp.monotonic_ns);
                (real_ns, TimestampSource::Kernel)
            }
            None => (self.view.offset.looked_at_ns(), TimestampSource::Reader),
        };
        Some(Packet {
            bytes,
            original_len,
            timestamp_ns,
            timestamp_source,
            direction: Direction::In,
            reception: self.view.mac.and_then(|own| reception(bytes, own)),
            checksum: Checksum::Unknown,
            vlan_tag: None,
            link: self.view.link,
            queue: self.view.queue(self.queue),
        })
    }

    #[inline]
    fn step(&mut self) -> Option<XdpDesc> {
        if self.at >= self.count {
            return None;
        }
        let desc = self.rx.descriptor(self.at);
        self.at += 1;
        Some(desc)
    }

    /// Puts the buffers of a packet together behind each other, as far as the snaplen asks for them;
    /// `first` are the bytes of the first.
    fn join(&mut self, first: &[u8]) -> Option<(&'b [u8], u32)> {
        let scratch = std::mem::take(&mut self.scratch);
        let room = scratch.len().min(self.view.snaplen as usize);
        let mut kept = 0;
        let mut length = 0_u32;
        let mut take = |bytes: &[u8]| {
            let more = bytes.len().min(room - kept);
            scratch[kept..kept + more].copy_from_slice(&bytes[..more]);
            kept += more;
            length = length.saturating_add(bytes.len() as u32);
        };
        take(first);
        loop {
            let desc = self.step()?;
            // SAFETY: one of the batch's, as in `next`.
            take(unsafe { self.memory.bytes(&desc) }?);
            if desc.options & XDP_PKT_CONTD == 0 {
                break;
            }
        }
        let (packet, rest) = scratch.split_at_mut(kept);
        self.scratch = rest;
        Some((packet, length))
    }
}

/// How an Ethernet packet was addressed, by its bytes: as the kernel tells it (`eth_type_trans`,
/// net/ethernet/eth.c).
#[inline]
pub(crate) fn reception(bytes: &[u8], own: [u8; 6]) -> Option<Reception> {
    let destination = bytes.first_chunk::<6>()?;
    Some(if *destination == own {
        Reception::Unicast
    } else if *destination == [0xff; 6] {
        Reception::Broadcast
    } else if destination[0] & 1 != 0 {
        Reception::Multicast
    } else {
        Reception::Promiscuous
    })
}
