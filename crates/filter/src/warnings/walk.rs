//! A filter walked from left to right, as it is meant beside how a reader takes it.

use super::explicit::expression;
use super::flow::{Flow, Known, Scope, State, flow, substitute};
use super::warning::MOST_WARNINGS;
use crate::Filter;
use crate::graph::condition::Condition;
use crate::language::Printed;
use crate::language::token::{Span, TermSpan};
use crate::language::tree::{Expression, Term};
use crate::lower::{Frame, Lowering};

/// Longest filter that is written out, in bytes; a longer one ends with an ellipsis.
const MOST_TEXT: usize = 16 << 10;

/// How the filter is written out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Terms that are changed as tests of bytes, all others in words.
    Words,
    /// The same, and PPPoE sessions as tests of bytes, because the word moves `ether[0]`.
    NoSessions,
    /// All in words, and what is changed with the layers that it is asked behind.
    Layers,
}

pub(super) struct Found {
    pub span: Span,
    pub word: &'static str,
    /// The first term that is changed.
    pub changed: Span,
}

/// What a walk gives: the words to warn of, and the filter written out, where the mode can.
pub(super) struct Walked {
    pub found: Vec<Found>,
    pub explicit: Option<String>,
}

pub(super) struct Walk<'a> {
    filter: &'a Filter,
    mode: Mode,
    lowering: Lowering<'a>,
    /// Where the headers are by the words to the left.
    frame: Frame,
    variables: u8,
    /// Where they are by the words in the text that is written.
    written: Frame,
    /// The words so far, with the first term that each changes.
    tunnels: Vec<(Span, &'static str, Option<Span>)>,
    layers: String,
    text: Option<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(filter: &'a Filter, mode: Mode) -> Self {
        let lowering = Lowering::new(&filter.options, &filter.names);
        let frame = Frame::of(filter.options.link);
        Self {
            filter,
            mode,
            variables: lowering.first_variable(),
            lowering,
            written: frame.clone(),
            frame,
            tunnels: Vec::new(),
            layers: String::new(),
            text: Some(String::new()),
        }
    }

    pub(super) fn walk(mut self) -> Walked {
        let filter = self.filter;
        if has_tunnel(&filter.tree) {
            // What stands in front of an 802.11 frame is known but for each packet.
            let mut known: Known = [Some(0); 16];
            known[..self.variables as usize].fill(None);
            let scope = Scope {
                frame: self.frame.clone(),
                words: 0,
            };
            self.expression(&filter.tree, &State { known, scope }, false);
        }
        let found = self
            .tunnels
            .into_iter()
            .filter_map(|(span, word, changed)| {
                changed.map(|changed| Found {
                    span,
                    word,
                    changed,
                })
            });
        Walked {
            found: found.collect(),
            explicit: self.text,
        }
    }

    /// Whether the rest cannot change the text; which words to warn of, one walk has to find.
    fn is_over(&self) -> bool {
        let is_full = |text: &String| text.ends_with('…');
        self.mode != Mode::Words && self.text.as_ref().is_none_or(is_full)
    }

    fn expression(&mut self, expression: &Expression, here: &State, is_inner: bool) -> Flow {
        if self.is_over() {
            let (yes, no) = (Some(here.clone()), Some(here.clone()));
            return Flow { yes, no };
        }
        let (word, terms) = match expression {
            Expression::Term(span, term) => return self.term(span, term, here, is_inner),
            Expression::Not(inner) => {
                self.push("not ");
                let Flow { yes, no } = self.expression(inner, here, true);
                return Flow { yes: no, no: yes };
            }
            Expression::All(terms) => (" and ", terms),
            Expression::Any(terms) => (" or ", terms),
        };
        let is_all = word == " and ";
        let mut at = here.clone();
        let (mut ended, mut is_reached) = (None, true);
        self.push(if is_inner { "(" } else { "" });
        for (index, term) in terms.iter().enumerate() {
            self.push(if index > 0 { word } else { "" });
            let flow = self.expression(term, &at, true);
            let (on, end) = if is_all {
                (flow.yes, flow.no)
            } else {
                (flow.no, flow.yes)
            };
            if is_reached {
                ended = State::meet(ended, end, here);
            }
            match on {
                Some(on) => at = on,
                None => is_reached = false,
            }
        }
        self.push(if is_inner { ")" } else { "" });
        let on = is_reached.then_some(at);
        if is_all {
            Flow { yes: on, no: ended }
        } else {
            Flow { yes: ended, no: on }
        }
    }

    fn term(&mut self, span: &TermSpan, term: &Term, here: &State, is_inner: bool) -> Flow {
        let first = self.variables;
        let mut variables = first;
        let mut frame = self.frame.clone();
        // A filter that was read can be lowered again.
        let meant = self
            .lowering
            .term_in(&mut frame, &mut variables, term)
            .unwrap_or(Condition::Constant(true));
        let mut scope = here.scope.clone();
        let read = self
            .lowering
            .term_in(&mut scope.frame, &mut first.clone(), term);
        let mut written_frame = self.written.clone();
        let in_words = self
            .lowering
            .term_in(&mut written_frame, &mut first.clone(), term);

        let values = &mut self.lowering.values;
        let mut plain = |condition: &Condition| substitute(condition, &here.known, values);
        let plainly = plain(&meant);
        let is_changed = !read.is_ok_and(|read| plain(&read) == plainly);
        let is_same_in_words = in_words.is_ok_and(|in_words| plain(&in_words) == plainly);
        let (yes, no) = flow(&meant, here.known, values);

        if is_changed {
            self.blame(&span.whole, here.scope.words);
        }
        let is_session = matches!(term, Term::Pppoes(_)) && self.mode == Mode::NoSessions;
        if self.mode == Mode::Layers {
            self.push_layers(term, is_changed);
        } else if !is_changed && is_same_in_words && !is_session {
            self.written = written_frame;
            self.push_words(term);
        } else {
            self.push_tests(&plainly, here, is_inner);
        }

        if let Some(word) = tunnel_word(term) {
            let bit = self.tunnels.len();
            if bit < MOST_WARNINGS {
                self.tunnels.push((span.whole.clone(), word, None));
                scope.words |= 1 << bit;
            }
            if self.layers.len() < MOST_TEXT {
                let words = self.words(term);
                self.layers += &words;
                self.layers.push('▸');
            }
        } else {
            scope.frame = here.scope.frame.clone();
        }
        (self.frame, self.variables) = (frame, variables);
        Flow {
            yes: yes.map(|known| State { known, scope }),
            no: no.map(|known| State {
                known,
                scope: here.scope.clone(),
            }),
        }
    }

    /// Notes the words that change the term at `changed` though they need not hold for it.
    fn blame(&mut self, changed: &Span, holding: u32) {
        for (bit, tunnel) in self.tunnels.iter_mut().enumerate() {
            if holding & 1 << bit == 0 {
                tunnel.2.get_or_insert_with(|| changed.clone());
            }
        }
    }

    fn words(&self, term: &Term) -> String {
        let link = self.filter.options.link;
        Printed { part: term, link }.to_string()
    }

    fn push_words(&mut self, term: &Term) {
        let words = self.words(term);
        self.push(&words);
    }

    fn push_layers(&mut self, term: &Term, is_changed: bool) {
        if is_changed {
            let layers = std::mem::take(&mut self.layers);
            self.push(&layers);
            self.layers = layers;
        }
        self.push_words(term);
    }

    fn push_tests(&mut self, condition: &Condition, here: &State, is_inner: bool) {
        let starts_at = self.written.start(&here.known);
        let link = self.filter.options.link;
        let tests = expression(condition, &self.lowering.values, link, is_inner);
        match tests.filter(|_| starts_at == Some(0)) {
            Some(tests) => self.push(&tests),
            None => self.text = None,
        }
    }

    fn push(&mut self, part: &str) {
        let Some(text) = &mut self.text else {
            return;
        };
        if text.ends_with('…') {
            return;
        }
        if text.len() + part.len() <= MOST_TEXT {
            text.push_str(part);
        } else if self.mode == Mode::Layers {
            text.push('…');
        } else {
            self.text = None;
        }
    }
}

fn tunnel_word(term: &Term) -> Option<&'static str> {
    Some(match term {
        Term::Vlan(_) => "vlan",
        Term::Mpls(_) => "mpls",
        Term::Pppoes(_) => "pppoes",
        Term::Geneve(_) => "geneve",
        Term::Vxlan(_) => "vxlan",
        _ => return None,
    })
}

fn has_tunnel(expression: &Expression) -> bool {
    match expression {
        Expression::Term(_, term) => tunnel_word(term).is_some(),
        Expression::Not(inner) => has_tunnel(inner),
        Expression::All(terms) | Expression::Any(terms) => terms.iter().any(has_tunnel),
    }
}
