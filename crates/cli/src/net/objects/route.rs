//! `tapline route`: routes, as ip-route(8).

use std::net::Ipv6Addr;

use serde_json::{Map, Value};
use tapline::net::schema::{Arguments, Flatten, InvalidValue, Parsed, TextValue};
use tapline::net::{
    Detail, Family, Listing, Netlink, NetlinkError, Prefix, Route, RouteFeatures, RouteQuery,
    RouteTable, RouteType, Verb,
};

use super::rule::parse_protocol;
use crate::net::handle::unknown_word;
use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record, json_fields, remove_defaults};
use crate::net::syntax::{CommandSyntax, GetError, Purpose, Selection};
use crate::net::verbs::{self, Verbs};

impl CommandSyntax for Route {
    const OBJECT: &'static str = "route";
    const VERBS: Verbs = verbs::ROUTE;

    fn parse_arguments(_: Verb, family: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        Self::read_words(words, family)
    }

    fn select(
        _: Purpose,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Selection<Self>> {
        let mut query = ListQuery {
            family,
            ..ListQuery::default()
        };
        while let Some(word) = words.next() {
            query.parse_word(word, words)?;
        }
        let filter = query.filter();
        let accepts = Box::new(move |route: &Self| query.accepts(route));
        Ok(Selection { filter, accepts })
    }

    /// Looks up the route to a destination.
    fn get(
        netlink: &mut Netlink,
        _: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Result<Self, GetError> {
        let mut query = RouteQuery::new();
        while let Some(word) = words.next() {
            words.offer(&["dev", "vrf", "from", "to", "fibmatch", "ipproto"]);
            match word {
                "dev" => query.oif = Some(words.value(word)?),
                "vrf" => query.oif = Some(words.vrf()?.0),
                // ip(8) ignores the prefix length, too.
                "from" => query.src = Some(words.value::<Prefix>(word)?.ip),
                "root" | "match" | "exact" | "to" if words.peek().is_some() => {
                    query.to = Some(words.value::<Prefix>(word)?.ip);
                }
                "fibmatch" => query.fibmatch = Some(true),
                "ipproto" => query.ipproto = Some(parse_protocol(words)?),
                _ if query.parse_keyword(word, words)? => {}
                _ if query.to.is_none() => {
                    let bad = |_| InvalidValue::new("an address", Some(word));
                    query.to = Some(word.parse::<Prefix>().map_err(bad)?.ip);
                }
                _ => return Err(unknown_word(word).into()),
            }
        }
        Ok(netlink.lookup(&query)?)
    }

    /// A table without routes does not exist and is an error; the main table always exists.
    fn list(netlink: &mut Netlink, filter: &Self) -> Result<Listing<Self>, NetlinkError> {
        match filter.table {
            None | Some(RouteTable::Main) => netlink.list(filter),
            Some(_) => netlink.list_present(filter),
        }
    }

    fn drop_filtered(&mut self, filter: &Self) {
        self.dev = self.dev.filter(|_| filter.dev.is_none());
        self.table = self.table.filter(|_| filter.table.is_none());
        self.protocol = self.protocol.filter(|_| filter.protocol.is_none());
        self.gateway = self.gateway.filter(|_| filter.gateway.is_none());
        self.scope = self.scope.filter(|_| filter.scope.is_none());
        self.prefsrc = self.prefsrc.filter(|_| filter.prefsrc.is_none());
        self.metric = self.metric.filter(|_| filter.metric.is_none());
        self.tos = self.tos.filter(|_| filter.tos.is_none());
    }

    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        // With `-d` the nexthop object is printed before the hops.
        let nexthop = self.nhid.filter(|_| level.details);
        let nexthop = nexthop.and_then(|id| names.nexthop(id));
        match record {
            Record::Text(text) => {
                *text = text_of(self, names, level);
                if let Some(nexthop) = nexthop {
                    let at = text.find("\n\tnexthop").unwrap_or(text.len());
                    let nexthop = nexthop.line(Detail::All, names);
                    text.insert_str(at, &format!("\n\tnh_info {nexthop}"));
                }
            }
            Record::Json(fields) => {
                *fields = json_of(self, names, level);
                if let Some(nexthop) = nexthop {
                    let mut info = Record::new(true);
                    nexthop.print(&mut info, names, level);
                    if let Record::Json(info) = info {
                        fields.insert("nh_info".to_owned(), info.into());
                    }
                }
            }
        }
    }
}

fn text_of(route: &Route, names: &mut Names, level: DetailLevel) -> String {
    let has_counters = route.users.is_some() || route.used.is_some() || route.age.is_some();
    if level.statistics || !has_counters {
        return route.line(level.into(), names);
    }
    let mut route = route.clone();
    (route.users, route.used, route.age) = (None, None, None);
    route.line(level.into(), names)
}

/// The library's JSON with the keys of `print_route`, ip/iproute.c.
fn json_of(route: &Route, names: &mut Names, level: DetailLevel) -> Map<String, Value> {
    let mut fields = json_fields(route, &["dev", "oif", "iif"], names);
    fields.remove("family");
    if !level.details {
        let defaults = [
            ("type", "unicast"),
            ("protocol", "boot"),
            ("protocol", "unspec"),
            ("scope", "global"),
        ];
        remove_defaults(&mut fields, &defaults);
        if route.table == Some(RouteTable::Main) {
            fields.remove("table");
        }
    }
    if route.dst.is_some_and(Prefix::is_everything) {
        fields.insert("dst".to_owned(), "default".into());
    }
    if let Some(tos) = route.tos {
        fields.insert("tos".to_owned(), tos.format(names).into());
    }
    // Numbers that the administrator named.
    for (key, name) in [
        ("table", route.table.map(|table| table.format(names))),
        ("protocol", route.protocol.map(|it| it.format(names))),
        ("scope", route.scope.map(|scope| scope.format(names))),
    ] {
        if let (Some(field), Some(name)) = (fields.get_mut(key), name) {
            *field = name.into();
        }
    }
    let flags = fields.entry("flags");
    flags.or_insert_with(|| Value::Array(Vec::new()));
    let counters = ["users", "used", "age"];
    fields.retain(|key, _| level.statistics || !counters.contains(&key.as_str()));
    // `onlink` is one of the flags.
    fields.remove("onlink");
    let hops = fields.get_mut("nexthops").and_then(Value::as_array_mut);
    for hop in hops.into_iter().flatten().filter_map(Value::as_object_mut) {
        hop.remove("onlink");
    }
    // ip(8) has the features of TCP as keys without values.
    let features = route.metrics.as_ref().and_then(|metrics| metrics.features);
    let metrics = fields.get_mut("metrics").and_then(Value::as_array_mut);
    if let Some(Value::Object(metrics)) = metrics.and_then(|metrics| metrics.first_mut()) {
        for name in features.into_iter().flat_map(RouteFeatures::names) {
            metrics.insert(name.to_owned(), Value::Null);
        }
    }
    fields
}

/// The arguments of `show` and `flush`.
#[derive(Debug, Default)]
struct ListQuery {
    route: Route,
    family: Option<Family>,
    all_tables: bool,
    /// The table of a VRF is listed without the local addresses.
    vrf: bool,
    networks: Vec<(Match, Prefix)>,
}

/// How a destination is compared with a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// The destination is the network.
    Exact,
    /// The destination is inside the network (`root`).
    Inside,
    /// The destination contains the network (`match`).
    Contains,
}

