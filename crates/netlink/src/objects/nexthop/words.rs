//! Parses the arguments of `ip nexthop` and formats nexthops like it.

use super::{Nexthop, ResilientArgs};
use crate::objects::addr::Scope;
use crate::objects::route::{Detail, Encap, RouteProtocol, show_gateway};
use crate::schema::{Arguments, Flatten, InvalidValue, Line, NameLookup, Parsed, TextValue, push};

impl Nexthop {
    /// Parses `id ID [KEYWORD VALUE]…`, the arguments of `ip nexthop add`.
    ///
    /// # Errors
    /// [`InvalidValue`] with the first invalid argument.
    pub fn read_words(words: &mut Arguments<'_>) -> Parsed<Self> {
        let mut nexthop = Self::new();
        words.parse_while(|word, words| nexthop.read_word(word, words))?;
        match words.next() {
            None => Ok(nexthop),
            Some(word) => Err(InvalidValue::new("a word of ip nexthop", Some(word))),
        }
    }

    fn read_word(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        words.offer(&["via", "encap"]);
        match word {
            "via" => {
                let (gateway, other) = crate::objects::route::read_gateway_words(words)?;
                self.gateway = gateway.or(other.map(|via| via.0));
            }
            "encap" => self.encap = Some(Box::new(Encap::read_words(words)?)),
            _ if self.parse_keyword(word, words)? => {}
            _ => {
                let mut args = self.resilient_args.take().unwrap_or_default();
                let known = args.parse_keyword(word, words)?;
                self.resilient_args = (*args != ResilientArgs::default()).then_some(args);
                return Ok(known);
            }
        }
        Ok(true)
    }

    /// The line of `ip nexthop show`.
    pub fn line(&self, detail: Detail, lookup: &mut dyn NameLookup) -> String {
        let all = detail == Detail::All;
        let mut line = Line::default();
        if let Some(id) = self.id {
            push(&mut line.0, format_args!("id {id}"));
        }
        line.field(
            "group",
            self.group.as_ref().map(|group| group.format(lookup)),
        );
        line.field("type", self.group_type);
        if let Some(args) = &self.resilient_args {
            args.format_fields(lookup, &mut |word, value| line.field(word, Some(value)));
            let since = args.unbalanced_time.unwrap_or_default();
            line.field("unbalanced_time", Some(since.format(lookup)));
        }
        line.field("encap", self.encap.as_ref().map(|encap| encap.line(lookup)));
        line.0 += &show_gateway(self.gateway, None);
        line.field("dev", self.dev.map(|dev| dev.format(lookup)));
        line.field("scope", self.scope.filter(|it| all || *it != Scope::Global));
        line.words((self.blackhole == Some(true)).then_some("blackhole"));
        line.field(
            "proto",
            self.protocol
                .filter(|it| all || *it != RouteProtocol::Unspec),
        );
        line.words(self.flags.unwrap_or_default().names());
        line.words((self.fdb == Some(true)).then_some("fdb"));
        line.0
    }
}
