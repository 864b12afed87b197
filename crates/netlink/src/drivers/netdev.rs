//! The netdev family of generic netlink: XDP features and NAPI instances of links.

use super::family::{Family, body, fold};
use crate::codec::{Attribute, Malformed};
use crate::error::{Action, NetlinkError, RequestTarget};
use crate::socket::Listing;
use crate::values::interface::IfIndex;

// `linux/netdev.h`, which systems with older headers lack.
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const NETDEV_A_DEV_XDP_ZC_MAX_SEGS: u16 = 4;
const NETDEV_A_DEV_XDP_RX_METADATA_FEATURES: u16 = 5;
const NETDEV_A_DEV_XSK_FEATURES: u16 = 6;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_ID: u16 = 2;
const NETDEV_A_NAPI_IRQ: u16 = 3;
const NETDEV_A_NAPI_PID: u16 = 4;
const NETDEV_A_NAPI_DEFER_HARD_IRQS: u16 = 5;
const NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT: u16 = 6;

/// XDP features and NAPI instances of the links in one network namespace.
///
/// Holds one socket; a query costs three system calls.
///
/// # Privileges
/// None.
/// # Kernel
/// Linux 6.3; NAPI 6.8.
/// # Source
/// Documentation/netlink/specs/netdev.yaml.
#[derive(Debug)]
pub struct NetDevices {
    family: Family,
}

/// XDP features of a link's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpAbilities {
    /// `NETDEV_XDP_ACT_*`.
    actions: u64,
    /// `NETDEV_XDP_RX_METADATA_*`.
    metadata: u64,
    /// `NETDEV_XSK_FLAGS_*`.
    sockets: u64,
    /// Maximum number of buffers per packet of a zero-copy socket.
    pub zero_copy_segments: Option<u32>,
}

impl XdpAbilities {
    /// Native XDP with pass, drop and transmit.
    #[doc(alias = "NETDEV_XDP_ACT_BASIC")]
    pub fn runs(&self) -> bool {
        self.actions & 1 != 0
    }

    /// Redirect, e.g. to AF_XDP sockets.
    #[doc(alias = "NETDEV_XDP_ACT_REDIRECT")]
    pub fn redirects(&self) -> bool {
        self.actions & 2 != 0
    }

    /// Sends frames that XDP programs redirect to the device. A veth device does only while its peer takes them.
    #[doc(alias = "NETDEV_XDP_ACT_NDO_XMIT")]
    pub fn transmits(&self) -> bool {
        self.actions & 4 != 0
    }

    /// Zero-copy AF_XDP sockets.
    #[doc(alias = "NETDEV_XDP_ACT_XSK_ZEROCOPY")]
    pub fn is_zero_copy(&self) -> bool {
        self.actions & 8 != 0
    }

    /// Packets of several buffers, as with a large MTU.
    #[doc(alias = "NETDEV_XDP_ACT_RX_SG")]
    pub fn takes_fragments(&self) -> bool {
        self.actions & 32 != 0
    }

    /// The device sends frames of AF_XDP sockets at times that come with them. A kernel before Linux 6.14 does not report
    /// it.
    #[doc(alias = "NETDEV_XSK_FLAGS_TX_LAUNCH_TIME_FIFO")]
    pub fn sends_at_times(&self) -> bool {
        self.sockets & 4 != 0
    }

    /// Programs can read the device's time stamp. Not every packet has one.
    #[doc(alias = "NETDEV_XDP_RX_METADATA_TIMESTAMP")]
    pub fn tells_time(&self) -> bool {
        self.metadata & 1 != 0
    }

    /// Programs can read the device's hash.
    #[doc(alias = "NETDEV_XDP_RX_METADATA_HASH")]
    pub fn tells_hash(&self) -> bool {
        self.metadata & 2 != 0
    }

    /// Programs can read the VLAN tag that the device stripped.
    #[doc(alias = "NETDEV_XDP_RX_METADATA_VLAN_TAG")]
    pub fn tells_vlan(&self) -> bool {
        self.metadata & 4 != 0
    }
}

