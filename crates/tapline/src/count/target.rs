//! What is known of an interface before anything is put on it.

use std::net::Ipv4Addr;

use filter::LinkType;
use netlink::Netlink;

use super::error::CountError;
use super::options::Layer;
use crate::capture::netmask;

/// An interface to count on.
pub(super) struct Target {
    pub link: String,
    pub index: u32,
    pub link_type: LinkType,
    pub netmask: Ipv4Addr,
    /// Whether VLAN tags are taken out of packets before XDP sees them.
    pub strips_tags: bool,
}

impl Target {
    pub fn find(name: &str, layer: Layer, netlink: &mut Netlink) -> Result<Self, CountError> {
        let link = netlink.link_named(name)?;
        let number = ring::link_type(link.hardware.unwrap_or_default());
        let link_type = number.and_then(|number| LinkType::from_number(number.into()));
        let known = link_type
            .filter(|&link_type| layer == Layer::Ethernet || link_type == LinkType::Ethernet);
        let Some(link_type) = known else {
            return Err(CountError::LinkLayer {
                link: name.to_owned(),
                hatype: link.hardware.unwrap_or_default(),
                is_known: link_type.is_some(),
            });
        };
        Ok(Self {
            link: name.to_owned(),
            index: link.ifindex().0,
            link_type,
            netmask: netmask(&link, netlink)?,
            // An interface that does not tell has no such thing.
            strips_tags: netlink.strips_vlan_tags(link.ifname()).unwrap_or(false),
        })
    }

    pub fn is_ethernet(&self) -> bool {
        self.link_type == LinkType::Ethernet
    }
}
