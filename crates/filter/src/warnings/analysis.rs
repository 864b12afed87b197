//! Finds misleading tunnel words: walks a filter from left to right and compares what it means with
//! what a reader expects.

use crate::filter::Filter;
use crate::graph::condition::Condition;
use crate::graph::values::{Value, ValueId, Values};
use crate::language::print::{Printed, link_word};
use crate::language::tree::{Expression, Span, Term, TermSpan};
use crate::link_type::LinkType;
use crate::listing::Notation;
use crate::lower::frame::Frame;
use crate::lower::lowering::Lowering;
use crate::warnings::data_flow::{BranchStates, Known, Scope, TermState, flow, substitute};
use crate::warnings::warning::FilterWarning;
use std::fmt::Write;

/// Maximum length of a rewritten filter, in bytes; a longer one ends with an ellipsis.
const MAX_TEXT: usize = 16 << 10;

/// Maximum number of warnings for one filter; the first ones are reported.
const MAX_WARNINGS: usize = 16;

/// How the filter is rewritten.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RewriteMode {
    /// Affected terms become tests of bytes; all others stay.
    Words,
    /// The same, and PPPoE sessions become tests of bytes too, because the word moves `ether[0]`.
    NoSessions,
    /// All terms stay; affected ones are prefixed with the layers that they are evaluated in.
    Layers,
}

pub(super) struct SurprisingWord {
    pub span: Span,
    pub word: &'static str,
    /// The first term that is affected.
    pub affected: Span,
}

/// The result of a walk: the misleading words, and the rewritten filter if the mode can express it.
pub(super) struct WalkResult {
    pub found: Vec<SurprisingWord>,
    pub rewritten: Option<String>,
}

pub(super) struct WarningWalk<'a> {
    filter: &'a Filter,
    mode: RewriteMode,
    lowering: Lowering<'a>,
    /// The header offsets, given the words to the left.
    frame: Frame,
    variables: u8,
    /// The header offsets in the rewritten text.
    written: Frame,
    /// The tunnel words so far, with the first term that each affects.
    tunnels: Vec<(Span, &'static str, Option<Span>)>,
    layers: String,
    text: Option<String>,
}

