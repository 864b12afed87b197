//! What one side says in one field and the other in two, and flags that are fields.

use netlink::{Addr, Fdb, Link, NamespaceNumber, Neigh, Object, Route, Rule, Stats};

use super::compare::{Told, flags, take};
use super::rows::{Rows, plain};
use super::{link_kind, route_kind};

/// An object that both know.
pub trait Fix: Object {
    /// How the tables call it.
    const NAME: &'static str;

    /// Makes rows that mean the same the same.
    fn fix(_told: Told, _ours: &mut Rows, _theirs: &mut Rows) {}
}

pub fn put(rows: &mut Rows, key: &str, value: &impl ToString) {
    rows.insert(key.to_owned(), vec![value.to_string()]);
}

/// Takes away what is not a choice but follows from the family of the message.
fn without_family(ours: &mut Rows, theirs: &mut Rows) {
    take(theirs, "header.family");
    take(theirs, "header.addressfamily");
    take(ours, "family");
}

/// Flags of theirs that are fields of ours: those that are set are on, and off is the same as none.
pub fn spread(ours: &mut Rows, theirs: &mut Rows, key: &str, fields: &[(&str, &str)]) {
    let set = flags(theirs, key).unwrap_or_default();
    for (flag, field) in fields {
        if ours.get(*field).is_some_and(|value| value == &["0"]) {
            ours.remove(*field);
        }
        if set.iter().any(|set| set == flag) {
            put(theirs, field, &1);
        }
    }
    let rest = set.into_iter();
    let rest = rest.filter(|set| fields.iter().all(|(flag, _)| flag != set));
    let rest: Vec<String> = rest.collect();
    if !rest.is_empty() {
        theirs.insert(key.to_owned(), rest);
    }
}

/// A prefix is an address and a number of bits.
fn prefix(theirs: &mut Rows, address: &str, length: &str, key: &str, is_v4: bool) {
    let bits = take(theirs, length).map_or_else(|| "0".to_owned(), |bits| bits[0].clone());
    let address = take(theirs, address).map(|address| address[0].clone());
    let everything = if is_v4 { "0.0.0.0" } else { "::" };
    if bits != "0" || address.is_some() {
        let address = address.unwrap_or_else(|| everything.to_owned());
        let is_host = bits == if is_v4 { "32" } else { "128" };
        put(
            theirs,
            key,
            &if is_host {
                address
            } else {
                format!("{address}/{bits}")
            },
        );
    } else {
        put(theirs, key, &"default");
    }
}

/// A number in the header, 0 for none, or in an attribute, which counts then.
fn number(theirs: &mut Rows, header: &str, key: &str) {
    let number = take(theirs, header).filter(|number| number != &["0"]);
    if let Some(number) = number {
        theirs.entry(key.to_owned()).or_insert(number);
    }
}

/// The tables that have a name.
fn table(theirs: &mut Rows) {
    number(theirs, "header.table", "table");
    let name = theirs
        .get("table")
        .and_then(|table| match table[0].as_str() {
            "253" => Some("default"),
            "254" => Some("main"),
            "255" => Some("local"),
            _ => None,
        });
    if let Some(name) = name {
        put(theirs, "table", &name);
    }
}

/// Two numbers are a range.
fn range(theirs: &mut Rows, from: &str, key: &str) {
    let ends = ["start", "end"].map(|end| take(theirs, &format!("{from}.{end}")));
    if let [Some(first), Some(last)] = ends {
        let is_one = first == last;
        let text = format!("{}-{}", first[0], last[0]);
        put(theirs, key, &if is_one { first[0].clone() } else { text });
    }
}

impl Fix for Link {
    const NAME: &'static str = "link";

    fn fix(told: Told, ours: &mut Rows, theirs: &mut Rows) {
        take(theirs, "header.interfacefamily");
        number(theirs, "header.index", "index");
        if told == Told::ByUs {
            take(theirs, "header.linklayertype");
        }
        if let Some(count) = take(theirs, "allmulticast") {
            theirs.insert("allmulti".to_owned(), count);
        }
        // The kernel says 0 for none.
        for key in ["link", "controller"] {
            if told == Told::ByKernel && theirs.get(key).is_some_and(|index| index == &["0"]) {
                theirs.remove(key);
            }
        }
        header_flags(told, ours, theirs);
        let kind = ours.get("linkinfo.infokind").map(|kind| plain(&kind[0]));
        let port = ours
            .get("linkinfo.infoslavekind")
            .map(|kind| plain(&kind[0]) + "port");
        // What has no value stands among the others by its name.
        for name in take(theirs, "linkinfo.infodata").unwrap_or_default() {
            put(theirs, &format!("linkinfo.infodata.{}", plain(&name)), &1);
        }
        for rows in [&mut *ours, &mut *theirs] {
            move_below(rows, "linkinfo.infodata.", kind.as_deref());
            move_below(rows, "linkinfo.infoslavedata.", port.as_deref());
        }
        link_kind::fix(ours, theirs);
    }
}

