//! Parsing of target words.

use std::net::{IpAddr, Ipv6Addr};

use super::error::{TargetError, TargetErrorKind};
use super::range::{AddressRange, Cidr};

/// Maximum length of a host name.
///
/// # Source
/// RFC 1035, 2.3.4.
const MAX_NAME_BYTES: usize = 253;

/// A parsed target word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetWord<'a> {
    Range(AddressRange),
    /// A link-local address with a zone.
    Zoned(Ipv6Addr, &'a str),
    Name(&'a str),
}

/// Parses an address, an address with zone, a prefix, a range, or a host name.
pub(super) fn parse_word(word: &str) -> Result<TargetWord<'_>, TargetErrorKind> {
    if let Ok(address) = word.parse::<IpAddr>() {
        return Ok(TargetWord::Range(AddressRange::one(address.to_canonical())));
    }
    if let Some((address, zone)) = word.split_once('%') {
        let address = address.parse().map_err(|_| TargetErrorKind::Malformed)?;
        return match zone {
            "" => Err(TargetErrorKind::Malformed),
            zone => Ok(TargetWord::Zoned(address, zone)),
        };
    }
    if word.contains('/') {
        let prefix = word
            .parse::<Cidr>()
            .map_err(|_| TargetErrorKind::Malformed)?;
        return Ok(TargetWord::Range(prefix.hosts()));
    }
    if let Some((first, last)) = word.split_once('-')
        && let Ok(first) = first.parse::<IpAddr>()
    {
        return range(first.to_canonical(), last).map(TargetWord::Range);
    }
    // A malformed address, or a word with characters that no host name has, is not worth a lookup.
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || byte > 0x7f;
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let is_name = (1..=MAX_NAME_BYTES).contains(&word.len())
        && word.bytes().all(is_letter)
        && !word.bytes().all(is_number)
        && !word.starts_with('-');
    if is_name {
        Ok(TargetWord::Name(word))
    } else {
        Err(TargetErrorKind::Malformed)
    }
}

/// The host name in `word`, which a [`Resolver`] has to look up. `None` for an address, prefix or range.
///
/// # Errors
/// [`TargetError`] if the word is malformed.
///
/// [`Resolver`]: super::Resolver
pub fn host_name(word: &str) -> Result<Option<&str>, TargetError> {
    match parse_word(word) {
        Ok(TargetWord::Name(name)) => Ok(Some(name)),
        Ok(TargetWord::Range(_) | TargetWord::Zoned(..)) => Ok(None),
        Err(kind) => Err(TargetError::of(word, kind)),
    }
}

/// The range from `first` to `last`: an address, or for IPv4 also the last byte of one.
fn range(first: IpAddr, last: &str) -> Result<AddressRange, TargetErrorKind> {
    let last = match (last.parse::<IpAddr>(), first) {
        (Ok(last), _) => last.to_canonical(),
        (Err(_), IpAddr::V4(first)) if last.bytes().all(|digit| digit.is_ascii_digit()) => {
            let [a, b, c, _] = first.octets();
            let last = last.parse().map_err(|_| TargetErrorKind::Malformed)?;
            IpAddr::from([a, b, c, last])
        }
        _ => return Err(TargetErrorKind::Malformed),
    };
    if first.is_ipv4() != last.is_ipv4() {
        return Err(TargetErrorKind::MixedRange);
    }
    let [first_range, last_range] = [first, last].map(AddressRange::one);
    if first_range > last_range {
        return Err(TargetErrorKind::Backwards);
    }
    Ok(AddressRange {
        first: first_range.first,
        last: last_range.last,
    })
}
