//! Native code for conditions and branches.

use crate::backend::native::cranelift::merge_tests::Formula;
use crate::backend::native::cranelift::writer::FunctionWriter;
use crate::graph::condition::{Comparison, Test};
use crate::graph::control_flow::{Node, NodeId};
use crate::graph::values::{Value, ValueId, Width};
use cranelift_codegen::ir;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};

impl FunctionWriter<'_, '_> {
    /// The condition "the test has this `outcome`", for a branch.
    pub(super) fn condition(&mut self, test: Test, outcome: bool) -> ir::Value {
        let code = match test.comparison {
            Comparison::Equal => IntCC::Equal,
            Comparison::Greater => IntCC::UnsignedGreaterThan,
            Comparison::AtLeast => IntCC::UnsignedGreaterThanOrEqual,
            Comparison::AnyBit => IntCC::NotEqual,
        };
        let code = if outcome { code } else { code.complement() };
        if test.comparison == Comparison::AnyBit {
            let word = self.word(test);
            return self.builder.ins().icmp_imm_u(code, word, 0);
        }
        let (left, right) = match test.comparison {
            Comparison::Equal => self.sides(test),
            _ => (self.number(test.left), self.number(test.right)),
        };
        self.builder.ins().icmp(code, left, right)
    }

    /// The condition "the formula has this `outcome`". Its bytes must be proven to exist.
    pub(super) fn truth(&mut self, formula: &Formula, outcome: bool) -> ir::Value {
        match formula {
            Formula::Not(inner) => self.truth(inner, !outcome),
            Formula::Leaf(id) => self.leaf(*id, outcome),
            Formula::All(parts) => self.join(parts, outcome, true, outcome),
            Formula::Any(parts) => self.join(parts, outcome, false, outcome),
        }
    }

    fn leaf(&mut self, id: NodeId, outcome: bool) -> ir::Value {
        match self.input.filter.graph.node(id) {
            Node::Test { test, .. } => self.condition(test, outcome),
            Node::Member { member, .. } => {
                let number = self.number(member.words[0]);
                self.bit(number, self.bits_of(member.set), outcome)
            }
            _ => self.constant(u32::from(!outcome)),
        }
    }

    /// The condition that all (`is_all`) or any of `parts` hold, or its negation by De Morgan's
    /// laws.
    fn join(&mut self, parts: &[Formula], outcome: bool, is_all: bool, part: bool) -> ir::Value {
        let is_all = is_all == outcome;
        let (mut words, mut truths) = (None, None);
        for formula in parts {
            // Words that must all be 0 (or not all) are combined by OR and compared once.
            if let Some((test, wanted)) = self.test_of(formula, part)
                && let Some(zero_means) = zero_means(test.comparison)
                && (zero_means == wanted) == is_all
            {
                let word = self.word(test);
                words = Some(match words {
                    Some(words) => self.builder.ins().bor(words, word),
                    None => word,
                });
                continue;
            }
            let truth = self.truth(formula, part);
            truths = Some(self.combine(truths, truth, is_all));
        }
        if let Some(words) = words {
            let code = if is_all {
                IntCC::Equal
            } else {
                IntCC::NotEqual
            };
            let truth = self.builder.ins().icmp_imm_u(code, words, 0);
            truths = Some(self.combine(truths, truth, is_all));
        }
        match truths {
            Some(truth) => truth,
            None => self.constant(u32::from(is_all)),
        }
    }

    fn combine(&mut self, one: Option<ir::Value>, two: ir::Value, is_all: bool) -> ir::Value {
        match one {
            Some(one) if is_all => self.builder.ins().band(one, two),
            Some(one) => self.builder.ins().bor(one, two),
            None => two,
        }
    }

    /// The single test that `formula` consists of, with its required outcome.
    fn test_of(&self, formula: &Formula, outcome: bool) -> Option<(Test, bool)> {
        match formula {
            Formula::Not(inner) => self.test_of(inner, !outcome),
            Formula::Leaf(id) => match self.input.filter.graph.node(*id) {
                Node::Test { test, .. } => Some((test, outcome)),
                _ => None,
            },
            _ => None,
        }
    }

    /// For a test of equality or bits: a word that is 0 if and only if the outcome is
    /// [`zero_means`].
    fn word(&mut self, test: Test) -> ir::Value {
        let (left, right) = self.sides(test);
        if test.comparison == Comparison::AnyBit {
            return self.builder.ins().band(left, right);
        }
        match self.input.filter.values.as_constant(test.right) {
            Some(0) => left,
            _ => self.builder.ins().bxor(left, right),
        }
    }

    /// Both sides of a test of equality or bits. The constant is byte-swapped, not the load.
    fn sides(&mut self, test: Test) -> (ir::Value, ir::Value) {
        let values = &self.input.filter.values;
        let Some(constant) = values.as_constant(test.right) else {
            return (self.number(test.left), self.number(test.right));
        };
        let (value, mask) = values.strip(test.left);
        if let Some(swap) = self.swap_of(value, constant) {
            let loaded = self.loaded(value);
            let left = match mask {
                u32::MAX => loaded,
                mask => self.builder.ins().band_imm_u(loaded, i64::from(swap(mask))),
            };
            return (left, self.constant(swap(constant)));
        }
        (self.number(test.left), self.constant(constant))
    }

    /// The byte swap for the constant, if the value is a load that can hold all bits of `constant`.
    fn swap_of(&self, value: ValueId, constant: u32) -> Option<fn(u32) -> u32> {
        let values = &self.input.filter.values;
        if constant & !values.ones(value) != 0 {
            return None;
        }
        match values.get(value) {
            Value::Load {
                width: Width::Half, ..
            } => Some(|number| number.swap_bytes() >> 16),
            Value::Load {
                width: Width::Word, ..
            } => Some(u32::swap_bytes),
            _ => None,
        }
    }
}

/// The outcome of a test whose word is 0; `None` for other comparisons.
fn zero_means(comparison: Comparison) -> Option<bool> {
    match comparison {
        Comparison::Equal => Some(true),
        Comparison::AnyBit => Some(false),
        Comparison::Greater | Comparison::AtLeast => None,
    }
}
