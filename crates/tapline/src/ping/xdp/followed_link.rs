//! The interface of a run, as it was read last.

use netlink::{IfIndex, Link, MacAddress, Netlink};

use super::link_hold::LinkHold;
use super::uplink_guard::UplinkGuard;

/// The interface of a run.
#[derive(Debug)]
pub struct FollowedLink {
    pub netlink: Netlink,
    pub index: IfIndex,
    /// The source of the requests.
    pub mac: MacAddress,
    /// Whether it may have changed since it was read.
    pub is_unread: bool,
    /// When a refused probe was the occasion to read it.
    pub checked_ns: u64,
    pub hold: LinkHold,
    pub guard: Option<UplinkGuard>,
}

impl FollowedLink {
    /// `link`, whose address is `mac`, was read before changes were noted.
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
            is_unread: true,
            checked_ns: u64::MAX,
            hold: LinkHold::new(is_single),
            guard,
        }
    }
}
