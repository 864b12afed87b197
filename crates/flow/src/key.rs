//! The key of a flow, the same for both directions, and its hash.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::flow::FlowEnd;

/// Addresses, ports, protocol and IP version, with the lower end first.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub(crate) struct FlowKey([u64; 5]);

/// Without the call of memcmp(3) that the derived comparison is.
impl PartialEq for FlowKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let words = self.0.iter().zip(&other.0);
        words.fold(0, |differences, (one, other)| differences | (one ^ other)) == 0
    }
}

/// Random numbers that an attacker does not know.
pub(crate) type Seed = [u64; 6];

impl FlowKey {
    /// The key of no flow: its version and protocol are none.
    pub(crate) const NONE: Self = Self([u64::MAX; 5]);

    /// The key, and whether the source is the higher end.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what it returns stays in registers only then"
    )]
    pub(crate) fn new(
        version: u8,
        [source, destination]: [u128; 2],
        ports: [u16; 2],
        protocol: u8,
    ) -> (Self, bool) {
        let is_swapped = (source, ports[0]) > (destination, ports[1]);
        let (low, high, [low_port, high_port]) = if is_swapped {
            (destination, source, [ports[1], ports[0]])
        } else {
            (source, destination, ports)
        };
        let last = u64::from(low_port) << 32
            | u64::from(high_port) << 16
            | u64::from(version) << 8
            | u64::from(protocol);
        let words = [
            (low >> 64) as u64,
            low as u64,
            (high >> 64) as u64,
            high as u64,
            last,
        ];
        (Self(words), is_swapped)
    }

    /// The lower and the higher end.
    pub(crate) fn ends(&self) -> [FlowEnd; 2] {
        let [a, b, c, d, last] = self.0;
        let is_v4 = last >> 8 & 0xff == 4;
        let address = |high: u64, low: u64| -> IpAddr {
            if is_v4 {
                Ipv4Addr::from_bits(low as u32).into()
            } else {
                Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)).into()
            }
        };
        [
            FlowEnd {
                address: address(a, b),
                port: (last >> 32) as u16,
            },
            FlowEnd {
                address: address(c, d),
                port: (last >> 16) as u16,
            },
        ]
    }

    pub(crate) fn protocol(&self) -> u8 {
        self.0[4] as u8
    }

    /// A hash of which nobody can find collisions without the seed: each factor of a product is masked with a secret.
    #[inline]
    pub(crate) fn hash(&self, seed: &Seed) -> u64 {
        let words = &self.0;
        let ends = fold(words[0] ^ seed[0], words[1] ^ seed[1])
            .wrapping_add(fold(words[2] ^ seed[2], words[3] ^ seed[3]));
        fold(ends ^ seed[4], words[4] ^ seed[5])
    }
}

/// Both halves of the product.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}
