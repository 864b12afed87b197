use super::condition::{Comparison, Condition, Test};
use super::values::{ValueId, Values};
use std::collections::HashMap;

/// What alternatives are gathered by: a value compared with constants, or one and the same guard.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Value(ValueId),
    Guard(Condition),
}

/// Alternatives that begin alike.
enum Group {
    /// The value is one of these, and what goes with it holds.
    Value(ValueId, Vec<(u32, Condition)>),
    /// The guard holds, and one of these.
    Guard(Condition, Vec<Condition>),
    Other(Condition),
}

/// Turns lists of hosts, networks and ports into sets: alternatives that ask the same first are
/// asked together, and comparisons of one value with many constants become one choice.
///
/// Alternatives change places, which nobody can see but in packets cut short: there, one may
/// match before another misses its bytes. What sets variables keeps its place.
pub(crate) fn group(condition: Condition, values: &Values) -> Condition {
    match condition {
        Condition::Not(inner) => group(*inner, values).negate(),
        Condition::Any(terms) => any(terms, values),
        Condition::All(terms) => all(terms, values),
        other => other,
    }
}

/// Refusals among terms that all have to hold are one refusal of alternatives.
fn all(terms: Vec<Condition>, values: &Values) -> Condition {
    let is_refusal = |term: &Condition| match term {
        Condition::Not(inner) => !inner.sets_variables(),
        _ => false,
    };
    if terms.iter().filter(|term| is_refusal(term)).count() < 2
        || terms.iter().any(Condition::sets_variables)
    {
        return Condition::all(terms.into_iter().map(|term| group(term, values)));
    }
    let first = terms.iter().position(is_refusal).unwrap_or(0);
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    for term in terms {
        match term {
            Condition::Not(inner) => refused.push(*inner),
            other => kept.push(group(other, values)),
        }
    }
    let refusal = group(Condition::any(refused), values).negate();
    kept.insert(first.min(kept.len()), refusal);
    Condition::all(kept)
}

fn any(terms: Vec<Condition>, values: &Values) -> Condition {
    if terms.iter().any(Condition::sets_variables) {
        return Condition::any(terms.into_iter().map(|term| group(term, values)));
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for term in terms {
        let Some((guard, rest)) = split(term.clone()) else {
            groups.push(Group::Other(term));
            continue;
        };
        let (key, new) = match compared(&guard, values) {
            Some((value, _)) => (Key::Value(value), Group::Value(value, Vec::new())),
            None => {
                let group = Group::Guard(guard.clone(), Vec::new());
                (Key::Guard(guard.clone()), group)
            }
        };
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(new);
        }
        match &mut groups[place] {
            Group::Value(_, cases) => {
                let constant = compared(&guard, values).map_or(0, |(_, constant)| constant);
                cases.push((constant, rest));
            }
            Group::Guard(_, rests) => rests.push(rest),
            Group::Other(_) => {}
        }
    }
    Condition::any(groups.into_iter().map(|group| finish(group, values)))
}

fn finish(gathered: Group, values: &Values) -> Condition {
    match gathered {
        Group::Other(term) => group(term, values),
        Group::Guard(guard, rests) => {
            Condition::all([guard, group(Condition::any(rests), values)])
        }
        Group::Value(value, mut cases) => {
            cases.sort_by_key(|case| case.0);
            let mut merged: Vec<(u32, Vec<Condition>)> = Vec::new();
            for (constant, rest) in cases {
                match merged.last_mut() {
                    Some(last) if last.0 == constant => last.1.push(rest),
                    _ => merged.push((constant, vec![rest])),
                }
            }
            let cases = merged.into_iter().map(|(constant, rests)| {
                let rest = group(Condition::any(rests), values);
                (constant, rest)
            });
            Condition::Choice(value, cases.collect())
        }
    }
}

/// A term as its first test and what has to hold behind it.
fn split(term: Condition) -> Option<(Condition, Condition)> {
    match term {
        Condition::Test(_) => Some((term, Condition::Constant(true))),
        Condition::All(mut terms) if matches!(terms.first(), Some(Condition::Test(_))) => {
            let guard = terms.remove(0);
            Some((guard, Condition::all(terms)))
        }
        _ => None,
    }
}

/// The value that `guard` compares with a constant.
fn compared(guard: &Condition, values: &Values) -> Option<(ValueId, u32)> {
    match guard {
        Condition::Test(Test {
            comparison: Comparison::Equal,
            left,
            right,
        }) => Some((*left, values.as_constant(*right)?)),
        _ => None,
    }
}
