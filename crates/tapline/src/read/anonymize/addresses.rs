//! Addresses replaced by others that depend on a key.

use std::collections::HashMap;
use std::fmt;

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use rustix::rand::{GetRandomFlags, getrandom};
use thiserror::Error;

/// Addresses of a kind whose replacements are remembered. When there are more, all are computed again.
const REMEMBERED_MAX: usize = 1 << 16;

/// A secret from which the addresses of an anonymized copy are computed. Copies with the same key can be compared.
#[derive(Clone)]
pub struct AnonymizationKey([u8; 32]);

/// Text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it is not a key of 64 hexadecimal digits: make one with 'openssl rand -hex 32'")]
#[non_exhaustive]
pub struct AnonymizationKeyError;

impl AnonymizationKey {
    /// A key of random bytes.
    ///
    /// # Errors
    /// That of getrandom(2).
    pub fn random() -> std::io::Result<Self> {
        let mut key = [0; 32];
        getrandom(&mut key, GetRandomFlags::empty())?;
        Ok(Self(key))
    }

    /// A key of these bytes, as programs for Crypto-PAn use it.
    pub fn from_bytes(key: [u8; 32]) -> Self {
        Self(key)
    }
}

impl std::str::FromStr for AnonymizationKey {
    type Err = AnonymizationKeyError;

    /// Reads 64 hexadecimal digits, with white space around them.
    fn from_str(text: &str) -> Result<Self, AnonymizationKeyError> {
        let (pairs, rest) = text.trim().as_bytes().as_chunks::<2>();
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let byte = |&[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let key = bytes.and_then(|bytes| bytes.try_into().ok());
        match key {
            Some(key) if rest.is_empty() => Ok(Self(key)),
            _ => Err(AnonymizationKeyError),
        }
    }
}

impl fmt::Debug for AnonymizationKey {
    /// The key is secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AnonymizationKey")
    }
}

/// Replaces IPv4 and IPv6 addresses as Crypto-PAn does, and MAC addresses. Remembers the last ones.
///
/// Two addresses that share a prefix of any length share one of the same length afterwards. All zeros and the
/// broadcast address stay, because protocols give them a meaning.
///
/// # Source
/// J. Xu, J. Fan, M. Ammar, S. Moon: Prefix-Preserving IP Address Anonymization, ICNP 2002.
pub(super) struct Addresses {
    cipher: Aes128,
    /// What follows the prefix of an address in a block.
    padding: u128,
    ipv4: HashMap<u32, u32>,
    ipv6: HashMap<u128, u128>,
    macs: HashMap<[u8; 6], [u8; 6]>,
}

impl Addresses {
    pub(super) fn new(key: &AnonymizationKey) -> Self {
        let (halves, _) = key.0.as_chunks::<16>();
        let cipher = Aes128::new(&Array(halves[0]));
        let padding = encrypt(&cipher, u128::from_be_bytes(halves[1]));
        Self {
            cipher,
            padding,
            ipv4: HashMap::new(),
            ipv6: HashMap::new(),
            macs: HashMap::new(),
        }
    }

    pub(super) fn ipv4(&mut self, address: u32) -> u32 {
        if address == 0 || address == u32::MAX {
            return address;
        }
        let (cipher, padding) = (&self.cipher, self.padding);
        *room(&mut self.ipv4).entry(address).or_insert_with(|| {
            let new = prefix_preserving::<32>(cipher, padding, u128::from(address) << 96);
            (new >> 96) as u32
        })
    }

    pub(super) fn ipv6(&mut self, address: u128) -> u128 {
        if address == 0 {
            return address;
        }
        let (cipher, padding) = (&self.cipher, self.padding);
        *room(&mut self.ipv6)
            .entry(address)
            .or_insert_with(|| prefix_preserving::<128>(cipher, padding, address))
    }

