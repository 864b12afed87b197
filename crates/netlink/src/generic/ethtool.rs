//! The ethtool family: what drivers say of their links.

use super::bitset;
use super::family::Family;
use crate::codec::{Attribute, Malformed, Request};
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::interface::IfName;
use crate::uapi::{
    ETHTOOL_A_FEATURES_HEADER, ETHTOOL_A_HEADER_DEV_NAME, ETHTOOL_A_TSINFO_PHC_INDEX,
    ETHTOOL_A_TSINFO_RX_FILTERS, ETHTOOL_A_TSINFO_TIMESTAMPING, ETHTOOL_A_TSINFO_TX_TYPES,
    ETHTOOL_MSG_TSINFO_GET,
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

    pub(super) fn get<T: Default>(
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
