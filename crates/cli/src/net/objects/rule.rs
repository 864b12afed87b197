//! `tapline rule`: routing rules, as ip-rule(8).

use serde_json::{Map, Value};
use tapline::net::schema::{Arguments, InvalidValue, Parsed};
use tapline::net::{Family, Prefix, Range, RouteTable, Rule, RuleAction, Verb};

use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record, json_fields, remove_defaults};
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
        // `del` without arguments would remove the first rule.
        if matches!(verb, Verb::Add | Verb::Del) && words.peek().is_none() {
            return Err(InvalidValue::new("a word about the rule", None));
        }
        let mut rule = Self::read_words(words, family)?;
        let has_action = rule.action.is_some()
            || rule.table.is_some()
            || rule.goto.is_some()
            || rule.l3mdev.is_some();
        // Defaults of ip(8).
        match verb {
            Verb::List => _ = rule.family.get_or_insert(Family::V4),
            Verb::Add if !has_action => rule.table = Some(RouteTable::Main),
            _ => {}
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

    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        match record {
            Record::Text(text) => *text = self.line(level.into(), names),
            Record::Json(fields) => {
                *fields = json_fields(self, &[], names);
                fix_json(self, fields);
                if !level.details {
                    let defaults = [("protocol", "kernel"), ("protocol", "unspec")];
                    remove_defaults(fields, &defaults);
                }
            }
        }
    }
}

/// Changes the library's JSON to the keys of `print_rule`, ip/iprule.c.
fn fix_json(rule: &Rule, fields: &mut Map<String, Value>) {
    let is_implied = matches!(
        rule.action,
        Some(RuleAction::ToTable | RuleAction::Goto | RuleAction::Nop)
    );
    for (key, is_replaced) in [
        ("family", true),
        ("uidrange", true),
        ("flow", true),
        ("action", is_implied),
        ("fwmask", rule.fwmask == Some(u32::MAX)),
    ] {
        if is_replaced {
            fields.remove(key);
        }
    }
    let mut put = |key: &str, value: Value| _ = fields.insert(key.to_owned(), value);
    let mut put_network = |key: &str, network: Option<Prefix>| {
        let Some(Prefix { ip, len }) = network else {
            return;
        };
        put(key, ip.to_string().into());
        if len < if ip.is_ipv4() { 32 } else { 128 } {
            put(&format!("{key}len"), len.into());
        }
    };
    put_network("src", rule.src);
    put_network("dst", rule.dst);
    if rule.src.is_none() {
        put("src", "all".into());
    }
    let mask = rule.fwmask.filter(|mask| *mask != u32::MAX);
    for (key, number) in [("fwmark", rule.fwmark), ("fwmask", mask)] {
        if let Some(number) = number {
            put(key, format!("{number:#x}").into());
        }
    }
    if let Some(tos) = rule.tos {
        put("tos", format!("{tos:#04x}").into());
    }
    if let Some(number) = rule.ipproto {
        put("ipproto", Rule::protocol_name(number).into());
    }
    if let Some(Range { first, last }) = rule.uidrange {
        put("uid_start", first.into());
        put("uid_end", last.into());
    }
    if let Some(group) = rule.suppress_ifgroup {
        put("suppress_ifgroup", group.to_string().into());
    }
    if let Some((from, to)) = rule.realms() {
        if from != 0 {
            put("flow_from", from.to_string().into());
        }
        put("flow_to", to.to_string().into());
    }
    for (key, on) in [
        ("not", rule.not),
        ("l3mdev", rule.l3mdev),
        ("iif_detached", rule.iif_detached),
        ("oif_detached", rule.oif_detached),
        ("unresolved", rule.unresolved),
        ("nop", Some(rule.action == Some(RuleAction::Nop))),
    ] {
        if on == Some(true) {
            put(key, Value::Null);
        }
    }
    for (key, ports) in [("sport", rule.sport), ("dport", rule.dport)] {
        match ports {
            Some(Range { first, last }) if first == last => {
                fields.insert(key.to_owned(), first.into());
            }
            Some(Range { first, last }) => {
                fields.remove(key);
                fields.insert(format!("{key}_start"), first.into());
                fields.insert(format!("{key}_end"), last.into());
            }
            None => {}
        }
    }
}
