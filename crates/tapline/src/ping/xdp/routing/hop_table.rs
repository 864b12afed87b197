//! A table of next hops that targets share. A hop that no target uses is freed, and its number is used again.

use std::collections::HashMap;
use std::net::IpAddr;

use netlink::MacAddress;

/// After so many failures in a row, the MAC address of a gateway is given up. One failure is not enough: while frames fill the
/// interface, the kernel's requests are lost, too.
const MAX_FAILURES: u8 = 3;

/// A next hop: a neighbour and a source address. The hops of one neighbour form a list; the first of the list represents the neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub address: IpAddr,
    /// The source address of requests.
    pub source: IpAddr,
    /// The next hop with the same neighbour.
    pub next: Option<u32>,
    /// The last MAC address that the kernel knew, unless the neighbour failed to answer ([`note`](Self::note)).
    pub mac: Option<MacAddress>,
    /// Why there is no MAC address, as an errno, once the kernel has given up.
    pub error: Option<i32>,
    /// Whether the neighbour is in the kernel's table. Always set for free hops, and for hops that are not the first of their list:
    /// the kernel need not resolve them.
    pub is_listed: bool,
    /// Whether the kernel has to confirm the MAC address.
    pub is_stale: bool,
    pub is_gateway: bool,
    /// How often in a row the neighbour has failed to answer.
    failures: u8,
    /// Number of targets that use it.
    users: u32,
}

impl Hop {
    /// Notes what the kernel knows of the neighbour: its MAC address, or an error. `keeps_gateway`: one that has answered before
    /// keeps its address for the first failures.
    pub fn note(&mut self, answer: Result<MacAddress, i32>, keeps_gateway: bool) {
        match answer {
            Ok(mac) => (self.mac, self.error, self.failures) = (Some(mac), None, 0),
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                let is_known = self.is_gateway && self.mac.is_some();
                let is_kept = keeps_gateway && is_known && self.failures < MAX_FAILURES;
                if !is_kept {
                    (self.mac, self.error) = (None, Some(error));
                }
            }
        }
    }
}

/// The hops by their numbers.
#[derive(Debug)]
pub(super) struct HopTable {
    hops: Vec<Hop>,
    /// Numbers of hops that no target uses.
    free: Vec<u32>,
    /// The first hop of each neighbour.
    numbers: HashMap<IpAddr, u32>,
    /// Maximum number of hops.
    most: u32,
    /// Where [`next_missing`](Self::next_missing) continues: for neighbours that are not silent, and for those that are.
    next_missing: [usize; 2],
}

impl HopTable {
    /// An empty table for at most `most` hops.
    pub fn new(most: u32) -> Self {
        Self {
            hops: Vec::new(),
            free: Vec::new(),
            numbers: HashMap::new(),
            most,
            next_missing: [0; 2],
        }
    }

    /// Number of hops, free ones included.
    pub fn len(&self) -> u32 {
        self.hops.len() as u32
    }

    /// Maximum number of hops.
    #[inline]
    pub fn most(&self) -> u32 {
        self.most
    }

    pub fn set_most(&mut self, most: u32) {
        self.most = most;
    }

