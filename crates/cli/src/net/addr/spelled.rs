use netlink::table::{BadWord, Lookup, Table, Words};
use netlink::{Addr, Family, Verb};
use serde_json::Value;

use super::question::Question;
use super::show;
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::job::Stack;
use crate::net::names::Names;
use crate::net::spelled::{Choice, Extent, Purpose, Spelled, unknown};

impl Spelled for Addr {
    const NOUN: &'static str = "addr";

    fn read(_: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut addr = Self::new();
        addr.family = family;
        while let Some(word) = words.next() {
            if !addr.word(word, words)? {
                return Err(unknown(word));
            }
        }
        Ok(addr)
    }

    fn choose(
        purpose: Purpose,
        family: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Choice<Self>, BadWord> {
        let question = Question::read(purpose, family, words)?;
        let like = question.addr.clone();
        let fits = Box::new(move |addr: &Self| question.fits(addr));
        Ok(Choice { like, fits })
    }

    fn show(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        show::addresses(stack, words, args)
    }

    /// As `ip monitor address` has it.
    fn text(&self, names: &mut Names, _: Extent) -> String {
        let dev = self.ifindex();
        let name = names.name(dev).unwrap_or_else(|| format!("if{dev}"));
        format!("{dev}: {name}    {}", show::line(self, names))
    }

    fn json(&self, names: &mut Names, _: Extent) -> Value {
        let mut shown = show::json(self, names);
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("ifindex".to_owned(), self.ifindex().0.into());
            fields.insert("ifname".to_owned(), names.name(self.ifindex()).into());
        }
        shown
    }
}
