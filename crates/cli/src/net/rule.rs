//! Rules, in the words of ip-rule(8).

use netlink::table::{BadWord, Words};
use netlink::{Family, Rule, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::route::detail;
use super::spelled::{Extent, Spelled};

impl Spelled for Rule {
    const NOUN: &'static str = "rule";

    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut rule = Self::read_words(words, family)?;
        if verb == Verb::List {
            // As ip(8) has it.
            rule.family.get_or_insert(Family::V4);
        }
        Ok(rule)
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        self.line(detail(extent), names)
    }

    fn json(&self, names: &mut Names, _: Extent) -> Value {
        fields::json(self, &[], names)
    }
}
