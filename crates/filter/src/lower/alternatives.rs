//! Alternatives that compare a field with many constants.

use crate::error::FilterError;
use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Values};
use crate::language::tree::{
    Direction, Expression, Id, Kind, Layers, Operator, Protocol, Qualifiers, Term,
};
use crate::lower::addresses::{dotted, mask, mask6};
use crate::lower::lowering::{Lowered, Lowering};
use crate::names::Transport;

/// Minimum number of adjacent alternatives that are lowered as a list.
const MIN: usize = 16;

/// Adjacent alternatives that compare the same field with many addresses or ports.
enum List {
    Hosts(Option<Protocol>, Option<Direction>, Vec<(u32, u32)>),
    Hosts6(Option<Protocol>, Option<Direction>, Vec<(u128, u128)>),
    Ports(Option<Transport>, Option<Direction>, Vec<(u32, u32)>),
}

impl Lowering<'_> {
    /// Lowers alternatives. Long runs of addresses and ports are lowered as lists, which the pass
    /// `lists_to_sets` turns into sets.
    pub(super) fn alternatives(
        &mut self,
        inner: &[Expression],
    ) -> Result<Vec<Condition>, FilterError> {
        let mut conditions = Vec::new();
        let mut rest = inner;
        while !rest.is_empty() {
            let layered = layered(rest);
            if layered > 1 {
                let (run, behind) = rest.split_at(layered);
                conditions.push(self.layered_alternatives(run)?);
                rest = behind;
                continue;
            }
            let items: Vec<List> = rest.iter().map_while(item).collect();
            let (run, behind) = rest.split_at(items.len());
            rest = behind;
            if run.len() < MIN {
                for term in run {
                    conditions.push(self.expression(term)?);
                }
            } else if let Some(lists) = self.lists(items) {
                conditions.extend(lists);
            } else {
                // One of them is invalid here. Lower them one by one to report the first error.
                for term in run {
                    conditions.push(self.expression(term)?);
                }
            }
            if let Some((term, behind)) = rest.split_first() {
                conditions.push(self.expression(term)?);
                rest = behind;
            }
        }
        Ok(conditions)
    }

    fn lists(&mut self, items: Vec<List>) -> Option<Vec<Condition>> {
        let mut lists: Vec<List> = Vec::new();
        for item in items {
            if !lists.iter_mut().any(|list| list.take(&item)) {
                lists.push(item);
            }
        }
        let conditions: Result<Vec<_>, _> = lists.iter().map(|list| self.list(list)).collect();
        conditions.ok()
    }

    fn list(&mut self, list: &List) -> Lowered {
        match list {
            List::Hosts(protocol, direction, networks) => {
                self.hosts(networks, *protocol, *direction, false)
            }
            List::Hosts6(protocol, direction, networks) => {
                self.hosts6(networks, *protocol, *direction)
            }
            List::Ports(transport, direction, ranges) => self.ports(ranges, *transport, *direction),
        }
    }
}

impl List {
    /// Appends `other`, a list of one element, if it has the same qualifiers.
    fn take(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Hosts(protocol, direction, all), Self::Hosts(p, d, one))
                if (&*protocol, &*direction) == (p, d) =>
            {
                all.extend(one);
            }
            (Self::Hosts6(protocol, direction, all), Self::Hosts6(p, d, one))
                if (&*protocol, &*direction) == (p, d) =>
            {
                all.extend(one);
            }
            (Self::Ports(transport, direction, all), Self::Ports(t, d, one))
                if (&*transport, &*direction) == (t, d) =>
            {
                all.extend(one);
            }
            _ => return false,
        }
        true
    }
}

/// The number of terms at the start that test the same layers, with `any` or with `inner`.
fn layered(terms: &[Expression]) -> usize {
    let layers = |expression: &Expression| match expression {
        Expression::Term(_, term) => term.layers(),
        _ => Layers::Current,
    };
    let first = terms.first().map_or(Layers::Current, layers);
    let run = terms.iter().take_while(|term| layers(term) == first);
    if first == Layers::Current {
        0
    } else {
        run.count()
    }
}

