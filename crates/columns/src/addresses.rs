//! Addresses as text, of which most were seen a moment ago.

use std::fmt::Write;
use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use wire::MacAddress;

/// Addresses whose text is kept; a power of two.
const KEPT: usize = 4096;

/// Longest text of an IP address: of IPv6 with an IPv4 address at the end.
const IP_TEXT: usize = 45;

/// Remembers the text of the addresses that it saw last.
#[derive(Debug)]
pub struct AddressTexts {
    hasher: RandomState,
    places: Box<[Option<AddressText>]>,
}

#[derive(Clone, Copy, Debug)]
struct AddressText {
    address: IpAddr,
    text: [u8; IP_TEXT],
    len: u8,
}

impl Default for AddressTexts {
    fn default() -> Self {
        Self {
            hasher: RandomState::default(),
            places: vec![None; KEPT].into(),
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
        let place = &mut self.places[hash as usize % KEPT];
        if place.is_none_or(|kept| kept.address != address) {
            *place = None;
        }
        let kept = place.get_or_insert_with(|| AddressText::new(address));
        std::str::from_utf8(&kept.text[..usize::from(kept.len)]).unwrap_or_default()
    }
}

impl AddressText {
    fn new(address: IpAddr) -> Self {
        let mut text = TextBuffer {
            bytes: [0; IP_TEXT],
            len: 0,
        };
        // It fits.
        let _ = write!(text, "{address}");
        Self {
            address,
            text: text.bytes,
            len: text.len as u8,
        }
    }
}

/// Text of limited length.
struct TextBuffer {
    bytes: [u8; IP_TEXT],
    len: usize,
}

impl Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let free = self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        free.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Hands the text of a MAC address, such as `02:00:00:00:00:01`, to `use_text`.
#[inline]
pub fn with_mac(address: MacAddress, use_text: impl FnOnce(&str)) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b':'; 17];
    for (at, byte) in address.0.into_iter().enumerate() {
        text[3 * at] = DIGITS[usize::from(byte >> 4)];
        text[3 * at + 1] = DIGITS[usize::from(byte & 15)];
    }
    use_text(std::str::from_utf8(&text).unwrap_or_default());
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
        let address = MacAddress([0x02, 0, 0xab, 0xcd, 0xef, 0xff]);
        let mut shown = String::new();
        with_mac(address, |text| shown.push_str(text));
        assert_eq!(shown, address.to_string());
    }
}
