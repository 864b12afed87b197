//! The next hops of the targets, their MAC addresses, and the source address of the requests by each.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::{Range, RangeInclusive};
use std::os::fd::{AsFd, BorrowedFd};

use netlink::{IfIndex, MacAddress, NetlinkError};
use probe::NeighbourPace;
use probe::targets::Targets;

use super::neighbours::{ASKED_AT_ONCE, MAX_ASKED, NeighbourNews, Neighbours};
use super::routes::{RouteKind, Routes};

/// Hops that the kernel does not know any more are asked for again in turn: in each call this part of all, but at least and
/// at most so many.
const ASKED_AGAIN_PART: usize = 30;
const ASKED_AGAIN: RangeInclusive<usize> = 16..=128;
/// Stale hops that the kernel is to confirm, in one call.
const CONFIRMED_AT_ONCE: usize = 128;
/// Next hops that may be added while routes and targets change, 24 bytes each.
const SPARE_HOPS: u32 = 65_536;
/// Hops that are lent at a time.
const LENT: u32 = (MAX_ASKED + ASKED_AT_ONCE) as u32;

/// A next hop: a neighbour and a source address. Those of one neighbour form a list, and the first one stands for it.
#[derive(Clone, Copy, Debug)]
struct Hop {
    address: IpAddr,
    /// Of the requests.
    source: IpAddr,
    /// The next one with this neighbour.
    next: Option<u32>,
    /// The last one that the kernel knew, unless it found out that nobody answers.
    mac: Option<MacAddress>,
    /// Why there is none, once that is known.
    error: Option<i32>,
    /// Whether the neighbour is in the kernel's table; always of those that are not the first one.
    is_listed: bool,
    /// Whether the kernel has to confirm it.
    is_stale: bool,
    is_gateway: bool,
}

/// How a probe leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By its hop, whose MAC address is known.
    Known,
    /// Once it is known who answers for this neighbour.
    Unresolved(IpAddr),
    /// Not: an error of the kernel.
    None(i32),
}

/// What [`NextHops::look_up`] needs to know of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct HopOptions {
    pub link: IfIndex,
    /// The source of the requests of its family, if one was given.
    pub source: Option<IpAddr>,
    pub pace: NeighbourPace,
    /// Whether there is one probe to each target. On-link targets have no hop of their own then: they are lent one.
    pub is_single: bool,
}

/// The next hops on one interface.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct NextHops {
    link: IfIndex,
    routes: Routes,
    neighbours: Neighbours,
    hops: Vec<Hop>,
    /// The first hop of each neighbour.
    numbers: HashMap<IpAddr, u32>,
    /// Hops whose neighbour was known when they were added.
    added: Vec<u32>,
    /// Maximum number of hops; those that are lent follow.
    most: u32,
    is_single: bool,
    lent: Vec<(MacAddress, IpAddr)>,
    /// Whether the interface reaches a target.
    reaches_some: bool,
    /// Whether on-link targets are so few that their entries may stay in the kernel's table.
    keeps_on_link: bool,
    /// Where the search for unresolved hops continues.
    next_missing: usize,
    /// Whether some hops may have to be resolved or confirmed.
    has_unconfirmed: bool,
}

impl NextHops {
    /// Looks up the routes of `targets`. Targets that are routed through another interface have no hop.
    pub fn look_up(targets: &Targets, options: HopOptions) -> Result<Self, NetlinkError> {
        let HopOptions {
            link,
            source,
            pace,
            is_single,
        } = options;
        let mut hops = Self {
            link,
            routes: Routes::open(link, source, targets.len())?,
            neighbours: Neighbours::open(link, pace)?,
            hops: Vec::new(),
            numbers: HashMap::new(),
            added: Vec::new(),
            most: u32::MAX - LENT,
            is_single,
            lent: Vec::new(),
            reaches_some: false,
            keeps_on_link: true,
            next_missing: 0,
            has_unconfirmed: false,
        };
        let on_link = hops.assign(targets, 0..targets.len(), |_, _| {});
        hops.keeps_on_link = on_link <= pace.most;
        hops.reaches_some = on_link > 0 || !hops.hops.is_empty();
        hops.most = hops.len().saturating_add(SPARE_HOPS);
        Ok(hops)
    }

    /// Number of hops that there has to be room for.
    pub fn room(&self) -> u32 {
        self.most.saturating_add(LENT)
    }

