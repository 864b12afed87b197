//! Settings of devices: what they are, and changes of them.

use super::ethtool::{Ethtool, about, header};
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::interface::IfName;
use crate::table::{Table, attributes, locate};
use crate::uapi::{
    ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_MSG_CHANNELS_SET, ETHTOOL_MSG_COALESCE_GET,
    ETHTOOL_MSG_COALESCE_SET, ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_RINGS_SET,
};

/// Length of `struct genlmsghdr`.
const HEADER_BYTES: usize = 4;

attributes! {
    /// Descriptors that a device has for packets, and may have. Packets wait there for the driver. What is
    /// the most is told only.
    pub struct RingSizes {
        /// Of each receive queue.
        "rx" receive: u32 = ETHTOOL_A_RINGS_RX;
        /// The most of that.
        receive_max: u32 = ETHTOOL_A_RINGS_RX_MAX;
        /// Of each receive queue, for small packets.
        "rx-mini" receive_mini: u32 = ETHTOOL_A_RINGS_RX_MINI;
        /// The most of that.
        receive_mini_max: u32 = ETHTOOL_A_RINGS_RX_MINI_MAX;
        /// Of each receive queue, for large packets.
        "rx-jumbo" receive_jumbo: u32 = ETHTOOL_A_RINGS_RX_JUMBO;
        /// The most of that.
        receive_jumbo_max: u32 = ETHTOOL_A_RINGS_RX_JUMBO_MAX;
        /// Of each transmit queue.
        "tx" transmit: u32 = ETHTOOL_A_RINGS_TX;
        /// The most of that.
        transmit_max: u32 = ETHTOOL_A_RINGS_TX_MAX;
        /// Bytes of a receive buffer.
        "rx-buf-len" receive_buffer_bytes: u32 = ETHTOOL_A_RINGS_RX_BUF_LEN;
    }
}

attributes! {
    /// Queues that a device has, and may have; a combined one receives and transmits. What is the most is
    /// told only.
    pub struct Channels {
        /// Queues that only receive.
        "rx" receive: u32 = ETHTOOL_A_CHANNELS_RX_COUNT;
        /// The most of them.
        receive_max: u32 = ETHTOOL_A_CHANNELS_RX_MAX;
        /// Queues that only transmit.
        "tx" transmit: u32 = ETHTOOL_A_CHANNELS_TX_COUNT;
        /// The most of them.
        transmit_max: u32 = ETHTOOL_A_CHANNELS_TX_MAX;
        /// Interrupts for something else.
        "other" other: u32 = ETHTOOL_A_CHANNELS_OTHER_COUNT;
        /// The most of them.
        other_max: u32 = ETHTOOL_A_CHANNELS_OTHER_MAX;
        /// Queues of both kinds in one.
        "combined" combined: u32 = ETHTOOL_A_CHANNELS_COMBINED_COUNT;
        /// The most of them.
        combined_max: u32 = ETHTOOL_A_CHANNELS_COMBINED_MAX;
    }
}

attributes! {
    /// How long a device holds packets back before it interrupts.
    pub struct Coalescing {
        /// Microseconds, of received packets.
        "rx-usecs" receive_us: u32 = ETHTOOL_A_COALESCE_RX_USECS;
        /// Received packets.
        "rx-frames" receive_frames: u32 = ETHTOOL_A_COALESCE_RX_MAX_FRAMES;
        /// Microseconds, of transmitted packets.
        "tx-usecs" transmit_us: u32 = ETHTOOL_A_COALESCE_TX_USECS;
        /// Transmitted packets.
        "tx-frames" transmit_frames: u32 = ETHTOOL_A_COALESCE_TX_MAX_FRAMES;
        /// Whether the driver changes them with the received traffic.
        "adaptive-rx" adaptive: bool = ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX;
        /// Whether the driver changes them with the transmitted traffic.
        "adaptive-tx" transmit_adaptive: bool = ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX;
    }
}

impl Ethtool {
    /// Sizes of the device's rings. Equals `ethtool -g NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_RINGS_GET")]
    pub fn ring_sizes(&mut self, name: IfName) -> Result<Option<RingSizes>, NetlinkError> {
        let take = RingSizes::take;
        self.get(ETHTOOL_MSG_RINGS_GET, name, Subject::RingSizes(name), take)
    }

    /// Changes the sizes of the device's rings; what is `None` stays. Equals `ethtool -G NAME …`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link, EOPNOTSUPP when its driver cannot, EINVAL when
    /// there may not be as many.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_MSG_RINGS_SET")]
    pub fn set_ring_sizes(&mut self, name: IfName, sizes: &RingSizes) -> Result<(), NetlinkError> {
        let said = RingSizes {
            receive_max: None,
            receive_mini_max: None,
            receive_jumbo_max: None,
            transmit_max: None,
            ..sizes.clone()
        };
        self.change(ETHTOOL_MSG_RINGS_SET, name, &said, Subject::RingSizes(name))
    }

    /// Queues of the device. Equals `ethtool -l NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_CHANNELS_GET")]
    pub fn channels(&mut self, name: IfName) -> Result<Option<Channels>, NetlinkError> {
        let take = Channels::take;
        self.get(
            ETHTOOL_MSG_CHANNELS_GET,
            name,
            Subject::Channels(name),
            take,
        )
    }

    /// Changes the number of the device's queues; what is `None` stays. Equals `ethtool -L NAME …`.
    ///
    /// # Errors
    /// As [`set_ring_sizes`](Self::set_ring_sizes).
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_MSG_CHANNELS_SET")]
    pub fn set_channels(&mut self, name: IfName, channels: &Channels) -> Result<(), NetlinkError> {
        let said = Channels {
            receive_max: None,
            transmit_max: None,
            other_max: None,
            combined_max: None,
            ..channels.clone()
        };
        self.change(
            ETHTOOL_MSG_CHANNELS_SET,
            name,
            &said,
            Subject::Channels(name),
        )
    }

    /// Interrupt moderation. Equals `ethtool -c NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_COALESCE_GET")]
    pub fn coalescing(&mut self, name: IfName) -> Result<Option<Coalescing>, NetlinkError> {
        let take = Coalescing::take;
        self.get(
            ETHTOOL_MSG_COALESCE_GET,
            name,
            Subject::Coalescing(name),
            take,
        )
    }

    /// Changes interrupt moderation; what is `None` stays. Equals `ethtool -C NAME …`.
    ///
    /// # Errors
    /// As [`set_ring_sizes`](Self::set_ring_sizes).
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_MSG_COALESCE_SET")]
    pub fn set_coalescing(&mut self, name: IfName, held: &Coalescing) -> Result<(), NetlinkError> {
        self.change(
            ETHTOOL_MSG_COALESCE_SET,
            name,
            held,
            Subject::Coalescing(name),
        )
    }

    fn change<T: Table>(
        &mut self,
        command: u8,
        name: IfName,
        said: &T,
        subject: Subject,
    ) -> Result<(), NetlinkError> {
        let mut request = self.family.request(command);
        header(&mut request, name);
        said.put(&mut request);
        let told = self.family.socket.tell(&mut request).map_err(|mut cause| {
            if let Cause::Refused(refusal) = &mut cause {
                refusal.path = locate(refusal, request.bytes(), HEADER_BYTES, T::entries());
            }
            cause
        });
        told.map_err(about(Action::Set, subject))
    }
}
