use netlink::table::{BadWord, Words};
use netlink::{Family, Link, Verb};
use serde_json::Value;

use super::text::Part;
use super::{brief, json, property, read, text, usual};
use crate::failure::{Exit, Failure};
use crate::net::job::Stack;
use crate::net::names::Names;
use crate::net::spelled::{Extent, NO_TYPE, Spelled};
use crate::net::verb::{OF_LINKS, Verbs};

impl Spelled for Link {
    const NOUN: &'static str = "link";
    const VERBS: Verbs = OF_LINKS;

    fn read(verb: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut link = read::link(verb, words)?;
        if verb == Verb::Add {
            if link.link_kind().is_none() {
                return Err(BadWord::new(NO_TYPE, None));
            }
            usual::complete(&mut link);
        }
        Ok(link)
    }

    fn advice(&self, verb: Verb) -> Option<&'static str> {
        usual::advice(self).filter(|_| verb == Verb::Add)
    }

    fn is_one(&self) -> bool {
        self.index.is_some()
    }

    fn own(stack: &mut Stack, _: &str, words: &[String]) -> Result<Exit, Failure> {
        property::run(stack, words)
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        if extent.brief {
            return brief::text(self, names, Part::Link);
        }
        text::link(self, names, extent, Part::Link)
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        if extent.brief {
            brief::json(self, names, Part::Link)
        } else {
            json::link(self, names, extent, Part::Link)
        }
    }
}
