//! Rules, in the words of ip-rule(8).

use netlink::table::{BadWord, Words};
use netlink::{Family, Range, RouteTable, Rule, RuleAction, Verb};
use serde_json::{Map, Value};

use super::fields;
use super::names::Names;
use super::route::detail;
use super::spelled::{Choice, Extent, Purpose, Spelled};
use super::verb::{OF_RULES, Verbs};

impl Spelled for Rule {
    const NOUN: &'static str = "rule";
    const VERBS: Verbs = OF_RULES;
    const FLUSHES_ALL: bool = true;

    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        // Without words it would be the first rule of all that is removed.
        if matches!(verb, Verb::Add | Verb::Del) && words.peek().is_none() {
            return Err(BadWord::new("a word about the rule", None));
        }
        let mut rule = Self::read_words(words, family)?;
        // As ip(8) has it.
        match verb {
            Verb::List => _ = rule.family.get_or_insert(Family::V4),
            Verb::Add
                if rule.action.is_none()
                    && rule.table.is_none()
                    && rule.goto.is_none()
                    && rule.l3mdev.is_none() =>
            {
                rule.table = Some(RouteTable::Main);
            }
            _ => {}
        }
        Ok(rule)
    }

    fn choose(
        purpose: Purpose,
        family: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Choice<Self>, BadWord> {
        let like = Self::read(Verb::List, family, words)?;
        // The first rule of all stays, as in ip(8): by it the host knows its own addresses.
        let fits = Box::new(move |rule: &Self| {
            purpose == Purpose::Show || rule.priority.is_some_and(|priority| priority > 0)
        });
        Ok(Choice { like, fits })
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        self.line(detail(extent), names)
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &[], names);
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("family");
            // As ip(8) has it: networks in two keys, and all of them by that word.
            for (key, network) in [("src", self.src), ("dst", self.dst)] {
                let Some(network) = network else { continue };
                fields.insert(key.to_owned(), network.ip.to_string().into());
                if network.len < if network.ip.is_ipv4() { 32 } else { 128 } {
                    fields.insert(format!("{key}len"), network.len.into());
                }
            }
            fields.entry("src").or_insert_with(|| "all".into());
            put_own_forms(self, fields);
        }
        if !extent.details {
            let usual = [("protocol", "kernel"), ("protocol", "unspec")];
            fields::forget(&mut shown, &usual);
        }
        shown
    }
}

/// Conditions and switches in the keys of ip(8) (`print_rule`, ip/iprule.c).
fn put_own_forms(rule: &Rule, fields: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| _ = fields.insert(key.to_owned(), value);
    for (key, number) in [("fwmark", rule.fwmark), ("fwmask", rule.fwmask)] {
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
    for (key, ports) in [("sport", rule.sport), ("dport", rule.dport)] {
        match ports {
            Some(Range { first, last }) if first == last => put(key, first.into()),
            Some(Range { first, last }) => {
                put(&format!("{key}_start"), first.into());
                put(&format!("{key}_end"), last.into());
            }
            None => {}
        }
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
    let switches = [
        ("not", rule.not),
        ("l3mdev", rule.l3mdev),
        ("iif_detached", rule.iif_detached),
        ("oif_detached", rule.oif_detached),
        ("unresolved", rule.unresolved),
        ("nop", Some(rule.action == Some(RuleAction::Nop))),
    ];
    // A switch has a key and no value.
    for (key, _) in switches.into_iter().filter(|(_, on)| *on == Some(true)) {
        put(key, Value::Null);
    }
    let split = [
        (
            "sport",
            rule.sport.is_some_and(|ports| ports.first != ports.last),
        ),
        (
            "dport",
            rule.dport.is_some_and(|ports| ports.first != ports.last),
        ),
        ("uidrange", true),
        ("flow", true),
        // Said by other keys.
        (
            "action",
            matches!(
                rule.action,
                Some(RuleAction::ToTable | RuleAction::Goto | RuleAction::Nop)
            ),
        ),
        ("fwmask", rule.fwmask == Some(u32::MAX)),
    ];
    for (key, _) in split.into_iter().filter(|(_, is_split)| *is_split) {
        fields.remove(key);
    }
}
