//! What a word names.

use std::net::{IpAddr, Ipv6Addr};

use super::error::{TargetError, TargetErrorKind};
use super::span::{Prefix, Span};

/// Longest name of a host.
///
/// # Source
/// RFC 1035, 2.3.4.
const MAX_NAME_BYTES: usize = 253;

/// What a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    Span(Span),
    /// An address on the link of a zone.
    Zoned(Ipv6Addr, &'a str),
    Name(&'a str),
}

/// Reads a word: address, address with zone, prefix, range, or else a name.
pub(super) fn named(word: &str) -> Result<Named<'_>, TargetErrorKind> {
    if let Ok(address) = word.parse::<IpAddr>() {
        return Ok(Named::Span(Span::one(address.to_canonical())));
    }
    if let Some((address, zone)) = word.split_once('%') {
        let address = address.parse().map_err(|_| TargetErrorKind::Malformed)?;
        return match zone {
            "" => Err(TargetErrorKind::Malformed),
            zone => Ok(Named::Zoned(address, zone)),
        };
    }
    if word.contains('/') {
        let prefix = word
            .parse::<Prefix>()
            .map_err(|_| TargetErrorKind::Malformed)?;
        return Ok(Named::Span(prefix.hosts()));
    }
    if let Some((first, last)) = word.split_once('-')
        && let Ok(first) = first.parse::<IpAddr>()
    {
        return range(first.to_canonical(), last).map(Named::Span);
    }
    // What looks like an address or has letters no host has is not worth asking for.
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || byte > 0x7f;
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let is_name = (1..=MAX_NAME_BYTES).contains(&word.len())
        && word.bytes().all(is_letter)
        && !word.bytes().all(is_number)
        && !word.starts_with('-');
    if is_name {
        Ok(Named::Name(word))
    } else {
        Err(TargetErrorKind::Malformed)
    }
}

/// The host that `word` names, if that is neither address, prefix nor range: what a [`Resolver`] will be asked for.
///
/// # Errors
/// [`TargetError`] says what is wrong with the word.
///
/// [`Resolver`]: super::Resolver
pub fn host_name(word: &str) -> Result<Option<&str>, TargetError> {
    match named(word) {
        Ok(Named::Name(name)) => Ok(Some(name)),
        Ok(Named::Span(_) | Named::Zoned(..)) => Ok(None),
        Err(kind) => Err(TargetError::of(word, kind)),
    }
}

/// The addresses from `first` to `last`, which is an address or, in IPv4, the last byte of one.
fn range(first: IpAddr, last: &str) -> Result<Span, TargetErrorKind> {
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
    let [first_span, last_span] = [first, last].map(Span::one);
    if first_span > last_span {
        return Err(TargetErrorKind::Backwards);
    }
    Ok(Span {
        first: first_span.first,
        last: last_span.last,
    })
}
