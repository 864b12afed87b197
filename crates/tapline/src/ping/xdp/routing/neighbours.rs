//! Neighbours, which the kernel resolves at a pace.
//!
//! ```text
//! request ─▶ queue ─ as tokens permit ─▶ asked of the kernel ─▶ notification ─▶ update
//!              ▲                           │              └▶ the entry is deleted again if it is not kept
//!              └── its turn is over, and ──┘
//!                  others wait
//! ```
//!
//! The kernel's table holds 1024 neighbours by default (`gc_thresh3`), of all network namespaces together. So entries that
//! were made here for many neighbours are deleted as soon as their answer is known.
//!
//! A host that is present answers within milliseconds. The kernel gives up one that is absent after three seconds. So that absent
//! ones do not hold up the others, a request has a turn of a quarter of a second while neighbours wait that have had no more turns.
//! Then it joins the queue again. After two turns it keeps its place until the kernel has given up.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use abi::clock::monotonic_ns;
use netlink::{Event, IfIndex, MacAddress, Neigh, NeighState, Netlink, NetlinkError, Watch};
use probe::NeighbourPace;

use crate::wait::wait;

/// Neighbours that the kernel looks for at a time, at most, whatever the pace.
pub(super) const MAX_ASKED: usize = 4096;
/// Requests of one call, and turns that one call ends.
pub(super) const ASKED_AT_ONCE: usize = 64;
/// Notifications that one call reads.
const READ_AT_ONCE: usize = 4096;
/// How long the kernel's answer is waited for. It gives up after three seconds by default (`mcast_solicit`, `retrans_time_ms`).
const MAX_WAIT_NS: u64 = 10_000_000_000;
/// Pause while the kernel's table is full, and how long it may be full before neighbours count as unresolved.
const FULL_PAUSE_NS: u64 = 100_000_000;
const MAX_FULL_NS: u64 = 5_000_000_000;
/// How long a request keeps its place while others wait, and how many such turns it has. In one turn, the kernel sends one of the
/// three solicitations that a token stands for, as long as `retrans_time_ms` is longer.
const TURN_NS: u64 = 250_000_000;
const MAX_TURNS: u8 = 2;
const SOLICITATIONS: u64 = 3;
/// Pause before an entry is deleted again that was in use, and how often that is repeated.
const DELETE_PAUSE_NS: u64 = 1_000_000;
const MAX_DELETIONS: u8 = 100;
/// The same pause at the end of a run, and how long such deletions may take.
const DELETE_PAUSE: Duration = Duration::from_micros(50);
const MAX_DELETE_NS: u64 = 100_000_000;

/// What has become known of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeighbourUpdate {
    /// Its MAC address; `is_stale` if the kernel has not confirmed it for a while.
    Resolved { mac: MacAddress, is_stale: bool },
    /// Nobody answers.
    Failed,
    /// The kernel's table has no room for it.
    TableFull,
    /// It is gone from the kernel's table.
    Removed,
}

/// A neighbour that the kernel is to look for.
#[derive(Clone, Copy, Debug)]
struct Request {
    address: IpAddr,
    /// Whether its entry stays in the kernel's table.
    is_kept: bool,
    /// Turns that it has had.
    turns: u8,
}

/// A neighbour that the kernel is resolving.
#[derive(Clone, Copy, Debug)]
struct PendingLookup {
    at_ns: u64,
    /// Whether its entry was made here, and is deleted when the answer is known.
    is_deleted: bool,
    turns: u8,
}

