//! The next hops of the targets, their MAC addresses, and the source address of the requests by each.

use std::net::IpAddr;
use std::ops::{Range, RangeInclusive};
use std::os::fd::{AsFd, BorrowedFd};

use netlink::{IfIndex, MacAddress, NetlinkError, Route};
use probe::NeighbourPace;
use probe::targets::Targets;

use super::hop_table::{Hop, HopTable};
use super::neighbours::{ASKED_AT_ONCE, MAX_ASKED, NeighbourUpdate, Neighbours};
use super::route_kind::RouteKind;
use super::routes::{RouteChanges, Routes};

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

/// How a probe leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ping::xdp) enum NextHopState {
    /// By its hop, whose MAC address is known.
    Resolved,
    /// Once it is known who answers for this neighbour.
    Unresolved(IpAddr),
    /// Not: an error of the kernel.
    Unreachable(i32),
}

/// What [`NextHops::look_up`] needs to know of a run.
#[derive(Clone, Copy, Debug)]
pub(in crate::ping::xdp) struct HopOptions {
    pub link: IfIndex,
    pub is_in_vrf: bool,
    /// The source of the requests of its family, if one was given.
    pub source: Option<IpAddr>,
    pub pace: NeighbourPace,
    /// Whether there is one probe to each target. On-link targets have no hop of their own then: they are lent one.
    pub is_single: bool,
}

/// The next hops on one interface.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(in crate::ping::xdp) struct NextHops {
    link: IfIndex,
    routes: Routes,
    neighbours: Neighbours,
    /// The hops that are lent follow.
    hops: HopTable,
    /// Hops whose neighbour was known when they were added.
    added: Vec<u32>,
    is_single: bool,
    lent: Vec<(MacAddress, IpAddr)>,
    /// Whether the interface reaches a target, of those that were assigned since routes have changed.
    reaches_some: bool,
    /// Whether one of these is on-link.
    has_on_link: bool,
    /// Whether on-link targets are so few that their entries may stay in the kernel's table.
    keeps_on_link: bool,
    /// A hop that was resolved when somebody asked for one.
    resolved: u32,
    /// Whether some hops may have to be resolved or confirmed.
    has_unconfirmed: bool,
}

impl NextHops {
    /// Looks up the routes of `targets`. Targets that are routed through another interface have no hop.
    pub fn look_up(targets: &Targets, options: HopOptions) -> Result<Self, NetlinkError> {
        let HopOptions {
            link,
            is_in_vrf,
            source,
            pace,
            is_single,
        } = options;
        let mut hops = Self {
            link,
            routes: Routes::open(link, is_in_vrf, source, targets.len())?,
            neighbours: Neighbours::open(link, pace, !is_single)?,
            hops: HopTable::new(u32::MAX - LENT),
            added: Vec::new(),
            is_single,
            lent: Vec::new(),
            reaches_some: false,
            has_on_link: false,
            keeps_on_link: true,
            resolved: 0,
            has_unconfirmed: false,
        };
        // No target has them yet.
        let on_link = hops.assign(targets, 0..targets.len(), |_, hop| hop);
        hops.keeps_on_link = on_link <= pace.most;
        let most = hops.hops.len().saturating_add(SPARE_HOPS);
        hops.hops.set_most(most);
        Ok(hops)
    }

    /// Number of hops that there has to be room for.
    pub fn room(&self) -> u32 {
        self.hops.most().saturating_add(LENT)
    }

