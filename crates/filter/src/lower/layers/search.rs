//! Lowers terms with `any` and `inner` to a search of the layers.

use crate::error::{FilterError, FilterErrorReason};
use crate::graph::condition::Condition;
use crate::language::print::link_word;
use crate::language::tree::{Expression, Kind, Layers, Protocol, Qualifiers, Term};
use crate::lower::layers::search_term::SearchTerm;
use crate::lower::lowering::{Lowered, Lowering, located};
use crate::lower::protocol_numbers::{ARP, IPV4, IPV6, RARP, internet_number, link_number};

impl Lowering<'_> {
    /// A term with `any` or `inner`.
    pub(in crate::lower) fn layered(&mut self, term: &Term) -> Lowered {
        let wanted = self.search_terms(term)?;
        self.search(term.layers(), &wanted)
    }

    /// Alternatives that search the same layers: one search for all of them.
    pub(in crate::lower) fn layered_alternatives(
        &mut self,
        terms: &[Expression],
    ) -> Result<Condition, FilterError> {
        let mut all: Vec<SearchTerm> = Vec::new();
        let mut result = Ok(Condition::Constant(false));
        for (at, expression) in terms.iter().enumerate() {
            let Expression::Term(span, term) = expression else {
                continue;
            };
            let wanted = self.search_terms(term);
            for wanted in wanted.map_err(|reason| located(span, reason))? {
                if !all.iter_mut().any(|other| other.take(&wanted)) {
                    all.push(wanted);
                }
            }
            if at + 1 == terms.len() {
                let found = self.search(term.layers(), &all);
                result = found.map_err(|reason| located(span, reason));
            }
        }
        result
    }

    /// What the term searches for: it is lowered like the plain term, up to the point where that would test a packet.
    fn search_terms(&mut self, term: &Term) -> Result<Vec<SearchTerm>, FilterErrorReason> {
        self.searches = Some(Vec::new());
        let result = match term {
            Term::Match(qualifiers, id) => self
                .check_qualifiers(*qualifiers)
                .and_then(|()| self.matching(*qualifiers, id)),
            Term::LayeredProtocol(layers, protocol) => self.layered_protocol(*layers, *protocol),
            _ => Ok(Condition::Constant(false)),
        };
        let wanted = self.searches.take().unwrap_or_default();
        result.map(|_| wanted)
    }

    fn check_qualifiers(&self, qualifiers: Qualifiers) -> Result<(), FilterErrorReason> {
        let word = qualifiers.layers.word();
        if let Some(kind @ (Kind::Gateway | Kind::ProtoChain)) = qualifiers.kind {
            let subject = kind.word();
            return Err(FilterErrorReason::Layers { word, subject });
        }
        match qualifiers.protocol {
            Some(protocol) => self.check_protocol(qualifiers.layers, protocol),
            None => Ok(()),
        }
    }

    /// Whether the protocol is one over IP, or IP or ARP itself.
    fn check_protocol(&self, layers: Layers, protocol: Protocol) -> Result<(), FilterErrorReason> {
        let is_found = match link_number(protocol) {
            Some(number) => matches!(number, IPV4 | IPV6 | ARP | RARP),
            None => internet_number(protocol).is_some(),
        };
        if is_found {
            return Ok(());
        }
        let subject = match protocol {
            Protocol::Link => link_word(self.options.link),
            other => other.word(),
        };
        let word = layers.word();
        Err(FilterErrorReason::Layers { word, subject })
    }

    fn layered_protocol(&mut self, layers: Layers, protocol: Protocol) -> Lowered {
        self.check_protocol(layers, protocol)?;
        match link_number(protocol) {
            Some(number) => Ok(self.search_for(SearchTerm::Link(number))),
            None => self.abbreviation(protocol),
        }
    }

    /// Adds to what the current term searches for.
    pub(in crate::lower) fn search_for(&mut self, wanted: SearchTerm) -> Condition {
        self.searches.get_or_insert_default().push(wanted);
        Condition::Constant(false)
    }
}