/// The neighbours on an interface.
#[derive(Debug)]
pub(super) struct Neighbours {
    link: IfIndex,
    netlink: Netlink,
    watch: Watch<Neigh>,
    /// Neighbours that the kernel was not asked for yet, and those that have had turns.
    queue: VecDeque<Request>,
    again: VecDeque<Request>,
    /// Requests whose turn has come while a deleted entry is still there. They are queued again when it is gone.
    blocked: Vec<Request>,
    /// The addresses in all three.
    queued: HashSet<IpAddr>,
    /// What the kernel's table says of neighbours that it knows.
    known: HashMap<IpAddr, NeighbourUpdate>,
    /// Neighbours that were known when they were requested.
    ready: Vec<Request>,
    asked: HashMap<IpAddr, PendingLookup>,
    /// When each of them was asked for, in order; also of some that are known by now.
    order: VecDeque<(u64, IpAddr)>,
    /// The same of those whose turn may end.
    turns: VecDeque<(u64, IpAddr)>,
    /// Whether requests have turns.
    has_turns: bool,
    /// Neighbours whose entries were deleted here, and how often. Notifications of them are ignored until that of the last
    /// deletion: before the kernel deletes an entry, it reports it as failed (`neigh_delete`, net/core/neighbour.c).
    deleted: HashMap<IpAddr, u32>,
    /// Deleted entries that were in use, and so are still there, with the number of further attempts; and when the next attempt
    /// is due.
    remaining: HashMap<IpAddr, u8>,
    delete_again_ns: u64,
    /// The token bucket: time for a token and for all, and when it will be full.
    each_ns: u64,
    burst_ns: u64,
    full_ns: u64,
    /// Since when the kernel's table has been full, and when it is tried again.
    table_full_since_ns: Option<u64>,
    paused_until_ns: u64,
    /// Whether notifications were left unread.
    has_more: bool,
}

impl Neighbours {
    /// The neighbours on `link`. The first [`follow`](Self::follow) reports the kernel's table. `has_turns` says that probes to
    /// those that answer must not wait for others.
    pub fn open(link: IfIndex, pace: NeighbourPace, has_turns: bool) -> Result<Self, NetlinkError> {
        Ok(Self {
            link,
            netlink: Netlink::open()?,
            watch: Watch::open(Neigh::new().dev(link))?,
            queue: VecDeque::new(),
            again: VecDeque::new(),
            blocked: Vec::new(),
            queued: HashSet::new(),
            known: HashMap::new(),
            ready: Vec::new(),
            asked: HashMap::new(),
            order: VecDeque::new(),
            turns: VecDeque::new(),
            has_turns,
            deleted: HashMap::new(),
            remaining: HashMap::new(),
            delete_again_ns: 0,
            each_ns: pace.time_ns / u64::from(pace.most.max(1)),
            burst_ns: pace.time_ns,
            full_ns: 0,
            table_full_since_ns: None,
            paused_until_ns: 0,
            has_more: false,
        })
    }

    /// Asks the kernel for a neighbour when its turn comes, unless it is known. A gateway has its turn before others: many
    /// targets may wait for it. The entry stays in the kernel's table if `is_kept`.
    pub fn request(&mut self, address: IpAddr, is_kept: bool, is_gateway: bool) {
        let request = Request {
            address,
            is_kept,
            turns: 0,
        };
        if self.known.contains_key(&address) {
            self.ready.push(request);
        } else if !self.asked.contains_key(&address) && self.queued.insert(address) {
            if is_gateway {
                self.queue.push_front(request);
            } else {
                self.queue.push_back(request);
            }
        }
    }

    /// Whether no neighbour waits for its turn.
    pub fn is_idle(&self) -> bool {
        self.has_empty_queues() && self.blocked.is_empty()
    }

    fn has_empty_queues(&self) -> bool {
        self.queue.is_empty() && self.again.is_empty()
    }

    /// Has the kernel confirm a stale neighbour, as packets to it would.
    pub fn confirm(&mut self, address: IpAddr) {
        let entry = Neigh::on(self.link, address);
        // A permanent entry would end as such (`__neigh_update`, net/core/neighbour.c).
        let found = self.netlink.get(&entry);
        if found.is_ok_and(|found| found.state == Some(NeighState::Stale)) {
            // If it is gone meanwhile, a notification says so.
            let _ = self.netlink.set(&entry.resolve(true));
        }
    }

