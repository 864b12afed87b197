//! The values of a field: what was written, and one value after the other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Items of a list at most.
const MAX_ITEMS: usize = 4096;

/// Text that does not describe the values of a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{item}' {reason}")]
#[non_exhaustive]
pub struct ValuesError {
    /// The part that is wrong.
    pub item: String,
    /// What is wrong with it, and what to write instead.
    pub reason: &'static str,
}

/// Ranges of numbers, in order or at random.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values {
    /// First and last value of each range. There is at least one, and none is empty.
    ranges: Vec<(u128, u128)>,
    pub is_random: bool,
}

impl Values {
    pub fn single(value: u128) -> Self {
        Self {
            ranges: vec![(value, value)],
            is_random: false,
        }
    }

    /// Parses `[random:]ITEM[,ITEM…]`.
    fn parse(
        text: &str,
        item: impl Fn(&str) -> Result<(u128, u128), &'static str>,
    ) -> Result<Self, ValuesError> {
        let wrong = |item: &str, reason| ValuesError {
            item: item.to_owned(),
            reason,
        };
        let (list, is_random) = match text.strip_prefix("random:") {
            Some(list) => (list, true),
            None => (text, false),
        };
        let mut ranges = Vec::new();
        for text in list.split(',') {
            if ranges.len() == MAX_ITEMS {
                return Err(wrong(text, "is too much: a list has at most 4096 items"));
            }
            let (first, last) = item(text).map_err(|reason| wrong(text, reason))?;
            if first > last {
                return Err(wrong(
                    text,
                    "is an empty range: write the lower value first",
                ));
            }
            ranges.push((first, last));
        }
        Ok(Self { ranges, is_random })
    }

    /// Number of values; of all IPv6 addresses, one less than there are.
    pub fn count(&self) -> u128 {
        let counts = self
            .ranges
            .iter()
            .map(|(first, last)| (last - first).saturating_add(1));
        counts.fold(0, u128::saturating_add)
    }

    pub fn first(&self) -> u128 {
        self.ranges[0].0
    }

    pub fn contains(&self, value: u128) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&value))
    }

    fn bounds(&self) -> (u128, u128) {
        let least = self.ranges.iter().map(|range| range.0).min();
        let most = self.ranges.iter().map(|range| range.1).max();
        (least.unwrap_or(0), most.unwrap_or(0))
    }

    /// Value number `index`, which is below the count.
    fn get(&self, mut index: u128) -> u128 {
        for (first, last) in &self.ranges {
            let count = (last - first).saturating_add(1);
            if index < count {
                return first + index;
            }
            index -= count;
        }
        self.first()
    }

    /// The values in order, from the first.
    pub fn cursor(self) -> Cursor {
        Cursor {
            value: self.first(),
            range: 0,
            count: self.count(),
            values: self,
        }
    }
}

/// A position among the values of a field.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    values: Values,
    range: usize,
    value: u128,
    count: u128,
}

impl Cursor {
    #[inline]
    pub fn value(&self) -> u128 {
        self.value
    }

    /// Whether values are drawn at random instead of taken in order.
    #[inline]
    pub fn is_random(&self) -> bool {
        self.values.is_random
    }

    pub fn count(&self) -> u128 {
        self.count
    }

    /// Goes to the next value. Returns whether that is the first one again.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if self.value < self.values.ranges[self.range].1 {
            self.value += 1;
            return false;
        }
        self.range += 1;
        if self.range == self.values.ranges.len() {
            self.reset();
            return true;
        }
        self.value = self.values.ranges[self.range].0;
        false
    }

    /// Goes to the first value.
    #[inline]
    pub fn reset(&mut self) {
        self.range = 0;
        self.value = self.values.first();
    }

    /// Goes to the value that a random number selects.
    #[inline]
    pub fn draw(&mut self, random: Random) {
        let number = u128::from(random.number());
        let index = if let Ok(count) = u64::try_from(self.count) {
            // The high half of the product is evenly distributed below the count.
            (number * u128::from(count)) >> 64
        } else {
            (number << 64 | u128::from(random.next().number())) % self.count
        };
        self.value = self.values.get(index);
    }
}

/// A random number that follows from a seed: `SplitMix64`.
///
/// # Source
/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014, figure 17.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

/// The increment of the state: odd, from the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// Number `index` of the sequence number `stream` of `seed`.
    #[inline]
    pub fn at(seed: u64, stream: u64, index: u64) -> Self {
        let start = Self(seed.wrapping_add(stream.wrapping_mul(GAMMA))).number();
        Self(start.wrapping_add(index.wrapping_mul(GAMMA)))
    }

    fn next(self) -> Self {
        Self(self.0.wrapping_add(GAMMA))
    }

    #[inline]
    pub fn number(self) -> u64 {
        let mut mixed = self.0.wrapping_add(GAMMA);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// IPv4 or IPv6 addresses: `[random:]ITEM[,ITEM…]`, where an item is an address, a range `10.0.0.1-10.0.0.9` or a
/// network `10.0.0.0/24`, of which all addresses are taken.
///
/// ```
/// use tapline::send::Addresses;
///
/// let addresses: Addresses = "10.0.0.0/24,10.9.0.1-10.9.0.4".parse()?;
/// assert_eq!((addresses.count(), addresses.is_ipv6()), (260, false));
/// # Ok::<(), tapline::send::ValuesError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub(super) values: Values,
    is_ipv6: bool,
}

