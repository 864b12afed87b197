//! `tapline rule`: routing rules, as ip-rule(8).

use serde_json::Value;
use tapline::net::schema::{
    Arguments, Flatten, InvalidValue, NameLookup, NumberNames, Parsed, TextValue,
};
use tapline::net::{Family, Prefix, Range, Realms, RouteProtocol, Rule, RuleAction, Verb};

use super::link::{group_name, parse_group};
use crate::net::handle::unknown_word;
use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record};
use crate::net::syntax::{CommandSyntax, Purpose, Selection};
use crate::net::verbs::{self, Verbs};

impl CommandSyntax for Rule {
    const OBJECT: &'static str = "rule";
    const VERBS: Verbs = verbs::RULE;
    const FLUSHES_ALL: bool = true;

    fn parse_arguments(
        verb: Verb,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Self> {
        // As in ip(8), before the library says so: what is missing is an argument.
        if matches!(verb, Verb::Add | Verb::Del) && words.peek().is_none() {
            return Err(InvalidValue::new("a word about the rule", None));
        }
        let mut rule = Self::new();
        rule.family = family;
        while let Some(word) = words.next() {
            if !parse_word(&mut rule, word, words)? {
                return Err(unknown_word(word));
            }
        }
        // As in ip(8).
        if verb == Verb::List {
            rule.family.get_or_insert(Family::V4);
        }
        Ok(rule)
    }

    /// `flush` keeps rule 0, as in ip(8): it makes the host's own addresses work.
    fn select(
        purpose: Purpose,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Selection<Self>> {
        let filter = Self::parse_arguments(Verb::List, family, words)?;
        let accepts = Box::new(move |rule: &Self| {
            purpose == Purpose::Show || rule.priority.is_some_and(|priority| priority > 0)
        });
        Ok(Selection { filter, accepts })
    }

    /// In the order of `print_rule`, ip/iprule.c.
    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        record.text(format_args!("{}:\t", self.priority.unwrap_or_default()));
        record.json("priority", self.priority);
        if self.not == Some(true) {
            record.text(format_args!("not "));
            record.json("not", Some(Value::Null));
        }
        let src = self.src.map_or("all".to_owned(), |src| src.to_string());
        record.text(format_args!("from {src}"));
        if self.src.is_none() {
            record.json("src", Some(src));
        }
        print_network(record, "src", self.src);
        if let Some(dst) = self.dst {
            record.text(format_args!(" to {dst}"));
        }
        print_network(record, "dst", self.dst);
        record.string("tos", "tos", self.tos.map(|tos| tos.format(names)));
        let hexadecimal = |number: u32| format!("{number:#x}");
        record.field("fwmark", "fwmark", self.fwmark.map(hexadecimal));
        let mask = self.fwmask.filter(|mask| *mask != u32::MAX);
        if let Some(mask) = mask.map(hexadecimal) {
            record.text(format_args!("/{mask}"));
            record.json("fwmask", Some(mask));
        }
        for (word, name, key, is_detached) in [
            ("iif", self.iif, "iif_detached", self.iif_detached),
            ("oif", self.oif, "oif_detached", self.oif_detached),
        ] {
            record.string(word, word, name);
            if is_detached == Some(true) {
                record.text(format_args!(" [detached]"));
                record.json(key, Some(Value::Null));
            }
        }
        if let Some(Range { first, last }) = self.uidrange {
            record.text(format_args!(" uidrange {first}-{last}"));
            record.json("uid_start", Some(first));
            record.json("uid_end", Some(last));
        }
        record.field("ipproto", "ipproto", self.ipproto.map(protocol_name));
        for (word, ports) in [("sport", self.sport), ("dport", self.dport)] {
            match ports {
                Some(Range { first, last }) if first != last => {
                    record.text(format_args!(" {word} {first}-{last}"));
                    record.json(&format!("{word}_start"), Some(first));
                    record.json(&format!("{word}_end"), Some(last));
                }
                ports => record.field(word, word, ports.map(|ports| ports.first)),
            }
        }
        record.field("tun_id", "tun_id", self.tun_id);
        print_action(self, record, names);
        let protocol = self.protocol.filter(|it| {
            level.details || !matches!(it, RouteProtocol::Unspec | RouteProtocol::Kernel)
        });
        let protocol = protocol.map(|protocol| protocol.format(names));
        record.string("protocol", "proto", protocol);
    }
}

/// The keys of a network in JSON.
fn print_network(record: &mut Record, key: &str, network: Option<Prefix>) {
    if let Some(Prefix { ip, len }) = network {
        record.json(key, Some(ip.to_string()));
        let is_host = len == if ip.is_ipv4() { 32 } else { 128 };
        record.json(&format!("{key}len"), Some(len).filter(|_| !is_host));
    }
}

fn print_action(rule: &Rule, record: &mut Record, names: &mut Names) {
    let table = rule.table.map(|table| table.format(names));
    match (&table, rule.action) {
        _ if rule.l3mdev == Some(true) => {
            record.text(format_args!(" lookup [l3mdev-table]"));
            record.json("l3mdev", Some(Value::Null));
        }
        (Some(table), _) => record.text(format_args!(" lookup {table}")),
        (None, Some(RuleAction::Goto)) => match rule.goto {
            Some(goto) => record.text(format_args!(" goto {goto}")),
            None => record.text(format_args!(" goto none")),
        },
        (None, Some(action)) => record.text(format_args!(" {action}")),
        (None, None) => {}
    }
    record.json("table", table);
    record.json("goto", rule.goto);
    if rule.unresolved == Some(true) {
        record.text(format_args!(" [unresolved]"));
        record.json("unresolved", Some(Value::Null));
    }
    match rule.action {
        Some(RuleAction::ToTable | RuleAction::Goto) => {}
        Some(RuleAction::Nop) => record.json("nop", Some(Value::Null)),
        action => record.json("action", action.map(|action| action.to_string())),
    }
    let (bits, group) = (rule.suppress_prefixlen, rule.suppress_ifgroup);
    record.field("suppress_prefixlen", "suppress_prefixlength", bits);
    let group = group.map(|group| group_name(group.cast_unsigned()));
    record.string("suppress_ifgroup", "suppress_ifgroup", group);
    if let Some((from, to)) = rule.realms() {
        let mut name = |realm: u16| {
            let name = names.number_name(NumberNames::Realm, realm.into());
            name.unwrap_or_else(|| realm.to_string())
        };
        let from = Some(from).filter(|from| *from != 0).map(&mut name);
        let to = name(to);
        record.text(format_args!(" realms "));
        if let Some(from) = &from {
            record.text(format_args!("{from}/"));
        }
        record.text(format_args!("{to}"));
        record.json("flow_from", from);
        record.json("flow_to", Some(to));
    }
}

/// Parses a field of a rule. The table of the library has most keywords.
fn parse_word(rule: &mut Rule, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
    let abbreviates = |long: &&str| word.len() > 3 && long.starts_with(word);
    words.offer(&[
        "from",
        "to",
        "fwmark",
        "ipproto",
        "realms",
        "type",
        "nop",
        "blackhole",
    ]);
    words.offer(&["unreachable", "prohibit", "priority", "preference"]);
    match word {
        "from" => rule.src = parse_network(word, words)?,
        "to" => rule.dst = parse_network(word, words)?,
        "fwmark" => parse_mark(rule, words)?,
        "ipproto" => rule.ipproto = Some(parse_protocol(words)?),
        "realms" | "flow" => rule.flow = Some(words.value::<Realms>("realms")?.into()),
        "suppress_ifgroup" | "sup_group" => {
            rule.suppress_ifgroup = Some(parse_group(words)?.cast_signed());
        }
        "type" => rule.action = parse_type(words)?,
        "nop" | "blackhole" | "unreachable" | "prohibit" => rule.action = word.parse().ok(),
        _ if rule.parse_keyword(word, words)? => {}
        _ if ["priority", "preference"].iter().any(abbreviates) => {
            rule.priority = Some(words.value("priority")?);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// `MARK[/MASK]`
fn parse_mark(rule: &mut Rule, words: &mut Arguments<'_>) -> Parsed<()> {
    let text: String = words.value("fwmark")?;
    let mut number = |text: &str| u32::parse(text, words.lookup());
    let (mark, mask) = match text.split_once('/') {
        Some((mark, mask)) => (number(mark), number(mask).map(Some)),
        None => (number(&text), Some(None)),
    };
    let invalid = || InvalidValue::new("fwmark", Some(&text));
    rule.fwmark = Some(mark.ok_or_else(invalid)?);
    rule.fwmask = mask.ok_or_else(invalid)?;
    Ok(())
}

/// `all` is no condition.
fn parse_network(word: &str, words: &mut Arguments<'_>) -> Parsed<Option<Prefix>> {
    let prefix: Prefix = words.value(word)?;
    Ok((!prefix.is_everything()).then_some(prefix))
}

/// Protocols above IP by the names of protocols(5).
const PROTOCOLS: [(u8, &str); 16] = [
    (1, "icmp"),
    (2, "igmp"),
    (4, "ipencap"),
    (6, "tcp"),
    (17, "udp"),
    (33, "dccp"),
    (41, "ipv6"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (58, "ipv6-icmp"),
    (89, "ospf"),
    (103, "pim"),
    (112, "vrrp"),
    (132, "sctp"),
    (136, "udplite"),
];

/// The name of an IP protocol; `ipproto-NUMBER` if it has none.
fn protocol_name(number: u8) -> String {
    let found = PROTOCOLS.iter().find(|(known, _)| *known == number);
    found.map_or_else(
        || format!("ipproto-{number}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// A protocol above IP, by its number or name.
pub fn parse_protocol(words: &mut Arguments<'_>) -> Parsed<u8> {
    let named = words.peek().and_then(|word| {
        let found = PROTOCOLS.iter().find(|(_, name)| *name == word);
        found.map(|(number, _)| *number)
    });
    match named {
        Some(number) => {
            words.next();
            Ok(number)
        }
        None => words.value("ipproto"),
    }
}

/// Parses an action given as a route type; unicast is a table lookup.
fn parse_type(words: &mut Arguments<'_>) -> Parsed<Option<RuleAction>> {
    let name: String = words.value("type")?;
    match name.as_str() {
        "unicast" => Ok(None),
        "blackhole" | "unreachable" | "prohibit" => Ok(name.parse().ok()),
        _ => Err(InvalidValue::new(
            "unicast, blackhole, unreachable or prohibit",
            Some(&name),
        )),
    }
}
