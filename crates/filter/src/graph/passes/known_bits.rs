//! What is known about the bits of values at a node.

use crate::graph::condition::{Comparison, Test};
use crate::graph::values::{ValueId, Values, Variable};
use std::collections::BTreeMap;

/// Maximum number of values with known facts at one node.
const MAX_VALUES: usize = 32;
/// Maximum number of excluded numbers per value.
const MAX_EXCLUDED: usize = 16;

/// What is known about one value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    /// The known bits, and their values.
    mask: u32,
    bits: u32,
    least: u32,
    most: u32,
    /// `value & .0` is not `.1`.
    excluded: Vec<(u32, u32)>,
}

/// What is known about values at one node of the graph, on every path to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowledge {
    of: BTreeMap<ValueId, Known>,
}

impl Knowledge {
    /// The outcome of `test`, if the known facts decide it.
    pub(super) fn decide(&self, values: &Values, test: Test) -> Option<bool> {
        let constant = values.as_constant(test.right)?;
        let (value, mask) = values.strip(test.left);
        let known = self.of.get(&value)?;
        match test.comparison {
            Comparison::Equal => known.is_equal(mask, constant),
            Comparison::AnyBit => {
                let bits = constant & mask;
                if known.bits & known.mask & bits != 0 {
                    return Some(true);
                }
                (known.mask & bits == bits).then_some(false)
            }
            Comparison::Greater | Comparison::AtLeast if mask != u32::MAX => None,
            Comparison::Greater if known.least > constant => Some(true),
            Comparison::Greater if known.most <= constant => Some(false),
            Comparison::AtLeast if known.least >= constant => Some(true),
            Comparison::AtLeast if known.most < constant => Some(false),
            Comparison::Greater | Comparison::AtLeast => None,
        }
    }

    /// Records that `test` had this `outcome`.
    pub(super) fn learn(&mut self, values: &Values, test: Test, outcome: bool) {
        let Some(constant) = values.as_constant(test.right) else {
            return;
        };
        let (value, mask) = values.strip(test.left);
        if !self.of.contains_key(&value) && self.of.len() >= MAX_VALUES {
            return;
        }
        let ones = values.ones(value);
        let known = self.of.entry(value).or_insert_with(|| Known::nothing(ones));
        match (test.comparison, outcome) {
            (Comparison::Equal, true) => known.set(mask, constant),
            (Comparison::Equal, false) => known.exclude(mask, constant),
            (Comparison::AnyBit, true) => {
                let bits = constant & mask;
                if bits.is_power_of_two() {
                    known.set(bits, bits);
                } else {
                    known.exclude(bits, 0);
                }
            }
            (Comparison::AnyBit, false) => known.set(constant & mask, 0),
            (Comparison::Greater | Comparison::AtLeast, _) if mask != u32::MAX => {}
            (Comparison::Greater, true) => {
                known.least = known.least.max(constant.saturating_add(1));
            }
            (Comparison::Greater, false) => known.most = known.most.min(constant),
            (Comparison::AtLeast, true) => known.least = known.least.max(constant),
            (Comparison::AtLeast, false) => {
                known.most = known.most.min(constant.saturating_sub(1));
            }
        }
    }

    /// Records that `variable` has the value. Forgets the facts about values that depend on what it had before.
    pub(super) fn assign(&mut self, values: &Values, variable: Variable, value: ValueId) {
        self.of
            .retain(|&value, _| !values.depends_on(value, variable));
        let (Some(constant), Some(id)) = (values.as_constant(value), values.id_of(variable)) else {
            return;
        };
        if self.of.len() < MAX_VALUES {
            let mut known = Known::nothing(u32::MAX);
            known.set(u32::MAX, constant);
            self.of.insert(id, known);
        }
    }

    /// Keeps the facts that hold on both paths.
    pub(super) fn meet(&mut self, other: &Self) {
        self.of.retain(|value, known| match other.of.get(value) {
            Some(other) => {
                known.meet(other);
                true
            }
            None => false,
        });
    }
}

impl Known {
    fn nothing(ones: u32) -> Self {
        Self {
            mask: !ones,
            bits: 0,
            least: 0,
            most: ones,
            excluded: Vec::new(),
        }
    }

    fn is_equal(&self, mask: u32, constant: u32) -> Option<bool> {
        let both = self.mask & mask;
        if self.bits & both != constant & both {
            return Some(false);
        }
        if both == mask {
            return Some(true);
        }
        if mask == u32::MAX && !(self.least..=self.most).contains(&constant) {
            return Some(false);
        }
        // If the value does not equal `bits` under a smaller mask, it cannot contain these bits.
        let excluded = self
            .excluded
            .iter()
            .any(|&(inner, bits)| inner & !mask == 0 && constant & inner == bits);
        excluded.then_some(false)
    }

    fn set(&mut self, mask: u32, bits: u32) {
        self.mask |= mask;
        self.bits = self.bits & !mask | bits & mask;
        if self.mask == u32::MAX {
            self.least = self.bits;
            self.most = self.bits;
        }
    }

    fn exclude(&mut self, mask: u32, bits: u32) {
        if self.excluded.len() < MAX_EXCLUDED {
            self.excluded.push((mask, bits));
        }
    }

    fn meet(&mut self, other: &Self) {
        self.mask &= other.mask & !(self.bits ^ other.bits);
        self.bits &= self.mask;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.excluded.retain(|pair| other.excluded.contains(pair));
    }
}
