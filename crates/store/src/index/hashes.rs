//! Sets that are filled with each packet.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};

use abi::prefetch::prefetch_value;

/// Fewest places of a set.
const PLACES_MIN: usize = 1 << 10;

/// Room that a set keeps for numbers that are added together.
const ROOM: usize = 128;

/// Numbers that strangers do not know.
fn random<const N: usize>() -> [u64; N] {
    [(); N].map(|()| RandomState::new().hash_one(0))
}

/// Both halves of the product in one word.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Makes identities of flows and addresses: keyed hashes that differ for different flows and addresses, and are never 0.
///
/// An attacker can choose flows or addresses with the same hash in the index. Identities contain random numbers, which nobody
/// else knows. A flow with the identity of another one would be taken for it, and its keys would be missing in the index.
pub(super) struct Identities {
    random: [u64; 6],
}

impl Default for Identities {
    fn default() -> Self {
        Self { random: random() }
    }
}

impl Identities {
    /// The identity of a flow: the same in both directions.
    #[inline]
    pub(super) fn of(&self, addresses: [IpAddr; 2], ports: [u16; 2]) -> u64 {
        match addresses {
            [IpAddr::V4(a), IpAddr::V4(b)] => self.of_ipv4([a, b].map(Ipv4Addr::to_bits), ports),
            [a, b] => {
                let [a, b] = [a, b].map(bits_of);
                let (low, high) = (a.min(b), a.max(b));
                let words = [low >> 64, low, high >> 64, high].map(|word| word as u64);
                let [first, by_ports, by_addresses @ ..] = &self.random;
                // Another word than that of any two ports of IPv4.
                let state = fold(first ^ (in_order(ports) | 1 << 32), *by_ports);
                let words = words.into_iter().zip(by_addresses);
                let identity =
                    words.fold(state, |state, (word, random)| fold(state ^ word, *random));
                identity.max(1)
            }
        }
    }

    /// As [`Self::of`], for a flow of IPv4.
    #[inline]
    pub(super) fn of_ipv4(&self, [a, b]: [u32; 2], ports: [u16; 2]) -> u64 {
        let [first, by_ports, by_addresses, ..] = self.random;
        let both = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        fold(fold(first ^ in_order(ports), by_ports) ^ both, by_addresses).max(1)
    }

    /// The identity of the address with this number.
    #[inline]
    fn of_address(&self, address: u64) -> u64 {
        self.place_of(address).max(1)
    }

    /// The place of the address with this number. It can be 0.
    #[inline]
    fn place_of(&self, address: u64) -> u64 {
        let [first, second, ..] = self.random;
        fold(address ^ first, second)
    }
}

/// Two ports in one number: the same in both directions.
#[inline]
fn in_order([a, b]: [u16; 2]) -> u64 {
    u64::from(a.min(b)) << 16 | u64::from(a.max(b))
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// A set of numbers other than 0, each in the first free place from its own.
#[derive(Default)]
pub(super) struct NumberSet<T> {
    /// A power of two, at least half of them 0: free. None at first.
    places: Vec<T>,
    count: usize,
}

/// A set of identities, which are their own places.
pub(super) type IdentitySet = NumberSet<u64>;

impl IdentitySet {
    /// Adds an identity. Returns false if the set had it.
    #[inline]
    pub(super) fn insert(&mut self, identity: u64) -> bool {
        self.insert_by(identity, |identity| identity)
    }

    /// Has the CPU fetch the place of an identity that is about to be added.
    #[inline]
    pub(super) fn prefetch(&self, identity: u64) {
        self.prefetch_place(identity);
    }
}

impl<T: Copy + Default + PartialEq> NumberSet<T> {
    /// Adds a number, whose place is the last bits of `place_of` it. Returns false if the set had it.
    #[inline]
    fn insert_by(&mut self, number: T, place_of: impl Fn(T) -> u64 + Copy) -> bool {
        self.make_room(1, place_of);
        let is_new = insert_into(&mut self.places, number, place_of(number));
        self.count += usize::from(is_new);
        is_new
    }

    /// Makes room for `count` more numbers, so that half of the places stay free.
    #[inline]
    fn make_room(&mut self, count: usize, place_of: impl Fn(T) -> u64 + Copy) {
        while 2 * (self.count + count) > self.places.len() {
            self.grow(place_of);
        }
    }

    #[inline]
    fn prefetch_place(&self, place: u64) {
        let mask = self.places.len().wrapping_sub(1);
        if let Some(place) = self.places.get(place as usize & mask) {
            prefetch_value(place);
        }
    }

    #[cold]
    fn grow(&mut self, place_of: impl Fn(T) -> u64 + Copy) {
        let length = (2 * self.places.len()).max(PLACES_MIN);
        let places = std::mem::replace(&mut self.places, vec![T::default(); length]);
        self.count = 0;
        for number in places {
            if number != T::default() {
                self.insert_by(number, place_of);
            }
        }
    }

    /// Removes all numbers. If most places were not used, half of them go, because every extent has to clear them.
    pub(super) fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        let used = 2 * (self.count + ROOM);
        let used = used.next_power_of_two().max(PLACES_MIN);
        self.places.truncate(used.max(self.places.len() / 2));
        self.places.fill(T::default());
        self.count = 0;
    }
}

