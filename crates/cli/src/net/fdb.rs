//! Forwarding entries, in the words of bridge(8).

use std::collections::HashSet;

use netlink::table::{BadWord, Table, Word, Words};
use netlink::{Family, Fdb, FdbFlags, FdbFlush, FdbState, Link, Verb};
use serde_json::Value;

use super::fields;
use super::job::{self, Stack};
use super::names::Names;
use super::spelled::{Choice, Extent, Purpose, Spelled};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

impl Spelled for Fdb {
    const NOUN: &'static str = "fdb";

    fn read(_: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut entry = Self::new();
        fields::read(&mut entry, words)?;
        Ok(entry)
    }

    /// Those of a bridge are also the own entries of its ports and of itself, which do not name it.
    fn show(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        let choice: Choice<Self> = job::choose(stack, Purpose::Show, args.family(), words)?;
        let mut like = choice.like;
        let Some(bridge) = like.master.take() else {
            return job::list_chosen(stack, Choice { like, ..choice }, args);
        };
        let ports = stack.netlink.list(&Link::new().master(bridge))?.items;
        let ports = ports.iter().map(Link::ifindex);
        let members: HashSet<_> = ports.chain([bridge]).collect();
        let fits = Box::new(move |entry: &Self| members.contains(&entry.ifindex()));
        job::list_chosen(stack, Choice { like, fits }, args)
    }

    /// In one message, as bridge(8) does: one by one the addresses would go, too, that a device listens to.
    fn flush(stack: &mut Stack, words: &[String], _: &NetArgs) -> Result<Exit, Failure> {
        let mut which = FdbFlush::new();
        let mut words = Words::new(words, &mut stack.names);
        let read = fields::read(&mut which, &mut words);
        read.map_err(|bad| stack.misread(Self::NOUN, &bad))?;
        let done = stack.netlink.flush_fdb(&which);
        done.map_err(|error| stack.refused(error))?;
        Ok(Exit::Done)
    }

    fn flushed(_: &mut Stack, _: Option<Family>, _: &[String]) -> Result<Vec<Self>, Failure> {
        let line = "fdb: flush is for a command of its own, not for a batch";
        Err(Failure::new(Exit::Usage, line))
    }

    fn leave_unsaid(&mut self, asked: &Self) {
        self.dev = self.dev.filter(|_| asked.dev.is_none());
    }

    /// In the order of bridge(8) (`print_fdb`, bridge/fdb.c).
    fn text(&self, names: &mut Names, extent: Extent) -> String {
        let mut text = self.lladdr.map_or_else(String::new, |it| it.to_string());
        let bridge = self.master.map(|master| master.write(names));
        let mut said = self.clone();
        (said.lladdr, said.state, said.flags, said.master) = (None, None, None, None);
        let mut put = |word: &str, value: &str| {
            let blank = if value.is_empty() { "" } else { " " };
            fields::put(&mut text, format_args!(" {word}{blank}{value}"));
        };
        said.show(names, &mut |word, value| put(word, &value));
        if let (true, Some(used), Some(updated)) = (extent.statistics, self.used, self.updated) {
            put("used", &format!("{used}/{updated}"));
        }
        let flags = self.flags.unwrap_or_default();
        for (flag, word) in [
            (FdbFlags::SELF, "self"),
            (FdbFlags::ROUTER, "router"),
            (FdbFlags::EXTERN_LEARN, "extern_learn"),
            (FdbFlags::OFFLOAD, "offload"),
            (FdbFlags::MASTER, "master"),
            (FdbFlags::STICKY, "sticky"),
        ] {
            if flags.contains(flag) {
                put(word, "");
            }
        }
        if let Some(bridge) = bridge {
            put("master", &bridge);
        }
        match self.state {
            Some(FdbState::Permanent) => put("permanent", ""),
            Some(FdbState::Static) => put("static", ""),
            _ => {}
        }
        text
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev", "master", "viaIf", "via"], names);
        if let Some(fields) = shown.as_object_mut() {
            if let Some(dev) = fields.remove("dev") {
                fields.insert("ifname".to_owned(), dev);
            }
            if self.state == Some(FdbState::Dynamic) {
                fields.insert("state".to_owned(), "".into());
            }
            let counters = ["used", "updated"];
            fields.retain(|key, _| extent.statistics || !counters.contains(&key.as_str()));
        }
        shown
    }
}
