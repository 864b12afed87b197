//! Turns long lists of constants into sets.

use crate::graph::condition::{Comparison, Condition, Member, Test};
use crate::graph::sets::{MAX_KEY_WORDS, Set, Sets};
use crate::graph::values::{ValueId, Values};

/// Up to this many distinct first words are compared, not made part of the keys: a protocol number,
/// or the prefix that the IPv6 addresses of a site share.
const FEW_BEGINNINGS: usize = 2;

/// Turns lists of hosts, networks and ports into sets: long lists of constants that one value is
/// compared with.
///
/// A list needs at least `least` constants. A set keeps the position of its list and reads the same
/// bytes in the same order, so truncated packets get the same verdict.
pub(crate) fn lists_to_sets(
    condition: &Condition,
    values: &Values,
    sets: &mut Sets,
    least: usize,
) -> Condition {
    let mut builder = SetBuilder {
        values,
        sets,
        least,
    };
    builder.condition(condition)
}

struct SetBuilder<'a> {
    values: &'a Values,
    sets: &'a mut Sets,
    least: usize,
}

/// Ranges of one value, collected from adjacent alternatives.
struct Run<'c> {
    value: ValueId,
    ranges: Vec<(u32, u32)>,
    /// The original alternatives, which stay if the list is short.
    terms: Vec<&'c Condition>,
}

impl SetBuilder<'_> {
    fn condition(&mut self, condition: &Condition) -> Condition {
        match condition {
            Condition::Not(inner) => self.condition(inner).negate(),
            Condition::All(terms) => Condition::all(terms.iter().map(|term| self.condition(term))),
            Condition::Any(terms) => self.any(terms),
            Condition::Choice(..) => self.any(std::slice::from_ref(condition)),
            Condition::If(parts) => {
                let [test, yes, no] = &**parts;
                let test = self.condition(test);
                Condition::choose(test, self.condition(yes), self.condition(no))
            }
            other => other.clone(),
        }
    }

    fn any(&mut self, terms: &[Condition]) -> Condition {
        let mut done = Vec::new();
        let mut run: Option<Run> = None;
        for term in terms {
            let Some((value, ranges)) = self.ranges(term) else {
                done.extend(run.take().map(|run| self.finish(run)));
                done.push(match term {
                    Condition::Choice(value, cases) => self.choice(*value, cases),
                    other => self.condition(other),
                });
                continue;
            };
            match &mut run {
                Some(run) if run.value == value => {
                    run.ranges.extend(ranges);
                    run.terms.push(term);
                }
                _ => {
                    done.extend(run.take().map(|run| self.finish(run)));
                    run = Some(Run {
                        value,
                        ranges,
                        terms: vec![term],
                    });
                }
            }
        }
        done.extend(run.map(|run| self.finish(run)));
        Condition::any(done)
    }

    fn finish(&mut self, run: Run<'_>) -> Condition {
        if run.ranges.len() >= self.least
            && let Some(member) = self.member(&[run.value], Set::of_ranges(run.ranges))
        {
            return member;
        }
        Condition::any(run.terms.into_iter().cloned())
    }

    fn member(&mut self, words: &[ValueId], set: Set) -> Option<Condition> {
        let mut all = [words[0]; MAX_KEY_WORDS];
        all[..words.len()].copy_from_slice(words);
        let set = self.sets.add(set)?;
        Some(Condition::Member(Member {
            words: all,
            count: words.len() as u8,
            set,
        }))
    }

    /// If the condition only tests one value against ranges: the value and the ranges.
    fn ranges(&self, condition: &Condition) -> Option<(ValueId, Vec<(u32, u32)>)> {
        match condition {
            Condition::Test(test) => self
                .range(*test, true)
                .map(|(value, range)| (value, vec![range])),
            Condition::Not(inner) => match **inner {
                Condition::Test(test) => self
                    .range(test, false)
                    .map(|(value, range)| (value, vec![range])),
                _ => None,
            },
            Condition::All(terms) => {
                let [low, high] = terms.as_slice() else {
                    return None;
                };
                let (value, low) = self.ranges(low)?;
                let (other, high) = self.ranges(high)?;
                let both = (low[0].0.max(high[0].0), low[0].1.min(high[0].1));
                (value == other && low.len() == 1 && high.len() == 1 && both.0 <= both.1)
                    .then(|| (value, vec![both]))
            }
            Condition::Choice(value, cases) => {
                let mut ranges = Vec::with_capacity(cases.len());
                let (value, mask) = self.values.strip(*value);
                for (constant, rest) in cases {
                    if *rest != Condition::Constant(true) {
                        return None;
                    }
                    ranges.push(self.masked(value, mask, *constant)?);
                }
                Some((value, ranges))
            }
            _ => None,
        }
    }

    /// The range of the value if `test` has this `outcome`, if it is one range.
    fn range(&self, test: Test, outcome: bool) -> Option<(ValueId, (u32, u32))> {
        let constant = self.values.as_constant(test.right)?;
        let ones = self.values.ones(test.left);
        let range = match (test.comparison, outcome) {
            (Comparison::Equal, true) => {
                let (value, mask) = self.values.strip(test.left);
                return Some((value, self.masked(value, mask, constant)?));
            }
            (Comparison::AnyBit, false) => {
                return Some((test.left, self.masked(test.left, constant, 0)?));
            }
            (Comparison::Greater, true) => (constant.checked_add(1)?, ones),
            (Comparison::Greater, false) => (0, constant),
            (Comparison::AtLeast, true) => (constant, ones),
            (Comparison::AtLeast, false) => (0, constant.checked_sub(1)?),
            _ => return None,
        };
        Some((test.left, range))
    }

    /// The numbers that equal `constant` under `mask`, if they are contiguous.
    fn masked(&self, value: ValueId, mask: u32, constant: u32) -> Option<(u32, u32)> {
        let free = self.values.ones(value) & !mask;
        (free & free.wrapping_add(1) == 0).then_some((constant, constant | free))
    }

    /// A choice whose cases have further conditions: keys of several words become a set of their
    /// own.
    fn choice(&mut self, value: ValueId, cases: &[(u32, Condition)]) -> Condition {
        let mut shape: Option<Vec<ValueId>> = None;
        let mut keys = Vec::new();
        let (mut alone, mut longer, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (constant, rest) in cases {
            if *rest == Condition::Constant(true) {
                alone.push((*constant, Condition::Constant(true)));
                continue;
            }
            let mut found = Vec::new();
            let mut key = vec![(value, *constant)];
            if follow(rest, self.values, &mut key, &mut found) && same_shape(&mut shape, &found) {
                keys.extend(found.iter().map(constants));
                longer.push((*constant, rest));
            } else {
                others.push((*constant, self.condition(rest)));
            }
        }
        let mut terms = Vec::new();
        if !alone.is_empty() {
            let alone = Condition::Choice(value, alone);
            terms.push(match self.ranges(&alone) {
                Some((value, ranges)) => self.finish(Run {
                    value,
                    ranges,
                    terms: vec![&alone],
                }),
                None => alone,
            });
        }
        let chain = shape.filter(|_| longer.len() > FEW_BEGINNINGS && keys.len() >= self.least);
        match chain.and_then(|shape| self.keys(&shape, &keys)) {
            Some(chain) => terms.push(chain),
            None => {
                for (constant, rest) in longer {
                    others.push((constant, self.condition(rest)));
                }
            }
        }
        if !others.is_empty() {
            others.sort_by_key(|case| case.0);
            terms.push(Condition::Choice(value, others));
        }
        Condition::any(terms)
    }

    /// One set for each number of words. A word is read only if the words before it match.
    fn keys(&mut self, shape: &[ValueId], keys: &[[u32; MAX_KEY_WORDS]]) -> Option<Condition> {
        let mut chain = Vec::new();
        for count in 1..=shape.len() {
            let beginnings = keys.iter().map(|key| {
                let mut beginning = [0; MAX_KEY_WORDS];
                beginning[..count].copy_from_slice(&key[..count]);
                beginning
            });
            let set = match count {
                1 => Set::of_ranges(beginnings.map(|key| (key[0], key[0])).collect()),
                _ => Set::of_keys(count, beginnings.collect()),
            };
            chain.push(self.member(&shape[..count], set)?);
        }
        Some(Condition::all(chain))
    }
}