    /// Passes on what has become known, and asks for the next ones, but for none if `is_held`. Without `is_notified`, the
    /// descriptor is not readable.
    pub fn follow(
        &mut self,
        now_ns: u64,
        is_notified: bool,
        is_held: bool,
        mut update: impl FnMut(IpAddr, NeighbourUpdate),
    ) {
        if is_notified || self.has_more || self.watch.has_pending() {
            self.read(&mut update);
        }
        for request in std::mem::take(&mut self.ready) {
            match self.known.get(&request.address) {
                Some(known) => update(request.address, *known),
                None => self.put_back(request),
            }
        }
        self.give_up(now_ns, &mut update);
        self.delete_remaining(now_ns);
        self.forget_settled_turns();
        for _ in 0..ASKED_AT_ONCE {
            if is_held {
                break;
            }
            if self.next_request_ns() > now_ns {
                if !self.end_turn(now_ns) {
                    break;
                }
                continue;
            }
            let Some(request) = self.queue.pop_front().or_else(|| self.again.pop_front()) else {
                break;
            };
            if self.remaining.contains_key(&request.address) {
                self.blocked.push(request);
                continue;
            }
            self.queued.remove(&request.address);
            if !self.asked.contains_key(&request.address) {
                self.ask(request, now_ns, &mut update);
            }
        }
    }

    /// Queues a request behind those of neighbours that were not asked for yet.
    fn put_back(&mut self, request: Request) {
        if self.queued.insert(request.address) {
            self.again.push_back(request);
        }
    }

    /// Ends the oldest turn if it is over and a neighbour waits that has had no more turns. Returns whether one has ended.
    fn end_turn(&mut self, now_ns: u64) -> bool {
        let next = self.queue.front().or_else(|| self.again.front());
        let Some(next) = next.copied() else {
            return false;
        };
        self.forget_settled_turns();
        let Some((at_ns, address)) = self.turns.front().copied() else {
            return false;
        };
        let turns = self.asked.get(&address).map_or(0, |asked| asked.turns);
        if at_ns + TURN_NS > now_ns || next.turns > turns {
            return false;
        }
        self.turns.pop_front();
        self.asked.remove(&address);
        self.delete(address);
        // One of the solicitations was sent.
        let unused_ns = self.each_ns / SOLICITATIONS * (SOLICITATIONS - 1);
        self.full_ns = self.full_ns.saturating_sub(unused_ns);
        self.put_back(Request {
            address,
            is_kept: false,
            turns: turns + 1,
        });
        true
    }

    /// Forgets the oldest turns of neighbours that the kernel has answered for.
    fn forget_settled_turns(&mut self) {
        while let Some((at_ns, address)) = self.turns.front() {
            let asked = self.asked.get(address);
            if asked.is_some_and(|asked| asked.at_ns == *at_ns) {
                return;
            }
            self.turns.pop_front();
        }
    }

    /// When the next [`follow`](Self::follow) is due, if the descriptor is not readable before.
    pub fn next_ns(&self, is_held: bool) -> u64 {
        if self.has_more || !self.ready.is_empty() {
            return 0;
        }
        let oldest = self.order.front();
        let expiry_ns = oldest.map_or(u64::MAX, |(at_ns, _)| at_ns + MAX_WAIT_NS);
        let expiry_ns = expiry_ns.min(self.next_deletion_ns());
        if is_held {
            return expiry_ns;
        }
        self.next_request_ns()
            .min(self.next_turn_ns())
            .min(expiry_ns)
    }

    /// When the oldest turn is over, if a neighbour waits for it.
    fn next_turn_ns(&self) -> u64 {
        let next = self.queue.front().or_else(|| self.again.front());
        let oldest = next.zip(self.turns.front());
        let Some((next, (at_ns, address))) = oldest else {
            return u64::MAX;
        };
        match self.asked.get(address) {
            Some(asked) if next.turns <= asked.turns => at_ns + TURN_NS,
            _ => u64::MAX,
        }
    }

    fn next_request_ns(&self) -> u64 {
        if self.has_empty_queues() || self.asked.len() >= MAX_ASKED {
            return u64::MAX;
        }
        let token_ns = (self.full_ns + self.each_ns).saturating_sub(self.burst_ns);
        token_ns.max(self.paused_until_ns)
    }

