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
/// Routes that are looked up again at a time.
const ROUTES_AT_ONCE: usize = 32;
/// Reads of the neighbour table before a run begins, at most, and the time between two.
const ATTEMPTS: usize = 20;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// How a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Gateway(IpAddr),
    OnLink,
    /// By another interface, or not at all.
    None,
}

/// The next hops on one interface.
#[derive(Debug)]
pub(super) struct NextHops {
    link: IfIndex,
    netlink: Netlink,
    /// Address and MAC address of each.
    hops: Vec<(IpAddr, Option<MacAddress>)>,
    numbers: HashMap<IpAddr, u32>,
    /// An address of each place, and the way to it.
    routes: HashMap<IpAddr, (IpAddr, Way)>,
    /// Whether a place is one address, and not a network.
    is_exact: bool,
    /// Places whose routes are looked up again, the next one last.
    turn: Vec<IpAddr>,
}

impl NextHops {
    /// Looks up the routes of `targets`. Targets that are routed through another interface than `link` have no hop.
    pub fn look_up(targets: &Targets, link: IfIndex) -> Result<Self, NetlinkError> {
        let mut hops = Self {
            link,
            netlink: Netlink::open()?,
            hops: Vec::new(),
            numbers: HashMap::new(),
            routes: HashMap::new(),
            is_exact: targets.len() <= MAX_LOOKUPS,
            turn: Vec::new(),
        };
        hops.assign(targets, |_, _| {});
        Ok(hops)
    }

    /// Calls `set` with the hop of each target; with none if the interface does not reach it.
    pub fn assign(&mut self, targets: &Targets, mut set: impl FnMut(u32, Option<u32>)) {
        // Neighbouring targets mostly share their hop.
        let mut latest = None;
        for target in 0..targets.len() {
            let Some(address) = targets.address(target) else {
                continue;
            };
            let place = self.place(address);
            let hop = match latest {
                Some((known, hop)) if known == place => hop,
                _ => {
                    let way = self.way(place, address);
                    let hop = match way {
                        Way::Gateway(gateway) => Some(self.number(gateway)),
                        Way::OnLink => Some(self.number(address)),
                        Way::None => None,
                    };
                    // On-link targets of a place have hops of their own.
                    latest = (way != Way::OnLink).then_some((place, hop));
                    hop
                }
            };
            set(target, hop);
        }
    }

    fn place(&self, address: IpAddr) -> IpAddr {
        if self.is_exact {
            address
        } else {
            network(address)
        }
    }

    /// The way to `place`, where `address` is.
    fn way(&mut self, place: IpAddr, address: IpAddr) -> Way {
        if let Some((_, way)) = self.routes.get(&place) {
            return *way;
        }
        let way = self.look_up_route(address);
        self.routes.insert(place, (address, way));
        way
    }

    fn look_up_route(&mut self, address: IpAddr) -> Way {
        let route = self.netlink.lookup(&RouteQuery::address(address));
        let Some(route) = route.ok().filter(|route| route.dev == Some(self.link)) else {
            return Way::None;
        };
        let via = route.via.as_ref().map(|via| via.0);
        route.gateway.or(via).map_or(Way::OnLink, Way::Gateway)
    }

    /// The number of a hop, which is added if it is new.
    fn number(&mut self, hop: IpAddr) -> u32 {
        let hops = &mut self.hops;
        *self.numbers.entry(hop).or_insert_with(|| {
            hops.push((hop, None));
            hops.len() as u32 - 1
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

    /// Whether frames to the hop can be addressed.
    #[inline]
    pub fn is_known(&self, hop: u32) -> bool {
        let hop = self.hops.get(hop as usize);
        hop.is_some_and(|(_, mac)| mac.is_some())
    }

    /// Looks up the next routes again. Returns whether some have changed: [`assign`](Self::assign) tells the hops.
    pub fn follow_routes(&mut self) -> bool {
        if self.turn.is_empty() {
            self.turn.extend(self.routes.keys());
        }
        let mut has_changed = false;
        for _ in 0..ROUTES_AT_ONCE {
            let Some(place) = self.turn.pop() else { break };
            let Some((address, before)) = self.routes.get(&place).copied() else {
                continue;
            };
            let way = self.look_up_route(address);
            has_changed |= way != before;
            self.routes.insert(place, (address, way));
        }
        has_changed
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