/// The term as a list of one element; `None` for other terms and for invalid ones.
fn item(expression: &Expression) -> Option<List> {
    let Expression::Term(_, Term::Match(qualifiers, id)) = expression else {
        return None;
    };
    let Qualifiers {
        layers,
        protocol,
        direction,
        kind,
    } = *qualifiers;
    if layers != Layers::Current {
        return None;
    }
    if !matches!(
        direction,
        None | Some(Direction::Source | Direction::Destination | Direction::Either)
    ) {
        return None;
    }
    let is_host = matches!(kind, None | Some(Kind::Host));
    let is_net = kind == Some(Kind::Net);
    match (id, protocol) {
        (Id::Number(port), _) if kind == Some(Kind::Port) && *port <= 0xffff => {
            let transport = crate::lower::ports::transport_of(*qualifiers).ok()?;
            Some(List::Ports(transport, direction, vec![(*port, *port)]))
        }
        (Id::Name(range), _) if kind == Some(Kind::PortRange) => {
            let (least, most) = range.split_once('-')?;
            let (least, most) = (least.parse::<u16>().ok()?, most.parse::<u16>().ok()?);
            // Numbers with leading zeros are octal and parsed elsewhere.
            if range
                .split('-')
                .any(|number| number.len() > 1 && number.starts_with('0'))
            {
                return None;
            }
            let transport = crate::lower::ports::transport_of(*qualifiers).ok()?;
            let range = (u32::from(least.min(most)), u32::from(least.max(most)));
            Some(List::Ports(transport, direction, vec![range]))
        }
        (Id::Dotted(text), None | Some(Protocol::Ip | Protocol::Arp | Protocol::Rarp))
            if is_host || is_net =>
        {
            let (address, bits) = dotted(text).ok()?;
            Some(List::Hosts(
                protocol,
                direction,
                vec![(address, mask(bits))],
            ))
        }
        (
            Id::DottedPrefix(text, bits @ 0..=32),
            None | Some(Protocol::Ip | Protocol::Arp | Protocol::Rarp),
        ) if is_net => {
            let (address, mask) = (dotted(text).ok()?.0, mask(*bits));
            (address & !mask == 0).then(|| List::Hosts(protocol, direction, vec![(address, mask)]))
        }
        (Id::Ipv6(address, bits), None | Some(Protocol::Ip6)) if is_host || is_net => {
            let bits = bits.unwrap_or(128);
            if bits > 128 || is_host && bits != 128 {
                return None;
            }
            let (address, mask) = (u128::from(*address), mask6(bits));
            (address & !mask == 0).then(|| List::Hosts6(protocol, direction, vec![(address, mask)]))
        }
        _ => None,
    }
}

impl Values {
    /// `field` is in one of `networks` (value and mask).
    pub(super) fn one_of(&mut self, field: ValueId, networks: &[(u32, u32)]) -> Condition {
        if let &[(address, mask)] = networks {
            return self.masked_equal(field, mask, address);
        }
        let mut sorted: Vec<(u32, u32)> = networks.iter().map(|net| (net.1, net.0)).collect();
        sorted.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        sorted.dedup();
        let choices = sorted.chunk_by(|a, b| a.0 == b.0).map(|same| {
            let mask = same[0].0;
            let masked = self.binary_constant(Operator::And, field, mask);
            if same.len() == 1 || self.as_constant(masked).is_some() {
                return self.masked_equal(field, mask, same[0].1);
            }
            let cases = same.iter().map(|net| (net.1, Condition::Constant(true)));
            Condition::Choice(masked, cases.collect())
        });
        Condition::any(choices.collect::<Vec<_>>())
    }

    /// `field` is in one of `ranges`, both ends included.
    pub(super) fn in_ranges(&mut self, field: ValueId, ranges: &[(u32, u32)]) -> Condition {
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let (single, wide): (Vec<_>, Vec<_>) = sorted.into_iter().partition(|(a, b)| a == b);
        let mut terms: Vec<Condition> = match single.as_slice() {
            [] => Vec::new(),
            [one] => vec![self.equal(field, one.0)],
            many => {
                let cases = many.iter().map(|one| (one.0, Condition::Constant(true)));
                vec![Condition::Choice(field, cases.collect())]
            }
        };
        for (least, most) in wide {
            terms.push(self.between(field, least, most));
        }
        Condition::any(terms)
    }

    /// `words` are one of `keys`, which are sorted. Compares word by word, starting with the first.
    pub(super) fn one_of_keys(words: &[ValueId], keys: &[u128]) -> Condition {
        let Some((&word, rest)) = words.split_first() else {
            return Condition::Constant(true);
        };
        let part = |key: u128| (key >> (32 * rest.len())) as u32;
        let cases = keys
            .chunk_by(|a, b| part(*a) == part(*b))
            .map(|same| (part(same[0]), Self::one_of_keys(rest, same)));
        Condition::Choice(word, cases.collect())
    }
}