    fn read(&mut self, update: &mut impl FnMut(IpAddr, NeighbourUpdate)) {
        self.has_more = true;
        for _ in 0..READ_AT_ONCE {
            // A notification that cannot be decoded is skipped; the next ones keep the descriptor readable.
            let Ok(Some(event)) = self.watch.try_next() else {
                self.has_more = false;
                return;
            };
            match event {
                Event::Added(entry) | Event::Changed { after: entry, .. } => {
                    let update_of = entry.dst.zip(state(&entry));
                    if let Some((address, what)) = update_of
                        && !self.deleted.contains_key(&address)
                    {
                        if let NeighbourUpdate::Resolved { .. } = what {
                            self.known.insert(address, what);
                        } else {
                            self.known.remove(&address);
                        }
                        self.settle(address, what);
                        update(address, what);
                    }
                }
                Event::Removed(entry) => {
                    let Some(address) = entry.dst else { continue };
                    self.known.remove(&address);
                    if !self.note_deletion(address) && self.asked.contains_key(&address) {
                        // After an overrun, it may be about an entry that was deleted here before the present one was made.
                        if self.netlink.get(&Neigh::on(self.link, address)).is_ok() {
                            continue;
                        }
                        self.ask_again(address);
                    }
                    update(address, NeighbourUpdate::Removed);
                }
                // Some notifications will not come.
                Event::Overrun => self.deleted.clear(),
                _ => {}
            }
        }
    }

    /// Ends the wait for the kernel's answer, and deletes the entry if it does not stay.
    fn settle(&mut self, address: IpAddr, what: NeighbourUpdate) {
        let Some(asked) = self.asked.remove(&address) else {
            return;
        };
        if let NeighbourUpdate::Resolved { .. } = what {
            self.return_token();
        }
        if asked.is_deleted {
            self.delete(address);
        }
    }

    /// Queues a neighbour again: the kernel no longer looks for it, because another program deleted its entry.
    fn ask_again(&mut self, address: IpAddr) {
        if let Some(asked) = self.asked.remove(&address) {
            self.put_back(Request {
                address,
                is_kept: !asked.is_deleted,
                turns: asked.turns,
            });
            self.return_token();
        }
    }

    fn return_token(&mut self) {
        self.full_ns = self.full_ns.saturating_sub(self.each_ns);
    }

    fn delete(&mut self, address: IpAddr) {
        // The kernel may have deleted it before.
        if self.netlink.del(&Neigh::on(self.link, address)).is_ok() {
            *self.deleted.entry(address).or_default() += 1;
            if self.remains(address) {
                self.remaining.insert(address, 0);
            }
        }
    }

    /// Whether an entry is still there that was deleted. The kernel keeps one that is in use, without an error
    /// (`neigh_remove_one`, net/core/neighbour.c). Sending a notification about an entry is such a use. The next packet to the
    /// neighbour starts its resolution again: the entry is then incomplete.
    fn remains(&mut self, address: IpAddr) -> bool {
        let found = self.netlink.get(&Neigh::on(self.link, address));
        let state = found.ok().and_then(|found| found.state);
        matches!(state, Some(NeighState::Failed | NeighState::Incomplete))
    }

    /// Deletes entries again that were in use.
    fn delete_remaining(&mut self, now_ns: u64) {
        if now_ns < self.next_deletion_ns() {
            return;
        }
        self.delete_again_ns = now_ns.saturating_add(DELETE_PAUSE_NS);
        for (address, deletions) in std::mem::take(&mut self.remaining) {
            // The kernel reports the deletion of each entry once: this one is counted.
            let is_found = self.netlink.del(&Neigh::on(self.link, address)).is_ok();
            if !is_found || !self.remains(address) {
                continue;
            }
            if deletions < MAX_DELETIONS {
                self.remaining.insert(address, deletions + 1);
            } else {
                // A driver may use it for long. The entry stays, and its notifications count again.
                self.note_deletion(address);
            }
        }
        let blocked = std::mem::take(&mut self.blocked);
        let remaining = &self.remaining;
        let is_blocked = |request: &Request| remaining.contains_key(&request.address);
        let (blocked, free): (Vec<_>, Vec<_>) = blocked.into_iter().partition(is_blocked);
        self.blocked = blocked;
        self.again.extend(free);
    }

    fn next_deletion_ns(&self) -> u64 {
        if self.remaining.is_empty() {
            u64::MAX
        } else {
            self.delete_again_ns
        }
    }