/// Flags that are fields of ours; in a request those alone that are meant.
fn header_flags(told: Told, ours: &mut Rows, theirs: &mut Rows) {
    let set = flags(theirs, "header.flags.linkflags").unwrap_or_default();
    let meant = flags(theirs, "header.changemask.linkflags").unwrap_or_default();
    take(ours, "flags");
    for (flag, field, inverse) in [
        ("up", "up", false),
        ("noarp", "arp", true),
        ("multicast", "multicast", false),
        ("allmulti", "allmulticast", false),
        ("promisc", "promisc", false),
        ("dynamic", "dynamic", false),
    ] {
        let has = |list: &[String]| list.iter().any(|word| word == flag);
        if told == Told::ByKernel || has(&meant) {
            put(theirs, field, &u8::from(has(&set) != inverse));
        }
    }
}

/// Calls what is particular to a kind by the kind.
fn move_below(rows: &mut Rows, path: &str, kind: Option<&str>) {
    let Some(kind) = kind else { return };
    let keys: Vec<String> = rows
        .keys()
        .filter(|key| key.starts_with(path))
        .cloned()
        .collect();
    for key in keys {
        let (Some(values), Some(rest)) = (rows.remove(&key), key.strip_prefix(path)) else {
            continue;
        };
        let rest = rest
            .replace("multicast", "mcast")
            .replace("interval", "intvl");
        let rest = rest.replace("count", "cnt");
        rows.insert(format!("linkinfo.{kind}.{rest}"), values);
    }
}

impl Fix for Addr {
    const NAME: &'static str = "addr";

    fn fix(_: Told, ours: &mut Rows, theirs: &mut Rows) {
        without_family(ours, theirs);
        take(theirs, "header.flags.addressheaderflags");
        match (take(theirs, "address"), theirs.get("local").cloned()) {
            (Some(address), None) => _ = theirs.insert("local".into(), address),
            (Some(address), Some(local)) if address != local => {
                theirs.insert("address".into(), address);
            }
            _ => {}
        }
        let fields = [
            ("secondary", "secondary"),
            ("nodad", "nodad"),
            ("optimistic", "optimistic"),
            ("dadfailed", "dadfailed"),
            ("homeaddress", "home"),
            ("deprecated", "deprecated"),
            ("tentative", "tentative"),
            ("managetempaddr", "mngtmpaddr"),
            ("noprefixroute", "noprefixroute"),
            ("mcautojoin", "autojoin"),
            ("stableprivacy", "stableprivacy"),
        ];
        // That it stays is a flag of theirs, and that it does not a field of ours.
        let stays = flags(&mut theirs.clone(), "flags.addressflags");
        let stays = stays
            .unwrap_or_default()
            .iter()
            .any(|flag| flag == "permanent");
        spread(ours, theirs, "flags.addressflags", &fields);
        take(theirs, "flags.addressflags");
        if ours.contains_key("dynamic") {
            put(theirs, "dynamic", &u8::from(!stays));
        }
        // One flag means secondary to IPv4 and temporary to IPv6.
        if ours.get("temporary").is_some_and(|value| value == &["0"]) {
            ours.remove("temporary");
        }
    }
}

impl Fix for Route {
    const NAME: &'static str = "route";

    fn fix(told: Told, ours: &mut Rows, theirs: &mut Rows) {
        let family = theirs
            .get("header.addressfamily")
            .cloned()
            .unwrap_or_default();
        let is_v4 = family == ["Inet"];
        without_family(ours, theirs);
        let length = "header.destinationprefixlength";
        prefix(theirs, "destination", length, "dst", is_v4);
        prefix(theirs, "source", "header.sourceprefixlength", "from", is_v4);
        if !ours.contains_key("from") && theirs["from"] == ["default"] {
            theirs.remove("from");
        }
        table(theirs);
        number(theirs, "header.tos", "tos");
        if let Some(host) = take(ours, "via.host") {
            take(ours, "via.family");
            ours.insert("via".to_owned(), host);
        }
        route_kind::fix(told, ours, theirs);
    }
}

