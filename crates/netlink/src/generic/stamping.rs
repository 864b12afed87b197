//! Which packets a device stamps with the time.

use super::bitset;
use super::ethtool::{Ethtool, about, header};
use crate::codec::{Attribute, Malformed};
use crate::error::{Action, NetlinkError, Subject};
use crate::interface::IfName;
use crate::uapi::{
    ETHTOOL_A_TSCONFIG_RX_FILTERS, ETHTOOL_A_TSCONFIG_TX_TYPES, ETHTOOL_MSG_TSCONFIG_GET,
    ETHTOOL_MSG_TSCONFIG_SET,
};

/// Which packets a device stamps with the time, by the kernel's names; those that it can stamp
/// [`TimeStamping`](super::TimeStamping) tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StampedPackets {
    /// Those that are sent: `off`, `on`, `onestep-sync` … (`HWTSTAMP_TX_*`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit: Option<String>,
    /// Those that are received: `none`, `all`, `ptpv2-event` … (`HWTSTAMP_FILTER_*`); a driver may stamp more
    /// than was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<String>,
}

impl Ethtool {
    /// Which packets the device stamps; `None` when its driver does not tell.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    /// # Kernel
    /// Linux 6.14.
    #[doc(alias = "ETHTOOL_MSG_TSCONFIG_GET")]
    pub fn stamped_packets(
        &mut self,
        name: IfName,
    ) -> Result<Option<StampedPackets>, NetlinkError> {
        let subject = Subject::TimeStamping(name);
        self.get(ETHTOOL_MSG_TSCONFIG_GET, name, subject, take)
    }

    /// Changes which packets the device stamps; what is `None` stays.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link, EOPNOTSUPP when its driver stamps none, ERANGE
    /// when it cannot stamp these.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    /// # Kernel
    /// Linux 6.14.
    #[doc(alias = "ETHTOOL_MSG_TSCONFIG_SET")]
    pub fn set_stamped_packets(
        &mut self,
        name: IfName,
        packets: &StampedPackets,
    ) -> Result<(), NetlinkError> {
        let mut request = self.family.request(ETHTOOL_MSG_TSCONFIG_SET);
        header(&mut request, name);
        for (kind, value) in [
            (ETHTOOL_A_TSCONFIG_TX_TYPES, &packets.transmit),
            (ETHTOOL_A_TSCONFIG_RX_FILTERS, &packets.receive),
        ] {
            if let Some(value) = value {
                bitset::only(&mut request, kind, value);
            }
        }
        let told = self.family.socket.tell(&mut request);
        told.map_err(about(Action::Set, Subject::TimeStamping(name)))
    }
}

fn take(packets: &mut StampedPackets, attribute: Attribute<'_>) -> Result<(), Malformed> {
    let first = |attribute| bitset::names(attribute).map(|names| names.into_iter().next());
    match attribute.kind {
        ETHTOOL_A_TSCONFIG_TX_TYPES => packets.transmit = first(attribute)?,
        ETHTOOL_A_TSCONFIG_RX_FILTERS => packets.receive = first(attribute)?,
        _ => {}
    }
    Ok(())
}
