use super::plan::Formula;
use super::writer::Writer;
use crate::graph::condition::{Comparison, Test};
use crate::graph::nodes::{Node, NodeId};
use crate::graph::values::{Value, ValueId, Width};
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{self, InstBuilder};

impl Writer<'_, '_> {
    /// Whether the test comes out as `outcome`, as something to branch on.
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

    /// Whether `formula` comes out as `outcome`. The bytes it asks for are there.
    pub(super) fn truth(&mut self, formula: &Formula, outcome: bool) -> ir::Value {
        match formula {
            Formula::Not(inner) => self.truth(inner, !outcome),
            Formula::Leaf(id) => self.leaf(*id, outcome),
            Formula::All(parts) => self.join(parts, outcome, true, outcome),
            Formula::Any(parts) => self.join(parts, outcome, false, outcome),
        }
    }

    fn leaf(&mut self, id: NodeId, outcome: bool) -> ir::Value {
        match self.facts.filter.graph.node(id) {
            Node::Test { test, .. } => self.condition(test, outcome),
            Node::Member { member, .. } => {
                let number = self.number(member.words[0]);
                self.bit(number, self.bits_of(member.set), outcome)
            }
            _ => self.constant(u32::from(!outcome)),
        }
    }

    /// Whether all (`is_all`) or any of `parts` hold, as `outcome` asks: by the laws of De Morgan all
    /// parts hold, or any part fails.
    fn join(&mut self, parts: &[Formula], outcome: bool, is_all: bool, part: bool) -> ir::Value {
        let is_all = is_all == outcome;
        let (mut words, mut truths) = (None, None);
        for formula in parts {
            // Tests by words that are all to be 0, or not all, need one comparison together.
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

    /// The test that `formula` is, and the outcome it is to have.
    fn test_of(&self, formula: &Formula, outcome: bool) -> Option<(Test, bool)> {
        match formula {
            Formula::Not(inner) => self.test_of(inner, !outcome),
            Formula::Leaf(id) => match self.facts.filter.graph.node(*id) {
                Node::Test { test, .. } => Some((test, outcome)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Of a test for equality or bits: a word that is 0 exactly if it comes out as [`zero_means`].
    fn word(&mut self, test: Test) -> ir::Value {
        let (left, right) = self.sides(test);
        if test.comparison == Comparison::AnyBit {
            return self.builder.ins().band(left, right);
        }
        match self.facts.filter.values.as_constant(test.right) {
            Some(0) => left,
            _ => self.builder.ins().bxor(left, right),
        }
    }

    /// Both sides of a test for equality or bits; the constant is swapped, not the load.
    fn sides(&mut self, test: Test) -> (ir::Value, ir::Value) {
        let values = &self.facts.filter.values;
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

    /// How the bytes of a load are swapped, if it holds all bits of `constant`.
    fn swap_of(&self, value: ValueId, constant: u32) -> Option<fn(u32) -> u32> {
        let values = &self.facts.filter.values;
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

/// What it means that the word of such a test is 0; `None` if it has none.
fn zero_means(comparison: Comparison) -> Option<bool> {
    match comparison {
        Comparison::Equal => Some(true),
        Comparison::AnyBit => Some(false),
        Comparison::Greater | Comparison::AtLeast => None,
    }
}
