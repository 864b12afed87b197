//! The next hops of the targets, and their MAC addresses.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

use netlink::{IfIndex, MacAddress, Neigh, NeighState, Netlink, NetlinkError, RouteQuery};
use probe::targets::Targets;
use rustix::event::{Timespec, poll};

/// Targets whose routes are looked up one by one. Of more, one lookup serves the targets of an IPv4 /24 or IPv6 /64.
const MAX_LOOKUPS: u32 = 4096;
/// How many neighbours the kernel is asked to resolve at a time, and how often. Its table holds that many by default.
const RESOLVED_AT_ONCE: usize = 256;
/// Reads of the neighbour table before a run begins, at most, and the time between two.
const ATTEMPTS: usize = 20;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The next hops on one interface.
#[derive(Debug)]
pub(super) struct NextHops {
    link: IfIndex,
    netlink: Netlink,
    /// Address and MAC address of each.
    hops: Vec<(IpAddr, Option<MacAddress>)>,
    /// The hop of each target; `None` if it is not reached by this interface.
    of_targets: Vec<Option<u32>>,
}

impl NextHops {
    /// Looks up the routes of `targets`. Targets that are routed through another interface than `link` have no hop.
    pub fn look_up(targets: &Targets, link: IfIndex) -> Result<Self, NetlinkError> {
        let mut netlink = Netlink::open()?;
        let mut hops: Vec<(IpAddr, Option<MacAddress>)> = Vec::new();
        let mut numbers: HashMap<IpAddr, u32> = HashMap::new();
        let mut routes: HashMap<IpAddr, Option<Option<IpAddr>>> = HashMap::new();
        let is_few = targets.len() <= MAX_LOOKUPS;
        let of_targets = (0..targets.len()).map(|target| {
            let address = targets.address(target)?;
            let place = if is_few { address } else { network(address) };
            // The gateway, or none if the target is on-link; nothing if there is no way.
            let gateway = *routes.entry(place).or_insert_with(|| {
                let route = netlink.lookup(&RouteQuery::address(address)).ok()?;
                let via = route.via.as_ref().map(|via| via.0);
                (route.dev == Some(link)).then(|| route.gateway.or(via))
            });
            let hop = gateway?.unwrap_or(address);
            let number = *numbers.entry(hop).or_insert_with(|| {
                hops.push((hop, None));
                hops.len() as u32 - 1
            });
            Some(number)
        });
        let of_targets = of_targets.collect();
        Ok(Self {
            link,
            netlink,
            hops,
            of_targets,
        })
    }

    /// Number of hops.
    pub fn len(&self) -> u32 {
        self.hops.len() as u32
    }

    /// Whether no target is reached by the interface.
    pub fn is_empty(&self) -> bool {
        self.hops.is_empty()
    }

    pub fn of(&self, target: u32) -> Option<u32> {
        *self.of_targets.get(target as usize)?
    }

    /// Whether frames to the target can be addressed.
    #[inline]
    pub fn is_known(&self, target: u32) -> bool {
        let hop = self.of_targets.get(target as usize).copied().flatten();
        hop.is_some_and(|hop| self.hops[hop as usize].1.is_some())
    }

    /// Each hop with its MAC address, if it has one.
    pub fn known(&self) -> impl Iterator<Item = (u32, MacAddress)> {
        let hops = (0..).zip(&self.hops);
        hops.filter_map(|(number, (_, mac))| Some((number, (*mac)?)))
    }

    /// Resolves the hops before a run: asks the kernel, and waits up to a second for the answers.
    pub fn resolve(&mut self) -> Result<(), NetlinkError> {
        for attempt in 0..ATTEMPTS {
            self.refresh()?;
            if self.hops.iter().all(|(_, mac)| mac.is_some()) {
                break;
            }
            if attempt > 0 {
                // A signal only shortens the pause.
                let _ = poll(&mut [], Some(&PAUSE));
            }
        }
        Ok(())
    }

    /// Reads the neighbour table, and asks the kernel to resolve some of the hops that are missing.
    pub fn refresh(&mut self) -> Result<(), NetlinkError> {
        let table = self.netlink.list(&Neigh::new().dev(self.link))?.items;
        let known: HashMap<IpAddr, MacAddress> = table
            .iter()
            .filter(|neighbour| !is_unresolved(neighbour))
            .filter_map(|neighbour| Some((neighbour.dst?, neighbour.lladdr?.ethernet()?)))
            .collect();
        for (address, mac) in &mut self.hops {
            *mac = known.get(address).copied();
        }
        let missing = self.hops.iter().filter(|(_, mac)| mac.is_none());
        for (address, _) in missing.take(RESOLVED_AT_ONCE) {
            let request = Neigh::on(self.link, *address).resolve(true);
            // The table may be full; the next refresh asks again.
            let _ = self.netlink.replace(&request);
        }
        Ok(())
    }
}

/// Whether the kernel knows no MAC address, or does not trust it.
fn is_unresolved(neighbour: &Neigh) -> bool {
    matches!(
        neighbour.state,
        Some(NeighState::None | NeighState::Incomplete | NeighState::Failed)
    )
}

/// The first address of the /24 or /64 around `address`.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => IpAddr::V4((address.to_bits() & !0xff).into()),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
    }
}

/// The error of a probe whose next hop is not known.
pub(super) fn unreachable() -> io::Error {
    io::Error::from_raw_os_error(libc::EHOSTUNREACH)
}
