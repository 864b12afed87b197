//! Tracks what is known about variables and headers at each term.

use crate::graph::condition::{Condition, Test};
use crate::graph::values::{Value, ValueId, Values, Width};
use crate::language::tree::Operator;
use crate::lower::frame::Frame;

/// Maximum number of remembered tests of one term.
const MAX_FACTS: usize = 16;

/// The known values of the variables.
pub(super) type Known = [Option<u32>; 16];

/// The headers as a reader expects them: those of the tunnel words that hold whenever the term is
/// evaluated.
#[derive(Clone)]
pub(super) struct Scope {
    pub frame: Frame,
    /// The tunnel words, as a bit mask.
    pub words: u32,
}

/// What is known before a term is evaluated.
#[derive(Clone)]
pub(super) struct TermState {
    pub known: Known,
    pub scope: Scope,
}

/// What is known after a part of the filter, for each outcome; `None` if that outcome is
/// impossible.
pub(super) struct BranchStates {
    pub yes: Option<TermState>,
    pub no: Option<TermState>,
}

impl TermState {
    /// What is known where two paths from `before` join.
    pub(super) fn meet(one: Option<Self>, other: Option<Self>, before: &Self) -> Option<Self> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return one.or(other),
        };
        let scope = if one.scope.frame == other.scope.frame {
            Scope {
                words: one.scope.words | other.scope.words,
                frame: one.scope.frame,
            }
        } else {
            before.scope.clone()
        };
        Some(Self {
            known: meet(one.known, other.known),
            scope,
        })
    }
}

fn meet(one: Known, other: Known) -> Known {
    let mut both = one;
    for (known, other) in both.iter_mut().zip(other) {
        *known = known.filter(|_| *known == other);
    }
    both
}

/// What is known about the variables after `condition`, if it is true and if it is false.
pub(super) fn flow(
    condition: &Condition,
    known: Known,
    values: &mut Values,
) -> (Option<Known>, Option<Known>) {
    let facts = &mut Vec::new();
    DataFlow { values, facts }.flow(condition, known)
}

struct DataFlow<'a> {
    values: &'a mut Values,
    /// The outcomes of earlier tests on this path.
    facts: &'a mut Vec<(Test, bool)>,
}

impl DataFlow<'_> {
    fn flow(&mut self, condition: &Condition, known: Known) -> (Option<Known>, Option<Known>) {
        match condition {
            Condition::Constant(true) => (Some(known), None),
            Condition::Constant(false) => (None, Some(known)),
            Condition::Let(variable, value) => {
                let value = substitute_value(*value, &known, self.values);
                let mut behind = known;
                behind[variable.0 as usize % known.len()] = self.values.as_constant(value);
                (Some(behind), None)
            }
            Condition::Not(inner) => {
                let (yes, no) = self.flow(inner, known);
                (no, yes)
            }
            Condition::All(terms) => self.in_a_row(terms, known, true),
            Condition::Any(terms) => {
                let (no, yes) = self.in_a_row(terms, known, false);
                (yes, no)
            }
            Condition::Test(test) => match self.facts.iter().find(|fact| fact.0 == *test) {
                Some((_, true)) => (Some(known), None),
                Some((_, false)) => (None, Some(known)),
                None => (Some(known), Some(known)),
            },
            Condition::If(parts) => self.either(parts, known),
            Condition::Choice(..) | Condition::Member(_) => (Some(known), Some(known)),
        }
    }

    /// Evaluates terms while their outcome is `goes_on`. Returns what is known after the last term,
    /// and after an early exit.
    fn in_a_row(
        &mut self,
        terms: &[Condition],
        known: Known,
        goes_on: bool,
    ) -> (Option<Known>, Option<Known>) {
        let facts_before = self.facts.len();
        let mut here = Some(known);
        let mut ended: Option<Known> = None;
        for term in terms {
            let Some(known) = here else {
                break;
            };
            let (yes, no) = self.flow(term, known);
            let (on, end) = if goes_on { (yes, no) } else { (no, yes) };
            ended = match (ended, end) {
                (Some(one), Some(other)) => Some(meet(one, other)),
                (one, other) => one.or(other),
            };
            here = on;
            self.learn(term, goes_on);
        }
        self.facts.truncate(facts_before);
        (here, ended)
    }

    fn either(&mut self, parts: &[Condition; 3], known: Known) -> (Option<Known>, Option<Known>) {
        let [condition, then, otherwise] = parts;
        let (yes, no) = self.flow(condition, known);
        let mut follow = |part, known: Option<Known>| match known {
            Some(known) => self.flow(part, known),
            None => (None, None),
        };
        let (then, otherwise) = (follow(then, yes), follow(otherwise, no));
        let join = |one: Option<Known>, other: Option<Known>| match (one, other) {
            (Some(one), Some(other)) => Some(meet(one, other)),
            (one, other) => one.or(other),
        };
        (join(then.0, otherwise.0), join(then.1, otherwise.1))
    }

    /// Records the outcome of a test that depends on no variable.
    fn learn(&mut self, term: &Condition, outcome: bool) {
        match term {
            Condition::Test(test) => {
                let variables =
                    self.values.variables(test.left) | self.values.variables(test.right);
                if variables == 0 && self.facts.len() < MAX_FACTS {
                    self.facts.push((*test, outcome));
                }
            }
            Condition::Not(inner) => self.learn(inner, !outcome),
            _ => {}
        }
    }
}

