//! Iterates over the packets behind descriptors.

use abi::xdp::{XDP_PKT_CONTD, XdpDesc};
use wire::metadata::{Checksum, Direction};

use super::memory::Memory;
use super::queue::Consumer;
use crate::device_clock::ClockLine;
use crate::options::TimestampSource;
use crate::packet::RingPacket;
use crate::prefetch;
use crate::properties::{RingProperties, reception};

/// Prefetch distance in descriptors.
const AHEAD: u32 = 8;

/// Iterator over the descriptors of a batch, oldest first.
#[derive(Debug)]
pub(crate) struct Descriptors<'b> {
    pub(super) rx: &'b Consumer,
    pub(super) memory: &'b Memory,
    /// Index of the next descriptor, counted from the oldest.
    pub(super) at: u32,
    /// Number of descriptors in the batch.
    pub(super) count: u32,
    /// Where multi-buffer packets are joined.
    pub(super) scratch: &'b mut [u8],
    pub(super) properties: RingProperties,
    /// Converts the device's time stamps.
    pub(super) device_line: ClockLine,
    /// Receive queue of the ring.
    pub(super) queue: u32,
}

impl<'b> Descriptors<'b> {
    /// The next packet. `None` if a descriptor does not lie in the packet memory.
    #[inline]
    pub fn next(&mut self) -> Option<RingPacket<'b>> {
        let desc = self.step()?;
        let ahead = self.rx.descriptor(self.at.wrapping_add(AHEAD));
        prefetch::headers(self.memory.hint(&ahead));
        // SAFETY: the descriptor belongs to the batch. Its chunk is returned when the batch is dropped, which `'b`
        // borrows.
        let bytes = unsafe { self.memory.bytes(&desc) }?;
        let (bytes, original_len) = if desc.options & XDP_PKT_CONTD == 0 {
            (
                &bytes[..bytes.len().min(self.properties.snaplen as usize)],
                desc.len,
            )
        } else {
            self.join(bytes)?
        };
        // SAFETY: as above.
        let stamp = unsafe { self.memory.metadata(&desc) };
        // SAFETY: as above.
        let told = stamp.and_then(|stamp| unsafe { self.memory.device_metadata(&desc, stamp) });
        let told = told.unwrap_or_default();
        let (timestamp_ns, timestamp_source) = match (told.time_ns(), stamp) {
            (Some(device_ns), _) => (
                self.device_line.realtime_ns(device_ns),
                TimestampSource::Hardware,
            ),
            (None, Some(stamp)) => {
                let real_ns = self.properties.offset.realtime_ns(stamp.monotonic_ns);
                (real_ns, TimestampSource::Kernel)
            }
            (None, None) => (
                self.properties.offset.looked_at_ns(),
                TimestampSource::Reader,
            ),
        };
        Some(RingPacket {
            bytes,
            original_len,
            timestamp_ns,
            timestamp_source,
            direction: Direction::In,
            reception: self.properties.mac.and_then(|own| reception(bytes, own)),
            checksum: Checksum::Unknown,
            vlan_tag: told.vlan_tag(),
            hash: told.hash(),
            link: self.properties.link,
            queue: self.properties.queue(self.queue),
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

    /// Joins the buffers of a packet, up to the snaplen. `first` holds the bytes of the first buffer.
    fn join(&mut self, first: &[u8]) -> Option<(&'b [u8], u32)> {
        let scratch = std::mem::take(&mut self.scratch);
        let room = scratch.len().min(self.properties.snaplen as usize);
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
            // SAFETY: the descriptor belongs to the batch, as in `next`.
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
