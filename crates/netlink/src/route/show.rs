//! Routes as `ip route show` has them.

use super::{Route, RouteProtocol, RouteTable, RouteType, show_gateway};
use crate::addr::Scope;
use crate::prefix::Prefix;
use crate::table::{Lookup, Word, push};

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What is not as it usually is.
    Usual,
    /// All (`ip -details`).
    All,
}

impl Route {
    /// The line of `ip route show`; several next hops take a line each.
    pub fn line(&self, detail: Detail, lookup: &mut dyn Lookup) -> String {
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
        put("dev", self.dev.map(|dev| dev.write(lookup)));
        let table = self.table.filter(|table| all || *table != RouteTable::Main);
        put("table", table.map(|table| table.to_string()));
        let usual = [RouteProtocol::Boot, RouteProtocol::Unspec];
        let protocol = self.protocol.filter(|it| all || !usual.contains(it));
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
        if let Some(uid) = self.uid {
            push(&mut line, format_args!(" uid {uid}"));
        }
        if let Some(seconds) = self.expires {
            push(&mut line, format_args!(" expires {seconds}sec"));
        }
        if let Some(metrics) = &self.metrics {
            line += &metrics.line(lookup);
        }
        if let Some(iif) = self.iif {
            push(&mut line, format_args!(" iif {}", iif.write(lookup)));
        }
        if let Some(pref) = self.pref {
            push(&mut line, format_args!(" pref {pref}"));
        }
        for hop in self.nexthops.iter().flatten() {
            push(&mut line, format_args!("\n\tnexthop{}", hop.line(lookup)));
        }
        line
    }
}
