//! The tokens of pcap-filter(7), and the lexer.

use crate::error::{FilterError, FilterErrorReason};
use crate::language::tree::Span;
use crate::language::words::{CONSTANTS, Word, reserved};
use std::net::Ipv6Addr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(Word),
    Number(u32),
    /// Two to four numbers with dots: an IPv4 address, a prefix of one, or a DECnet address.
    Dotted(String),
    Ipv6(Ipv6Addr),
    Mac([u8; 6]),
    /// `$` and one byte: an ARCnet or MS/TP address.
    ShortMac(u8),
    /// Any other name; a leading `\` turns a reserved word into a name.
    Name(String),
    Symbol(Symbol),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Colon,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Not,
    AndAlso,
    OrElse,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

/// Maximum length of an IPv6 address; a longer text is a name.
const IPV6_TEXT: usize = 64;

/// Length of the shortest Ethernet address: `1.2.3.4.5.6`.
const SHORTEST_MAC: usize = 11;

/// Splits `text` into tokens; the last one is [`Token::End`].
///
/// The longest token wins, as in the grammar of pcap-filter(7): `25-smtp` is a name.
pub(crate) fn lex(text: &str) -> Result<Vec<(Token, Span)>, FilterError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        if matches!(first, ' ' | '\r' | '\n' | '\t') {
            at += 1;
            continue;
        }
        let (token, length) =
            token_at(rest).map_err(|(reason, length)| FilterError::new(at..at + length, reason))?;
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

type Found = Result<(Token, usize), (FilterErrorReason, usize)>;

fn token_at(rest: &str) -> Found {
    let bytes = rest.as_bytes();
    match bytes[0] {
        b'\\' => return escaped(rest),
        b'$' => return short_mac(rest),
        _ => {}
    }
    if let Some((symbol, length)) = symbol(bytes)
        && (symbol != Symbol::Colon || !rest.starts_with("::"))
    {
        return Ok((Token::Symbol(symbol), length));
    }
    let word = word_length(bytes);
    // Most words are not addresses: the shortest Ethernet address is long, the others contain a
    // colon.
    let has_colon = bytes.get(word) == Some(&b':') || bytes[0] == b':';
    let (broken_mac, ipv6) = if has_colon {
        (broken_mac_length(bytes), ipv6_length(bytes))
    } else {
        (0, 0)
    };
    let mac = if has_colon || word >= SHORTEST_MAC {
        mac_length(bytes)
    } else {
        0
    };
    let longest = word.max(mac).max(ipv6).max(broken_mac);
    if longest == 0 {
        let length = rest.chars().next().map_or(1, char::len_utf8);
        return Err((FilterErrorReason::Character, length));
    }
    let text = &rest[..longest];
    if word == longest
        && let Some(word) = reserved(text)
    {
        return Ok((Token::Word(word), longest));
    }
    if mac == longest {
        return Ok((Token::Mac(mac_bytes(text)), longest));
    }
    if let Some(found) = number_or_dotted(text) {
        return found;
    }
    if ipv6 == longest {
        return text.parse().map_or_else(
            |_| Err((FilterErrorReason::InvalidIpv6(text.into()), longest)),
            |address: Ipv6Addr| Ok((Token::Ipv6(address), longest)),
        );
    }
    if broken_mac == longest {
        return Err((FilterErrorReason::InvalidMac(text.into()), longest));
    }
    if let Some(&(_, value)) = CONSTANTS.iter().find(|row| row.0 == text) {
        return Ok((Token::Number(value), longest));
    }
    Ok((Token::Name(text.into()), longest))
}

fn escaped(rest: &str) -> Found {
    let name = &rest[1..];
    let length = name
        .find([' ', '!', '(', ')', '\n', '\t'])
        .unwrap_or(name.len());
    if length == 0 {
        return Err((FilterErrorReason::Character, 1));
    }
    Ok((Token::Name(name[..length].into()), length + 1))
}

fn short_mac(rest: &str) -> Found {
    let digits = rest.as_bytes()[1..]
        .iter()
        .take(2)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    match u8::from_str_radix(&rest[1..=digits], 16) {
        Ok(address) => Ok((Token::ShortMac(address), digits + 1)),
        Err(_) => Err((FilterErrorReason::Character, 1)),
    }
}

fn symbol(bytes: &[u8]) -> Option<(Symbol, usize)> {
    let two = match bytes.get(..2) {
        Some(b">=") => Some(Symbol::GreaterEqual),
        Some(b"<=") => Some(Symbol::LessEqual),
        Some(b"!=") => Some(Symbol::NotEqual),
        Some(b"==") => Some(Symbol::Equal),
        Some(b"<<") => Some(Symbol::ShiftLeft),
        Some(b">>") => Some(Symbol::ShiftRight),
        Some(b"&&") => Some(Symbol::AndAlso),
        Some(b"||") => Some(Symbol::OrElse),
        _ => None,
    };
    if let Some(symbol) = two {
        return Some((symbol, 2));
    }
    let symbol = match bytes[0] {
        b'(' => Symbol::Open,
        b')' => Symbol::Close,
        b'[' => Symbol::OpenIndex,
        b']' => Symbol::CloseIndex,
        b':' => Symbol::Colon,
        b'+' => Symbol::Plus,
        b'-' => Symbol::Minus,
        b'*' => Symbol::Times,
        b'/' => Symbol::Divide,
        b'%' => Symbol::Modulo,
        b'&' => Symbol::And,
        b'|' => Symbol::Or,
        b'^' => Symbol::Xor,
        b'!' => Symbol::Not,
        b'<' => Symbol::Less,
        b'>' => Symbol::Greater,
        b'=' => Symbol::Equal,
        _ => return None,
    };
    Some((symbol, 1))
}

