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
/// match before another misses its bytes. What sets variables keeps its place, and so does what
/// looks at offsets that the filter gives, because whole packets may be too short for them.
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
        Condition::Not(inner) => !matches!(**inner, Condition::Test(_)),
        _ => false,
    };
    if terms.iter().filter(|term| is_refusal(term)).count() < 2
        || terms.iter().any(|term| keeps_place(term, values))
    {
        return Condition::all(terms.into_iter().map(|term| group(term, values)));
    }
    let first = terms.iter().position(is_refusal).unwrap_or(0);
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    for term in terms {
        match term {
            Condition::Not(inner) if !matches!(*inner, Condition::Test(_)) => refused.push(*inner),
            other => kept.push(group(other, values)),
        }
    }
    let refusal = group(Condition::any(refused), values).negate();
    kept.insert(first.min(kept.len()), refusal);
    Condition::all(kept)
}

fn any(terms: Vec<Condition>, values: &Values) -> Condition {
    let mut done = Vec::new();
    let mut run = Vec::new();
    for term in terms {
        if keeps_place(&term, values) {
            done.push(gather(std::mem::take(&mut run), values));
            done.push(group(term, values));
        } else {
            run.push(term);
        }
    }
    done.push(gather(run, values));
    Condition::any(done)
}

fn keeps_place(condition: &Condition, values: &Values) -> bool {
    match condition {
        Condition::Constant(_) => false,
        Condition::Let(..) => true,
        Condition::Test(test) => values.is_remote(test.left) || values.is_remote(test.right),
        Condition::Not(inner) => keeps_place(inner, values),
        Condition::All(terms) | Condition::Any(terms) => {
            terms.iter().any(|term| keeps_place(term, values))
        }
        Condition::Member(member) => member.words().iter().any(|&word| values.is_remote(word)),
        Condition::Choice(_, cases) => cases.iter().any(|case| keeps_place(&case.1, values)),
    }
}

/// Gathers alternatives that may change places.
fn gather(terms: Vec<Condition>, values: &Values) -> Condition {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for term in terms {
        let first = match split(term, values) {
            Ok(first) => first,
            Err(term) => {
                groups.push(Group::Other(term));
                continue;
            }
        };
        let key = match &first {
            First::Value(value, _) => Key::Value(*value),
            First::Guard(guard, _) => Key::Guard(guard.clone()),
        };
        let place = *places.entry(key).or_insert(groups.len());
        match (first, groups.get_mut(place)) {
            (First::Value(_, new), Some(Group::Value(_, cases))) => cases.extend(new),
            (First::Guard(_, rest), Some(Group::Guard(_, rests))) => rests.push(rest),
            (First::Value(value, cases), _) => groups.push(Group::Value(value, cases)),
            (First::Guard(guard, rest), _) => groups.push(Group::Guard(guard, vec![rest])),
        }
    }
    let groups = side_by_side(groups, values);
    Condition::any(groups.into_iter().map(|group| finish(group, values)))
}

/// Brings groups together that look at one value, under whatever mask, so that they can be one set.
fn side_by_side(groups: Vec<Group>, values: &Values) -> Vec<Group> {
    let mut places: HashMap<ValueId, usize> = HashMap::new();
    let keyed = groups.into_iter().enumerate().map(|(place, group)| {
        let value = match &group {
            Group::Value(value, _) => Some(*value),
            Group::Guard(guard, _) => tested(guard),
            Group::Other(_) => None,
        };
        let value = value.map(|value| values.strip(value).0);
        let place = value.map_or(place, |value| *places.entry(value).or_insert(place));
        (place, group)
    });
    let mut keyed: Vec<(usize, Group)> = keyed.collect();
    keyed.sort_by_key(|(place, _)| *place);
    keyed.into_iter().map(|(_, group)| group).collect()
}

/// The value that a guard looks at.
fn tested(guard: &Condition) -> Option<ValueId> {
    match guard {
        Condition::Test(test) => Some(test.left),
        Condition::Not(inner) => tested(inner),
        _ => None,
    }
}

fn finish(gathered: Group, values: &Values) -> Condition {
    match gathered {
        Group::Other(term) => group(term, values),
        Group::Guard(guard, rests) => {
            let rest = group(Condition::any(rests), values);
            Condition::all([group(guard, values), rest])
        }
        Group::Value(value, mut cases) => {
            cases.sort_by_key(|case| case.0);
            let mut merged: Vec<(u32, Condition)> = Vec::with_capacity(cases.len());
            let mut cases = cases.into_iter().peekable();
            while let Some((constant, first)) = cases.next() {
                let is_alone = cases.peek().is_none_or(|next| next.0 != constant);
                if is_alone && first == Condition::Constant(true) {
                    merged.push((constant, first));
                    continue;
                }
                let mut rests = vec![first];
                while let Some((_, rest)) = cases.next_if(|case| case.0 == constant) {
                    rests.push(rest);
                }
                merged.push((constant, group(Condition::any(rests), values)));
            }
            Condition::Choice(value, merged)
        }
    }
}

/// What an alternative asks first, and what has to hold behind it.
enum First {
    /// The value is one of these.
    Value(ValueId, Vec<(u32, Condition)>),
    Guard(Condition, Condition),
}

/// A term by what it asks first; the term again if it has no first.
fn split(term: Condition, values: &Values) -> Result<First, Condition> {
    let (guard, rest) = match term {
        Condition::Choice(value, cases) => return Ok(First::Value(value, cases)),
        Condition::All(mut terms) if !terms.is_empty() => {
            let guard = terms.remove(0);
            (guard, Condition::all(terms))
        }
        Condition::Test(_) => (term, Condition::Constant(true)),
        Condition::Not(ref inner) if matches!(**inner, Condition::Test(_)) => {
            (term, Condition::Constant(true))
        }
        other => return Err(other),
    };
    Ok(match compared(&guard, values) {
        Some((value, constant)) => First::Value(value, vec![(constant, rest)]),
        None => First::Guard(guard, rest),
    })
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