/// A NAPI instance, which polls a queue of a device.
#[doc(alias = "napi_struct")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NapiInstance {
    /// Its id.
    pub id: Option<u32>,
    /// Its interrupt number.
    pub interrupt: Option<u32>,
    /// Its kernel thread, if it has one.
    pub thread: Option<u32>,
    /// Empty polls before interrupts are re-enabled (Linux 6.13).
    pub defer_hard_irqs: Option<u32>,
    /// Nanoseconds between those polls (Linux 6.13).
    pub gro_flush_timeout_ns: Option<u64>,
}

impl NetDevices {
    /// Opens a handle on the namespace of the calling thread.
    ///
    /// # Errors
    /// `Cause::Refused` with ENOENT if the kernel does not have the family.
    pub fn open() -> Result<Self, NetlinkError> {
        let family = Family::open("netdev")?;
        Ok(Self { family })
    }

    /// XDP features of a link's driver. Nothing is attached to find out.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist.
    #[doc(alias = "NETDEV_CMD_DEV_GET")]
    pub fn xdp(&mut self, index: IfIndex) -> Result<XdpAbilities, NetlinkError> {
        let mut request = self.family.request(NETDEV_CMD_DEV_GET);
        request.u32(NETDEV_A_DEV_IFINDEX, index.0);
        let about = NetlinkError::about(Action::Get, RequestTarget::Xdp(index));
        let take = |xdp: &mut XdpAbilities, attribute: Attribute<'_>| {
            match attribute.kind {
                NETDEV_A_DEV_XDP_FEATURES => xdp.actions = number(attribute)?,
                NETDEV_A_DEV_XDP_RX_METADATA_FEATURES => xdp.metadata = number(attribute)?,
                NETDEV_A_DEV_XSK_FEATURES => xdp.sockets = number(attribute)?,
                NETDEV_A_DEV_XDP_ZC_MAX_SEGS => xdp.zero_copy_segments = Some(attribute.u32()?),
                _ => {}
            }
            Ok(())
        };
        self.family.get(request, take).map_err(about)
    }

    /// The NAPI instances of a link; a link that is down has none.
    ///
    /// # Errors
    /// `Cause::Refused` with EOPNOTSUPP before Linux 6.8.
    #[doc(alias = "NETDEV_CMD_NAPI_GET")]
    pub fn napi_instances(
        &mut self,
        index: IfIndex,
    ) -> Result<Listing<NapiInstance>, NetlinkError> {
        let mut request = self.family.dump(NETDEV_CMD_NAPI_GET);
        request.u32(NETDEV_A_NAPI_IFINDEX, index.0);
        let about = NetlinkError::about(Action::List, RequestTarget::Napi(index));
        let listed = self.family.socket.list(&mut request, |message, items| {
            items.push(fold(body(message)?, NapiInstance::default(), take_napi)?);
            Ok(())
        });
        listed.map_err(about)
    }
}

fn take_napi(napi: &mut NapiInstance, attribute: Attribute<'_>) -> Result<(), Malformed> {
    match attribute.kind {
        NETDEV_A_NAPI_ID => napi.id = Some(attribute.u32()?),
        NETDEV_A_NAPI_IRQ => napi.interrupt = Some(attribute.u32()?),
        NETDEV_A_NAPI_PID => napi.thread = Some(attribute.u32()?),
        NETDEV_A_NAPI_DEFER_HARD_IRQS => napi.defer_hard_irqs = Some(attribute.u32()?),
        NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT => napi.gro_flush_timeout_ns = Some(number(attribute)?),
        _ => {}
    }
    Ok(())
}

/// A number of 4 or 8 bytes, depending on its value.
fn number(attribute: Attribute<'_>) -> Result<u64, Malformed> {
    if attribute.bytes.len() < 8 {
        return attribute.u32().map(u64::from);
    }
    attribute.array().map(u64::from_ne_bytes)
}