type Key = Vec<(ValueId, u32)>;

/// Adds every path through `condition` to `found`, as a list of values with their required
/// constants. Returns false if other paths exist.
fn follow(condition: &Condition, values: &Values, key: &mut Key, found: &mut Vec<Key>) -> bool {
    let length = key.len();
    let is_whole = match condition {
        Condition::Test(test) => match equality(values, *test) {
            Some(pair) => {
                key.push(pair);
                found.push(key.clone());
                true
            }
            None => false,
        },
        Condition::All(terms) => match terms.split_last() {
            Some((last, first)) => {
                first.iter().all(|term| match term {
                    Condition::Test(test) => equality(values, *test).is_some_and(|pair| {
                        key.push(pair);
                        true
                    }),
                    _ => false,
                }) && follow(last, values, key, found)
            }
            None => false,
        },
        Condition::Choice(value, cases) => cases.iter().all(|(constant, rest)| {
            key.push((*value, *constant));
            let is_whole = match rest {
                Condition::Constant(true) => {
                    found.push(key.clone());
                    true
                }
                rest => follow(rest, values, key, found),
            };
            key.pop();
            is_whole
        }),
        _ => false,
    };
    key.truncate(length);
    is_whole
}

fn equality(values: &Values, test: Test) -> Option<(ValueId, u32)> {
    match test.comparison {
        Comparison::Equal => Some((test.left, values.as_constant(test.right)?)),
        _ => None,
    }
}

/// Whether all of `found` test the same values, those of `shape` if it is set.
fn same_shape(shape: &mut Option<Vec<ValueId>>, found: &[Key]) -> bool {
    let fits = |shape: &[ValueId], key: &Key| {
        key.len() == shape.len() && key.iter().zip(shape).all(|(pair, value)| pair.0 == *value)
    };
    let first: Vec<ValueId> = match (shape.as_ref(), found.first()) {
        (Some(shape), _) => shape.clone(),
        (None, Some(key)) => key.iter().map(|pair| pair.0).collect(),
        (None, None) => return false,
    };
    let is_same = first.len() <= MAX_KEY_WORDS && found.iter().all(|key| fits(&first, key));
    if is_same {
        *shape = Some(first);
    }
    is_same
}

fn constants(key: &Key) -> [u32; MAX_KEY_WORDS] {
    let mut constants = [0; MAX_KEY_WORDS];
    for (constant, pair) in constants.iter_mut().zip(key) {
        *constant = pair.1;
    }
    constants
}
