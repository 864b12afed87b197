use crate::codec::{Attribute, Malformed, Request};
use crate::table::{Code, Native, Shape};

/// Declares the counters in the order of `struct rtnl_link_stats64`, with their reader.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of a link since it was made, 64 bits each; drivers count what they can.
        ///
        /// Received is what came in through the link, transmitted what went out.
        ///
        /// # Source
        /// `struct rtnl_link_stats64`, `include/uapi/linux/if_link.h`;
        /// Documentation/networking/statistics.rst.
        #[doc(alias = "rtnl_link_stats64")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub struct LinkStatistics {
            $($(#[$doc])* pub $name: u64,)*
            /// Packets dropped because they were for another host's IP address; `None` before
            /// Linux 5.19.
            pub rx_otherhost_dropped: Option<u64>,
        }

        const COUNTERS: usize = [$(stringify!($name)),*].len();

        impl LinkStatistics {
            /// Reads `IFLA_STATS64`; counters that a newer kernel appends are passed over.
            pub(super) fn parse(attribute: Attribute<'_>) -> Result<Self, Malformed> {
                attribute.array::<{ COUNTERS * 8 }>()?;
                let mut words = attribute.bytes.as_chunks().0.iter().copied().map(u64::from_ne_bytes);
                Ok(Self {
                    $($name: words.next().unwrap_or_default(),)*
                    rx_otherhost_dropped: words.next(),
                })
            }
        }
    };
}

counters! {
    /// Packets received.
    rx_packets,
    /// Packets transmitted.
    tx_packets,
    /// Bytes received, in good packets.
    rx_bytes,
    /// Bytes transmitted, in good packets.
    tx_bytes,
    /// Bad packets received.
    rx_errors,
    /// Packets that could not be transmitted.
    tx_errors,
    /// Packets received and dropped by the host, for want of room or of a protocol.
    rx_dropped,
    /// Packets dropped on their way out.
    tx_dropped,
    /// Multicast packets received.
    multicast,
    /// Collisions.
    collisions,
    /// Packets of a bad length received.
    rx_length_errors,
    /// Overflows of the receiver.
    rx_over_errors,
    /// Packets with a bad CRC received.
    rx_crc_errors,
    /// Packets with a bad frame alignment received.
    rx_frame_errors,
    /// Overflows of the receive FIFO.
    rx_fifo_errors,
    /// Packets the device dropped because the host had no buffer for them.
    rx_missed_errors,
    /// Transmissions aborted.
    tx_aborted_errors,
    /// Transmissions without carrier.
    tx_carrier_errors,
    /// Underflows of the transmit FIFO.
    tx_fifo_errors,
    /// Heartbeat errors of half-duplex Ethernet.
    tx_heartbeat_errors,
    /// Late collisions.
    tx_window_errors,
    /// Compressed packets received.
    rx_compressed,
    /// Compressed packets transmitted.
    tx_compressed,
    /// Packets received on an inactive link of a bond and dropped.
    rx_nohandler,
}

impl Code<LinkStatistics> for Native {
    const SHAPE: Shape = Shape::Bytes;

    /// Counters are told and never said.
    fn put(_: &LinkStatistics, _: u16, _: &mut Request) {}

    fn take(attribute: Attribute<'_>) -> Result<LinkStatistics, Malformed> {
        LinkStatistics::parse(attribute)
    }

    fn matches(value: &LinkStatistics, wanted: &LinkStatistics) -> bool {
        value == wanted
    }

    fn merge(value: &mut LinkStatistics, change: LinkStatistics) {
        *value = change;
    }
}
