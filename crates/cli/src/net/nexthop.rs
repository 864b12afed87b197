//! Nexthop objects, in the words of ip-nexthop(8).

use netlink::table::{BadWord, Words};
use netlink::{Family, Nexthop, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::route::detail;
use super::spelled::{Extent, Spelled};
use super::verb::{OF_RULES, Verbs};

impl Spelled for Nexthop {
    const NOUN: &'static str = "nexthop";
    const VERBS: Verbs = OF_RULES;
    const FLUSHES_ALL: bool = true;

    fn read(_: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        Self::read_words(words)
    }

    fn is_one(&self) -> bool {
        self.id.is_some()
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        self.line(detail(extent), names)
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev"], names);
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("family");
            // It stands among the flags.
            fields.remove("onlink");
        }
        fields::switch(&mut shown, &["blackhole", "fdb"]);
        if !extent.details {
            fields::forget(&mut shown, &[("protocol", "unspec"), ("scope", "global")]);
        }
        shown
    }
}
