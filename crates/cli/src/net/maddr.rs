//! `tapline maddr`: multicast addresses that links listen to, in the words of ip-maddress(8). The kernel tells of
//! those of IPv4 by messages only since Linux 6.15; its files tell of all.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::{fs, io};

use abi::namespace::NetNamespace;
use netlink::{Family, HardwareAddress};
use serde_json::{Value, json};

use super::fields::put;
use super::page::Page;
use super::spelled::unknown;
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// An address that a link listens to.
#[derive(Debug, PartialEq, Eq)]
struct Heard {
    /// None where it is one of the hardware.
    family: Option<Family>,
    address: String,
    /// How many want it.
    users: u32,
    /// Somebody has entered it by hand.
    is_static: bool,
}

/// By the index of the link, with its name.
type Links = BTreeMap<u32, (String, Vec<Heard>)>;

/// The kernel's files, in the order in which they are shown.
const FILES: [&str; 3] = ["dev_mcast", "igmp", "igmp6"];

/// Runs `tapline maddr`.
pub fn run(args: &NetArgs) -> Result<Exit, Failure> {
    let link = asked(&args.words)?;
    let texts = match &args.netns {
        Some(name) => {
            let error = |error| Failure::job_on(format!("network namespace {name}"), &error);
            let namespace = NetNamespace::named(name).map_err(error)?;
            namespace.run(texts)?
        }
        None => texts(),
    };
    let texts = texts.map_err(|error| Failure::job_on("cannot read /proc/net", &error))?;
    let mut page = Page::new(args);
    for (index, (name, mut heard)) in read(&texts) {
        let family = args.family();
        heard.retain(|heard| family.is_none() || heard.family == family);
        if heard.is_empty() || link.is_some_and(|link| link != name) {
            continue;
        }
        if page.is_json() {
            let addresses: Vec<_> = heard.iter().map(as_json).collect();
            page.json(&json!({ "ifindex": index, "ifname": name, "maddr": addresses }))?;
        } else {
            page.text(&text(index, &name, &heard))?;
        }
    }
    page.end(false)
}

/// The link that is asked for.
fn asked(words: &[String]) -> Result<Option<&str>, Failure> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let is_show = |word: &str| {
        let verbs = ["show", "lst", "list"];
        !word.is_empty() && verbs.iter().any(|verb| verb.starts_with(word))
    };
    match words[..] {
        [] => Ok(None),
        [verb] if is_show(verb) => Ok(None),
        [verb, "dev", link] | [verb, link] if is_show(verb) => Ok(Some(link)),
        [verb, _, word, ..] if is_show(verb) => {
            let line = format!(
                "maddr: {} ('tapline maddr --help' tells more)",
                unknown(word)
            );
            Err(Failure::new(Exit::Usage, line))
        }
        [verb, ..] => {
            let line = format!("{verb:?} is no verb (show)");
            Err(Failure::new(Exit::Usage, line))
        }
    }
}

/// What the files hold; a kernel without IPv6 lacks one.
fn texts() -> io::Result<[String; 3]> {
    let mut texts = [const { String::new() }; 3];
    for (text, file) in texts.iter_mut().zip(FILES) {
        match fs::read_to_string(format!("/proc/thread-self/net/{file}")) {
            Ok(read) => *text = read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(texts)
}

fn read([hardware, igmp, igmp6]: &[String; 3]) -> Links {
    let mut links = Links::new();
    let mut hear = |index: &str, name: &str, heard: Option<Heard>| {
        if let (Ok(index), Some(heard)) = (index.parse(), heard) {
            let link = links
                .entry(index)
                .or_insert_with(|| (name.to_owned(), Vec::new()));
            link.1.push(heard);
        }
    };
    for line in hardware.lines() {
        if let [index, name, users, is_static, address] = fields(line)[..] {
            hear(index, name, of_hardware(users, is_static, address));
        }
    }
    // A line of a link, and below it those of its groups.
    let (mut index, mut name) = ("", "");
    for line in igmp.lines().skip(1) {
        match fields(line)[..] {
            [group, users, ..] if line.starts_with('\t') => {
                hear(index, name, of_ipv4(users, group));
            }
            [number, link, ..] => (index, name) = (number, link),
            _ => {}
        }
    }
    for line in igmp6.lines() {
        if let [index, name, group, users, ..] = fields(line)[..] {
            hear(index, name, of_ipv6(users, group));
        }
    }
    links
}

fn fields(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn of_hardware(users: &str, is_static: &str, digits: &str) -> Option<Heard> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    let bytes: Vec<u8> = pairs.collect::<Option<_>>()?;
    Some(Heard {
        family: None,
        address: HardwareAddress::new(&bytes).to_string(),
        users: users.parse().ok()?,
        is_static: is_static != "0",
    })
}

/// The file has the address as a number of the machine's byte order.
fn of_ipv4(users: &str, digits: &str) -> Option<Heard> {
    let number = u32::from_str_radix(digits, 16).ok()?;
    Some(Heard {
        family: Some(Family::V4),
        address: Ipv4Addr::from(number.to_ne_bytes()).to_string(),
        users: users.parse().ok()?,
        is_static: false,
    })
}

fn of_ipv6(users: &str, digits: &str) -> Option<Heard> {
    let number = u128::from_str_radix(digits, 16).ok()?;
    Some(Heard {
        family: Some(Family::V6),
        address: Ipv6Addr::from(number).to_string(),
        users: users.parse().ok()?,
        is_static: false,
    })
}

/// The lines of ip(8) (`print_maddr`, ip/ipmaddr.c).
fn text(index: u32, name: &str, heard: &[Heard]) -> String {
    let mut text = format!("{index}:\t{name}");
    for heard in heard {
        let family = heard
            .family
            .map_or("link".to_owned(), |family| family.to_string());
        put(&mut text, format_args!("\n\t{family:<5} {}", heard.address));
        if heard.users != 1 {
            put(&mut text, format_args!(" users {}", heard.users));
        }
        if heard.is_static {
            put(&mut text, format_args!(" static"));
        }
    }
    text
}

fn as_json(heard: &Heard) -> Value {
    let mut shown = match heard.family {
        Some(family) => json!({ "family": family.to_string(), "address": heard.address }),
        None => json!({ "link": heard.address }),
    };
    if heard.users != 1 {
        shown["users"] = heard.users.into();
    }
    if heard.is_static {
        shown["features"] = "static".into();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as the kernel writes them (`dev_mc_seq_show`, net/core/net-procfs.c; `igmp_mc_seq_show`,
    /// net/ipv4/igmp.c; `igmp6_mc_seq_show`, net/ipv6/mcast.c), and others.
    #[test]
    fn lines_that_are_none_are_passed_over() {
        let texts = [
            "3    va              1     1     333300000005\n3 va 1\nx y 1 0 zz\n",
            "Idx\tDevice\n\t\t\t\tzz 1\n3\tva        :     1      V3\n\t\t\t\tzz 1\n",
            "3    va              ff02000000000000000000000000zzzz     1 0000000C 0\n",
        ];
        let links = read(&texts.map(str::to_owned));
        let (name, heard) = &links[&3];
        assert_eq!((links.len(), name.as_str(), heard.len()), (1, "va", 1));
        assert_eq!(heard[0].address, "33:33:00:00:00:05");
        assert!(heard[0].is_static);
    }
}
