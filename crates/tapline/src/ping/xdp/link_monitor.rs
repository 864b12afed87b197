//! The interface of a run, and what the last request for it returned.

use netlink::{IfIndex, Link, MacAddress, Netlink};

use super::link_outage::LinkOutage;
use crate::uplink::UplinkGuard;

/// Rate up to which an uplink may be used without consent, probes per second.
pub(super) const MAX_UPLINK_PPS: u32 = 10_000;

/// The interface of a run.
#[derive(Debug)]
pub struct LinkMonitor {
    pub netlink: Netlink,
    pub index: IfIndex,
    /// The source MAC address of requests.
    pub mac: MacAddress,
    /// Whether the requests of each family fit into its MTU.
    pub fits: [bool; 2],
    /// Whether the interface may have changed since it was read.
    pub is_unread: bool,
    /// The time of the round that last checked the interface because a probe was refused.
    pub checked_ns: u64,
    pub outage: LinkOutage,
    pub guard: Option<UplinkGuard>,
}

impl LinkMonitor {
    /// Follows `link`, which was read before notifications began, and so is read again.
    pub fn new(
        netlink: Netlink,
        link: &Link,
        mac: MacAddress,
        is_single: bool,
        guard: Option<UplinkGuard>,
    ) -> Self {
        Self {
            netlink,
            index: link.ifindex(),
            mac,
            fits: [true; 2],
            is_unread: true,
            checked_ns: u64::MAX,
            outage: LinkOutage::new(is_single),
            guard,
        }
    }
}