/// Length of a name at the start: letters, digits, `-`, `_`, `.`, not ending in `-` or `_`.
fn word_length(bytes: &[u8]) -> usize {
    if !bytes[0].is_ascii_alphanumeric() {
        return 0;
    }
    let run = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        .count();
    let ends = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
    bytes[..run].iter().rposition(ends).map_or(0, |at| at + 1)
}

fn hex_digits(bytes: &[u8], most: usize) -> usize {
    bytes
        .iter()
        .take(most)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count()
}

fn mac_length(bytes: &[u8]) -> usize {
    let pairs = [b':', b'-', b'.']
        .into_iter()
        .map(|separator| groups(bytes, 6, 1, 2, Some(separator)));
    pairs
        .chain([
            groups(bytes, 3, 4, 4, Some(b'.')),
            groups(bytes, 3, 4, 4, None),
        ])
        .max()
        .unwrap_or(0)
}

/// Length of `count` groups of `least` to `most` hexadecimal digits; 0 if there are fewer groups.
fn groups(bytes: &[u8], count: usize, least: usize, most: usize, separator: Option<u8>) -> usize {
    let mut at = 0;
    for group in 0..count {
        if group > 0
            && let Some(separator) = separator
        {
            if bytes.get(at) != Some(&separator) {
                return 0;
            }
            at += 1;
        }
        let digits = hex_digits(&bytes[at..], most);
        if digits < least {
            return 0;
        }
        at += digits;
    }
    at
}

fn mac_bytes(text: &str) -> [u8; 6] {
    let mut mac = [0; 6];
    let separated = text.contains([':', '-']) || text.matches('.').count() == 5;
    if separated {
        let parts = text.split([':', '-', '.']);
        for (byte, part) in mac.iter_mut().zip(parts) {
            *byte = u8::from_str_radix(part, 16).unwrap_or(0);
        }
    } else {
        let digits: Vec<u32> = text
            .chars()
            .filter_map(|digit| digit.to_digit(16))
            .collect();
        for (byte, pair) in mac.iter_mut().zip(digits.chunks(2)) {
            *byte = pair
                .iter()
                .fold(0, |value, &digit| value << 4 | digit as u8);
        }
    }
    mac
}

/// Length of colon-separated groups of hexadecimal digits that do not form a whole address.
fn broken_mac_length(bytes: &[u8]) -> usize {
    let (mut at, mut groups) = (0, 0);
    loop {
        let digits = hex_digits(&bytes[at..], 2);
        if digits == 0 {
            return if groups >= 2 { at } else { 0 };
        }
        let colons = bytes[at + digits..]
            .iter()
            .take_while(|byte| **byte == b':')
            .count();
        if colons == 0 {
            return if groups >= 2 { at } else { 0 };
        }
        at += digits + colons;
        groups += 1;
    }
}

/// Length of the longest prefix that has the form of an IPv6 address.
fn ipv6_length(bytes: &[u8]) -> usize {
    let run = bytes
        .iter()
        .take(IPV6_TEXT)
        .take_while(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        .count();
    let run = bytes[..run]
        .windows(3)
        .position(|three| three == b":::")
        .map_or(run, |at| at + 2);
    if !bytes[..run].contains(&b':') {
        return 0;
    }
    (2..=run)
        .rev()
        .find(|&length| has_ipv6_form(&bytes[..length]))
        .unwrap_or(0)
}

fn has_ipv6_form(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let count = |part: &str, tail: bool| -> Option<usize> {
        if part.is_empty() {
            return Some(0);
        }
        let last = part.split(':').count() - 1;
        part.split(':').enumerate().try_fold(0, |sum, (at, group)| {
            if group.contains('.') {
                let quad = group.split('.').count() == 4
                    && group
                        .split('.')
                        .all(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()));
                return (tail && at == last && quad).then_some(sum + 2);
            }
            matches!(group.len(), 1..=4).then_some(sum + 1)
        })
    };
    match text.split_once("::") {
        None => count(text, true) == Some(8),
        Some((left, right)) => match (count(left, false), count(right, true)) {
            (Some(left), Some(right)) => left + right <= 7,
            _ => false,
        },
    }
}

/// Reads `text` as a number or as two to four numbers with dots; `None` if it is neither.
fn number_or_dotted(text: &str) -> Option<Found> {
    let is_number = |part: &str| {
        let hex = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
        match hex {
            Some(digits) => !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit()),
            None => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
        }
    };
    let parts = text.split('.').count();
    if parts > 4 || !text.split('.').all(is_number) {
        return None;
    }
    if parts > 1 {
        return Some(Ok((Token::Dotted(text.into()), text.len())));
    }
    Some(match parse_number(text) {
        Ok(number) => Ok((Token::Number(number), text.len())),
        Err(reason) => Err((reason, text.len())),
    })
}

/// Reads decimal, `0x` hexadecimal and `0` octal numbers of 32 bits.
pub(crate) fn parse_number(text: &str) -> Result<u32, FilterErrorReason> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix, base) = match hex {
        Some(digits) => (digits, 16, "hexadecimal"),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8, "octal"),
        None => (text, 10, "decimal"),
    };
    if radix == 8 && digits.contains(['8', '9']) {
        return Err(FilterErrorReason::NotOctal(text.into()));
    }
    let value = digits.chars().try_fold(0u32, |value, digit| {
        value
            .checked_mul(radix)?
            .checked_add(digit.to_digit(radix)?)
    });
    value.ok_or_else(|| FilterErrorReason::Overflow {
        base,
        text: text.into(),
    })
}