    /// Calls `set` with the hop of each target in `numbers`; with none if the interface does not reach it, or it is lent one.
    /// Returns how many are on-link.
    pub fn assign(
        &mut self,
        targets: &Targets,
        numbers: Range<u32>,
        mut set: impl FnMut(u32, Option<u32>),
    ) -> u32 {
        let mut on_link = 0;
        // Targets mostly share their gateway.
        let mut latest = None;
        for target in numbers {
            let Some(address) = targets.address(target) else {
                continue;
            };
            let hop = match self.kind(targets, target, address) {
                RouteKind::OnLink { source } => {
                    on_link += 1;
                    let has_own = !self.is_single;
                    has_own
                        .then(|| self.number(address, source, false))
                        .flatten()
                }
                RouteKind::Gateway { gateway, source } => match latest {
                    Some((known, hop)) if known == (gateway, source) => hop,
                    _ => {
                        let hop = self.number(gateway, source, true);
                        latest = Some(((gateway, source), hop));
                        hop
                    }
                },
                RouteKind::Local | RouteKind::None => None,
            };
            set(target, hop);
        }
        on_link
    }

    /// How a target is reached, whose address is `address`.
    #[inline]
    fn kind(&mut self, targets: &Targets, target: u32, address: IpAddr) -> RouteKind {
        match targets.zone(target) {
            Some(zone) if zone != self.link.0 => RouteKind::None,
            _ => self.routes.kind(address),
        }
    }

    /// Whether `address` is one of this host.
    pub fn is_local(&mut self, address: IpAddr) -> bool {
        self.routes.kind(address) == RouteKind::Local
    }

    /// The source of requests to a target whose address is `address`; `None` if the interface does not reach it.
    pub fn source(&mut self, targets: &Targets, target: u32, address: IpAddr) -> Option<IpAddr> {
        match self.kind(targets, target, address) {
            RouteKind::Gateway { source, .. } | RouteKind::OnLink { source } => Some(source),
            RouteKind::Local | RouteKind::None => None,
        }
    }

    /// The number of a hop, which is added if it is new; `None` without room for it.
    fn number(&mut self, address: IpAddr, source: IpAddr, is_gateway: bool) -> Option<u32> {
        let first = self.numbers.get(&address).copied();
        let mut known = first;
        // At most as many as this host has addresses.
        while let Some(number) = known {
            let hop = &self.hops[number as usize];
            if hop.source == source {
                return Some(number);
            }
            known = hop.next;
        }
        let number = self.len();
        if number >= self.most {
            return None;
        }
        let mut hop = Hop {
            address,
            source,
            next: None,
            mac: None,
            error: None,
            is_listed: false,
            is_stale: false,
            is_gateway,
        };
        if let Some(first) = first {
            let first = &mut self.hops[first as usize];
            (hop.mac, hop.error, hop.is_listed) = (first.mac, first.error, true);
            hop.next = first.next.replace(number);
            self.added.extend(hop.mac.map(|_| number));
        } else {
            self.numbers.insert(address, number);
            self.has_unconfirmed = true;
        }
        self.hops.push(hop);
        Some(number)
    }

    /// Calls `set` with each hop that was added with a known neighbour since the last call: its MAC address, and the source
    /// of the requests. [`follow`](Self::follow) does so with others once it is known.
    pub fn take_added(&mut self, mut set: impl FnMut(u32, MacAddress, IpAddr)) {
        for number in self.added.drain(..) {
            let hop = &self.hops[number as usize];
            if let Some(mac) = hop.mac {
                set(number, mac, hop.source);
            }
        }
    }

    fn len(&self) -> u32 {
        self.hops.len() as u32
    }

    /// Whether no target is reached by the interface.
    pub fn is_empty(&self) -> bool {
        !self.reaches_some
    }

    /// How probes leave to a target, whose address is `address` and whose hop is `hop`.
    #[inline]
    pub fn way(
        &mut self,
        hop: Option<u32>,
        targets: &Targets,
        target: u32,
        address: IpAddr,
    ) -> Way {
        let Some(hop) = hop.and_then(|hop| self.hops.get(hop as usize)) else {
            return match self.kind(targets, target, address) {
                RouteKind::OnLink { .. } => Way::Unresolved(address),
                RouteKind::Local => Way::None(libc::EADDRNOTAVAIL),
                _ => Way::None(libc::ENETUNREACH),
            };
        };
        match (hop.mac, hop.error) {
            (Some(_), _) => Way::Known,
            (None, None) => Way::Unresolved(hop.address),
            (None, Some(error)) => Way::None(error),
        }
    }

    /// The MAC address of the hop, and the source of the requests by it.
    #[inline]
    pub fn addresses(&self, hop: u32) -> Option<(MacAddress, IpAddr)> {
        match hop.checked_sub(self.most) {
            None => {
                let hop = self.hops.get(hop as usize)?;
                Some((hop.mac?, hop.source))
            }
            Some(lent) => self.lent.get(lent as usize).copied(),
        }
    }

    /// Lends a hop to a target without one; `None` if all are lent.
    pub fn lend(&mut self, mac: MacAddress, source: IpAddr) -> Option<u32> {
        let number = self.lent.len() as u32;
        if number == LENT {
            return None;
        }
        self.lent.push((mac, source));
        Some(self.most + number)
    }

    /// Takes all hops back that were lent.
    pub fn take_back(&mut self) {
        self.lent.clear();
    }

