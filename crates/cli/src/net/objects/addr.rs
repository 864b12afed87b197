//! `tapline addr`: addresses, as ip-address(8). Each is printed below its link.

use serde_json::{Map, Value};
use tapline::net::schema::{Arguments, Flatten, NameLookup, Parsed};
use tapline::net::{
    Addr, Family, IfIndex, Link, LinkKind, NetlinkError, Object, PortKind, Prefix, Verb,
};

use super::link::{self, Part};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::handle::{NetHandle, unknown_word};
use crate::net::names::Names;
use crate::net::output::{DetailLevel, ObjectWriter, Record, json_fields, push};
use crate::net::syntax::{CommandSyntax, Purpose, Selection, no_device, parse_fields};

impl CommandSyntax for Addr {
    const OBJECT: &'static str = "addr";

    fn parse_arguments(_: Verb, family: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        let mut addr = Self::new();
        addr.family = family;
        parse_fields(addr, words)
    }

    fn select(
        purpose: Purpose,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Selection<Self>> {
        let query = ListQuery::parse(purpose, family, words)?;
        let filter = query.addr.clone();
        let accepts = Box::new(move |addr: &Self| query.accepts(addr));
        Ok(Selection { filter, accepts })
    }

    /// Prints the selected links, each with its selected addresses.
    fn show(handle: &mut NetHandle, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        let query = handle.parse(Self::OBJECT, words, |words| {
            ListQuery::parse(Purpose::Show, args.family(), words)
        })?;
        let (links, interrupted) = links(handle, &query)?;
        let mut filter = Self::new();
        filter.dev = query.addr.dev;
        let addresses = handle.netlink.list(&filter)?;
        for link in &links {
            handle.names.note(link);
        }
        let mut writer = ObjectWriter::new(&args.show, args.line);
        for link in &links {
            let of_link = addresses.items.iter().filter(|addr| addr.dev == link.index);
            let all: Vec<&Self> = of_link.collect();
            let is_bare = all.is_empty() && query.shows_bare_links() && !args.show.oneline;
            let selected: Vec<&Self> = all.into_iter().filter(|addr| query.accepts(addr)).collect();
            if is_bare || !selected.is_empty() {
                print_link(&mut writer, &mut handle.names, link, &selected, &query)?;
            }
        }
        writer.finish(interrupted || addresses.interrupted)
    }

    /// As `ip monitor address`.
    fn print(&self, record: &mut Record, names: &mut Names, _: DetailLevel) {
        let dev = self.ifindex();
        match record {
            Record::Text(text) => *text = format!("{dev}: {}    {}", names.link(dev), line(self)),
            Record::Json(fields) => {
                *fields = json(self, names);
                fields.insert("ifindex".to_owned(), dev.0.into());
                fields.insert("ifname".to_owned(), names.name(dev).into());
            }
        }
    }

    fn refusal_advice(&self, _: Verb, error: &NetlinkError) -> Option<String> {
        self.local.and_then(|_| no_device(error, self.ifindex()))
    }
}

/// The arguments of `show` and `flush`.
#[derive(Debug, Default)]
struct ListQuery {
    link: Link,
    addr: Addr,
    /// The network that contains the addresses.
    network: Option<Prefix>,
    /// A shell pattern of their labels.
    label: Option<String>,
    /// Whether they are secondary (IPv4) or temporary (IPv6).
    secondary: Option<bool>,
}

impl ListQuery {
    fn parse(purpose: Purpose, family: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        let mut query = Self::default();
        query.addr.family = family;
        while let Some(word) = words.next() {
            if query.parse_addr(word, words)? {
                continue;
            }
            // `flush` selects addresses by themselves, not by their links.
            let is_link = query.parse_link(word, words)?;
            let is_misplaced = is_link && purpose == Purpose::Flush;
            if is_misplaced || !is_link && !query.parse_dev(word, words) {
                return Err(unknown_word(word));
            }
        }
        if let Some(network) = query.network {
            query.addr.family.get_or_insert(network.family());
        }
        Ok(query)
    }

