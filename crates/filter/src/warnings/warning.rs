use super::walk::{Mode, Walk, Walked};
use crate::{Filter, caret};
use std::fmt;
use std::ops::Range;

/// Most warnings that are given for one filter, for the first words there are.
pub(super) const MOST_WARNINGS: usize = 16;

/// A word for a tunnel or a tag that changes what a term to its right asks, in a way that a reader
/// may not expect: of packets for which the word itself does not hold.
///
/// In `vlan or ip` it is the word `vlan`, and the filter written out is
/// `vlan or ether[16:2] == 0x800`. Nothing is wrong with such a filter: libpcap takes it the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The bytes of the text that are the word, with its number.
    pub span: Range<usize>,
    /// "vlan", "mpls", "pppoes", "geneve" or "vxlan".
    pub word: &'static str,
    /// The bytes of the text that are the first term changed in such a way.
    pub changed: Range<usize>,
    /// The whole filter with its meaning written out.
    ///
    /// Mostly an expression that matches the same packets, in which terms that were changed are tests
    /// of bytes. Where the language has no words for it, because offsets are known but for each
    /// packet, `vxlan▸ip` stands for the term `ip` asked inside of a VXLAN tunnel.
    pub explicit: String,
    /// Whether `explicit` is an expression, which compiles for the same options.
    pub is_expression: bool,
}

impl Warning {
    /// The line of `text` that the word is on, and below it carets under the word.
    ///
    /// `text` is the text that was compiled. Control characters are shown as blanks.
    pub fn caret(&self, text: &str) -> String {
        caret::caret(text, &self.span)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let behind = match self.word {
            "vlan" => "behind a VLAN tag",
            "mpls" => "behind an MPLS label",
            "pppoes" => "inside of a PPPoE session",
            "geneve" => "inside of a Geneve tunnel",
            _ => "inside of a VXLAN tunnel",
        };
        let written = if self.is_expression {
            "written out"
        } else {
            "in effect, with \u{25b8} for \"at the place behind\""
        };
        write!(
            f,
            "column {}: \"{}\" has the term at column {} asked {behind}, of packets without one too; \
             {written}: {}",
            self.span.start + 1,
            self.word,
            self.changed.start + 1,
            self.explicit
        )
    }
}

impl Filter {
    /// Words for tunnels and tags that change what terms to their right ask, in a way that a reader
    /// may not expect; in order, at most 16.
    ///
    /// `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan` say that everything to their right is behind
    /// the tag or inside of the tunnel, also across `or` and out of parentheses. There is a warning
    /// where such a term is asked of packets for which the word does not hold: for `vlan or ip` and
    /// `not vlan and ip`, but not for `vlan and (ip or arp)`.
    ///
    /// Cost: as much as reading the filter, the first time.
    pub fn warnings(&self) -> &[Warning] {
        self.warnings.get_or_init(|| find(self))
    }
}

fn find(filter: &Filter) -> Vec<Warning> {
    let Walked { found, explicit } = Walk::new(filter, Mode::Words).walk();
    if found.is_empty() {
        return Vec::new();
    }
    let written = |mode| Walk::new(filter, mode).walk().explicit;
    let compiles = |text: &String| Filter::new(text, &filter.options, &filter.names).is_ok();
    let expression = explicit
        .filter(compiles)
        .or_else(|| written(Mode::NoSessions).filter(compiles));
    let is_expression = expression.is_some();
    let explicit = expression.or_else(|| written(Mode::Layers));
    let explicit = explicit.unwrap_or_default();
    let warnings = found.into_iter().map(|found| Warning {
        span: found.span,
        word: found.word,
        changed: found.changed,
        explicit: explicit.clone(),
        is_expression,
    });
    warnings.collect()
}
