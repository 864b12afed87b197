//! `tapline tuntap`: links of the tun driver, in the words of ip-tuntap(8).

use abi::namespace::NetNamespace;
use netlink::{Family, Link, LinkKind, NetlinkError, Tun, TunMode, Verb, Watch};
use serde_json::{Value, json};

use super::door::{Door, Follower, Noun, Put};
use super::fields::put;
use super::job::Stack;
use super::page::Page;
use super::verb::{Act, OF_TUNTAP, Verbs};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// What can be done with tun and tap: what is said of them is said of links.
pub struct Tuntap;

impl Door for Tuntap {
    fn verbs(&self) -> Verbs {
        OF_TUNTAP
    }

    fn run(
        &self,
        stack: &mut Stack,
        act: Act,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure> {
        if act == Act::Do(Verb::List) {
            return show(stack, words, args);
        }
        let words = as_link(stack, act, words)?;
        Noun::Link.door().run(stack, act, &words, args)
    }

    fn prepare(
        &self,
        stack: &mut Stack,
        act: Act,
        family: Option<Family>,
        words: &[String],
    ) -> Result<Put, Failure> {
        let words = as_link(stack, act, words)?;
        Noun::Link.door().prepare(stack, act, family, &words)
    }

    fn watch(&self, namespace: Option<&NetNamespace>) -> Result<Box<dyn Follower>, NetlinkError> {
        let all = Link::new().kind(Tun::new());
        Ok(Box::new(match namespace {
            Some(namespace) => Watch::open_in(namespace, all)?,
            None => Watch::open(all)?,
        }))
    }
}

fn usage(what: &str) -> Failure {
    let line = format!("tuntap: {what} ('tapline tuntap --help' tells more)");
    Failure::new(Exit::Usage, line)
}

/// The words that say of a link what these say of a tun or tap.
fn as_link(stack: &mut Stack, act: Act, words: &[String]) -> Result<Vec<String>, Failure> {
    let (name, rest) = name(words)?;
    let name = name.ok_or_else(|| usage("which one"))?;
    match act {
        Act::Do(Verb::Add) => {
            let head = ["name", &name, "type", "tun"].map(str::to_owned);
            Ok(head.into_iter().chain(rest).collect())
        }
        Act::Do(Verb::Del) => {
            check(stack, &name, &rest)?;
            Ok(vec!["dev".to_owned(), name])
        }
        _ => Err(usage("only add, del and show are there")),
    }
}

/// The name that is said, with or without `dev` or `name` before it, and the other words.
fn name(words: &[String]) -> Result<(Option<String>, Vec<String>), Failure> {
    let (mut name, mut rest) = (None, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let said = match word.as_str() {
            "mode" | "user" | "group" => {
                rest.push(word.clone());
                rest.extend(words.next().cloned());
                continue;
            }
            "pi" | "vnet_hdr" | "multi_queue" => {
                rest.push(word.clone());
                continue;
            }
            "dev" | "name" => words.next(),
            _ => Some(word),
        };
        if name.is_some() || said.is_none() {
            return Err(usage(&format!("{word:?} is not a word here")));
        }
        name = said.cloned();
    }
    Ok((name, rest))
}

/// Refuses to remove what is no tun, or is of another mode than `rest` says.
fn check(stack: &mut Stack, name: &str, rest: &[String]) -> Result<(), Failure> {
    let link = stack.netlink.link_named(name)?;
    let said = rest.windows(2).find(|words| words[0] == "mode");
    let found = tun(&link).and_then(|tun| tun.mode).map(mode);
    match (found, said) {
        (Some(found), Some(said)) if said[1] != found => {
            Err(usage(&format!("{name} is a {found}")))
        }
        (Some(_), _) => Ok(()),
        (None, _) => Err(usage(&format!("{name} is neither a tun nor a tap"))),
    }
}

fn tun(link: &Link) -> Option<&Tun> {
    match link.link_kind() {
        Some(LinkKind::Tun(tun)) => Some(tun),
        _ => None,
    }
}

fn mode(mode: TunMode) -> String {
    mode.to_string()
}

/// Shows all, or the one that is named, as `ip tuntap` does.
fn show(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
    let (name, rest) = name(words)?;
    let said = rest.windows(2).find(|words| words[0] == "mode");
    let listing = stack.netlink.list(&Link::new().kind(Tun::new()))?;
    let mut page = Page::new(args);
    for link in &listing.items {
        let Some(tun) = tun(link) else { continue };
        let is_other = name
            .as_ref()
            .is_some_and(|name| link.ifname().to_string() != *name);
        let kind = tun.mode.map(mode).unwrap_or_default();
        if is_other || said.is_some_and(|said| said[1] != kind) {
            continue;
        }
        let flags = flags(tun, kind);
        if page.is_json() {
            page.json(&as_json(link, tun, &flags))?;
        } else {
            page.text(&text(link, tun, &flags))?;
        }
    }
    page.end(listing.interrupted)
}

/// In the order of `print_flags`, ip/iptuntap.c.
fn flags(tun: &Tun, kind: String) -> Vec<String> {
    let mut flags = vec![kind];
    for (on, name) in [
        (tun.pi, "pi"),
        (tun.vnet_hdr, "vnet_hdr"),
        (tun.multi_queue, "multi_queue"),
        (tun.persist, "persist"),
    ] {
        if on == Some(true) {
            flags.push(name.to_owned());
        }
    }
    flags
}

fn text(link: &Link, tun: &Tun, flags: &[String]) -> String {
    let mut text = format!("{}: {}", link.ifname(), flags.join(" "));
    for (word, number) in [("user", tun.user), ("group", tun.group)] {
        if let Some(number) = number {
            put(&mut text, format_args!(" {word} {number}"));
        }
    }
    text
}

fn as_json(link: &Link, tun: &Tun, flags: &[String]) -> Value {
    let mut shown = json!({ "ifname": link.ifname().to_string(), "flags": flags });
    for (key, number) in [("user", tun.user), ("group", tun.group)] {
        if let Some(number) = number {
            shown[key] = number.into();
        }
    }
    shown
}
