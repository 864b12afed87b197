//! Explains a verdict: the result of each term for a packet.

use crate::classic::Ancillary;
use crate::filter::Filter;
use crate::graph::condition::{Comparison, Condition, Test};
use crate::graph::values::{Value, ValueId, Values, Width, compute};
use crate::language::tree::{Expression, Operator};
use crate::lower::lowering::Lowering;
use std::fmt;
use std::ops::Range;

/// The result of one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TermResult {
    /// The term is true.
    True,
    /// The term is false.
    False,
    /// Earlier terms decided.
    NotEvaluated,
    /// The packet lacks the bytes, so it is rejected, whatever the other terms are.
    Missing {
        /// Offset of the first byte, from the start of the packet.
        offset: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// The term divides by 0, which rejects the packet.
    DivisionByZero,
    /// The term needs metadata that this packet does not have, which rejects it.
    Unknown,
}

/// One term of a filter and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedTerm {
    /// The byte range of the term in the text.
    pub span: Range<usize>,
    /// Its result, before a `not` that may precede it.
    pub result: TermResult,
}

/// How a filter reaches its verdict on one packet. Created by [`Filter::explain`].
///
/// `Display` prints the filter with a mark below each term.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation<'a> {
    /// The text of the filter.
    pub text: &'a str,
    /// The number of bytes to keep, as returned by [`Filter::run`]; 0 rejects the packet.
    pub verdict: u32,
    /// The terms, in text order, which is also the order of evaluation.
    pub terms: Vec<ExplainedTerm>,
    /// The index of the term that decided: the last one evaluated.
    ///
    /// `None` if no term was evaluated, or if `terms` do not lead to `verdict`. The compiler groups
    /// alternatives that start with the same test, which can change the verdict on truncated
    /// packets.
    pub decided_by: Option<usize>,
    /// Why no term was evaluated: the headers before an 802.11 frame are incomplete.
    pub no_header: Option<TermResult>,
}

impl Filter {
    /// Evaluates each term for `packet`, and returns which one decided.
    ///
    /// `packet` is the captured part, `original_len` the length on the wire in bytes. Cost: as much
    /// as compiling the filter; not meant for every packet.
    pub fn explain(
        &self,
        packet: &[u8],
        original_len: u32,
        ancillary: &Ancillary,
    ) -> Explanation<'_> {
        let verdict = self.run(packet, original_len, ancillary);
        let lowering = Lowering::new(&self.options, &self.names);
        let lowered = lowering.lower_terms(&self.tree);
        let mut walk = TermWalk {
            conditions: lowered.terms.into_iter(),
            evaluation: Evaluation {
                values: &lowered.values,
                packet,
                original_len,
                ancillary,
                variables: [0; 16],
            },
            terms: Vec::new(),
            last: None,
        };
        let prefix = walk.evaluation.condition(&lowered.prefix);
        let answer = prefix.ok().and_then(|_| walk.evaluate(&self.tree));
        if prefix.is_err() {
            walk.skip(&self.tree);
        }
        let leads_there = answer.unwrap_or(false) == (verdict != 0);
        Explanation {
            text: &self.text,
            verdict,
            decided_by: walk.last.filter(|_| leads_there),
            terms: walk.terms,
            no_header: prefix.err(),
        }
    }
}

/// Evaluates a tree term by term.
struct TermWalk<'a> {
    conditions: std::vec::IntoIter<Condition>,
    evaluation: Evaluation<'a>,
    terms: Vec<ExplainedTerm>,
    last: Option<usize>,
}

