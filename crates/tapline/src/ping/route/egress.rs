//! The interface that reaches the targets.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use abi::socket::{link_index, set_option};
use netlink::{IfIndex, Netlink, RouteQuery};
use probe::targets::Targets;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, getsockname, socket_with};

/// Any port works for a route lookup.
const DISCARD: u16 = 9;
/// Maximum targets that are looked up: those of one run are mostly behind one interface.
const MAX_SAMPLES: u32 = 32;

/// The name of the interface that reaches most of a sample of targets, of those of its family from `source` if one is given;
/// `None` if none does.
///
/// An estimate, sufficient to place a ring.
pub(in crate::ping) fn egress_interface(
    targets: &Targets,
    source: Option<IpAddr>,
) -> Option<String> {
    let mut netlink = Netlink::open().ok()?;
    let mut interface_of = |address: IpAddr, zone: Option<u32>| {
        if let Some(zone) = zone {
            return Some(IfIndex(zone));
        }
        let query = RouteQuery::address(address);
        let query = match source {
            Some(source) if source.is_ipv6() == address.is_ipv6() => query.src(source),
            _ => query,
        };
        // The loopback for an address of this host.
        netlink.lookup(&query).ok()?.dev
    };
    let samples = targets.len().min(MAX_SAMPLES);
    let mut found: Vec<(IfIndex, u32)> = Vec::new();
    for sample in 0..samples {
        let target = (u64::from(sample) * u64::from(targets.len()) / u64::from(samples)) as u32;
        let address = targets.address(target);
        let index = address.and_then(|address| interface_of(address, targets.zone(target)));
        let Some(index) = index else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == index) {
            Some((_, count)) => *count += 1,
            None => found.push((index, 1)),
        }
    }
    let (most, _) = found.into_iter().max_by_key(|(_, count)| *count)?;
    let links = netlink.links().ok()?.items;
    let link = links.iter().find(|link| link.index == Some(most))?;
    Some(link.ifname().to_string())
}

/// The MTU of interface `link`; `None` if it does not exist or has no limit.
pub(in crate::ping) fn mtu(link: &str) -> Option<u32> {
    let links = Netlink::open().ok()?.links().ok()?.items;
    let link = links
        .iter()
        .find(|known| known.ifname().to_string() == link)?;
    link.mtu
}

/// The source address that the kernel selects for `target`, on `interface` if one is given. Connecting a datagram socket
/// looks up the route and sends nothing.
pub fn source_address(target: IpAddr, interface: Option<&str>) -> Option<IpAddr> {
    let family = match target {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
    if let Some(name) = interface {
        let index = link_index(socket.as_fd(), name).ok()?;
        let (level, name) = (libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX);
        set_option(socket.as_fd(), level, name, &index).ok()?;
    }
    connect(&socket, &SocketAddr::new(target, DISCARD)).ok()?;
    let source = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
    Some(source.ip())
}