impl ListQuery {
    fn parse_word(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<()> {
        words.offer(&["table", "vrf", "type", "to", "root", "match", "exact"]);
        match word {
            "table" | "lookup" if words.skip(&["all"]) => self.all_tables = true,
            "vrf" => (self.vrf, self.route.table) = (true, Some(words.vrf()?.1.into())),
            "lookup" => self.route.table = Some(words.value(word)?),
            "type" => self.route.kind = Some(words.value(word)?),
            "to" => {
                let next: String = words.value(word)?;
                self.parse_network(&next, words)?;
            }
            _ if self.route.kind.is_none() && is_type(word) => self.route.kind = word.parse().ok(),
            // A bare network selects; `Route::read_word` would take it as the destination.
            _ if self.parse_network(word, words).is_ok() => {}
            _ if self.route.read_word(word, words)? => {}
            _ => return Err(unknown_word(word)),
        }
        Ok(())
    }

    fn parse_network(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<()> {
        let comparison = match word {
            "root" => Match::Inside,
            "match" => Match::Contains,
            "exact" => Match::Exact,
            // With a family ip(8) takes these as the default route.
            "all" | "any" if self.family.is_none() => return Ok(()),
            _ => {
                let bad = |_| InvalidValue::new("a network", Some(word));
                self.networks
                    .push((Match::Exact, word.parse().map_err(bad)?));
                return Ok(());
            }
        };
        if self.family.is_some() || !(words.skip(&["all"]) || words.skip(&["any"])) {
            self.networks.push((comparison, words.value(word)?));
        }
        Ok(())
    }

    /// The filter for the kernel. As in ip(8) the defaults are IPv4 and the main table.
    fn filter(&mut self) -> Route {
        let mut networks = self.networks.iter().map(|(_, network)| *network);
        let family = self
            .family
            .or_else(|| Some(networks.find(|network| !network.is_everything())?.family()))
            .or_else(|| self.route.gateway.map(Family::of))
            .or_else(|| (!self.all_tables).then_some(Family::V4));
        if family == Some(Family::V6) {
            let networks = self.networks.iter_mut().map(|(_, network)| network);
            for network in networks.filter(|network| network.is_everything()) {
                *network = Prefix::new(Ipv6Addr::UNSPECIFIED, 0);
            }
        }
        let mut filter = self.route.clone();
        filter.family = family;
        // 0 selects the routes that have none.
        filter.tos = filter.tos.filter(|tos| tos.0 != 0);
        filter.metric = filter.metric.filter(|metric| *metric != 0);
        if !self.all_tables {
            filter.table.get_or_insert(RouteTable::Main);
        }
        filter
    }

    fn accepts(&self, route: &Route) -> bool {
        let Some(dst) = route.dst else { return false };
        let is_local = matches!(route.kind, Some(RouteType::Local | RouteType::Broadcast));
        if self.vrf && self.route.kind.is_none() && is_local {
            return false;
        }
        let of = |route: &Route| [route.tos.map(|tos| tos.0.into()), route.metric];
        let mut pairs = of(&self.route).into_iter().zip(of(route));
        if pairs.any(|(wanted, found)| wanted == Some(0) && found.is_some_and(|it| it != 0)) {
            return false;
        }
        self.networks
            .iter()
            .all(|(comparison, network)| match comparison {
                Match::Exact => dst == *network,
                Match::Inside => network.contains(dst),
                Match::Contains => dst.contains(*network),
            })
    }
}

fn is_type(word: &str) -> bool {
    word.parse::<u8>().is_err() && word.parse::<RouteType>().is_ok()
}
