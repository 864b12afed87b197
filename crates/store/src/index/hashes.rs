//! Sets of keys that are filled with each packet.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};

use abi::prefetch::prefetch_value;

/// Fewest places of a set.
const PLACES_MIN: usize = 1 << 10;

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

/// Numbers for flows: the same for both directions of a flow, and different for different ones.
///
/// Random numbers go into them: strangers can choose flows with the same hash in the index, but not with the same identity. A
/// flow with the identity of another one would be taken for it, and its addresses and ports would be missing in the index.
pub(super) struct FlowIdentities {
    random: [u64; 6],
}

impl Default for FlowIdentities {
    fn default() -> Self {
        Self { random: random() }
    }
}

impl FlowIdentities {
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
                words.fold(state, |state, (word, random)| fold(state ^ word, *random))
            }
        }
    }

    #[inline]
    pub(super) fn of_ipv4(&self, [a, b]: [u32; 2], ports: [u16; 2]) -> u64 {
        let [first, by_ports, by_addresses, ..] = self.random;
        let both = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        fold(fold(first ^ in_order(ports), by_ports) ^ both, by_addresses)
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

/// Hashes, each in the first free place from its own.
///
/// Strangers choose the hashes, by their addresses. So random numbers choose the places: strangers cannot fill neighbouring ones,
/// which would be searched one by one.
pub(super) struct Hashes {
    random: [u64; 2],
    /// A power of two, at least half of them 0: free.
    places: Vec<u64>,
    count: usize,
    /// The hash 0, which no place can have.
    has_zero: bool,
}

impl Default for Hashes {
    fn default() -> Self {
        Self {
            random: random(),
            places: Vec::new(),
            count: 0,
            has_zero: false,
        }
    }
}

impl Hashes {
    pub(super) fn len(&self) -> usize {
        self.count + usize::from(self.has_zero)
    }

    /// Adds a hash. Returns false if the set had it.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64) -> bool {
        if hash == 0 {
            return !std::mem::replace(&mut self.has_zero, true);
        }
        if 2 * self.count >= self.places.len() {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut at = self.place(hash);
        // Ends: half of the places are free.
        loop {
            match self.places[at] {
                0 => {
                    self.places[at] = hash;
                    self.count += 1;
                    return true;
                }
                found if found == hash => return false,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The first place to look at, if there are places.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let [first, second] = self.random;
        fold(hash ^ first, second) as usize & (self.places.len() - 1)
    }

    /// Has the processor fetch the places of hashes that are about to be added.
    #[inline]
    pub(super) fn prefetch(&self, hashes: impl Iterator<Item = u64>) {
        if self.places.is_empty() {
            return;
        }
        for hash in hashes {
            if let Some(place) = self.places.get(self.place(hash)) {
                prefetch_value(place);
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let length = (2 * self.places.len()).max(PLACES_MIN);
        let places = std::mem::replace(&mut self.places, vec![0; length]);
        self.count = 0;
        for hash in places.into_iter().filter(|&hash| hash != 0) {
            self.insert(hash);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let zero = self.has_zero.then_some(0);
        let others = self.places.iter().copied().filter(|&hash| hash != 0);
        zero.into_iter().chain(others)
    }

    /// Removes all. The memory stays.
    pub(super) fn clear(&mut self) {
        self.places.fill(0);
        self.count = 0;
        self.has_zero = false;
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

    /// How far hashes are from their places, on average.
    fn distance(hashes: &Hashes) -> f64 {
        let mask = hashes.places.len() - 1;
        let places = hashes.places.iter().enumerate();
        let far = places.filter(|(_, hash)| **hash != 0);
        let far = far.map(|(at, &hash)| at.wrapping_sub(hashes.place(hash)) & mask);
        far.sum::<usize>() as f64 / hashes.count as f64
    }

    #[test]
    fn a_flow_has_one_identity_in_both_directions_and_no_other_has_it() {
        let (identities, others) = (FlowIdentities::default(), FlowIdentities::default());
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
    fn hashes_that_somebody_chose_do_not_share_places() {
        for shift in [0, 16, 32, 46] {
            let mut hashes = Hashes::default();
            for n in 1..=40_000 {
                hashes.insert(n << shift);
            }
            assert!(distance(&hashes) < 100.0, "{shift}: {}", distance(&hashes));
        }
    }

    #[test]
    fn a_set_has_what_was_added() {
        let mut hashes = Hashes::default();
        for count in [3, 5000, 20_000, 10] {
            // Zero is one of them; the others come twice, and hashes that share their place, too.
            let added = (0..count).flat_map(|n| [mix(n), mix(n), n << 32]);
            let mut expected = BTreeSet::new();
            for hash in added {
                assert_eq!(hashes.insert(hash), expected.insert(hash), "{hash:x}");
            }
            assert_eq!(hashes.len(), expected.len());
            assert_eq!(hashes.iter().collect::<BTreeSet<_>>(), expected);
            hashes.clear();
            assert_eq!((hashes.len(), hashes.iter().count()), (0, 0));
        }
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
