//! Conditions: tests, set members and their combinations.

use crate::graph::sets::{MAX_KEY_WORDS, SetId};
use crate::graph::values::{Value, ValueId, Values, Variable};
use crate::language::tree::Operator;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    Greater,
    AtLeast,
    /// The operands have a common bit.
    AnyBit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Test {
    pub comparison: Comparison,
    pub left: ValueId,
    pub right: ValueId,
}

/// Whether a key of one or several values is in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    /// The words of the key; words after `count` are unused.
    pub words: [ValueId; MAX_KEY_WORDS],
    pub count: u8,
    pub set: SetId,
}

impl Member {
    pub(crate) fn words(&self) -> &[ValueId] {
        &self.words[..self.count as usize]
    }
}

/// A boolean expression on values, evaluated from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    Constant(bool),
    Test(Test),
    /// Assigns a value to the variable; always true.
    Let(Variable, ValueId),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    /// The value equals one of the sorted constants, and the condition of that constant holds.
    Choice(ValueId, Vec<(u32, Condition)>),
    Member(Member),
    /// If the first condition is true, the second one, otherwise the third one.
    If(Box<[Condition; 3]>),
}

impl Condition {
    /// `yes` if `condition` is true, otherwise `no`.
    pub(crate) fn choose(condition: Self, yes: Self, no: Self) -> Self {
        match condition {
            Self::Constant(true) => yes,
            Self::Constant(false) => no,
            condition => Self::If(Box::new([condition, yes, no])),
        }
    }

    pub(crate) fn negate(self) -> Self {
        match self {
            Self::Constant(constant) => Self::Constant(!constant),
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// True if all of `conditions` are, evaluated in order.
    pub(crate) fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::join(conditions, true)
    }

    /// True if one of `conditions` is, evaluated in order.
    pub(crate) fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::join(conditions, false)
    }

    fn join(conditions: impl IntoIterator<Item = Self>, is_all: bool) -> Self {
        let mut joined = Vec::new();
        for condition in conditions {
            match condition {
                Self::All(inner) if is_all => joined.extend(inner),
                Self::Any(inner) if !is_all => joined.extend(inner),
                Self::Constant(constant) if constant == is_all => {}
                Self::Constant(constant) => {
                    // The constant decides, unless earlier conditions set variables.
                    if joined.iter().any(Self::sets_variables) {
                        joined.push(Self::Constant(constant));
                        break;
                    }
                    return Self::Constant(constant);
                }
                other => joined.push(other),
            }
        }
        match joined.len() {
            0 => Self::Constant(is_all),
            1 => joined.swap_remove(0),
            _ if is_all => Self::All(joined),
            _ => Self::Any(joined),
        }
    }

    /// Whether the evaluation may assign a variable.
    pub(crate) fn sets_variables(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Test(_) | Self::Member(_) => false,
            Self::Let(..) => true,
            Self::Not(inner) => inner.sets_variables(),
            Self::All(inner) | Self::Any(inner) => inner.iter().any(Self::sets_variables),
            Self::Choice(_, cases) => cases.iter().any(|case| case.1.sets_variables()),
            Self::If(parts) => parts.iter().any(Self::sets_variables),
        }
    }
}

impl Values {
    pub(crate) fn equal(&mut self, left: ValueId, right: u32) -> Condition {
        let right = self.constant(right);
        self.test(Comparison::Equal, left, right)
    }

    pub(crate) fn any_bit(&mut self, left: ValueId, bits: u32) -> Condition {
        let bits = self.constant(bits);
        self.test(Comparison::AnyBit, left, bits)
    }

    /// `left & mask == right`
    pub(crate) fn masked_equal(&mut self, left: ValueId, mask: u32, right: u32) -> Condition {
        let masked = self.binary_constant(Operator::And, left, mask);
        self.equal(masked, right)
    }

    /// `least <= left <= most`
    pub(crate) fn between(&mut self, left: ValueId, least: u32, most: u32) -> Condition {
        if least == most {
            return self.equal(left, least);
        }
        let (least, most) = (self.constant(least), self.constant(most));
        let low = self.test(Comparison::AtLeast, left, least);
        let high = self.test(Comparison::Greater, left, most).negate();
        Condition::all([low, high])
    }

    /// The comparison in canonical form, so that equivalent tests are equal.
    pub(crate) fn test(
        &mut self,
        comparison: Comparison,
        left: ValueId,
        right: ValueId,
    ) -> Condition {
        match (self.as_constant(left), self.as_constant(right)) {
            (Some(left), Some(right)) => Condition::Constant(holds(comparison, left, right)),
            (None, Some(constant)) => self.test_constant(comparison, left, constant),
            (Some(_), None) => match comparison {
                Comparison::Equal | Comparison::AnyBit => self.test(comparison, right, left),
                Comparison::Greater => self.test(Comparison::AtLeast, right, left).negate(),
                Comparison::AtLeast => self.test(Comparison::Greater, right, left).negate(),
            },
            (None, None) if left == right => match comparison {
                Comparison::Equal | Comparison::AtLeast => Condition::Constant(true),
                Comparison::Greater => Condition::Constant(false),
                Comparison::AnyBit => self.equal(left, 0).negate(),
            },
            (None, None) => Condition::Test(Test {
                comparison,
                left,
                right,
            }),
        }
    }

    fn test_constant(&mut self, comparison: Comparison, left: ValueId, right: u32) -> Condition {
        let ones = self.ones(left);
        let masked = match self.get(left) {
            Value::Binary(Operator::And, operand, mask) => {
                self.as_constant(mask).map(|mask| (operand, mask))
            }
            _ => None,
        };
        let (comparison, left, right) = match comparison {
            Comparison::Equal if right & !ones != 0 => return Condition::Constant(false),
            Comparison::Equal => match masked {
                Some((operand, mask)) if right == 0 => {
                    return self.any_bit(operand, mask).negate();
                }
                Some((operand, mask)) if right == mask && mask.is_power_of_two() => {
                    (Comparison::AnyBit, operand, mask)
                }
                _ => (comparison, left, right),
            },
            Comparison::Greater if ones <= right => return Condition::Constant(false),
            Comparison::Greater if right == 0 => return self.equal(left, 0).negate(),
            Comparison::AtLeast if right == 0 => return Condition::Constant(true),
            Comparison::AtLeast if ones < right => return Condition::Constant(false),
            Comparison::AtLeast if right == 1 => return self.equal(left, 0).negate(),
            Comparison::AnyBit if right == 0 => return Condition::Constant(false),
            Comparison::AnyBit => match masked {
                Some((operand, mask)) => return self.any_bit(operand, mask & right),
                None if right & ones == ones => return self.equal(left, 0).negate(),
                // The test stays even if the bits are never set: the bytes of the value must exist.
                None if right & ones == 0 => (comparison, left, right),
                None => (comparison, left, right & ones),
            },
            _ => (comparison, left, right),
        };
        let right = self.constant(right);
        Condition::Test(Test {
            comparison,
            left,
            right,
        })
    }
}

fn holds(comparison: Comparison, left: u32, right: u32) -> bool {
    match comparison {
        Comparison::Equal => left == right,
        Comparison::Greater => left > right,
        Comparison::AtLeast => left >= right,
        Comparison::AnyBit => left & right != 0,
    }
}