    /// Whether a hop is no lent one.
    #[inline]
    pub fn is_own(&self, hop: u32) -> bool {
        hop < self.most
    }

    /// Descriptors that are readable when routes or neighbours may have changed.
    pub fn wakers(&self) -> [BorrowedFd<'_>; 2] {
        [self.routes.as_fd(), self.neighbours.as_fd()]
    }

    /// Asks the kernel who answers for the neighbour, whose probes wait.
    pub fn want(&mut self, neighbour: IpAddr) {
        let hop = self.numbers.get(&neighbour);
        let hop = hop.and_then(|number| self.hops.get(*number as usize));
        let is_gateway = hop.is_some_and(|hop| hop.is_gateway);
        self.neighbours
            .want(neighbour, is_gateway || self.keeps_on_link);
    }

    /// Reads what has become known of neighbours, and asks for the next ones. Calls `set` with each hop that has another MAC
    /// address and the source of the requests by it, and `tell` with the answer for each neighbour: its address, or an error of the kernel.
    pub fn follow(
        &mut self,
        now_ns: u64,
        mut set: impl FnMut(u32, MacAddress, IpAddr),
        mut tell: impl FnMut(IpAddr, Result<MacAddress, i32>),
    ) {
        let (numbers, hops) = (&self.numbers, &mut self.hops);
        let has_unconfirmed = &mut self.has_unconfirmed;
        self.neighbours.follow(now_ns, |address, news| {
            let first = numbers.get(&address).copied();
            let answer = match news {
                NeighbourNews::Known { mac, .. } => Some(Ok(mac)),
                NeighbourNews::Silent => Some(Err(libc::EHOSTUNREACH)),
                NeighbourNews::NoRoom => Some(Err(libc::ENOBUFS)),
                NeighbourNews::Unlisted => None,
            };
            if let Some(hop) = first.and_then(|first| hops.get_mut(first as usize)) {
                hop.is_listed = matches!(news, NeighbourNews::Known { .. });
                hop.is_stale = matches!(news, NeighbourNews::Known { is_stale: true, .. });
                *has_unconfirmed |= !hop.is_listed || hop.is_stale;
            }
            let mut next = first;
            while let Some(number) = next {
                let hop = &mut hops[number as usize];
                let before = hop.mac;
                if let Some(answer) = answer {
                    (hop.mac, hop.error) = (answer.ok(), answer.err());
                }
                if let Some(mac) = hop.mac.filter(|mac| before != Some(*mac)) {
                    set(number, mac, hop.source);
                }
                next = hop.next;
            }
            if let Some(answer) = answer {
                tell(address, answer);
            }
        });
    }

    /// When to call [`follow`](Self::follow) again, if the descriptor is not readable before.
    pub fn next_ns(&self) -> u64 {
        self.neighbours.next_ns()
    }

    /// Whether a [`refresh`](Self::refresh) may have something to do.
    #[inline]
    pub fn has_unconfirmed(&self) -> bool {
        self.has_unconfirmed
    }

    /// Has the kernel confirm stale hops, and asks again for some that it does not know, each in turn. Probes do not use the
    /// kernel's entries, which would not notice changes otherwise.
    pub fn refresh(&mut self) {
        let stale = self.hops.iter_mut().filter(|hop| hop.is_stale);
        for hop in stale.take(CONFIRMED_AT_ONCE) {
            hop.is_stale = false;
            self.neighbours.confirm(hop.address);
        }
        // Those whose probes wait come first.
        if self.neighbours.is_idle() {
            self.ask_again();
        }
        let mut hops = self.hops.iter();
        self.has_unconfirmed = hops.any(|hop| !hop.is_listed || hop.is_stale);
    }

    fn ask_again(&mut self) {
        let count = self.hops.len();
        let in_turn = (0..count).map(|at| (self.next_missing + at) % count);
        let missing = in_turn.filter(|at| !self.hops[*at].is_listed);
        let most = (count / ASKED_AGAIN_PART).clamp(*ASKED_AGAIN.start(), *ASKED_AGAIN.end());
        let missing: Vec<usize> = missing.take(most).collect();
        for at in missing {
            let hop = self.hops[at];
            let is_kept = hop.is_gateway || self.keeps_on_link;
            self.neighbours.want(hop.address, is_kept);
            self.next_missing = at + 1;
        }
    }

    /// Whether routes may have changed since the last call, and with them the hops of targets.
    pub fn have_routes_changed(&mut self) -> bool {
        self.routes.have_changed()
    }

    /// Whether the interface is gone.
    pub fn is_interface_removed(&mut self) -> bool {
        self.routes.is_interface_removed()
    }

    /// Looks up again the routes of the targets that are [assigned](Self::assign) from now on.
    pub fn forget_routes(&mut self) {
        self.routes.forget();
    }

    /// Number of route lookups so far.
    pub fn lookups(&self) -> u64 {
        self.routes.lookups()
    }
}
