//! Formats routes like `ip route show`.

use super::{Route, RouteProtocol, RouteTable, RouteType, show_gateway};
use crate::addr::Scope;
use crate::prefix::Prefix;
use crate::schema::{NameLookup, TextValue, push};

/// The level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Without defaults.
    Usual,
    /// Everything (`ip -details`).
    All,
}

impl Route {
    /// The line of `ip route show`; several next hops take one line each.
    pub fn line(&self, detail: Detail, lookup: &mut dyn NameLookup) -> String {
        let all = detail == Detail::All;
        let mut line = String::new();
        if let Some(kind) = self.kind.filter(|kind| all || *kind != RouteType::Unicast) {
            push(&mut line, format_args!("{kind} "));
        }
        line += &self.dst.map(Prefix::shown).unwrap_or_default();
        let mut put = |word: &str, value: Option<String>| {
            if let Some(value) = value {
                push(&mut line, format_args!(" {word} {value}"));
            }
        };
        put("from", self.src.map(Prefix::shown));
        put("tos", self.tos.map(|tos| format!("{tos:#04x}")));
        put("nhid", self.nhid.map(|id| id.to_string()));
        let encap = self.encap.as_ref();
        put("encap", encap.map(|encap| encap.line(lookup)));
        line += &show_gateway(self.gateway, self.via);
        let mut put = |word: &str, value: Option<String>| {
            if let Some(value) = value {
                push(&mut line, format_args!(" {word} {value}"));
            }
        };
        put("dev", self.dev.map(|dev| dev.format(lookup)));
        let table = self.table.filter(|table| all || *table != RouteTable::Main);
        put("table", table.map(|table| table.to_string()));
        let defaults = [RouteProtocol::Boot, RouteProtocol::Unspec];
        // A lookup result has no protocol.
        let all = all && self.cache.is_none();
        let protocol = self.protocol.filter(|it| all || !defaults.contains(it));
        put("proto", protocol.map(|protocol| protocol.to_string()));
        let scope = self.scope.filter(|it| all || *it != Scope::Global);
        put("scope", scope.map(|scope| scope.to_string()));
        put("src", self.prefsrc.map(|ip| ip.to_string()));
        put("metric", self.metric.map(|metric| metric.to_string()));
        for flag in self.flags.unwrap_or_default().names() {
            push(&mut line, format_args!(" {flag}"));
        }
        if let Some(mark) = self.mark.filter(|mark| *mark != 0) {
            push(&mut line, format_args!(" mark {mark:#x}"));
        }
        if let Some(realms) = self.realms {
            push(&mut line, format_args!(" {}", realms.words()));
        }
        if let Some(uid) = self.uid {
            push(&mut line, format_args!(" uid {uid}"));
        }
        self.put_moments(&mut line);
        if let Some(metrics) = &self.metrics {
            line += &metrics.line(lookup);
        }
        if let Some(iif) = self.iif {
            push(&mut line, format_args!(" iif {}", iif.format(lookup)));
        }
        if let Some(pref) = self.pref {
            push(&mut line, format_args!(" pref {pref}"));
        }
        for hop in self.nexthops.iter().flatten() {
            push(&mut line, format_args!("\n\tnexthop{}", hop.line(lookup)));
        }
        line
    }

    /// Fields of a lookup result, and times.
    fn put_moments(&self, line: &mut String) {
        if let Some(cache) = self.cache {
            *line += "\n    cache";
            let names: Vec<_> = cache.names().collect();
            if !names.is_empty() {
                push(line, format_args!(" <{}>", names.join(",")));
            }
        }
        if let Some(seconds) = self.expires {
            push(line, format_args!(" expires {seconds}sec"));
        }
        if let Some(error) = self.error {
            push(line, format_args!(" error {error}"));
        }
        if let Some(count) = self.users {
            push(line, format_args!(" users {count}"));
        }
        if let Some(count) = self.used {
            push(line, format_args!(" used {count}"));
        }
        if let Some(seconds) = self.age {
            push(line, format_args!(" age {seconds}sec"));
        }
    }
}