    /// Notes a notification that an entry was deleted. Returns whether it was deleted here.
    fn note_deletion(&mut self, address: IpAddr) -> bool {
        let Some(times) = self.deleted.get_mut(&address) else {
            return false;
        };
        *times -= 1;
        if *times == 0 {
            self.deleted.remove(&address);
        }
        true
    }

    /// Stops waiting for answers that are overdue.
    fn give_up(&mut self, now_ns: u64, update: &mut impl FnMut(IpAddr, NeighbourUpdate)) {
        while let Some((at_ns, address)) = self.order.front().copied() {
            let asked = self.asked.get(&address);
            let is_waiting = asked.is_some_and(|asked| asked.at_ns == at_ns);
            if is_waiting && at_ns + MAX_WAIT_NS > now_ns {
                return;
            }
            self.order.pop_front();
            if is_waiting {
                self.settle(address, NeighbourUpdate::Failed);
                update(address, NeighbourUpdate::Failed);
            }
        }
    }

    fn ask(
        &mut self,
        asked_for: Request,
        now_ns: u64,
        update: &mut impl FnMut(IpAddr, NeighbourUpdate),
    ) {
        let Request {
            address, is_kept, ..
        } = asked_for;
        let entry = Neigh::on(self.link, address);
        let request = entry.clone().resolve(true);
        let is_new = match self.netlink.add(&request) {
            Ok(()) => true,
            Err(error) if error.errno() == Some(libc::EEXIST) => false,
            Err(error) if error.errno() == Some(libc::ENOBUFS) => {
                let since_ns = *self.table_full_since_ns.get_or_insert(now_ns);
                if now_ns - since_ns > MAX_FULL_NS {
                    update(address, NeighbourUpdate::TableFull);
                } else {
                    self.queued.insert(address);
                    self.queue.push_front(asked_for);
                    self.paused_until_ns = now_ns + FULL_PAUSE_NS;
                }
                return;
            }
            Err(_) => return update(address, NeighbourUpdate::Failed),
        };
        self.table_full_since_ns = None;
        // The kernel reports no entry that needs no resolution, or that was there before.
        let known = self.netlink.get(&entry).ok();
        match known.as_ref().and_then(state) {
            Some(NeighbourUpdate::Failed) if !is_new => {
                let _ = self.netlink.set(&request);
            }
            Some(what) => {
                if is_new && !is_kept {
                    self.delete(address);
                }
                return update(address, what);
            }
            None => {}
        }
        self.full_ns = self.full_ns.max(now_ns) + self.each_ns;
        self.order.push_back((now_ns, address));
        let asked = PendingLookup {
            at_ns: now_ns,
            is_deleted: is_new && !is_kept,
            turns: asked_for.turns,
        };
        if self.has_turns && asked.is_deleted && asked.turns < MAX_TURNS {
            self.turns.push_back((now_ns, address));
        }
        self.asked.insert(address, asked);
    }
}

/// Deletes the entries that were made here and do not stay.
impl Drop for Neighbours {
    fn drop(&mut self) {
        let asked = std::mem::take(&mut self.asked).into_iter();
        for (address, _) in asked.filter(|(_, asked)| asked.is_deleted) {
            self.delete(address);
        }
        let end_ns = monotonic_ns().saturating_add(MAX_DELETE_NS);
        while !self.remaining.is_empty() && monotonic_ns() < end_ns {
            self.delete_remaining(u64::MAX);
            // A signal only shortens the pause.
            let _ = wait(&mut [], DELETE_PAUSE);
        }
    }
}

/// Readable when there are notifications.
impl AsFd for Neighbours {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}

/// What an entry says; `None` while the kernel is looking for the neighbour.
fn state(entry: &Neigh) -> Option<NeighbourUpdate> {
    match entry.state {
        Some(NeighState::None | NeighState::Incomplete) | None => None,
        Some(NeighState::Failed) => Some(NeighbourUpdate::Failed),
        Some(state) => Some(NeighbourUpdate::Resolved {
            mac: entry.lladdr?.ethernet()?,
            is_stale: state == NeighState::Stale,
        }),
    }
}