/// Puts a number into the first free place from `place`. Returns false if it was there. Some of the `places` must be free.
#[inline]
fn insert_into<T: Copy + Default + PartialEq>(places: &mut [T], number: T, place: u64) -> bool {
    let mask = places.len() - 1;
    let mut at = place as usize & mask;
    loop {
        let found = places[at];
        if found == number {
            return false;
        }
        if found == T::default() {
            places[at] = number;
            return true;
        }
        at = (at + 1) & mask;
    }
}

/// A set of addresses, as [numbers](super::keys::word_of).
///
/// Numbers of IPv4 have 32 bits. They are stored as they are, because a cache line has room for twice as many as of identities.
#[derive(Default)]
pub(super) struct AddressSet {
    identities: Identities,
    /// Numbers of 32 bits, without 0.
    short: NumberSet<u32>,
    has_zero: bool,
    /// Identities of all others.
    long: IdentitySet,
}

impl AddressSet {
    /// Adds an address. Returns false if the set had it.
    #[inline]
    pub(super) fn insert(&mut self, address: u64) -> bool {
        let identities = &self.identities;
        match u32::try_from(address) {
            Ok(0) => !std::mem::replace(&mut self.has_zero, true),
            Ok(short) => {
                let place_of = |number: u32| identities.place_of(u64::from(number));
                self.short.insert_by(short, place_of)
            }
            Err(_) => self.long.insert(identities.of_address(address)),
        }
    }

    /// Adds addresses of IPv4, and calls `added` for each that the set did not have.
    #[inline]
    pub(super) fn insert_ipv4(&mut self, addresses: &[u32], mut added: impl FnMut(u32)) {
        let identities = &self.identities;
        let place_of = |number: u32| identities.place_of(u64::from(number));
        self.short.make_room(addresses.len(), place_of);
        let places = self.short.places.as_mut_slice();
        let mut count = 0;
        for &address in addresses {
            let is_new = if address == 0 {
                !std::mem::replace(&mut self.has_zero, true)
            } else {
                let is_new = insert_into(places, address, place_of(address));
                count += usize::from(is_new);
                is_new
            };
            if is_new {
                added(address);
            }
        }
        self.short.count += count;
    }

    /// Has the CPU fetch the place of an address that is about to be added.
    #[inline]
    pub(super) fn prefetch(&self, address: u64) {
        match u32::try_from(address) {
            Ok(short) => self.prefetch_ipv4(short),
            Err(_) => self.long.prefetch(self.identities.of_address(address)),
        }
    }

    /// As [`Self::prefetch`], for an address of IPv4.
    #[inline]
    pub(super) fn prefetch_ipv4(&self, address: u32) {
        let place = self.identities.place_of(u64::from(address));
        self.short.prefetch_place(place);
    }

    /// Removes all addresses.
    pub(super) fn clear(&mut self) {
        self.short.clear();
        self.has_zero = false;
        self.long.clear();
    }
}

/// Port numbers: a bit for each.
pub(super) struct Ports {
    bits: Box<[u64; 1 << 10]>,
    count: usize,
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            bits: Box::new([0; 1 << 10]),
            count: 0,
        }
    }
}

