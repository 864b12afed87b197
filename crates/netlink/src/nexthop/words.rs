//! Parses the arguments of `ip nexthop` and formats nexthops like it.

use super::{Nexthop, ResilientArgs};
use crate::addr::Scope;
use crate::route::{Detail, Encap, RouteProtocol, show_gateway};
use crate::schema::{Arguments, AttributeSet, InvalidValue, NameLookup, TextValue, push};

impl Nexthop {
    /// Parses `id ID [KEYWORD VALUE]…`, the arguments of `ip nexthop add`.
    ///
    /// # Errors
    /// [`InvalidValue`] with the first invalid argument.
    pub fn read_words(words: &mut Arguments<'_>) -> Result<Self, InvalidValue> {
        let mut nexthop = Self::new();
        words.parse_while(|word, words| nexthop.read_word(word, words))?;
        match words.next() {
            None => Ok(nexthop),
            Some(word) => Err(InvalidValue::new("a word of ip nexthop", Some(word))),
        }
    }

    fn read_word(&mut self, word: &str, words: &mut Arguments<'_>) -> Result<bool, InvalidValue> {
        match word {
            "via" => {
                let (gateway, other) = crate::route::read_gateway_words(words)?;
                self.gateway = gateway.or(other.map(|via| via.0));
            }
            "encap" => self.encap = Some(Box::new(Encap::read_words(words)?)),
            "onlink" => self.onlink = Some(true),
            "blackhole" => self.blackhole = Some(true),
            "fdb" => self.fdb = Some(true),
            "groups" => self.groups = Some(true),
            "protocol" => self.protocol = Some(words.value(word)?),
            "master" | "vrf" => self.master = Some(words.value(word)?),
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
        let mut line = String::new();
        if let Some(id) = self.id {
            push(&mut line, format_args!("id {id}"));
        }
        if let Some(group) = &self.group {
            push(&mut line, format_args!(" group {}", group.format(lookup)));
        }
        if let Some(kind) = self.group_type {
            push(&mut line, format_args!(" type {kind}"));
        }
        if let Some(args) = &self.resilient_args {
            args.format_fields(lookup, &mut |word, value| {
                push(&mut line, format_args!(" {word} {value}"));
            });
            let since = args.unbalanced_time.unwrap_or_default();
            push(
                &mut line,
                format_args!(" unbalanced_time {}", since.format(lookup)),
            );
        }
        if let Some(encap) = &self.encap {
            push(&mut line, format_args!(" encap {}", encap.line(lookup)));
        }
        line += &show_gateway(self.gateway, None);
        if let Some(dev) = self.dev {
            push(&mut line, format_args!(" dev {}", dev.format(lookup)));
        }
        if let Some(scope) = self.scope.filter(|it| all || *it != Scope::Global) {
            push(&mut line, format_args!(" scope {scope}"));
        }
        if self.blackhole == Some(true) {
            line += " blackhole";
        }
        let protocol = self
            .protocol
            .filter(|it| all || *it != RouteProtocol::Unspec);
        if let Some(protocol) = protocol {
            push(&mut line, format_args!(" proto {protocol}"));
        }
        for flag in self.flags.unwrap_or_default().names() {
            push(&mut line, format_args!(" {flag}"));
        }
        if self.fdb == Some(true) {
            line += " fdb";
        }
        line
    }
}
