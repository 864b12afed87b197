//! Addresses and ports that every packet has which a filter accepts. An index of packets searches for them.

use std::net::{IpAddr, Ipv4Addr};

use crate::error::FilterError;
use crate::filter::parse;
use crate::language::tree::{Expression, Id, Kind, Layers, Protocol, Qualifiers, Term};

/// Maximum number of VLAN tags before a header for which an index reads the header.
const TAGS_MAX: usize = 4;

/// Keys that a packet must have for a filter to accept it. The filter may also reject packets that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequiredKeys {
    /// None is known.
    Nothing,
    /// This address, as an address of its IP header, behind at most 4 VLAN tags, or of its ARP or RARP message.
    Address(IpAddr),
    /// This port, as a port of TCP, UDP or SCTP behind such an IP header.
    Port(u16),
    /// All of them.
    All(Vec<RequiredKeys>),
    /// One of them.
    Any(Vec<RequiredKeys>),
}

/// Keys that a packet must have for the filter `text` to accept it, on any link type. Names are not resolved: they require no keys.
///
/// ```
/// use tapline_filter::{RequiredKeys, required_keys};
///
/// let all = vec![RequiredKeys::Address("10.1.2.3".parse()?), RequiredKeys::Port(443)];
/// assert_eq!(required_keys("host 10.1.2.3 and tcp port 443")?, RequiredKeys::All(all));
/// assert_eq!(required_keys("not host 10.1.2.3")?, RequiredKeys::Nothing);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FilterError`] if the text is not a filter.
pub fn required_keys(text: &str) -> Result<RequiredKeys, FilterError> {
    let tree = parse(text)?;
    let mut tags = 0;
    let is_plain = is_plain(&tree, &mut tags) && tags <= TAGS_MAX;
    Ok(if is_plain {
        keys_of(&tree)
    } else {
        RequiredKeys::Nothing
    })
}

/// Whether no term changes the header offsets of later terms, except VLAN terms, which it counts in `tags`.
fn is_plain(expression: &Expression, tags: &mut usize) -> bool {
    match expression {
        Expression::Not(inner) => is_plain(inner, tags),
        Expression::All(list) | Expression::Any(list) => {
            list.iter().all(|inner| is_plain(inner, tags))
        }
        Expression::Term(_, Term::Vlan(_)) => {
            *tags += 1;
            true
        }
        Expression::Term(_, term) => !matches!(
            term,
            Term::Mpls(_)
                | Term::Pppoed
                | Term::Pppoes(_)
                | Term::Geneve(_)
                | Term::Vxlan(_)
                | Term::Atm(_)
        ),
    }
}

fn keys_of(expression: &Expression) -> RequiredKeys {
    match expression {
        Expression::All(list) => {
            let mut all: Vec<_> = list.iter().map(keys_of).collect();
            all.retain(|keys| *keys != RequiredKeys::Nothing);
            match all.len() {
                0 => RequiredKeys::Nothing,
                1 => all.remove(0),
                _ => RequiredKeys::All(all),
            }
        }
        Expression::Any(list) => {
            let any: Vec<_> = list.iter().map(keys_of).collect();
            if any.contains(&RequiredKeys::Nothing) {
                RequiredKeys::Nothing
            } else {
                RequiredKeys::Any(any)
            }
        }
        Expression::Term(_, Term::Match(qualifiers, id)) => keys_of_match(*qualifiers, id),
        Expression::Not(_) | Expression::Term(..) => RequiredKeys::Nothing,
    }
}

fn keys_of_match(qualifiers: Qualifiers, id: &Id) -> RequiredKeys {
    if qualifiers.layers != Layers::Current {
        return RequiredKeys::Nothing;
    }
    let protocol = qualifiers.protocol;
    match (qualifiers.kind, id) {
        (None | Some(Kind::Host), Id::Dotted(text))
            if matches!(
                protocol,
                None | Some(Protocol::Ip | Protocol::Arp | Protocol::Rarp)
            ) =>
        {
            // Other texts are prefixes.
            let address = text.parse::<Ipv4Addr>().ok();
            address.map_or(RequiredKeys::Nothing, |address| {
                RequiredKeys::Address(address.into())
            })
        }
        (None | Some(Kind::Host), Id::Ipv6(address, None | Some(128)))
            if matches!(protocol, None | Some(Protocol::Ip6)) =>
        {
            RequiredKeys::Address((*address).into())
        }
        (Some(Kind::Port), Id::Number(port))
            if matches!(
                protocol,
                None | Some(Protocol::Tcp | Protocol::Udp | Protocol::Sctp)
            ) =>
        {
            u16::try_from(*port).map_or(RequiredKeys::Nothing, RequiredKeys::Port)
        }
        _ => RequiredKeys::Nothing,
    }
}