impl Fix for Rule {
    const NAME: &'static str = "rule";

    fn fix(told: Told, ours: &mut Rows, theirs: &mut Rows) {
        let is_v4 = theirs
            .get("header.family")
            .is_some_and(|family| family == &["Inet"]);
        without_family(ours, theirs);
        prefix(theirs, "destination", "header.dstlen", "to", is_v4);
        prefix(theirs, "source", "header.srclen", "from", is_v4);
        for (theirs_key, key) in [("from", "src"), ("to", "dst")] {
            let network = take(theirs, theirs_key).filter(|text| text != &["default"]);
            let network =
                network.or_else(|| ours.get(key).filter(|own| *own == &["default"]).cloned());
            if let Some(network) = network {
                theirs.insert(key.to_owned(), network);
            }
        }
        spread(ours, theirs, "header.flags.ruleflags", &[("invert", "not")]);
        table(theirs);
        number(theirs, "header.tos", "tos");
        // No table, and all bits for none.
        if theirs.get("table").is_some_and(|table| table == &["0"]) {
            theirs.remove("table");
        }
        // The table of a new rule without one, as in ip(8).
        let is_main = theirs.get("table").is_some_and(|table| table == &["main"]);
        if told == Told::ByUs && is_main && !ours.contains_key("table") {
            theirs.remove("table");
        }
        for key in ["suppressprefixlen", "suppressifgroup"] {
            if theirs
                .get(key)
                .is_some_and(|value| value == &["4294967295"])
            {
                theirs.remove(key);
            }
        }
        theirs
            .entry("priority".to_owned())
            .or_insert_with(|| vec!["0".to_owned()]);
        ours.entry("priority".to_owned())
            .or_insert_with(|| vec!["0".to_owned()]);
        range(theirs, "sourceportrange", "sport");
        range(theirs, "destinationportrange", "dport");
        range(theirs, "uidrange", "uidrange");
    }
}

impl Fix for Neigh {
    const NAME: &'static str = "neigh";

    fn fix(_: Told, ours: &mut Rows, theirs: &mut Rows) {
        without_family(ours, theirs);
        let fields = [
            ("proxy", "proxy"),
            ("router", "router"),
            ("extlearned", "externlearn"),
            ("use", "resolve"),
            ("offloaded", "offload"),
        ];
        spread(ours, theirs, "header.flags.neighbourflags", &fields);
        spread(
            ours,
            theirs,
            "extflags.neighbourextflags",
            &[("managed", "managed")],
        );
    }
}

impl Fix for Fdb {
    const NAME: &'static str = "fdb";

    fn fix(_: Told, ours: &mut Rows, theirs: &mut Rows) {
        without_family(ours, theirs);
        let set = flags(theirs, "header.flags.neighbourflags").unwrap_or_default();
        let called = |flag: String| match flag.as_str() {
            "own" => "self".to_owned(),
            "controller" => "master".to_owned(),
            "extlearned" => "externlearn".to_owned(),
            "offloaded" => "offload".to_owned(),
            _ => flag,
        };
        let mut set: Vec<String> = set.into_iter().map(called).collect();
        set.sort();
        if let Some(flags) = ours.get_mut("flags") {
            flags.sort();
        }
        if !set.is_empty() {
            theirs.insert("flags".to_owned(), set);
        }
        for (from, to) in [
            ("header.state.other", "header.state"),
            ("destination.other", "dst"),
        ] {
            if let Some(values) = take(theirs, from) {
                theirs.insert(to.to_owned(), values);
            }
        }
        if ours.get("master").is_none() && theirs.get("controller").is_some_and(|it| it == &["0"]) {
            theirs.remove("controller");
        }
    }
}

impl Fix for NamespaceNumber {
    const NAME: &'static str = "nsid";

    fn fix(_: Told, ours: &mut Rows, theirs: &mut Rows) {
        without_family(ours, theirs);
    }
}

impl Fix for Stats {
    const NAME: &'static str = "stats";

    fn fix(_: Told, ours: &mut Rows, theirs: &mut Rows) {
        without_family(ours, theirs);
    }
}
