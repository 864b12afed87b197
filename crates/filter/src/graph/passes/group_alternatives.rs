//! Groups alternatives that begin with the same test.

use crate::graph::condition::{Comparison, Condition, Test};
use crate::graph::values::{ValueId, Values};
use std::collections::HashMap;

/// The key for grouping: a value that is compared with constants, or a common guard.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Value(ValueId),
    Guard(Condition),
}

/// Alternatives that start with the same test.
enum Group {
    /// The value equals one of these constants, and its condition holds.
    Value(ValueId, Vec<(u32, Condition)>),
    /// The guard holds, and one of these conditions.
    Guard(Condition, Vec<Condition>),
    Other(Condition),
}

/// Groups alternatives that start with the same test, so that it runs once. Comparisons of one
/// value with many constants become one choice, which [`lists_to_sets`](super::lists_to_sets) can
/// turn into a set.
///
/// This reorders alternatives. Only truncated packets could show it: one alternative may match
/// before another one misses its bytes. Conditions that set variables keep their position. So do
/// loads at offsets from the filter text, because whole packets may be too short for them.
pub(crate) fn group_alternatives(condition: Condition, values: &Values) -> Condition {
    match condition {
        Condition::Not(inner) => group_alternatives(*inner, values).negate(),
        Condition::Any(terms) => any(terms, values),
        Condition::All(terms) => all(terms, values),
        Condition::If(parts) => {
            let [condition, yes, no] = parts.map(|part| group_alternatives(part, values));
            Condition::choose(condition, yes, no)
        }
        other => other,
    }
}

/// Merges negated terms of a conjunction into one negated disjunction.
fn all(terms: Vec<Condition>, values: &Values) -> Condition {
    let is_refusal = |term: &Condition| match term {
        Condition::Not(inner) => !matches!(**inner, Condition::Test(_)),
        _ => false,
    };
    if terms.iter().filter(|term| is_refusal(term)).count() < 2
        || terms.iter().any(|term| keeps_position(term, values))
    {
        return Condition::all(
            terms
                .into_iter()
                .map(|term| group_alternatives(term, values)),
        );
    }
    let first = terms.iter().position(is_refusal).unwrap_or(0);
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    for term in terms {
        match term {
            Condition::Not(inner) if !matches!(*inner, Condition::Test(_)) => refused.push(*inner),
            other => kept.push(group_alternatives(other, values)),
        }
    }
    let refusal = group_alternatives(Condition::any(refused), values).negate();
    kept.insert(first.min(kept.len()), refusal);
    Condition::all(kept)
}

fn any(terms: Vec<Condition>, values: &Values) -> Condition {
    let mut done = Vec::new();
    let mut run = Vec::new();
    for term in terms {
        if keeps_position(&term, values) {
            done.push(gather(std::mem::take(&mut run), values));
            done.push(group_alternatives(term, values));
        } else {
            run.push(term);
        }
    }
    done.push(gather(run, values));
    Condition::any(done)
}

fn keeps_position(condition: &Condition, values: &Values) -> bool {
    match condition {
        Condition::Constant(_) => false,
        Condition::Let(..) => true,
        Condition::Test(test) => {
            values.has_user_offset(test.left) || values.has_user_offset(test.right)
        }
        Condition::Not(inner) => keeps_position(inner, values),
        Condition::All(terms) | Condition::Any(terms) => {
            terms.iter().any(|term| keeps_position(term, values))
        }
        Condition::Member(member) => member
            .words()
            .iter()
            .any(|&word| values.has_user_offset(word)),
        Condition::Choice(_, cases) => cases.iter().any(|case| keeps_position(&case.1, values)),
        Condition::If(parts) => parts.iter().any(|part| keeps_position(part, values)),
    }
}

/// Groups alternatives that may be reordered.
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
            FirstTest::Value(value, _) => Key::Value(*value),
            FirstTest::Guard(guard, _) => Key::Guard(guard.clone()),
        };
        let place = *places.entry(key).or_insert(groups.len());
        match (first, groups.get_mut(place)) {
            (FirstTest::Value(_, new), Some(Group::Value(_, cases))) => cases.extend(new),
            (FirstTest::Guard(_, rest), Some(Group::Guard(_, rests))) => rests.push(rest),
            (FirstTest::Value(value, cases), _) => groups.push(Group::Value(value, cases)),
            (FirstTest::Guard(guard, rest), _) => groups.push(Group::Guard(guard, vec![rest])),
        }
    }
    let groups = sort_by_value(groups, values);
    Condition::any(groups.into_iter().map(|group| finish(group, values)))
}

/// Makes groups adjacent that test the same value under any mask, so that they can become one set.
fn sort_by_value(groups: Vec<Group>, values: &Values) -> Vec<Group> {
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

/// The value that a guard tests.
fn tested(guard: &Condition) -> Option<ValueId> {
    match guard {
        Condition::Test(test) => Some(test.left),
        Condition::Not(inner) => tested(inner),
        _ => None,
    }
}

fn finish(gathered: Group, values: &Values) -> Condition {
    match gathered {
        Group::Other(term) => group_alternatives(term, values),
        Group::Guard(guard, rests) => {
            let rest = group_alternatives(Condition::any(rests), values);
            Condition::all([group_alternatives(guard, values), rest])
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
                merged.push((constant, group_alternatives(Condition::any(rests), values)));
            }
            Condition::Choice(value, merged)
        }
    }
}

/// The first test of an alternative, and the remaining condition.
enum FirstTest {
    /// The value equals one of these constants.
    Value(ValueId, Vec<(u32, Condition)>),
    Guard(Condition, Condition),
}

/// Splits a term into its first test and the rest; returns the term if that is not possible.
fn split(term: Condition, values: &Values) -> Result<FirstTest, Condition> {
    let (guard, rest) = match term {
        Condition::Choice(value, cases) => return Ok(FirstTest::Value(value, cases)),
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
        Some((value, constant)) => FirstTest::Value(value, vec![(constant, rest)]),
        None => FirstTest::Guard(guard, rest),
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
