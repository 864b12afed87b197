//! Formats routes like `ip route show`.

use super::{Realms, Route, RouteProtocol, RouteTable, RouteType, show_gateway};
use crate::objects::addr::Scope;
use crate::schema::{Line, NameLookup, TextValue, push};
use crate::values::prefix::Prefix;

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
        let mut line = Line::default();
        if let Some(kind) = self.kind.filter(|kind| all || *kind != RouteType::Unicast) {
            push(&mut line.0, format_args!("{kind} "));
        }
        line.0 += &self.dst.map(Prefix::shown).unwrap_or_default();
        line.field("from", self.src.map(Prefix::shown));
        line.field("tos", self.tos.map(|tos| tos.format(lookup)));
        line.field("nhid", self.nhid);
        line.field("encap", self.encap.as_ref().map(|encap| encap.line(lookup)));
        line.0 += &show_gateway(self.gateway, self.via);
        line.field("dev", self.dev.map(|dev| dev.format(lookup)));
        line.field(
            "table",
            self.table
                .filter(|table| all || *table != RouteTable::Main)
                .map(|table| table.format(lookup)),
        );
        let defaults = [RouteProtocol::Boot, RouteProtocol::Unspec];
        // A lookup result has no protocol.
        let all = all && self.cache.is_none();
        line.field(
            "proto",
            self.protocol
                .filter(|it| all || !defaults.contains(it))
                .map(|protocol| protocol.format(lookup)),
        );
        let scope = self.scope.filter(|it| all || *it != Scope::Global);
        line.field("scope", scope.map(|scope| scope.format(lookup)));
        line.field("src", self.prefsrc);
        line.field("metric", self.metric);
        line.words(self.flags.unwrap_or_default().names());
        let mark = self.mark.filter(|mark| *mark != 0);
        line.field("mark", mark.map(|mark| format!("{mark:#x}")));
        line.0 += &self.realms.map(Realms::words).unwrap_or_default();
        line.field("uid", self.uid);
        if let Some(cache) = self.cache {
            line.0 += "\n    cache";
            let names: Vec<_> = cache.names().collect();
            if !names.is_empty() {
                push(&mut line.0, format_args!(" <{}>", names.join(",")));
            }
        }
        let seconds = |seconds: u32| format!("{seconds}sec");
        line.field("expires", self.expires.map(seconds));
        line.field("error", self.error);
        line.field("users", self.users);
        line.field("used", self.used);
        line.field("age", self.age.map(seconds));
        if let Some(metrics) = &self.metrics {
            line.0 += &metrics.line(lookup);
        }
        line.field("iif", self.iif.map(|iif| iif.format(lookup)));
        line.field("pref", self.pref);
        for hop in self.nexthops.iter().flatten() {
            push(&mut line.0, format_args!("\n\tnexthop{}", hop.line(lookup)));
        }
        line.0
    }
}
