//! What every packet has that a filter accepts, for an index of packets.

use std::net::{IpAddr, Ipv4Addr};

use crate::error::FilterError;
use crate::filter::parse;
use crate::language::tree::{Expression, Id, Kind, Layers, Protocol, Qualifiers, Term};

/// VLAN tags in front of a header that an index looks behind.
const TAGS_MAX: usize = 4;

/// What a packet must have so that a filter can accept it. The filter may refuse it all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Needed {
    /// Nothing that is known.
    Nothing,
    /// This address, as an address of its IP header, behind at most 4 VLAN tags, or of its ARP or RARP message.
    Address(IpAddr),
    /// This port, as a port of TCP, UDP or SCTP behind such an IP header.
    Port(u16),
    /// All of them.
    All(Vec<Needed>),
    /// One of them.
    Any(Vec<Needed>),
}

/// What a packet must have so that the filter `text` can accept it, on any link type. Names are not resolved and need nothing.
///
/// ```
/// use tapline_filter::{Needed, needed};
///
/// let all = vec![Needed::Address("10.1.2.3".parse()?), Needed::Port(443)];
/// assert_eq!(needed("host 10.1.2.3 and tcp port 443")?, Needed::All(all));
/// assert_eq!(needed("not host 10.1.2.3")?, Needed::Nothing);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FilterError`] if the text is no filter.
pub fn needed(text: &str) -> Result<Needed, FilterError> {
    let tree = parse(text)?;
    let mut tags = 0;
    let is_plain = plain(&tree, &mut tags) && tags <= TAGS_MAX;
    Ok(if is_plain { of(&tree) } else { Needed::Nothing })
}

/// Whether no term moves the position of those behind it, except by a VLAN tag.
fn plain(expression: &Expression, tags: &mut usize) -> bool {
    match expression {
        Expression::Not(inner) => plain(inner, tags),
        Expression::All(list) | Expression::Any(list) => {
            list.iter().all(|inner| plain(inner, tags))
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

fn of(expression: &Expression) -> Needed {
    match expression {
        Expression::All(list) => {
            let mut all: Vec<_> = list.iter().map(of).collect();
            all.retain(|needed| *needed != Needed::Nothing);
            match all.len() {
                0 => Needed::Nothing,
                1 => all.remove(0),
                _ => Needed::All(all),
            }
        }
        Expression::Any(list) => {
            let any: Vec<_> = list.iter().map(of).collect();
            if any.contains(&Needed::Nothing) {
                Needed::Nothing
            } else {
                Needed::Any(any)
            }
        }
        Expression::Term(_, Term::Match(qualifiers, id)) => of_match(*qualifiers, id),
        Expression::Not(_) | Expression::Term(..) => Needed::Nothing,
    }
}

fn of_match(qualifiers: Qualifiers, id: &Id) -> Needed {
    if qualifiers.layers != Layers::Current {
        return Needed::Nothing;
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
            address.map_or(Needed::Nothing, |address| Needed::Address(address.into()))
        }
        (None | Some(Kind::Host), Id::Ipv6(address, None | Some(128)))
            if matches!(protocol, None | Some(Protocol::Ip6)) =>
        {
            Needed::Address((*address).into())
        }
        (Some(Kind::Port), Id::Number(port))
            if matches!(
                protocol,
                None | Some(Protocol::Tcp | Protocol::Udp | Protocol::Sctp)
            ) =>
        {
            u16::try_from(*port).map_or(Needed::Nothing, Needed::Port)
        }
        _ => Needed::Nothing,
    }
}