impl<'a> WarningWalk<'a> {
    pub(super) fn new(filter: &'a Filter, mode: RewriteMode) -> Self {
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

    pub(super) fn walk(mut self) -> WalkResult {
        let filter = self.filter;
        if has_tunnel(&filter.tree) {
            // The length of the headers before an 802.11 frame differs for each packet.
            let mut known: Known = [Some(0); 16];
            known[..self.variables as usize].fill(None);
            let scope = Scope {
                frame: self.frame.clone(),
                words: 0,
            };
            self.expression(&filter.tree, &TermState { known, scope }, false);
        }
        let found = self
            .tunnels
            .into_iter()
            .filter_map(|(span, word, affected)| {
                affected.map(|affected| SurprisingWord {
                    span,
                    word,
                    affected,
                })
            });
        WalkResult {
            found: found.collect(),
            rewritten: self.text,
        }
    }

    /// Whether the rest cannot change the text. The first walk always runs to its end, to find the
    /// misleading words.
    fn is_over(&self) -> bool {
        let is_full = |text: &String| text.ends_with('…');
        self.mode != RewriteMode::Words && self.text.as_ref().is_none_or(is_full)
    }

    fn expression(
        &mut self,
        expression: &Expression,
        here: &TermState,
        is_inner: bool,
    ) -> BranchStates {
        if self.is_over() {
            let (yes, no) = (Some(here.clone()), Some(here.clone()));
            return BranchStates { yes, no };
        }
        let (word, terms) = match expression {
            Expression::Term(span, term) => return self.term(span, term, here, is_inner),
            Expression::Not(inner) => {
                self.push("not ");
                let BranchStates { yes, no } = self.expression(inner, here, true);
                return BranchStates { yes: no, no: yes };
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
                ended = TermState::meet(ended, end, here);
            }
            match on {
                Some(on) => at = on,
                None => is_reached = false,
            }
        }
        self.push(if is_inner { ")" } else { "" });
        let on = is_reached.then_some(at);
        if is_all {
            BranchStates { yes: on, no: ended }
        } else {
            BranchStates { yes: ended, no: on }
        }
    }

    fn term(
        &mut self,
        span: &TermSpan,
        term: &Term,
        here: &TermState,
        is_inner: bool,
    ) -> BranchStates {
        let first = self.variables;
        let mut variables = first;
        let mut frame = self.frame.clone();
        // Lowering succeeded before, so it succeeds again.
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
        let is_session = matches!(term, Term::Pppoes(_)) && self.mode == RewriteMode::NoSessions;
        if self.mode == RewriteMode::Layers {
            self.push_layers(term, is_changed);
        } else if !is_changed && is_same_in_words && !is_session {
            self.written = written_frame;
            self.push_words(term);
        } else {
            self.push_tests(&plainly, here, is_inner);
        }

        if let Some(word) = tunnel_word(term) {
            let bit = self.tunnels.len();
            if bit < MAX_WARNINGS {
                self.tunnels.push((span.whole.clone(), word, None));
                scope.words |= 1 << bit;
            }
            if self.layers.len() < MAX_TEXT {
                let words = self.words(term);
                self.layers += &words;
                self.layers.push('▸');
            }
        } else {
            scope.frame = here.scope.frame.clone();
        }
        (self.frame, self.variables) = (frame, variables);
        BranchStates {
            yes: yes.map(|known| TermState { known, scope }),
            no: no.map(|known| TermState {
                known,
                scope: here.scope.clone(),
            }),
        }
    }

    /// Records the words that affect this term although they need not hold for it.
    fn blame(&mut self, affected: &Span, holding: u32) {
        for (bit, tunnel) in self.tunnels.iter_mut().enumerate() {
            if holding & 1 << bit == 0 {
                tunnel.2.get_or_insert_with(|| affected.clone());
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

    fn push_tests(&mut self, condition: &Condition, here: &TermState, is_inner: bool) {
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
        if text.len() + part.len() <= MAX_TEXT {
            text.push_str(part);
        } else if self.mode == RewriteMode::Layers {
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

/// The condition as an equivalent filter expression that tests bytes; `None` if the language cannot
/// express it.
///
/// `is_inner` adds parentheses if it has several terms. Offsets are relative to `ether[0]`, which
/// must be the start of the packet.
pub(super) fn expression(
    condition: &Condition,
    values: &Values,
    link: LinkType,
    is_inner: bool,
) -> Option<String> {
    let mut text = String::new();
    let notation = Notation {
        values,
        packet: link_word(link),
    };
    write(&mut text, condition, notation, is_inner)?;
    Some(text)
}

fn write(
    text: &mut String,
    condition: &Condition,
    notation: Notation<'_>,
    is_inner: bool,
) -> Option<()> {
    let (word, terms) = match condition {
        Condition::Constant(true) => return write!(text, "0 == 0").ok(),
        Condition::Constant(false) => return write!(text, "0 == 1").ok(),
        Condition::Test(test) => {
            if !has_words(test.left, notation.values) || !has_words(test.right, notation.values) {
                return None;
            }
            return write!(text, "{}", notation.test(*test, true)).ok();
        }
        Condition::Not(inner) => match &**inner {
            Condition::Test(test) => {
                if !has_words(test.left, notation.values) || !has_words(test.right, notation.values)
                {
                    return None;
                }
                return write!(text, "{}", notation.test(*test, false)).ok();
            }
            inner => {
                text.push_str("not ");
                return write(text, inner, notation, true);
            }
        },
        Condition::All(terms) => (" and ", terms),
        Condition::Any(terms) => (" or ", terms),
        Condition::Let(..) | Condition::Choice(..) | Condition::Member(_) | Condition::If(_) => {
            return None;
        }
    };
    if is_inner {
        text.push('(');
    }
    for (at, term) in terms.iter().enumerate() {
        if at > 0 {
            text.push_str(word);
        }
        write(text, term, notation, true)?;
    }
    if is_inner {
        text.push(')');
    }
    Some(())
}

/// Whether the language can express the value: it has no variables, and no words for most metadata.
fn has_words(id: ValueId, values: &Values) -> bool {
    if values.variables(id) != 0 {
        return false;
    }
    match values.get(id) {
        Value::Constant(_) | Value::Length | Value::HeaderLength(_) => true,
        Value::Load { base, .. } => base.is_none_or(|base| has_words(base, values)),
        Value::Negate(operand) => has_words(operand, values),
        Value::Binary(_, left, right) => has_words(left, values) && has_words(right, values),
        Value::Ancillary(..) | Value::Variable(_) => false,
    }
}

impl Filter {
    /// Tunnel and tag words that unexpectedly change the meaning of terms to their right, in text
    /// order, at most 16.
    ///
    /// After `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan`, everything to the right is evaluated
    /// after the tag or inside the tunnel, even across `or` and outside of parentheses. A warning
    /// is reported if such a term applies to packets for which the word is false: for `vlan or ip`
    /// and `not vlan and ip`, but not for `vlan and (ip or arp)`.
    ///
    /// Cost: as much as compiling the filter, on the first call.
    pub fn warnings(&self) -> &[FilterWarning] {
        self.warnings.get_or_init(|| find(self))
    }
}

fn find(filter: &Filter) -> Vec<FilterWarning> {
    let WalkResult { found, rewritten } = WarningWalk::new(filter, RewriteMode::Words).walk();
    if found.is_empty() {
        return Vec::new();
    }
    let written = |mode| WarningWalk::new(filter, mode).walk().rewritten;
    let compiles = |text: &String| Filter::new(text, &filter.options, &filter.names).is_ok();
    let expression = rewritten
        .filter(compiles)
        .or_else(|| written(RewriteMode::NoSessions).filter(compiles));
    let is_expression = expression.is_some();
    let rewritten = expression.or_else(|| written(RewriteMode::Layers));
    let rewritten = rewritten.unwrap_or_default();
    let warnings = found.into_iter().map(|found| FilterWarning {
        span: found.span,
        word: found.word,
        affected: found.affected,
        rewritten: rewritten.clone(),
        is_expression,
    });
    warnings.collect()
}