impl TermWalk<'_> {
    /// Whether `expression` is true for the packet; `None` if the packet is rejected.
    fn evaluate(&mut self, expression: &Expression) -> Option<bool> {
        let (terms, goes_on) = match expression {
            Expression::Term(span, _) => {
                let condition = self.conditions.next()?;
                let answer = self.evaluation.condition(&condition);
                self.last = Some(self.terms.len());
                self.terms.push(ExplainedTerm {
                    span: span.whole.clone(),
                    result: match answer {
                        Ok(true) => TermResult::True,
                        Ok(false) => TermResult::False,
                        Err(outcome) => outcome,
                    },
                });
                return answer.ok();
            }
            Expression::Not(inner) => return self.evaluate(inner).map(|answer| !answer),
            Expression::All(terms) => (terms, true),
            Expression::Any(terms) => (terms, false),
        };
        let mut answer = Some(goes_on);
        for term in terms {
            if answer == Some(goes_on) {
                answer = self.evaluate(term);
            } else {
                self.skip(term);
            }
        }
        answer
    }

    fn skip(&mut self, expression: &Expression) {
        match expression {
            Expression::Term(span, _) => {
                self.conditions.next();
                self.terms.push(ExplainedTerm {
                    span: span.whole.clone(),
                    result: TermResult::NotEvaluated,
                });
            }
            Expression::Not(inner) => self.skip(inner),
            Expression::All(terms) | Expression::Any(terms) => {
                for term in terms {
                    self.skip(term);
                }
            }
        }
    }
}

/// Evaluates conditions on one packet.
pub(super) struct Evaluation<'a> {
    pub values: &'a Values,
    pub packet: &'a [u8],
    pub original_len: u32,
    pub ancillary: &'a Ancillary,
    pub variables: [u32; 16],
}

impl Evaluation<'_> {
    pub(super) fn condition(&mut self, condition: &Condition) -> Result<bool, TermResult> {
        match condition {
            Condition::Constant(constant) => Ok(*constant),
            Condition::Test(test) => self.test(*test),
            Condition::Let(variable, value) => {
                let place = variable.0 as usize % self.variables.len();
                self.variables[place] = self.value(*value)?;
                Ok(true)
            }
            Condition::Not(inner) => Ok(!self.condition(inner)?),
            Condition::All(terms) => {
                for term in terms {
                    if !self.condition(term)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Any(terms) => {
                for term in terms {
                    if self.condition(term)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::Choice(value, cases) => {
                let value = self.value(*value)?;
                match cases.iter().find(|case| case.0 == value) {
                    Some((_, rest)) => self.condition(rest),
                    None => Ok(false),
                }
            }
            Condition::If(parts) => {
                let [condition, yes, no] = &**parts;
                let holds = self.condition(condition)?;
                self.condition(if holds { yes } else { no })
            }
            // Only a pass that a single term does not go through creates sets.
            Condition::Member(_) => Ok(false),
        }
    }

    fn test(&self, test: Test) -> Result<bool, TermResult> {
        let (left, right) = (self.value(test.left)?, self.value(test.right)?);
        Ok(match test.comparison {
            Comparison::Equal => left == right,
            Comparison::Greater => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::AnyBit => left & right != 0,
        })
    }

    fn value(&self, id: ValueId) -> Result<u32, TermResult> {
        match self.values.get(id) {
            Value::Constant(constant) => Ok(constant),
            Value::Length => Ok(self.original_len),
            Value::Load {
                width,
                base,
                offset,
            } => {
                let base = match base {
                    Some(base) => self.value(base)?,
                    None => 0,
                };
                self.load(width, base.wrapping_add(offset))
            }
            Value::Ancillary(_, offset) => {
                let known = self.ancillary.load(offset, 0, 0);
                known.ok_or(TermResult::Unknown)
            }
            Value::HeaderLength(offset) => Ok((self.load(Width::Byte, offset)? & 15) * 4),
            Value::Variable(variable) => {
                Ok(self.variables[variable.0 as usize % self.variables.len()])
            }
            Value::Negate(operand) => Ok(self.value(operand)?.wrapping_neg()),
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match operator {
                    Operator::ShiftLeft => Ok(left.wrapping_shl(right)),
                    Operator::ShiftRight => Ok(left.wrapping_shr(right)),
                    _ => compute(operator, left, right).ok_or(TermResult::DivisionByZero),
                }
            }
        }
    }

    fn load(&self, width: Width, offset: u32) -> Result<u32, TermResult> {
        let bytes = match width {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        };
        let missing = TermResult::Missing { offset, bytes };
        let rest = self.packet.get(offset as usize..).ok_or(missing)?;
        let field = rest.get(..bytes as usize).ok_or(missing)?;
        Ok(field
            .iter()
            .fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }
}

/// Filters of one line with at most this many characters and terms are printed whole.
const MAX_MARKED: usize = 160;
const MAX_TERMS: usize = 24;
/// Maximum number of listed terms of a longer filter.
const MAX_LISTED: usize = 100;

impl fmt::Display for TermResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::True => f.write_str("true"),
            Self::False => f.write_str("false"),
            Self::NotEvaluated => f.write_str("not evaluated"),
            Self::Missing { offset, bytes: 1 } => write!(f, "no byte at {offset}"),
            Self::Missing { offset, bytes } => write!(f, "no {bytes} bytes at {offset}"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Unknown => f.write_str("unknown for this packet"),
        }
    }
}

impl fmt::Display for Explanation<'_> {
    /// Prints a short filter with a mark below each term, and of a long one a list of the terms
    /// that are not false. The last line is the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one_line = !self.text.contains(|letter: char| letter.is_control());
        let characters = self.text.chars().count();
        if is_one_line && characters <= MAX_MARKED && self.terms.len() <= MAX_TERMS {
            self.marked(f, characters)?;
        } else {
            self.listed(f)?;
        }
        self.conclusion(f)
    }
}

