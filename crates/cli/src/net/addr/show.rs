//! Addresses as ip(8) shows them: those of a link below it.

use netlink::table::{Table, Words};
use netlink::{Addr, Link, Object};
use serde_json::{Value, json};

use super::question::Question;
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::fields;
use crate::net::job::Stack;
use crate::net::link::{self, Part};
use crate::net::names::Names;
use crate::net::page::Page;
use crate::net::spelled::{Purpose, Spelled};

/// Shows the links that `words` mean, each with its addresses that they mean.
pub fn addresses(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
    let mut words = Words::new(words, &mut stack.names);
    let question = Question::read(Purpose::Show, args.family(), &mut words);
    let question = question.map_err(|bad| stack.misread(Addr::NOUN, &bad))?;
    let (links, cut) = links(stack, &question)?;
    let mut dev = Addr::new();
    dev.dev = question.addr.dev;
    let addresses = stack.netlink.list(&dev)?;
    for link in &links {
        stack.names.note(link);
    }
    let mut page = Page::new(args);
    for link in &links {
        let has = |addr: &&Addr| addr.dev == link.index;
        let all: Vec<&Addr> = addresses.items.iter().filter(has).collect();
        let bare = all.is_empty() && question.shows_bare_links() && !args.show.oneline;
        let meant: Vec<&Addr> = all.into_iter().filter(|addr| question.fits(addr)).collect();
        if meant.is_empty() && !bare {
            continue;
        }
        put(&mut page, &mut stack.names, link, &meant, &question)?;
    }
    page.end(cut || addresses.interrupted)
}

/// The links that are meant, and whether some came or went meanwhile.
fn links(stack: &mut Stack, question: &Question) -> Result<(Vec<Link>, bool), Failure> {
    let Some(index) = question.link.index else {
        let listing = stack.netlink.list(&question.link)?;
        return Ok((listing.items, listing.interrupted));
    };
    let link = stack.netlink.link(index);
    let link = link.map_err(|error| stack.refused(error))?;
    let meant = Object::matches(&link, &question.link).then_some(link);
    Ok((meant.into_iter().collect(), false))
}

fn put(
    page: &mut Page<'_>,
    names: &mut Names,
    link: &Link,
    addresses: &[&Addr],
    question: &Question,
) -> std::io::Result<()> {
    let extent = page.extent();
    let part = Part::Addresses {
        of_family: question.addr.family.is_some(),
    };
    if page.is_json() {
        let mut shown = if extent.brief {
            link::brief_json(link, names, part)
        } else {
            link::json_of(link, names, extent, part)
        };
        let form = if extent.brief { brief_json } else { json };
        let addresses = addresses.iter().map(|addr| form(addr, names));
        shown["addr_info"] = addresses.collect::<Vec<_>>().into();
        return page.json(&shown);
    }
    if page.is_oneline() && !extent.brief {
        for addr in addresses {
            page.text(&addr.text(names, extent))?;
        }
        return Ok(());
    }
    if extent.brief {
        let mut text = link::brief(link, names, part);
        for addr in addresses {
            fields::put(&mut text, format_args!("{} ", network(addr)));
            if let Some(metric) = addr.metric {
                fields::put(&mut text, format_args!("metric {metric} "));
            }
        }
        return page.text(&text);
    }
    let mut text = link::text_of(link, names, extent, part);
    for addr in addresses {
        fields::put(&mut text, format_args!("\n    {}", line(addr, names)));
    }
    if extent.statistics {
        text += &link::counters_of(link, extent);
    }
    page.text(&text)
}

/// The address, with the other end's where there is one.
fn network(addr: &Addr) -> String {
    let local = addr.local.map_or_else(String::new, |ip| ip.to_string());
    let length = addr
        .prefixlen
        .map_or_else(String::new, |len| format!("/{len}"));
    match addr.peer {
        Some(peer) => format!("{local} peer {peer}{length}"),
        None => local + &length,
    }
}

/// The line of an address, and below it how long it is there.
pub fn line(addr: &Addr, names: &mut Names) -> String {
    let mut words: Vec<(&str, String)> = Vec::new();
    addr.show(names, &mut |word, value| words.push((word, value)));
    let mut take = |wanted: &str| {
        let at = words.iter().position(|(word, _)| *word == wanted)?;
        Some(words.remove(at).1)
    };
    take("dev");
    take("local");
    take("peer");
    let is_v6 = addr.local.is_some_and(|local| local.is_ipv6());
    let mut line = format!("{} {}", if is_v6 { "inet6" } else { "inet" }, network(addr));
    for (word, key) in [
        ("metric", "metric"),
        ("brd", "broadcast"),
        ("scope", "scope"),
    ] {
        if let Some(value) = take(key) {
            fields::put(&mut line, format_args!(" {word} {value}"));
        }
    }
    let label = take("label");
    let lifetimes = [take("valid_lft"), take("preferred_lft")];
    let proto = take("proto");
    for flag in flags(addr) {
        fields::put(&mut line, format_args!(" {flag}"));
    }
    if let Some(proto) = proto {
        fields::put(&mut line, format_args!(" proto {proto}"));
    }
    if let Some(label) = label {
        fields::put(&mut line, format_args!(" {label}"));
    }
    if let [Some(valid), Some(preferred)] = lifetimes {
        let lifetimes = format_args!("\n       valid_lft {valid} preferred_lft {preferred}");
        fields::put(&mut line, lifetimes);
    }
    line
}

/// Flags in the order of ip(8) (`ifa_flag_data`, ip/ipaddress.c).
fn flags(addr: &Addr) -> impl Iterator<Item = &'static str> {
    let flags = [
        (addr.secondary, "secondary"),
        (addr.temporary, "temporary"),
        (addr.nodad, "nodad"),
        (addr.optimistic, "optimistic"),
        (addr.dadfailed, "dadfailed"),
        (addr.home, "home"),
        (addr.deprecated, "deprecated"),
        (addr.tentative, "tentative"),
        (addr.dynamic, "dynamic"),
        (addr.mngtmpaddr, "mngtmpaddr"),
        (addr.noprefixroute, "noprefixroute"),
        (addr.autojoin, "autojoin"),
        (addr.stable_privacy, "stable-privacy"),
    ];
    let set = flags.into_iter().filter(|(on, _)| *on == Some(true));
    set.map(|(_, name)| name)
}

/// It with the keys of `addr_info`.
pub fn json(addr: &Addr, names: &mut Names) -> Value {
    let mut shown = fields::json(addr, &[], names);
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("dev");
    }
    shown
}

fn brief_json(addr: &Addr, names: &mut Names) -> Value {
    let whole = json(addr, names);
    let mut shown = json!({});
    for key in ["local", "address", "prefixlen", "metric"] {
        if let Some(value) = whole.get(key) {
            shown[key] = value.clone();
        }
    }
    shown
}
