//! `tapline tuntap`: tun and tap devices, as ip-tuntap(8). `add` and `del` are translated into commands of `link`.

use tapline::Namespace;
use tapline::net::{Family, Link, LinkKind, NetlinkError, Tun, Verb};

use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::command::{BatchItems, ChangeStream, Commands, ObjectCommand, watch};
use crate::net::handle::{NetHandle, usage_failure};
use crate::net::output::{ObjectWriter, Record};
use crate::net::verbs::{self, Action, Verbs};

pub struct Tuntap;

impl ObjectCommand for Tuntap {
    fn verbs(&self) -> Verbs {
        verbs::TUNTAP
    }

    fn run(
        &self,
        handle: &mut NetHandle,
        action: Action,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure> {
        if action == Action::Verb(Verb::List) {
            return show(handle, words, args);
        }
        let words = link_words(handle, action, words)?;
        Commands::<Link>::NEW.run(handle, action, &words, args)
    }

    fn prepare(
        &self,
        handle: &mut NetHandle,
        action: Action,
        family: Option<Family>,
        words: &[String],
    ) -> Result<BatchItems, Failure> {
        let words = link_words(handle, action, words)?;
        Commands::<Link>::NEW.prepare(handle, action, family, &words)
    }

    fn watch(&self, namespace: Option<&Namespace>) -> Result<Box<dyn ChangeStream>, NetlinkError> {
        watch(namespace, Link::new().kind(Tun::new()))
    }
}

fn failure(problem: &str) -> Failure {
    usage_failure("tuntap", problem)
}

/// The arguments of the same command on a link.
fn link_words(
    handle: &mut NetHandle,
    action: Action,
    words: &[String],
) -> Result<Vec<String>, Failure> {
    let Arguments { name, mode, others } = Arguments::parse(words)?;
    let name = name.ok_or_else(|| failure("a device name is required"))?;
    if action == Action::Verb(Verb::Add) {
        let head = ["name", &name, "type", "tun"].map(str::to_owned);
        return Ok(head.into_iter().chain(others).collect());
    }
    let link = handle.netlink.link_named(&name)?;
    let Some(tun) = tun(&link) else {
        return Err(failure(&format!("{name} is neither a tun nor a tap")));
    };
    let actual = tun.mode.map(|mode| mode.to_string());
    match (actual, mode) {
        (Some(actual), Some(mode)) if actual != mode => {
            Err(failure(&format!("{name} is a {actual}")))
        }
        _ => Ok(vec!["dev".to_owned(), name]),
    }
}

struct Arguments {
    name: Option<String>,
    mode: Option<String>,
    /// All but the name, including the mode.
    others: Vec<String>,
}

impl Arguments {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let (mut name, mut mode, mut others) = (None, None, Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = match word.as_str() {
                "mode" | "user" | "group" => {
                    let value = words.next().cloned();
                    if word == "mode" {
                        mode.clone_from(&value);
                    }
                    others.push(word.clone());
                    others.extend(value);
                    continue;
                }
                "pi" | "vnet_hdr" | "multi_queue" => {
                    others.push(word.clone());
                    continue;
                }
                // Has had no effect since Linux 3.8; ip(8) still takes it.
                "one_queue" => continue,
                "dev" | "name" => words.next(),
                _ => Some(word),
            };
            if name.is_some() || value.is_none() {
                return Err(failure(&format!("{word:?} is not a known word")));
            }
            name = value.cloned();
        }
        Ok(Self { name, mode, others })
    }
}

fn tun(link: &Link) -> Option<&Tun> {
    match link.link_kind() {
        Some(LinkKind::Tun(tun)) => Some(tun),
        _ => None,
    }
}

fn show(handle: &mut NetHandle, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
    let Arguments { name, mode, .. } = Arguments::parse(words)?;
    let listing = handle.netlink.list(&Link::new().kind(Tun::new()))?;
    let mut writer = ObjectWriter::new(&args.show, args.line);
    for link in &listing.items {
        let Some(tun) = tun(link) else { continue };
        let is_named = name
            .as_ref()
            .is_none_or(|name| link.ifname().to_string() == *name);
        let actual = tun.mode.map(|mode| mode.to_string()).unwrap_or_default();
        if is_named && mode.as_ref().is_none_or(|mode| actual == *mode) {
            let mut record = writer.record();
            print(&mut record, link, tun, actual);
            writer.write(record)?;
        }
    }
    writer.finish(listing.interrupted)
}

/// In the order of `print_flags`, ip/iptuntap.c.
fn print(record: &mut Record, link: &Link, tun: &Tun, mode: String) {
    let mut flags = vec![mode];
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
    record.text(format_args!("{}: {}", link.ifname(), flags.join(" ")));
    record.json("ifname", Some(link.ifname().to_string()));
    record.json("flags", Some(flags));
    record.field("user", "user", tun.user);
    record.field("group", "group", tun.group);
}
