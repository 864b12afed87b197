//! Properties that all packets of an XDP-fed ring share.

use wire::metadata::Reception;

use crate::clock::Offset;

/// Properties that all packets of a ring share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingProperties {
    pub snaplen: u32,
    /// Index of the interface.
    pub link: u32,
    /// Hardware address of the interface. `None` if its packets begin without one.
    pub mac: Option<[u8; 6]>,
    /// The interface had several queues when the ring was opened, so packets report theirs.
    pub has_queues: bool,
    pub offset: Offset,
}

impl RingProperties {
    /// The queue that a packet of `queue` reports. Queues may have been added since the ring was opened.
    #[inline]
    pub fn queue(&self, queue: u32) -> Option<u32> {
        (self.has_queues || queue != 0).then_some(queue)
    }
}

/// How an Ethernet packet was addressed, by its destination address, as `eth_type_trans` (net/ethernet/eth.c) decides.
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