impl Addresses {
    /// Number of addresses.
    pub fn count(&self) -> u128 {
        self.values.count()
    }

    /// Whether they are IPv6 addresses.
    pub fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// Whether `address` is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.is_ipv6 == address.is_ipv6() && self.values.contains(bits(address))
    }

    /// The first address.
    pub fn first(&self) -> IpAddr {
        let first = self.values.first();
        if self.is_ipv6 {
            Ipv6Addr::from_bits(first).into()
        } else {
            Ipv4Addr::from_bits(first as u32).into()
        }
    }
}

impl From<IpAddr> for Addresses {
    fn from(address: IpAddr) -> Self {
        Self {
            values: Values::single(bits(address)),
            is_ipv6: address.is_ipv6(),
        }
    }
}

impl FromStr for Addresses {
    type Err = ValuesError;

    fn from_str(text: &str) -> Result<Self, ValuesError> {
        let list = text.strip_prefix("random:").unwrap_or(text);
        let is_ipv6 = list.contains(':');
        let address = |text: &str| {
            let address: IpAddr = (text.parse())
                .map_err(|_| "is not an address: use A, A-B, A/LENGTH or a list with commas")?;
            if address.is_ipv6() == is_ipv6 {
                Ok(bits(address))
            } else {
                Err("is of another family than the other addresses")
            }
        };
        let values = Values::parse(text, |item| {
            if let Some((base, length)) = item.split_once('/') {
                let base = address(base)?;
                let most: u32 = if is_ipv6 { 128 } else { 32 };
                let host_bits = (length.parse().ok())
                    .and_then(|length| most.checked_sub(length))
                    .ok_or("has no prefix length: use 0 to 32, or 0 to 128 for IPv6")?;
                let hosts = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
                return Ok((base & !hosts, base | hosts));
            }
            match item.split_once('-') {
                Some((first, last)) => Ok((address(first)?, address(last)?)),
                None => address(item).map(|value| (value, value)),
            }
        })?;
        Ok(Self { values, is_ipv6 })
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Parses a number up to `most`, or a range of them.
fn numbers(item: &str, most: u128, reason: &'static str) -> Result<(u128, u128), &'static str> {
    let number = |text: &str| {
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: Option<u128> = text.parse().ok().filter(|_| is_digits);
        number.filter(|number| *number <= most).ok_or(reason)
    };
    match item.split_once('-') {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => number(item).map(|value| (value, value)),
    }
}

/// Ports: `[random:]ITEM[,ITEM…]`, where an item is a port or a range `1024-65535`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(pub(super) Values);

impl Ports {
    /// Number of ports.
    pub fn count(&self) -> u128 {
        self.0.count()
    }
}

impl From<u16> for Ports {
    fn from(port: u16) -> Self {
        Self(Values::single(port.into()))
    }
}

impl FromStr for Ports {
    type Err = ValuesError;

    fn from_str(text: &str) -> Result<Self, ValuesError> {
        let reason = "is not a port: use N, N-M or a list with commas, of 0 to 65535";
        let most = u16::MAX.into();
        Values::parse(text, |item| numbers(item, most, reason)).map(Self)
    }
}

/// Lengths of frames in bytes: `imix`, or `[random:]ITEM[,ITEM…]`, where an item is a length or a range `64-1518`.
///
/// A length counts what the capture of the frame has: from the Ethernet header to the end of the payload, with tags and
/// tunnel headers, without the FCS (4 bytes).
///
/// `imix` repeats seven frames of 60 bytes, four of 590 and one of 1514, evenly mixed. With the FCS these are 64, 594
/// and 1518 bytes, the "simple IMIX".
///
/// # Source
/// RFC 6985 for the purpose of a mix; the simple IMIX is 7:4:1 of IP packets of 40, 576 and 1500 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub(super) SizeValues);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SizeValues {
    Imix,
    Values(Values),
}

/// The repeated lengths of `imix`.
pub(super) const IMIX: [u16; 12] = [60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 60, 590];

/// The longest frame: an IPv4 packet of 65535 bytes with its Ethernet header.
const MAX_SIZE: u128 = 65_535 + 14;

impl Sizes {
    pub(super) fn single(bytes: usize) -> Self {
        Self(SizeValues::Values(Values::single(bytes as u128)))
    }

    pub(super) fn is_imix(&self) -> bool {
        self.0 == SizeValues::Imix
    }

    /// The smallest and the largest length.
    pub fn bounds(&self) -> (usize, usize) {
        match &self.0 {
            SizeValues::Imix => (60, 1514),
            SizeValues::Values(values) => {
                let (least, most) = values.bounds();
                (least as usize, most as usize)
            }
        }
    }
}

impl From<u16> for Sizes {
    fn from(bytes: u16) -> Self {
        Self::single(bytes.into())
    }
}

impl FromStr for Sizes {
    type Err = ValuesError;

    fn from_str(text: &str) -> Result<Self, ValuesError> {
        if text == "imix" {
            return Ok(Self(SizeValues::Imix));
        }
        let reason =
            "is not a length: use imix, N, N-M or a list with commas, of at most 65549 bytes";
        let values = Values::parse(text, |item| numbers(item, MAX_SIZE, reason))?;
        Ok(Self(SizeValues::Values(values)))
    }
}
