//! Text that lines are appended to. Numbers and addresses are the most of a line, so they are written without the
//! machinery of `fmt`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tapline::packet::MacAddress;

/// All numbers of two digits.
const PAIRS: [[u8; 2]; 100] = pairs();
const DIGITS: &[u8; 16] = b"0123456789abcdef";

const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
}

/// Lines for the terminal. All of it is text: UTF-8.
#[derive(Clone, Debug, Default)]
pub struct Text(Vec<u8>);

impl Text {
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    pub fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// A number in decimal.
    pub fn number(&mut self, number: impl Into<u64>) {
        self.padded(number.into(), 1, b'0');
    }

    /// A number in decimal, of at least `width` digits, up to 20.
    pub fn zero_padded(&mut self, number: u64, width: usize) {
        self.padded(number, width, b'0');
    }

    /// A number in decimal, right-aligned in `width` columns, up to 20.
    pub fn right_aligned(&mut self, number: u64, width: usize) {
        self.padded(number, width, b' ');
    }

    fn padded(&mut self, mut number: u64, width: usize, fill: u8) {
        let mut digits = [fill; 20];
        let mut at = digits.len();
        while number >= 100 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
            number /= 100;
        }
        let [tens, ones] = PAIRS[number as usize];
        at -= 1;
        digits[at] = ones;
        if number >= 10 {
            at -= 1;
            digits[at] = tens;
        }
        self.0
            .extend_from_slice(&digits[at.min(20 - width.min(20))..]);
    }

    /// A number in hexadecimal, of at least `width` digits, without `0x`.
    pub fn hex(&mut self, number: u32, width: usize) {
        let significant = (u32::BITS - number.leading_zeros()).div_ceil(4).max(1) as usize;
        for digit in (0..significant.max(width)).rev() {
            let nibble = number.checked_shr(4 * digit as u32).unwrap_or(0) & 0xf;
            self.0.push(DIGITS[nibble as usize]);
        }
    }

    pub fn mac(&mut self, address: MacAddress) {
        let mut text = [b':'; 17];
        for (index, byte) in address.0.into_iter().enumerate() {
            text[3 * index] = DIGITS[usize::from(byte >> 4)];
            text[3 * index + 1] = DIGITS[usize::from(byte & 0xf)];
        }
        self.0.extend_from_slice(&text);
    }

    pub fn ip(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.ipv4(address),
            IpAddr::V6(address) => self.ipv6(address),
        }
    }

    pub fn ipv4(&mut self, address: Ipv4Addr) {
        for (index, octet) in address.octets().into_iter().enumerate() {
            if index > 0 {
                self.0.push(b'.');
            }
            self.number(octet);
        }
    }

    /// An address as RFC 5952 writes it: the longest run of zeros is `::`.
    pub fn ipv6(&mut self, address: Ipv6Addr) {
        if let Some(v4) = address.to_ipv4_mapped() {
            self.push_str("::ffff:");
            return self.ipv4(v4);
        }
        let segments = address.segments();
        let run = longest_zeros(&segments);
        let mut index = 0;
        while index < segments.len() {
            if index == run.start && !run.is_empty() {
                self.push_str("::");
                index = run.end;
                continue;
            }
            if index > 0 && index != run.end {
                self.0.push(b':');
            }
            self.hex(segments[index].into(), 1);
            index += 1;
        }
    }
}

/// The first of the longest runs of at least two zeros; empty and behind the end if there is none.
fn longest_zeros(segments: &[u16; 8]) -> std::ops::Range<usize> {
    let mut longest = 9..9;
    let mut start = 0;
    for (index, segment) in segments.iter().enumerate() {
        if *segment != 0 {
            start = index + 1;
        } else if index + 1 - start > longest.len().max(1) {
            longest = start..index + 1;
        }
    }
    longest
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn written(write: impl Fn(&mut Text)) -> String {
        let mut text = Text::default();
        write(&mut text);
        String::from_utf8(text.0).expect("text")
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_library(
            number: u64,
            shift in 0_u32..64,
            width in 0_usize..21,
            word: u32,
        ) {
            let number = number >> shift;
            prop_assert_eq!(written(|text| text.number(number)), number.to_string());
            prop_assert_eq!(
                written(|text| text.zero_padded(number, width)),
                format!("{number:0width$}")
            );
            prop_assert_eq!(
                written(|text| text.right_aligned(number, width)),
                format!("{number:width$}")
            );
            let word = word >> (shift / 2);
            let width = width % 9;
            prop_assert_eq!(written(|text| text.hex(word, width)), format!("{word:0width$x}"));
        }

        #[test]
        fn addresses_are_those_of_the_standard_library(
            segments: [u16; 8],
            zeros: u8,
            mac: [u8; 6],
        ) {
            let mut segments = segments;
            for (index, segment) in segments.iter_mut().enumerate() {
                if zeros >> index & 1 != 0 {
                    *segment = 0;
                }
            }
            let mapped = [0, 0, 0, 0, 0, 0xffff, segments[6], segments[7]];
            for segments in [segments, mapped] {
                let address = Ipv6Addr::from_segments(segments);
                prop_assert_eq!(written(|text| text.ipv6(address)), address.to_string());
            }
            let v4 = Ipv4Addr::from_bits(u32::from(segments[0]) << 16 | u32::from(segments[1]));
            prop_assert_eq!(written(|text| text.ip(v4.into())), v4.to_string());
            let mac = MacAddress(mac);
            prop_assert_eq!(written(|text| text.mac(mac)), mac.to_string());
        }
    }

    #[test]
    fn short_numbers_and_edges() {
        for number in [0, 9, 10, 99, 100, 101, u64::MAX] {
            assert_eq!(written(|text| text.number(number)), number.to_string());
        }
        assert_eq!(written(|text| text.ipv6(Ipv6Addr::UNSPECIFIED)), "::");
        assert_eq!(written(|text| text.ipv6(Ipv6Addr::LOCALHOST)), "::1");
        assert_eq!(written(|text| write!(text, "{}", 1).unwrap()), "1");
    }
}