impl Explanation<'_> {
    fn marked(&self, f: &mut fmt::Formatter<'_>, characters: usize) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        let count = |part: Option<&str>| part.unwrap_or("").chars().count();
        for (at, term) in self.terms.iter().enumerate() {
            let before = count(self.text.get(..term.span.start));
            let width = count(self.text.get(term.span.clone()));
            let behind = characters.saturating_sub(before + width);
            write!(f, "{:before$}{:^<width$}{:behind$}  ", "", "", "")?;
            self.outcome(f, at)?;
        }
        Ok(())
    }

    fn listed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mut fails, mut unasked, mut listed, mut unlisted] = [0usize; 4];
        for (at, term) in self.terms.iter().enumerate() {
            match term.result {
                _ if self.decided_by == Some(at) => {}
                TermResult::False => {
                    fails += 1;
                    continue;
                }
                TermResult::NotEvaluated => {
                    unasked += 1;
                    continue;
                }
                _ if listed >= MAX_LISTED => {
                    unlisted += 1;
                    continue;
                }
                _ => {}
            }
            listed += 1;
            let words = self.text.get(term.span.clone()).unwrap_or("");
            let words = words.replace(|letter: char| letter.is_control(), " ");
            write!(f, "column {}: {words}: ", term.span.start + 1)?;
            self.outcome(f, at)?;
        }
        for (count, what) in [
            (fails, "false"),
            (unasked, "not evaluated"),
            (unlisted, "true"),
        ] {
            if count > 0 {
                let plural = if count == 1 { "" } else { "s" };
                writeln!(f, "{count} more term{plural}: {what}")?;
            }
        }
        Ok(())
    }

    fn outcome(&self, f: &mut fmt::Formatter<'_>, at: usize) -> fmt::Result {
        let decides = if self.decided_by == Some(at) {
            ", which decides"
        } else {
            ""
        };
        writeln!(f, "{}{decides}", self.terms[at].result)
    }

    fn conclusion(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict {
            0 => f.write_str("rejected")?,
            1 => f.write_str("accepted, keeps 1 byte")?,
            bytes => write!(f, "accepted, keeps {bytes} bytes")?,
        }
        if let Some(outcome) = self.no_header {
            return writeln!(f, ": the header before the frame has {outcome}");
        }
        let was_asked = self
            .terms
            .iter()
            .any(|term| term.result != TermResult::NotEvaluated);
        if was_asked && self.decided_by.is_none() {
            f.write_str(
                ": bytes are missing, and alternatives that start alike are evaluated together",
            )?;
        }
        writeln!(f)
    }
}
