//! Addresses as text, of which most were seen a moment ago.

use std::fmt::Write;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr};

use foldhash::fast::RandomState;
use wire::MacAddress;

/// Addresses whose text is kept; a power of two.
const KEPT: usize = 4096;

/// Remembers the text of the addresses that it saw last.
#[derive(Debug)]
pub struct AddressTexts {
    hasher: RandomState,
    places: Box<[AddressText]>,
}

#[derive(Clone, Debug, Default)]
struct AddressText {
    address: Option<IpAddr>,
    text: String,
}

impl Default for AddressTexts {
    fn default() -> Self {
        Self {
            hasher: RandomState::default(),
            places: vec![AddressText::default(); KEPT].into(),
        }
    }
}

impl AddressTexts {
    /// The text of `address`.
    #[inline]
    pub fn text(&mut self, address: IpAddr) -> &str {
        let hash = match address {
            IpAddr::V4(address) => self.hasher.hash_one(address.to_bits()),
            IpAddr::V6(address) => self.hasher.hash_one(address.to_bits()),
        };
        let kept = &mut self.places[hash as usize % KEPT];
        if kept.address != Some(address) {
            kept.write(address);
        }
        &kept.text
    }
}

impl AddressText {
    fn write(&mut self, address: IpAddr) {
        self.address = Some(address);
        self.text.clear();
        match address {
            IpAddr::V4(address) => push_v4(&mut self.text, address),
            // Writing to a String cannot fail.
            IpAddr::V6(address) => {
                let _ = write!(self.text, "{address}");
            }
        }
    }
}

/// As the standard library prints it, in a third of the time.
fn push_v4(text: &mut String, address: Ipv4Addr) {
    let digit = |value: u8| char::from(b'0' + value % 10);
    for (at, octet) in address.octets().into_iter().enumerate() {
        if at > 0 {
            text.push('.');
        }
        if octet >= 100 {
            text.push(digit(octet / 100));
        }
        if octet >= 10 {
            text.push(digit(octet / 10));
        }
        text.push(digit(octet));
    }
}

/// Remembers the text of the MAC address that it saw last.
#[derive(Debug, Default)]
pub struct MacText {
    address: MacAddress,
    text: String,
}

impl MacText {
    /// The text of `address`, such as `02:00:00:00:00:01`.
    #[inline]
    pub fn text(&mut self, address: MacAddress) -> &str {
        if self.address != address || self.text.is_empty() {
            self.write(address);
        }
        &self.text
    }

    fn write(&mut self, address: MacAddress) {
        let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value & 15)]);
        self.address = address;
        self.text.clear();
        for (at, byte) in address.0.into_iter().enumerate() {
            if at > 0 {
                self.text.push(':');
            }
            self.text.push(digit(byte >> 4));
            self.text.push(digit(byte));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_standard_library() {
        let mut texts = AddressTexts::default();
        let addresses = [
            "0.0.0.0",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:255.255.255.255",
            "2001:db8:1111:2222:3333:4444:5555:6666",
        ];
        // More addresses than are kept, and each twice.
        for number in 0..3 * KEPT as u32 {
            let address = IpAddr::from(number.wrapping_mul(0x9E37_79B9).to_be_bytes());
            for _ in 0..2 {
                assert_eq!(texts.text(address), address.to_string());
            }
        }
        for address in addresses {
            assert_eq!(texts.text(address.parse().expect("an address")), address);
        }
    }

    #[test]
    fn a_mac_address_is_shown_as_elsewhere() {
        let mut text = MacText::default();
        for last in [0, 0xff, 0xff, 0x1e] {
            for address in [
                MacAddress([0; 6]),
                MacAddress([0x02, 0, 0xab, 0xcd, 0xef, last]),
            ] {
                assert_eq!(text.text(address), address.to_string());
            }
        }
    }
}
