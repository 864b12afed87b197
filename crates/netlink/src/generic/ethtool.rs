//! The ethtool family: what drivers say of their links.

use super::bitset;
use super::family::Family;
use crate::codec::{Attribute, Malformed, Request};
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::interface::IfName;
use crate::uapi::{
    ETHTOOL_A_CHANNELS_COMBINED_COUNT, ETHTOOL_A_CHANNELS_COMBINED_MAX,
    ETHTOOL_A_CHANNELS_RX_COUNT, ETHTOOL_A_CHANNELS_RX_MAX, ETHTOOL_A_COALESCE_RX_MAX_FRAMES,
    ETHTOOL_A_COALESCE_RX_USECS, ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, ETHTOOL_A_FEATURES_HEADER,
    ETHTOOL_A_HEADER_DEV_NAME, ETHTOOL_A_RINGS_RX, ETHTOOL_A_RINGS_RX_MAX, ETHTOOL_A_RINGS_TX,
    ETHTOOL_A_RINGS_TX_MAX, ETHTOOL_A_TSINFO_PHC_INDEX, ETHTOOL_A_TSINFO_RX_FILTERS,
    ETHTOOL_A_TSINFO_TIMESTAMPING, ETHTOOL_A_TSINFO_TX_TYPES, ETHTOOL_MSG_CHANNELS_GET,
    ETHTOOL_MSG_COALESCE_GET, ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_TSINFO_GET,
};

/// What drivers say of their links, in one network namespace.
///
/// Holds one socket; a question costs three system calls. What a driver does not tell is `None`.
///
/// # Privileges
/// None to ask; `CAP_NET_ADMIN` in the user namespace that owns the network namespace to change.
/// # Kernel
/// Linux 5.6, `features`, `ring_sizes` and the others by 5.8.
/// # Source
/// Documentation/networking/ethtool-netlink.rst.
#[derive(Debug)]
pub struct Ethtool {
    pub(super) family: Family,
}

/// Descriptors that a device has for packets, and may have. Packets wait there for the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingSizes {
    /// Of each receive queue.
    pub receive: Option<u32>,
    /// The most of that.
    pub receive_max: Option<u32>,
    /// Of each transmit queue.
    pub transmit: Option<u32>,
    /// The most of that.
    pub transmit_max: Option<u32>,
}

/// Receive queues that a device has, and may have; a combined one transmits too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Channels {
    /// Queues that only receive.
    pub receive: Option<u32>,
    /// The most of them.
    pub receive_max: Option<u32>,
    /// Queues of both kinds in one.
    pub combined: Option<u32>,
    /// The most of them.
    pub combined_max: Option<u32>,
}

/// How long a device holds received packets back before it interrupts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coalescing {
    /// Microseconds.
    pub receive_us: Option<u32>,
    /// Packets.
    pub receive_frames: Option<u32>,
    /// Whether the driver changes them with the traffic.
    pub adaptive: Option<bool>,
}

/// Which time stamps a device and its driver can give, by the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeStamping {
    /// `hardware-receive`, `software-receive` … (`SOF_TIMESTAMPING_*`).
    pub capabilities: Vec<String>,
    /// Packets that are stamped when sent: `on`, `onestep-sync` … (`HWTSTAMP_TX_*`).
    pub transmit: Vec<String>,
    /// Packets that are stamped when received: `all`, `ptpv2-l4-event` … (`HWTSTAMP_FILTER_*`).
    pub receive_filters: Vec<String>,
    /// Number of the clock, as in `/dev/ptp0`.
    pub clock: Option<u32>,
}

impl Ethtool {
    /// Opens a handle on the namespace of the calling thread.
    ///
    /// # Errors
    /// `Cause::Refused` with ENOENT when the kernel has no such family.
    pub fn open() -> Result<Self, NetlinkError> {
        let family = Family::open("ethtool")?;
        Ok(Self { family })
    }

    /// Sizes of the device's rings. Equals `ethtool -g NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_RINGS_GET")]
    pub fn ring_sizes(&mut self, name: IfName) -> Result<Option<RingSizes>, NetlinkError> {
        self.get(
            ETHTOOL_MSG_RINGS_GET,
            name,
            Subject::RingSizes(name),
            take_sizes,
        )
    }

    /// Receive queues. Equals `ethtool -l NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_CHANNELS_GET")]
    pub fn channels(&mut self, name: IfName) -> Result<Option<Channels>, NetlinkError> {
        self.get(
            ETHTOOL_MSG_CHANNELS_GET,
            name,
            Subject::Channels(name),
            take_channels,
        )
    }

