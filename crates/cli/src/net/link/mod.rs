//! Links, in the words of ip-link(8).

mod json;
mod owner;
mod read;
mod text;
mod words;

use netlink::table::{BadWord, Words};
use netlink::{Family, Link, Verb};
use serde_json::Value;

use super::names::Names;
use super::spelled::{Extent, Spelled};

impl Spelled for Link {
    const NOUN: &'static str = "link";

    fn read(verb: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        read::link(verb, words)
    }

    fn is_one(&self) -> bool {
        self.index.is_some()
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        text::link(self, names, extent)
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        json::link(self, names, extent)
    }
}
