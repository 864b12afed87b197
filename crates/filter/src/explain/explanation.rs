use super::evaluate::Evaluation;
use crate::Filter;
use crate::classic::Ancillary;
use crate::graph::condition::Condition;
use crate::language::tree::Expression;
use crate::lower::Lowering;
use std::ops::Range;

/// What became of one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The packet is as the term says.
    Holds,
    /// The packet is not as the term says.
    Fails,
    /// The terms before decided already.
    NotAsked,
    /// The packet has no such bytes, so it is refused whatever the other terms say.
    Missing {
        /// Where the first of them would be, in bytes from the packet's start.
        offset: u32,
        /// How many are looked at.
        bytes: u32,
    },
    /// The term divides by a value that is 0, which refuses the packet.
    DivisionByZero,
    /// What the term asks beside the bytes is not known of this packet, which refuses it.
    NotKnown,
}

/// What became of one term, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TermOutcome {
    /// The bytes of the text that are the term.
    pub span: Range<usize>,
    /// What became of it; without the `not` that may stand before it.
    pub outcome: Outcome,
}

/// How a filter comes to its verdict on one packet; made by [`Filter::explain`].
///
/// `Display` shows the filter with a mark below each term.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation<'a> {
    /// The filter's text.
    pub text: &'a str,
    /// How many bytes of the packet to keep; 0 refuses it. It is that of [`Filter::run`].
    pub verdict: u32,
    /// The terms, in the order they are written, which is the one they are asked in.
    pub terms: Vec<TermOutcome>,
    /// Which of `terms` was asked last, so that nothing was left to ask.
    ///
    /// `None` if none was asked, and where `terms` do not lead to `verdict`: alternatives that begin
    /// alike are asked together, which can decide otherwise on packets whose bytes end early.
    pub decided_by: Option<usize>,
    /// Why no term was asked: the headers in front of an 802.11 frame are not all there.
    pub no_header: Option<Outcome>,
}

impl Filter {
    /// Says of each term what became of it for `packet`, and which one decided.
    ///
    /// `packet` is what was captured, `original_len` the packet's length on the wire in bytes.
    /// Cost: as much as reading the filter; not for the way of every packet.
    pub fn explain(
        &self,
        packet: &[u8],
        original_len: u32,
        ancillary: &Ancillary,
    ) -> Explanation<'_> {
        let verdict = self.run(packet, original_len, ancillary);
        let lowering = Lowering::new(&self.options, &self.names);
        let lowered = lowering.lower_terms(&self.tree);
        let mut asking = Asking {
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
        let prefix = asking.evaluation.condition(&lowered.prefix);
        let answer = prefix.ok().and_then(|_| asking.ask(&self.tree));
        if prefix.is_err() {
            asking.skip(&self.tree);
        }
        let leads_there = answer.unwrap_or(false) == (verdict != 0);
        Explanation {
            text: &self.text,
            verdict,
            decided_by: asking.last.filter(|_| leads_there),
            terms: asking.terms,
            no_header: prefix.err(),
        }
    }
}

/// A tree that is asked term by term.
struct Asking<'a> {
    conditions: std::vec::IntoIter<Condition>,
    evaluation: Evaluation<'a>,
    terms: Vec<TermOutcome>,
    last: Option<usize>,
}

impl Asking<'_> {
    /// Whether the packet is as `expression` says; `None` if it is refused.
    fn ask(&mut self, expression: &Expression) -> Option<bool> {
        let (terms, goes_on) = match expression {
            Expression::Term(span, _) => {
                let condition = self.conditions.next()?;
                let answer = self.evaluation.condition(&condition);
                self.last = Some(self.terms.len());
                self.terms.push(TermOutcome {
                    span: span.whole.clone(),
                    outcome: match answer {
                        Ok(true) => Outcome::Holds,
                        Ok(false) => Outcome::Fails,
                        Err(outcome) => outcome,
                    },
                });
                return answer.ok();
            }
            Expression::Not(inner) => return self.ask(inner).map(|answer| !answer),
            Expression::All(terms) => (terms, true),
            Expression::Any(terms) => (terms, false),
        };
        let mut answer = Some(goes_on);
        for term in terms {
            if answer == Some(goes_on) {
                answer = self.ask(term);
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
                self.terms.push(TermOutcome {
                    span: span.whole.clone(),
                    outcome: Outcome::NotAsked,
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
