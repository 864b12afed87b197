//! Routes, in the words of ip-route(8).

use std::net::Ipv6Addr;

use netlink::table::{BadWord, Table, Words};
use netlink::{
    Detail, Family, Listing, Netlink, NetlinkError, Nexthop, Prefix, Route, RouteFeatures,
    RouteQuery, RouteTable, RouteType, Verb,
};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::spelled::{Choice, Extent, Purpose, Spelled, Unanswered, unknown};
use super::verb::{OF_ROUTES, Verbs};

impl Spelled for Route {
    const NOUN: &'static str = "route";
    const VERBS: Verbs = OF_ROUTES;

    fn read(_: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        Self::read_words(words, family)
    }

    fn choose(
        _: Purpose,
        family: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Choice<Self>, BadWord> {
        let mut question = Question {
            family,
            ..Question::default()
        };
        while let Some(word) = words.next() {
            question.word(word, words)?;
        }
        let like = question.like();
        let fits = Box::new(move |route: &Self| question.fits(route));
        Ok(Choice { like, fits })
    }

    /// How a destination is reached.
    fn ask(
        netlink: &mut Netlink,
        _: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Self, Unanswered> {
        let mut query = RouteQuery::new();
        while let Some(word) = words.next() {
            match word {
                "dev" => query.oif = Some(words.value(word)?),
                "vrf" => query.oif = Some(words.vrf()?.0),
                // As ip(8) has it, the length of a network counts for nothing.
                "from" => query.src = Some(words.value::<Prefix>(word)?.ip),
                "root" | "match" | "exact" | "to" if words.peek().is_some() => {
                    query.to = Some(words.value::<Prefix>(word)?.ip);
                }
                "fibmatch" => query.fibmatch = Some(true),
                _ if query.word(word, words)? => {}
                _ if query.to.is_none() => {
                    let bad = |_| BadWord::new("an address", Some(word));
                    query.to = Some(word.parse::<Prefix>().map_err(bad)?.ip);
                }
                _ => return Err(unknown(word).into()),
            }
        }
        Ok(netlink.lookup(&query)?)
    }

    /// A table that has had no route yet is not there; the main one always is, for ip(8) too.
    fn all_like(netlink: &mut Netlink, asked: &Self) -> Result<Listing<Self>, NetlinkError> {
        match asked.table {
            None | Some(RouteTable::Main) => netlink.list(asked),
            Some(_) => netlink.list_present(asked),
        }
    }

    fn leave_unsaid(&mut self, asked: &Self) {
        self.dev = self.dev.filter(|_| asked.dev.is_none());
        self.table = self.table.filter(|_| asked.table.is_none());
        self.protocol = self.protocol.filter(|_| asked.protocol.is_none());
        self.gateway = self.gateway.filter(|_| asked.gateway.is_none());
    }

    /// With `-d` the nexthop object, if it has one, stands before its hops.
    fn text(&self, names: &mut Names, extent: Extent) -> String {
        let counts = [self.users, self.used, self.age]
            .iter()
            .any(Option::is_some);
        let mut line = if counts && !extent.statistics {
            uncounted(self).line(detail(extent), names)
        } else {
            self.line(detail(extent), names)
        };
        if let Some(nexthop) = nexthop(self, names, extent) {
            let at = line.find("\n\tnexthop").unwrap_or(line.len());
            let object = nexthop.line(Detail::All, names);
            line.insert_str(at, &format!("\n\tnh_info {object}"));
        }
        line
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev", "oif", "iif"], names);
        if !extent.details {
            let usual = [
                ("type", "unicast"),
                ("protocol", "boot"),
                ("protocol", "unspec"),
                ("scope", "global"),
            ];
            fields::forget(&mut shown, &usual);
        }
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("family");
            if !extent.details && self.table == Some(RouteTable::Main) {
                fields.remove("table");
            }
            if let Some(tos) = self.tos {
                fields.insert("tos".to_owned(), format!("{tos:#04x}").into());
            }
            fields
                .entry("flags")
                .or_insert_with(|| Value::Array(Vec::new()));
            let counters = ["users", "used", "age"];
            fields.retain(|key, _| extent.statistics || !counters.contains(&key.as_str()));
            // It stands among the flags.
            fields.remove("onlink");
            let hops = fields.get_mut("nexthops").and_then(Value::as_array_mut);
            for hop in hops.into_iter().flatten().filter_map(Value::as_object_mut) {
                hop.remove("onlink");
            }
            let metrics = fields.get_mut("metrics").and_then(Value::as_array_mut);
            if let Some(Value::Object(metrics)) = metrics.and_then(|metrics| metrics.first_mut()) {
                for name in features(self) {
                    metrics.insert(name.to_owned(), Value::Null);
                }
            }
            if let Some(nexthop) = nexthop(self, names, extent) {
                fields.insert("nh_info".to_owned(), nexthop.json(names, extent));
            }
        }
        shown
    }
}

/// It without what `-s` asks for.
fn uncounted(route: &Route) -> Route {
    let mut route = route.clone();
    (route.users, route.used, route.age) = (None, None, None);
    route
}

/// The nexthop object it has, where it is to be shown.
fn nexthop(route: &Route, names: &mut Names, extent: Extent) -> Option<Nexthop> {
    let id = route.nhid.filter(|_| extent.details)?;
    names.nexthop(id)
}

/// The features of TCP, which ip(8) has as keys without values.
fn features(route: &Route) -> impl Iterator<Item = &'static str> {
    let features = route.metrics.as_ref().and_then(|metrics| metrics.features);
    features.into_iter().flat_map(RouteFeatures::names)
}