    fn parse_addr(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        words.offer(&[
            "to",
            "label",
            "primary",
            "secondary",
            "temporary",
            "permanent",
        ]);
        words.offer(&[
            "dynamic",
            "tentative",
            "deprecated",
            "dadfailed",
            "scope",
            "dev",
        ]);
        match word {
            "to" => self.network = Some(words.value(word)?),
            "label" => self.label = Some(words.value(word)?),
            "primary" => self.secondary = Some(false),
            "secondary" | "temporary" => self.secondary = Some(true),
            "permanent" => self.addr.dynamic = Some(false),
            "dynamic" => self.addr.dynamic = Some(true),
            "tentative" => self.addr.tentative = Some(true),
            "deprecated" => self.addr.deprecated = Some(true),
            "dadfailed" => self.addr.dadfailed = Some(true),
            "scope" if words.skip(&["all"]) => self.addr.scope = None,
            "dev" => {
                let index: IfIndex = words.value(word)?;
                (self.addr.dev, self.link.index) = (Some(index), Some(index));
            }
            _ => return self.addr.parse_keyword(word, words),
        }
        Ok(true)
    }

    fn parse_link(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        words.offer(&["up", "down", "master", "vrf", "group", "type"]);
        match word {
            "up" => self.link.up = Some(true),
            "down" => self.link.up = Some(false),
            "master" => self.link.master = Some(words.value(word)?),
            "vrf" => self.link.master = Some(words.vrf()?.0),
            "group" => self.link.group = Some(link::parse_group(words)?),
            "type" => {
                let kind: String = words.value(word)?;
                let link = std::mem::take(&mut self.link);
                self.link = match kind.strip_suffix("_slave") {
                    Some(master) => link.port(PortKind::named(master)),
                    None => link.kind(LinkKind::named(&kind)),
                };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A link name without `dev`.
    fn parse_dev(&mut self, word: &str, words: &mut Arguments<'_>) -> bool {
        if self.addr.dev.is_some() {
            return false;
        }
        let index = words.lookup().index(word);
        (self.addr.dev, self.link.index) = (index, index);
        index.is_some()
    }

    /// Whether links without addresses are printed, too.
    fn shows_bare_links(&self) -> bool {
        self.addr.family.is_none() && self.label.is_none()
    }

    fn accepts(&self, addr: &Addr) -> bool {
        let secondary = addr.secondary == Some(true) || addr.temporary == Some(true);
        let is_in = |network: Prefix| addr.local.is_some_and(|ip| network.contains(ip.into()));
        // IPv6 addresses have no label.
        let has_label = |pattern: &String| {
            let label = addr.label.as_deref();
            label.is_some_and(|label| matches_pattern(label, pattern))
        };
        Object::matches(addr, &self.addr)
            && self.secondary.is_none_or(|wanted| wanted == secondary)
            && self.label.as_ref().is_none_or(has_label)
            && self.network.is_none_or(is_in)
    }
}

/// Whether `text` matches a shell pattern with `*` and `?`.
fn matches_pattern(text: &str, pattern: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => text.is_empty(),
        Some('*') => {
            let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.any(|at| matches_pattern(&text[at..], letters.as_str()))
        }
        Some(letter) => {
            let mut rest = text.chars();
            rest.next()
                .is_some_and(|first| letter == '?' || first == letter)
                && matches_pattern(rest.as_str(), letters.as_str())
        }
    }
}

/// The selected links, and whether the list may be incomplete.
fn links(handle: &mut NetHandle, query: &ListQuery) -> Result<(Vec<Link>, bool), Failure> {
    let Some(index) = query.link.index else {
        let listing = handle.netlink.list(&query.link)?;
        return Ok((listing.items, listing.interrupted));
    };
    let link = handle.netlink.link(index);
    let link = link.map_err(|error| handle.failure(error))?;
    let selected = Object::matches(&link, &query.link).then_some(link);
    Ok((selected.into_iter().collect(), false))
}

fn print_link(
    writer: &mut ObjectWriter<'_>,
    names: &mut Names,
    link: &Link,
    addresses: &[&Addr],
    query: &ListQuery,
) -> std::io::Result<()> {
    let level = writer.level();
    let part = Part::Addresses {
        of_family: query.addr.family.is_some(),
    };
    if writer.is_oneline() && !writer.is_json() && !level.brief {
        for addr in addresses {
            let mut record = writer.record();
            addr.print(&mut record, names, level);
            writer.write(record)?;
        }
        return Ok(());
    }
    let mut record = writer.record();
    link::print(link, &mut record, names, level, part);
    match &mut record {
        Record::Json(fields) => {
            let addresses = addresses.iter().map(|addr| {
                let mut fields = json(addr, names);
                if level.brief {
                    let keys = ["local", "address", "prefixlen", "metric"];
                    fields.retain(|key, _| keys.contains(&key.as_str()));
                }
                Value::from(fields)
            });
            fields.insert("addr_info".to_owned(), addresses.collect());
        }
        Record::Text(text) => {
            for addr in addresses {
                if level.brief {
                    push(text, format_args!("{} ", network(addr)));
                    if let Some(metric) = addr.metric {
                        push(text, format_args!("metric {metric} "));
                    }
                } else {
                    push(text, format_args!("\n    {}", line(addr)));
                }
            }
        }
    }
    if level.statistics && !level.brief {
        link::print_counters(link, &mut record, level);
    }
    writer.write(record)
}

/// The address with its prefix length, or with that of its peer.
fn network(addr: &Addr) -> String {
    let local = addr.local.map_or_else(String::new, |ip| ip.to_string());
    let peer = addr
        .peer
        .map_or_else(String::new, |ip| format!(" peer {ip}"));
    let length = addr
        .prefixlen
        .map_or_else(String::new, |len| format!("/{len}"));
    local + &peer + &length
}

/// The line of an address, and its lifetimes on the next one.
fn line(addr: &Addr) -> String {
    let is_v6 = addr.local.is_some_and(|local| local.is_ipv6());
    let family = if is_v6 { "inet6" } else { "inet" };
    let mut record = Record::Text(format!("{family} {}", network(addr)));
    record.field("", "metric", addr.metric);
    record.string("", "brd", addr.broadcast);
    record.string("", "scope", addr.scope);
    for (on, flag) in flags(addr) {
        if on == Some(true) {
            record.text(format_args!(" {flag}"));
        }
    }
    record.string("", "proto", addr.protocol);
    if let Some(label) = &addr.label {
        record.text(format_args!(" {label}"));
    }
    if let (Some(valid), Some(preferred)) = (addr.valid_life_time, addr.preferred_life_time) {
        record.text(format_args!(
            "\n       valid_lft {valid} preferred_lft {preferred}"
        ));
    }
    match record {
        Record::Text(text) => text,
        Record::Json(_) => String::new(),
    }
}

/// Flags in the order of `ifa_flag_data`, ip/ipaddress.c.
fn flags(addr: &Addr) -> [(Option<bool>, &'static str); 13] {
    [
        (addr.secondary, "secondary"),
        (addr.temporary, "temporary"),
        (addr.nodad, "nodad"),
        (addr.optimistic, "optimistic"),
        (addr.dadfailed, "dadfailed"),
        (addr.home, "home"),
        (addr.deprecated, "deprecated"),
        (addr.tentative, "tentative"),
        (addr.dynamic, "dynamic"),
        (addr.mngtmpaddr, "mngtmpaddr"),
        (addr.noprefixroute, "noprefixroute"),
        (addr.autojoin, "autojoin"),
        (addr.stable_privacy, "stable-privacy"),
    ]
}

/// The JSON of an address below its link.
fn json(addr: &Addr, names: &mut Names) -> Map<String, Value> {
    let mut fields = json_fields(addr, &[], names);
    fields.remove("dev");
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_in_a_shell() {
        for (text, pattern, matches) in [
            ("eth0:1", "eth0:*", true),
            ("eth0", "eth0:*", false),
            ("eth0", "e?h*", true),
            ("eth0", "*0", true),
            ("eth0", "eth", false),
            ("", "*", true),
        ] {
            assert_eq!(matches_pattern(text, pattern), matches, "{text} {pattern}");
        }
    }
}