    /// The bits for groups and for local administration stay, and so do addresses of standard groups. Those of IP
    /// groups keep their prefix.
    pub(super) fn mac(&mut self, address: [u8; 6]) -> [u8; 6] {
        let kept = match address {
            [0, 0, 0, 0, 0, 0]
            | [0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
            // Groups of bridges and of link-layer protocols.
            | [0x01, 0x80, 0xc2, 0, 0, _]
            | [0x01, 0x00, 0x0c, 0xcc, 0xcc, _] => return address,
            [0x01, 0x00, 0x5e, ..] => 3,
            [0x33, 0x33, ..] => 2,
            _ => 0,
        };
        let (cipher, padding) = (&self.cipher, self.padding);
        *room(&mut self.macs).entry(address).or_insert_with(|| {
            let mut block = padding.to_be_bytes();
            block[10..].copy_from_slice(&address);
            let mut new = address;
            let bytes = encrypt(cipher, u128::from_be_bytes(block)).to_be_bytes();
            new[kept..].copy_from_slice(&bytes[kept..6]);
            if kept == 0 {
                new[0] = new[0] & !3 | address[0] & 3;
            }
            new
        })
    }
}

/// The map, emptied if it is full.
fn room<K, V>(map: &mut HashMap<K, V>) -> &mut HashMap<K, V> {
    if map.len() >= REMEMBERED_MAX {
        map.clear();
    }
    map
}

fn encrypt(cipher: &Aes128, block: u128) -> u128 {
    let mut block = Array(block.to_be_bytes());
    cipher.encrypt_block(&mut block);
    u128::from_be_bytes(block.0)
}

/// Flips each of the first `BITS` bits of `address` or not, as the bits before it and the key decide.
fn prefix_preserving<const BITS: usize>(cipher: &Aes128, padding: u128, address: u128) -> u128 {
    let mut blocks = [Array([0; 16]); BITS];
    for (bits, block) in blocks.iter_mut().enumerate() {
        let rest = u128::MAX >> bits;
        block.0 = (address & !rest | padding & rest).to_be_bytes();
    }
    cipher.encrypt_blocks(&mut blocks);
    let flips = blocks.iter().enumerate();
    flips.fold(address, |address, (bit, block)| {
        address ^ u128::from(block.0[0] >> 7) << (127 - bit)
    })
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    /// The key of the reference implementation's sample.
    const KEY: [u8; 32] = [
        21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131,
        121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
    ];

    fn addresses() -> Addresses {
        Addresses::new(&AnonymizationKey::from_bytes(KEY))
    }

    /// IPv4: the sample of the reference implementation. IPv6: what yacryptopan 1.0 and the tests of Yawning's
    /// cryptopan give.
    #[test]
    fn addresses_are_those_of_crypto_pan() {
        let mut addresses = addresses();
        for (address, new) in [
            ("128.11.68.132", "135.242.180.132"),
            ("129.118.74.4", "134.136.186.123"),
            ("130.132.252.244", "133.68.164.234"),
            ("141.223.7.43", "141.167.8.160"),
            ("141.233.145.108", "141.129.237.235"),
            ("152.163.225.39", "151.140.114.167"),
            ("192.102.249.13", "252.138.62.131"),
            ("192.41.57.43", "252.222.221.184"),
            ("24.0.250.221", "100.15.198.226"),
            ("4.3.88.225", "124.60.155.63"),
            ("63.14.55.111", "95.9.215.7"),
            ("64.39.15.238", "0.219.7.41"),
            ("10.185.25.118", "117.161.29.118"),
        ] {
            let [address, new]: [Ipv4Addr; 2] = [address, new].map(|text| text.parse().unwrap());
            // Computed, then remembered.
            for _ in 0..2 {
                let found = addresses.ipv4(address.to_bits());
                assert_eq!(Ipv4Addr::from_bits(found), new);
            }
        }
        for (address, new) in [
            ("::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"),
            ("::2", "78ff:f001:9fc0:20df:8380:b1f1:704:ef"),
            ("::ffff", "78ff:f001:9fc0:20df:8380:b1f1:704:f838"),
            ("2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"),
            ("2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c"),
            ("fe80::1", "cf7f:c0e:1fc3:da1c:70:b18e:f7f3:2101"),
        ] {
            let [address, new]: [Ipv6Addr; 2] = [address, new].map(|text| text.parse().unwrap());
            let found = addresses.ipv6(address.to_bits());
            assert_eq!(Ipv6Addr::from_bits(found), new);
        }
        assert_eq!(addresses.ipv4(0), 0);
        assert_eq!(addresses.ipv4(u32::MAX), u32::MAX);
        assert_eq!(addresses.ipv6(0), 0);
    }

    #[test]
    fn macs_keep_what_protocols_need() {
        let mut addresses = addresses();
        for (address, kept) in [
            ([0xff; 6], 6),
            ([0; 6], 6),
            ([0x01, 0x80, 0xc2, 0, 0, 0x0e], 6),
            ([0x01, 0x00, 0x5e, 1, 2, 3], 3),
            ([0x33, 0x33, 0xff, 1, 2, 3], 2),
            ([0x02, 0, 0, 0, 0, 1], 0),
        ] {
            let new = addresses.mac(address);
            assert_eq!(new[..kept], address[..kept]);
            assert_eq!(new == address, kept == 6, "{new:x?}");
            assert_eq!(new[0] & 3, address[0] & 3);
        }
    }

    #[test]
    fn keys_are_hexadecimal() {
        let text = "0123456789abcdefABCDEF0123456789".repeat(2);
        let key: AnonymizationKey = format!("{text}\n").parse().expect("a key");
        assert_eq!(key.0[..4], [0x01, 0x23, 0x45, 0x67]);
        for wrong in [
            "",
            &text[1..],
            &text.replace('A', "x"),
            &format!("{text}00"),
        ] {
            let error = wrong.parse::<AnonymizationKey>().map(|_| ());
            assert_eq!(error, Err(AnonymizationKeyError), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn common_prefixes_stay(one: u32, length in 0_u32..32, flips: u32) {
            prop_assume!(one != 0 && one != u32::MAX);
            let mut addresses = addresses();
            let other = one ^ (1 << (31 - length)) ^ (flips & ((1 << (31 - length)) - 1));
            prop_assume!(other != 0 && other != u32::MAX);
            let [one, other] = [one, other].map(|address| addresses.ipv4(address));
            prop_assert_eq!((one ^ other).leading_zeros(), length);
        }
    }
}