    /// Interrupt moderation. Equals `ethtool -c NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_COALESCE_GET")]
    pub fn coalescing(&mut self, name: IfName) -> Result<Option<Coalescing>, NetlinkError> {
        self.get(
            ETHTOOL_MSG_COALESCE_GET,
            name,
            Subject::Coalescing(name),
            take_coalescing,
        )
    }

    /// Time stamps. Equals `ethtool -T NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_TSINFO_GET")]
    pub fn time_stamping(&mut self, name: IfName) -> Result<Option<TimeStamping>, NetlinkError> {
        self.get(
            ETHTOOL_MSG_TSINFO_GET,
            name,
            Subject::TimeStamping(name),
            take_stamping,
        )
    }

    fn get<T: Default>(
        &mut self,
        command: u8,
        name: IfName,
        subject: Subject,
        take: impl Fn(&mut T, Attribute<'_>) -> Result<(), Malformed>,
    ) -> Result<Option<T>, NetlinkError> {
        let mut request = self.family.request(command);
        header(&mut request, name);
        let unsupported = rustix::io::Errno::OPNOTSUPP.raw_os_error();
        match self.family.get(request, take) {
            Ok(told) => Ok(Some(told)),
            Err(cause) => match about(Action::Get, subject)(cause) {
                error if error.errno() == Some(unsupported) => Ok(None),
                error => Err(error),
            },
        }
    }
}

pub(super) fn about(action: Action, subject: Subject) -> impl FnOnce(Cause) -> NetlinkError {
    NetlinkError::about(action, subject)
}

/// Every request of the family begins with the link it is about, in attribute 1.
pub(super) fn header(request: &mut Request, name: IfName) {
    request.nested(ETHTOOL_A_FEATURES_HEADER, &[], |header| {
        header.text(ETHTOOL_A_HEADER_DEV_NAME, name.as_bytes());
    });
}

fn take_sizes(sizes: &mut RingSizes, attribute: Attribute<'_>) -> Result<(), Malformed> {
    let place = match attribute.kind {
        ETHTOOL_A_RINGS_RX => &mut sizes.receive,
        ETHTOOL_A_RINGS_RX_MAX => &mut sizes.receive_max,
        ETHTOOL_A_RINGS_TX => &mut sizes.transmit,
        ETHTOOL_A_RINGS_TX_MAX => &mut sizes.transmit_max,
        _ => return Ok(()),
    };
    *place = Some(attribute.u32()?);
    Ok(())
}

fn take_channels(channels: &mut Channels, attribute: Attribute<'_>) -> Result<(), Malformed> {
    let place = match attribute.kind {
        ETHTOOL_A_CHANNELS_RX_COUNT => &mut channels.receive,
        ETHTOOL_A_CHANNELS_RX_MAX => &mut channels.receive_max,
        ETHTOOL_A_CHANNELS_COMBINED_COUNT => &mut channels.combined,
        ETHTOOL_A_CHANNELS_COMBINED_MAX => &mut channels.combined_max,
        _ => return Ok(()),
    };
    *place = Some(attribute.u32()?);
    Ok(())
}

fn take_coalescing(held: &mut Coalescing, attribute: Attribute<'_>) -> Result<(), Malformed> {
    match attribute.kind {
        ETHTOOL_A_COALESCE_RX_USECS => held.receive_us = Some(attribute.u32()?),
        ETHTOOL_A_COALESCE_RX_MAX_FRAMES => held.receive_frames = Some(attribute.u32()?),
        ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX => held.adaptive = Some(attribute.u8()? != 0),
        _ => {}
    }
    Ok(())
}

fn take_stamping(stamps: &mut TimeStamping, attribute: Attribute<'_>) -> Result<(), Malformed> {
    match attribute.kind {
        ETHTOOL_A_TSINFO_TIMESTAMPING => stamps.capabilities = bitset::names(attribute)?,
        ETHTOOL_A_TSINFO_TX_TYPES => stamps.transmit = bitset::names(attribute)?,
        ETHTOOL_A_TSINFO_RX_FILTERS => stamps.receive_filters = bitset::names(attribute)?,
        ETHTOOL_A_TSINFO_PHC_INDEX => stamps.clock = Some(attribute.u32()?),
        _ => {}
    }
    Ok(())
}