impl Ports {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn insert(&mut self, port: u16) {
        let word = &mut self.bits[usize::from(port >> 6)];
        let bit = 1 << (port & 63);
        self.count += usize::from(*word & bit == 0);
        *word |= bit;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..=u16::MAX).filter(|port| self.bits[usize::from(port >> 6)] >> (port & 63) & 1 != 0)
    }

    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::fuse::mix;
    use super::*;

    /// How far identities are from their places, on average.
    fn distance(set: &IdentitySet) -> f64 {
        let mask = set.places.len() - 1;
        let places = set.places.iter().enumerate();
        let far = places.filter(|(_, identity)| **identity != 0);
        let far = far.map(|(at, &identity)| at.wrapping_sub(identity as usize) & mask);
        far.sum::<usize>() as f64 / set.count as f64
    }

    #[test]
    fn a_flow_has_one_identity_in_both_directions_and_no_other_has_it() {
        let (identities, others) = (Identities::default(), Identities::default());
        let addresses = [
            "10.0.0.1", "10.0.0.2", "::1", "fd00::1", "fd00::2", "fd01::1",
        ];
        let addresses = addresses.map(|text| text.parse::<IpAddr>().expect("an address"));
        let mut seen = BTreeSet::new();
        for (at, &a) in addresses.iter().enumerate() {
            for &b in &addresses[at..] {
                for (low, high) in [(0, 0), (0, 1), (1, 1), (53, 1024), (54, 1023)] {
                    let identity = identities.of([a, b], [low, high]);
                    assert!(seen.insert(identity), "{a} {b} {low} {high}");
                    for again in [
                        identities.of([b, a], [high, low]),
                        identities.of([a, b], [high, low]),
                    ] {
                        assert_eq!(again, identity, "{a} {b} {low} {high}");
                    }
                    assert_ne!(others.of([a, b], [low, high]), identity);
                }
            }
        }
    }

    #[test]
    fn addresses_that_somebody_chose_do_not_share_places() {
        // Keys of which the test is known to hold: with about one in a thousand, numbers in such steps come too close.
        let identities = Identities {
            random: [1, 2, 3, 4, 5, 6].map(mix),
        };
        for shift in [0, 16, 32, 46] {
            let mut set = IdentitySet::default();
            for n in 1..=40_000 {
                assert!(set.insert(identities.of_address(n << shift)));
            }
            assert!(distance(&set) < 100.0, "{shift}: {}", distance(&set));
        }
    }

    #[test]
    fn a_set_has_what_was_added_and_shrinks_with_the_extents() {
        let (identities, mut set) = (Identities::default(), IdentitySet::default());
        for count in [3, 5000, 20_000, 10, 1] {
            // Zero is one of the addresses; the others come twice.
            let addresses = (0..count).flat_map(|n| [mix(n), mix(n), n << 32]);
            let mut expected = BTreeSet::new();
            for address in addresses {
                let identity = identities.of_address(address);
                set.prefetch(identity);
                assert_eq!(
                    set.insert(identity),
                    expected.insert(identity),
                    "{address:x}"
                );
            }
            assert_eq!(set.count, expected.len());
            let places = set.places.iter().copied();
            let added: BTreeSet<_> = places.filter(|&identity| identity != 0).collect();
            assert_eq!(added, expected);
            let half = set.places.len() / 2;
            set.clear();
            assert_eq!(set.count, 0);
            assert!(set.places.iter().all(|&place| place == 0));
            let most = (4 * expected.len()).max(PLACES_MIN).max(half);
            assert!(set.places.len() <= most, "{count}: {}", set.places.len());
        }
    }

    #[test]
    fn an_address_is_there_once_whatever_its_number() {
        let mut set = AddressSet::default();
        for count in [3, 20_000, 1] {
            let mut expected = BTreeSet::new();
            // Of 32 bits, of more, and some of both with the same last bits.
            let last = u64::from(u32::MAX);
            let edges = [0, 1, last, last + 1, last + 2, u64::MAX, 0, last];
            let some = (0..count).flat_map(|n| [n, n << 32, mix(n), mix(n) & last, n]);
            for address in some.chain(edges) {
                set.prefetch(address);
                assert_eq!(set.insert(address), expected.insert(address), "{address:x}");
            }
            // Those of IPv4 several at a time, twice as many as there are places at first.
            let several: Vec<u32> = (0..2000_u32)
                .map(|n| mix(n.into()) as u32 >> (n % 20))
                .collect();
            for part in several.chunks(500) {
                let mut added = Vec::new();
                set.insert_ipv4(part, |address| added.push(address));
                let new = part
                    .iter()
                    .filter(|&&address| expected.insert(address.into()));
                assert_eq!(added, new.copied().collect::<Vec<_>>());
            }
            set.clear();
        }
        assert!(set.insert(0) && set.insert(7) && set.insert(u64::MAX));
    }

    #[test]
    fn a_port_is_there_once() {
        let mut ports = Ports::default();
        let some = [0, 1, 63, 64, 443, 65_535, 443, 0];
        for port in some {
            ports.insert(port);
        }
        assert_eq!(
            ports.iter().collect::<Vec<_>>(),
            [0, 1, 63, 64, 443, 65_535]
        );
        assert_eq!(ports.len(), 6);
        ports.clear();
        assert_eq!((ports.len(), ports.iter().next()), (0, None));
    }
}