    /// Calls `set` with the hop of each target in `numbers`; with none if the interface does not reach it, it was removed, or it
    /// is lent one. `set` returns the hop that the target had before. Returns how many are on-link.
    pub fn assign(
        &mut self,
        targets: &Targets,
        numbers: Range<u32>,
        mut set: impl FnMut(u32, Option<u32>) -> Option<u32>,
    ) -> u32 {
        let mut on_link = 0;
        // Targets mostly share their gateway.
        let mut latest = None;
        for target in numbers {
            let address = targets.address(target);
            let Some(address) = address.filter(|_| !targets.is_removed(target)) else {
                self.hops.change(set(target, None), None);
                continue;
            };
            let kind = self.kind(targets, target, address);
            self.reaches_some |= kind.is_by_link();
            let hop = match kind {
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
            self.hops.change(set(target, hop), hop);
        }
        self.has_on_link |= on_link > 0;
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
        let known = self.hops.find(address, source);
        if known.is_some() {
            return known;
        }
        let number = self.hops.add(address, source, is_gateway)?;
        let hop = self.hops.get(number)?;
        self.added.extend(hop.mac.map(|_| number));
        self.has_unconfirmed |= !hop.is_listed;
        Some(number)
    }

    /// Calls `set` with each hop that was added with a known neighbour since the last call: its MAC address, and the source
    /// of the requests. [`follow`](Self::follow) does so with others once it is known.
    pub fn take_added(&mut self, mut set: impl FnMut(u32, MacAddress, IpAddr)) {
        for number in self.added.drain(..) {
            if let Some(hop) = self.hops.get(number)
                && let Some(mac) = hop.mac
            {
                set(number, mac, hop.source);
            }
        }
    }

    /// Whether no target is reached by the interface, of those that were assigned since the routes were
    /// [forgotten](Self::forget_routes).
    pub fn is_empty(&self) -> bool {
        !self.reaches_some
    }

    /// How probes leave to a target, whose address is `address` and whose hop is `hop`.
    #[inline]
    pub fn state(
        &mut self,
        hop: Option<u32>,
        targets: &Targets,
        target: u32,
        address: IpAddr,
    ) -> NextHopState {
        let Some(hop) = hop.and_then(|hop| self.hops.get(hop)) else {
            return match self.kind(targets, target, address) {
                RouteKind::OnLink { .. } => NextHopState::Unresolved(address),
                RouteKind::Local => NextHopState::Unreachable(libc::EADDRNOTAVAIL),
                _ => NextHopState::Unreachable(libc::ENETUNREACH),
            };
        };
        match (hop.mac, hop.error) {
            (Some(_), _) => NextHopState::Resolved,
            (None, None) => NextHopState::Unresolved(hop.address),
            (None, Some(error)) => NextHopState::Unreachable(error),
        }
    }

    /// Whether probes can leave by some hop.
    pub fn has_resolved(&mut self) -> bool {
        let is_resolved = |hop: &Hop| hop.mac.is_some();
        if !self.hops.get(self.resolved).is_some_and(is_resolved) {
            let found = self.hops.iter().position(is_resolved);
            let Some(found) = found else { return false };
            self.resolved = found as u32;
        }
        true
    }

    /// Whether no target is on-link, of those that were assigned since routes have changed, and no gateway is known.
    pub fn lacks_gateway(&mut self) -> bool {
        !self.has_on_link && !self.has_resolved()
    }

    /// The MAC address of the hop, and the source of the requests by it.
    #[inline]
    pub fn addresses(&self, hop: u32) -> Option<(MacAddress, IpAddr)> {
        match hop.checked_sub(self.hops.most()) {
            None => {
                let hop = self.hops.get(hop)?;
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
        Some(self.hops.most() + number)
    }

    /// Takes all hops back that were lent.
    pub fn take_back(&mut self) {
        self.lent.clear();
    }

    /// Whether a hop is no lent one.
    #[inline]
    pub fn is_own(&self, hop: u32) -> bool {
        hop < self.hops.most()
    }

    /// Descriptors that are readable when routes or neighbours may have changed.
    pub fn wakers(&self) -> [BorrowedFd<'_>; 2] {
        [self.routes.as_fd(), self.neighbours.as_fd()]
    }

    /// Asks the kernel who answers for the neighbour, whose probes wait.
    pub fn request(&mut self, neighbour: IpAddr) {
        let hop = self.hops.first_of(neighbour);
        let hop = hop.and_then(|number| self.hops.get(number));
        let is_gateway = hop.is_some_and(|hop| hop.is_gateway);
        let is_kept = is_gateway || self.keeps_on_link;
        self.neighbours.request(neighbour, is_kept, is_gateway);
    }

    /// Reads what has become known of neighbours, and asks for the next ones unless `is_held`. Without `is_notified`, the
    /// descriptor of the neighbours is not readable. Calls `set` with each hop that has another MAC address and the source address
    /// of the requests by it, and `tell` with the answer for each neighbour: its address, or an error of the kernel.
    pub fn follow(
        &mut self,
        now_ns: u64,
        is_notified: bool,
        is_held: bool,
        mut set: impl FnMut(u32, MacAddress, IpAddr),
        mut tell: impl FnMut(IpAddr, Result<MacAddress, i32>),
    ) {
        // A sweep probes its targets once: what is refused meanwhile would stay so.
        let is_single = self.is_single;
        let hops = &mut self.hops;
        let has_unconfirmed = &mut self.has_unconfirmed;
        self.neighbours
            .follow(now_ns, is_notified, is_held, |address, update| {
                let first = hops.first_of(address);
                let answer = match update {
                    NeighbourUpdate::Resolved { mac, .. } => Some(Ok(mac)),
                    NeighbourUpdate::Failed => Some(Err(libc::EHOSTUNREACH)),
                    NeighbourUpdate::TableFull => Some(Err(libc::ENOBUFS)),
                    NeighbourUpdate::Removed => None,
                };
                if let Some(hop) = first.and_then(|first| hops.get_mut(first)) {
                    hop.is_listed = matches!(update, NeighbourUpdate::Resolved { .. });
                    hop.is_stale =
                        matches!(update, NeighbourUpdate::Resolved { is_stale: true, .. });
                    *has_unconfirmed |= !hop.is_listed || hop.is_stale;
                }
                let mut next = first;
                while let Some(number) = next
                    && let Some(hop) = hops.get_mut(number)
                {
                    let before = hop.mac;
                    if let Some(answer) = answer {
                        hop.note(answer, is_single);
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
    pub fn next_ns(&self, is_held: bool) -> u64 {
        self.neighbours.next_ns(is_held)
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
        } else {
            self.ask_for_kept_gateways();
        }
        let mut hops = self.hops.iter();
        self.has_unconfirmed = hops.any(|hop| !hop.is_listed || hop.is_stale);
    }

    /// Asks again for neighbours that the kernel does not know. Those that did not answer the last time have half of the turns, or
    /// what the others leave: no probe is sent to them until they answer.
    fn ask_again(&mut self) {
        let count = self.hops.len() as usize;
        let most = (count / ASKED_AGAIN_PART).clamp(*ASKED_AGAIN.start(), *ASKED_AGAIN.end());
        let mut missing = self.hops.next_missing(true, most / 2);
        for is_silent in [false, true] {
            let left = most - missing.len();
            missing.extend(self.hops.next_missing(is_silent, left));
        }
        // One that is requested twice is queued once.
        for at in missing {
            if let Some(hop) = self.hops.get(at) {
                let is_kept = hop.is_gateway || self.keeps_on_link;
                self.neighbours
                    .request(hop.address, is_kept, hop.is_gateway);
            }
        }
    }

    /// Asks again for gateways that the kernel does not know, and to which probes leave nevertheless: the address may have become
    /// wrong, and no probe waits until it is known.
    fn ask_for_kept_gateways(&mut self) {
        let is_kept = |hop: &&Hop| hop.is_gateway && !hop.is_listed && hop.mac.is_some();
        for hop in self.hops.iter().filter(is_kept).take(CONFIRMED_AT_ONCE) {
            self.neighbours.request(hop.address, true, true);
        }
    }

    /// As [`Routes::read_changes`].
    pub fn read_changes(&mut self, added: impl FnMut(&Route)) -> RouteChanges {
        self.routes.read_changes(added)
    }

    /// As [`Routes::set_in_vrf`].
    pub fn set_in_vrf(&mut self, is_in_vrf: bool) {
        self.routes.set_in_vrf(is_in_vrf);
    }

    /// Looks up again the routes that may have changed, of the targets that are [assigned](Self::assign) from now on. Returns
    /// when this is to be repeated, as [`Routes::forget`].
    pub fn forget_routes(&mut self, now_ns: u64) -> Option<u64> {
        (self.reaches_some, self.has_on_link) = (false, false);
        self.routes.forget(now_ns)
    }

    /// Number of route lookups so far.
    pub fn lookups(&self) -> u64 {
        self.routes.lookups()
    }
}