/// What the words behind `ip route show` ask for.
#[derive(Debug, Default)]
struct Question {
    route: Route,
    /// The family that is asked for.
    family: Option<Family>,
    all_tables: bool,
    /// It is the table of a VRF, of which the host's own addresses are not shown.
    vrf: bool,
    /// Networks that destinations are compared with.
    to: Vec<(Way, Prefix)>,
}

/// How a destination and a network are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The destination is the network.
    Exact,
    /// It is within it.
    Root,
    /// It has all of it.
    Match,
}

impl Question {
    fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), BadWord> {
        match word {
            "table" | "lookup" if words.skip(&["all"]) => self.all_tables = true,
            "vrf" => (self.vrf, self.route.table) = (true, Some(words.vrf()?.1.into())),
            "lookup" => self.route.table = Some(words.value(word)?),
            "type" => self.route.kind = Some(words.value(word)?),
            "to" => {
                let next: String = words.value(word)?;
                self.network(&next, words)?;
            }
            _ if self.route.kind.is_none() && is_type(word) => self.route.kind = word.parse().ok(),
            // A network is read before a route would take it for its own.
            _ if self.network(word, words).is_ok() => {}
            _ if self.route.read_word(word, words)? => {}
            _ => return Err(unknown(word)),
        }
        Ok(())
    }

    fn network(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), BadWord> {
        let way = match word {
            "root" => Way::Root,
            "match" => Way::Match,
            "exact" => Way::Exact,
            // As ip(8) has it: of one family it is the default route.
            "all" | "any" if self.family.is_none() => return Ok(()),
            _ => {
                let bad = |_| BadWord::new("a network", Some(word));
                self.to.push((Way::Exact, word.parse().map_err(bad)?));
                return Ok(());
            }
        };
        if self.family.is_some() || !(words.skip(&["all"]) || words.skip(&["any"])) {
            self.to.push((way, words.value(word)?));
        }
        Ok(())
    }

    /// What routes are like; as ip(8) has it, of IPv4 and in the main table where nothing else is said.
    fn like(&mut self) -> Route {
        let told = self.to.iter().map(|(_, to)| to);
        let told = told
            .filter(|to| !to.is_everything())
            .map(|to| to.family())
            .next();
        let hop = self.route.gateway.map(Family::of);
        let family = self.family.or(told).or(hop);
        let family = family.or((!self.all_tables).then_some(Family::V4));
        if let Some(Family::V6) = family {
            for (_, to) in self.to.iter_mut().filter(|(_, to)| to.is_everything()) {
                *to = Prefix::new(Ipv6Addr::UNSPECIFIED, 0);
            }
        }
        let mut like = self.route.clone();
        like.family = family;
        if !self.all_tables {
            like.table.get_or_insert(RouteTable::Main);
        }
        like
    }

    fn fits(&self, route: &Route) -> bool {
        let Some(dst) = route.dst else { return false };
        let own = matches!(route.kind, Some(RouteType::Local | RouteType::Broadcast));
        if self.vrf && self.route.kind.is_none() && own {
            return false;
        }
        self.to.iter().all(|(way, to)| match way {
            Way::Exact => dst == *to,
            Way::Root => to.contains(dst),
            Way::Match => dst.contains(*to),
        })
    }
}

fn is_type(word: &str) -> bool {
    word.parse::<u8>().is_err() && word.parse::<RouteType>().is_ok()
}

/// How much of a line is shown.
pub fn detail(extent: Extent) -> Detail {
    if extent.details {
        Detail::All
    } else {
        Detail::Usual
    }
}