/// `condition` with known variables replaced by their values.
pub(super) fn substitute(condition: &Condition, known: &Known, values: &mut Values) -> Condition {
    match condition {
        Condition::Test(Test {
            comparison,
            left,
            right,
        }) => {
            let left = substitute_value(*left, known, values);
            let right = substitute_value(*right, known, values);
            values.test(*comparison, left, right)
        }
        Condition::Let(variable, value) => {
            Condition::Let(*variable, substitute_value(*value, known, values))
        }
        Condition::Not(inner) => substitute(inner, known, values).negate(),
        Condition::All(terms) => {
            Condition::all(terms.iter().map(|term| substitute(term, known, values)))
        }
        Condition::Any(terms) => {
            Condition::any(terms.iter().map(|term| substitute(term, known, values)))
        }
        Condition::If(parts) => {
            let [condition, yes, no] = &**parts;
            let condition = substitute(condition, known, values);
            let yes = substitute(yes, known, values);
            Condition::choose(condition, yes, substitute(no, known, values))
        }
        other => other.clone(),
    }
}

fn substitute_value(id: ValueId, known: &Known, values: &mut Values) -> ValueId {
    if values.variables(id) == 0 {
        return id;
    }
    match values.get(id) {
        Value::Variable(variable) => match known[variable.0 as usize % known.len()] {
            Some(constant) => values.constant(constant),
            None => id,
        },
        Value::Load {
            width,
            base,
            offset,
        } => {
            let base = base.map(|base| substitute_value(base, known, values));
            values.load(width, base, offset)
        }
        Value::Negate(operand) => {
            let operand = substitute_value(operand, known, values);
            values.negate(operand)
        }
        Value::Binary(operator, left, right) => {
            let left = substitute_value(left, known, values);
            let right = substitute_value(right, known, values);
            header_length(operator, left, right, values)
                .unwrap_or_else(|| values.binary(operator, left, right))
        }
        Value::Constant(_) | Value::Length | Value::Ancillary(..) | Value::HeaderLength(_) => id,
    }
}

/// `(packet[offset] & 15) << 2` at a fixed offset is `Value::HeaderLength`.
fn header_length(
    operator: Operator,
    left: ValueId,
    right: ValueId,
    values: &mut Values,
) -> Option<ValueId> {
    let (byte, mask) = values.strip(left);
    let is_length = operator == Operator::ShiftLeft && values.as_constant(right) == Some(2);
    match values.get(byte) {
        Value::Load {
            width: Width::Byte,
            base: None,
            offset,
        } if is_length && mask == 15 => Some(values.header_length(None, offset)),
        _ => None,
    }
}
