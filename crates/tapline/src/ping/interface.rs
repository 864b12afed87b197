//! By which interface answers will come.

use std::net::{IpAddr, SocketAddr};

use netlink::{IfIndex, Netlink};
use probe::targets::Targets;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, getsockname, socket_with};

/// Any port will do for looking up a route.
const DISCARD: u16 = 9;
/// Targets that are looked at: those of one run mostly lie behind one interface.
const MAX_SAMPLES: u32 = 32;

/// The name of the interface by which most targets are reached, as far as a few of them tell; `None`
/// when none is.
///
/// A guess, good enough to say where many answers are worth a ring.
pub(super) fn towards(targets: &Targets) -> Option<String> {
    let mut netlink = Netlink::open().ok()?;
    let links = netlink.links().ok()?.items;
    let addresses = netlink.addresses().ok()?.items;
    let interface_of = |address: IpAddr, zone: Option<u32>| {
        if let Some(zone) = zone {
            return Some(IfIndex(zone));
        }
        let source = source_towards(address)?;
        // Packets to an address of this host's own do not leave it.
        if source == address || address.is_loopback() {
            let loopback = links.iter().find(|link| link.is_loopback())?;
            return loopback.index;
        }
        let own = addresses.iter().find(|own| own.local == Some(source))?;
        own.dev
    };
    let samples = targets.len().min(MAX_SAMPLES);
    let mut found: Vec<(IfIndex, u32)> = Vec::new();
    for sample in 0..samples {
        let target = (u64::from(sample) * u64::from(targets.len()) / u64::from(samples)) as u32;
        let Some(index) = interface_of(targets.address(target), targets.zone(target)) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == index) {
            Some((_, count)) => *count += 1,
            None => found.push((index, 1)),
        }
    }
    let (most, _) = found.into_iter().max_by_key(|(_, count)| *count)?;
    let link = links.iter().find(|link| link.index == Some(most))?;
    Some(link.ifname().to_string())
}

/// The longest packet that interface `link` sends; `None` when it is not there or has no limit.
pub(super) fn mtu(link: &str) -> Option<u32> {
    let links = Netlink::open().ok()?.links().ok()?.items;
    let link = links
        .iter()
        .find(|known| known.ifname().to_string() == link)?;
    link.mtu
}

/// The address from which the kernel sends to `address`: it looks up the route when a datagram socket is
/// connected, which sends nothing.
fn source_towards(address: IpAddr) -> Option<IpAddr> {
    let family = match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
    connect(&socket, &SocketAddr::new(address, DISCARD)).ok()?;
    let source = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
    Some(source.ip())
}