    #[inline]
    pub fn get(&self, number: u32) -> Option<&Hop> {
        self.hops.get(number as usize)
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Hop> {
        self.hops.get_mut(number as usize)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Hop> {
        self.hops.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Hop> {
        self.hops.iter_mut()
    }

    /// Up to `most` hops that are not listed, in turn: those whose neighbour did not answer the last time (`is_silent`), or the
    /// others.
    pub fn next_missing(&mut self, is_silent: bool, most: usize) -> Vec<u32> {
        let count = self.hops.len();
        let next = &mut self.next_missing[usize::from(is_silent)];
        let first = *next;
        let in_turn = (0..count).map(|at| (first + at) % count);
        let is_due = |at: &usize| {
            let hop = &self.hops[*at];
            !hop.is_listed && hop.error.is_some() == is_silent
        };
        let found: Vec<u32> = in_turn
            .filter(is_due)
            .take(most)
            .map(|at| at as u32)
            .collect();
        if let Some(last) = found.last() {
            *next = *last as usize + 1;
        }
        found
    }

    /// The first hop of a neighbour.
    pub fn first_of(&self, neighbour: IpAddr) -> Option<u32> {
        self.numbers.get(&neighbour).copied()
    }

    /// The hop with this neighbour and source address, if there is one.
    pub fn find(&self, neighbour: IpAddr, source: IpAddr) -> Option<u32> {
        let mut known = self.first_of(neighbour);
        // At most as many as this host has addresses.
        while let Some(number) = known {
            let hop = self.get(number)?;
            if hop.source == source {
                return Some(number);
            }
            known = hop.next;
        }
        None
    }

    /// Adds a hop that no target uses yet, with what is known about its neighbour. `None` if the table is full.
    pub fn add(&mut self, address: IpAddr, source: IpAddr, is_gateway: bool) -> Option<u32> {
        let number = self.free.last().copied().unwrap_or_else(|| self.len());
        if number >= self.most {
            return None;
        }
        self.free.pop();
        let mut hop = Hop {
            address,
            source,
            next: None,
            mac: None,
            error: None,
            is_listed: false,
            is_stale: false,
            is_gateway,
            failures: 0,
            users: 0,
        };
        let first = self.first_of(address);
        if let Some(first) = first.and_then(|first| self.get_mut(first)) {
            (hop.mac, hop.error, hop.is_listed) = (first.mac, first.error, true);
            hop.next = first.next.replace(number);
        } else {
            self.numbers.insert(address, number);
        }
        match self.get_mut(number) {
            Some(place) => *place = hop,
            None => self.hops.push(hop),
        }
        Some(number)
    }

    /// Moves a target from the hop `before` to the hop `after`. Frees `before` if no other target uses it.
    pub fn change(&mut self, before: Option<u32>, after: Option<u32>) {
        if before == after {
            return;
        }
        if let Some(hop) = after.and_then(|after| self.get_mut(after)) {
            hop.users += 1;
        }
        let Some(number) = before else { return };
        // Temporary hops have higher numbers and are not in the table.
        let Some(hop) = self.get_mut(number) else {
            return;
        };
        hop.users = hop.users.saturating_sub(1);
        if hop.users == 0 {
            self.free_place(number);
        }
    }

    /// Removes a hop without targets from the list of its neighbour. The kernel is no longer asked to resolve it.
    fn free_place(&mut self, number: u32) {
        let Some(gone) = self.get(number).copied() else {
            return;
        };
        let first = self.first_of(gone.address);
        if first == Some(number) {
            self.numbers.remove(&gone.address);
            if let Some(next) = gone.next {
                self.numbers.insert(gone.address, next);
            }
            if let Some(first) = gone.next.and_then(|next| self.get_mut(next)) {
                (first.is_listed, first.is_stale) = (gone.is_listed, gone.is_stale);
            }
        }
        let mut before = first.filter(|first| *first != number);
        // At most as many as this host has addresses.
        while let Some(hop) = before.and_then(|before| self.get_mut(before)) {
            if hop.next == Some(number) {
                hop.next = gone.next;
                break;
            }
            before = hop.next;
        }
        if let Some(hop) = self.get_mut(number) {
            (hop.next, hop.mac, hop.error) = (None, None, None);
            (hop.is_listed, hop.is_stale) = (true, false);
        }
        self.free.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// The sources of the hops of a neighbour, and whether each is listed.
    fn list(table: &HopTable, neighbour: u8) -> Vec<(IpAddr, bool)> {
        let first = table.first_of(address(neighbour));
        let next = |number: &u32| table.get(*number).and_then(|hop| hop.next);
        let numbers = std::iter::successors(first, next);
        let hops = numbers.filter_map(|number| table.get(number));
        hops.map(|hop| (hop.source, hop.is_listed)).collect()
    }

    #[test]
    fn a_hop_that_no_target_uses_is_freed() {
        let mut table = HopTable::new(4);
        for round in 0..100 {
            let gateway = address(round % 3);
            let number = table.add(gateway, address(200), true).expect("room");
            assert_eq!(table.find(gateway, address(200)), Some(number));
            // Two targets use it, and leave it again.
            table.change(None, Some(number));
            table.change(None, Some(number));
            table.change(Some(number), None);
            assert_eq!(table.find(gateway, address(200)), Some(number));
            table.change(Some(number), None);
            assert_eq!(table.find(gateway, address(200)), None);
            assert_eq!(table.len(), 1);
            assert!(
                table.get(number).expect("a place").is_listed,
                "a free hop is not resolved"
            );
        }
        for number in 0..4 {
            let added = table.add(address(number), address(200), false);
            assert!(added.is_some_and(|number| number < 4));
        }
        assert_eq!(table.add(address(9), address(200), false), None);
    }

    /// Whichever of three source addresses is removed, the others stay, and one of them represents the neighbour.
    #[test]
    fn the_other_sources_of_a_neighbour_stay() {
        for gone in 0..3 {
            let mut table = HopTable::new(8);
            let sources = [201, 202, 203].map(address);
            let numbers = sources.map(|source| {
                let number = table.add(address(1), source, true).expect("room");
                table.change(None, Some(number));
                number
            });
            assert_eq!(list(&table, 1).len(), 3);
            table.change(Some(numbers[gone]), Some(numbers[(gone + 1) % 3]));
            let left = list(&table, 1);
            assert_eq!(left.len(), 2);
            assert!(left.iter().all(|(source, _)| *source != sources[gone]));
            // The new first hop is the one that the kernel resolves.
            assert_eq!(
                left.iter()
                    .map(|(_, is_listed)| *is_listed)
                    .collect::<Vec<_>>(),
                [false, true]
            );
            assert_eq!(table.find(address(1), sources[gone]), None);
            assert_eq!(
                table.add(address(2), address(201), false),
                Some(numbers[gone])
            );
        }
    }

    /// Only gateways that have answered before, and only if that is wanted.
    #[test]
    fn a_gateway_keeps_its_address_for_two_failures() {
        const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
        for (is_gateway, keeps_gateway, kept) in
            [(true, true, 2), (true, false, 0), (false, true, 0)]
        {
            let mut table = HopTable::new(1);
            let number = table.add(address(1), address(200), is_gateway);
            let hop = table.get_mut(number.expect("room")).expect("it was added");
            hop.note(Err(libc::EHOSTUNREACH), keeps_gateway);
            assert_eq!((hop.mac, hop.error), (None, Some(libc::EHOSTUNREACH)));
            // Each answer begins anew.
            for _ in 0..2 {
                hop.note(Ok(MAC), keeps_gateway);
                for _ in 0..kept {
                    hop.note(Err(libc::EHOSTUNREACH), keeps_gateway);
                    assert_eq!((hop.mac, hop.error), (Some(MAC), None));
                }
            }
            hop.note(Err(libc::EHOSTUNREACH), keeps_gateway);
            assert_eq!((hop.mac, hop.error), (None, Some(libc::EHOSTUNREACH)));
        }
    }

    /// Of 100 hops, two have not answered: they do not wait until all others had their turn.
    #[test]
    fn silent_neighbours_are_asked_for_again_before_the_others() {
        let mut table = HopTable::new(200);
        for number in 0..100 {
            let number = table.add(address(number), address(200), false);
            let number = number.expect("room");
            let hop = table.get_mut(number).expect("it was added");
            if [30, 70].contains(&number) {
                hop.error = Some(libc::EHOSTUNREACH);
            } else {
                hop.mac = Some(MacAddress([2, 0, 0, 0, 0, 1]));
            }
        }
        let mut others = Vec::new();
        for _ in 0..7 {
            assert_eq!(table.next_missing(true, 8), [30, 70]);
            others.extend(table.next_missing(false, 14));
        }
        others.sort_unstable();
        let expected = (0..100_u32).filter(|number| ![30, 70].contains(number));
        assert_eq!(others, expected.collect::<Vec<_>>());
        // One at a time, they take turns.
        let one = [0; 4].map(|_: u32| table.next_missing(true, 1)[0]);
        assert_eq!(one, [30, 70, 30, 70]);
        // One that the kernel knows has no turn.
        table.get_mut(30).expect("a hop").is_listed = true;
        assert_eq!(table.next_missing(true, 8), [70]);
        assert!(HopTable::new(1).next_missing(true, 8).is_empty());
    }

    /// Temporary hops have numbers beyond the table.
    #[test]
    fn a_temporary_hop_is_not_in_the_table() {
        let mut table = HopTable::new(8);
        let number = table.add(address(1), address(200), false).expect("room");
        table.change(Some(9), Some(number));
        table.change(Some(number), Some(9));
        assert_eq!(table.add(address(2), address(200), false), Some(number));
    }
}
