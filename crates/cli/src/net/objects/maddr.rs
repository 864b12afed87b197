//! `tapline maddr`: multicast addresses that links listen to, as ip-maddress(8). The kernel reports those of IPv4 by
//! messages only since Linux 6.15; its files have all of them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::{fs, io};

use serde_json::{Value, json};
use tapline::net::{Family, HardwareAddress};

use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::handle::{open_namespace, unknown_word, usage_failure};
use crate::net::output::{ObjectWriter, Record};
use crate::net::verbs;

/// A multicast address that a link listens to.
#[derive(Debug, PartialEq, Eq)]
struct MulticastAddress {
    /// `None` for a hardware address.
    family: Option<Family>,
    address: String,
    users: u32,
    /// Added by an administrator.
    is_static: bool,
}

/// Links by index, with their names.
type Links = BTreeMap<u32, (String, Vec<MulticastAddress>)>;

/// The kernel's files, in ip(8)'s order.
const FILES: [&str; 3] = ["dev_mcast", "igmp", "igmp6"];

/// Runs `tapline maddr`.
pub fn run(args: &NetArgs) -> Result<Exit, Failure> {
    let (_, words) = verbs::split(verbs::SHOW_ONLY, &args.words)?;
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let link = match words[..] {
        [] => None,
        ["dev", link] | [link] => Some(link),
        [_, word, ..] => return Err(usage_failure("maddr", &unknown_word(word).to_string())),
    };
    let texts = match open_namespace(args.netns.as_deref())? {
        Some(namespace) => namespace.run(read_files)?,
        None => read_files(),
    };
    let texts = texts.map_err(|error| Failure::job_on("cannot read /proc/net", &error))?;
    let family = args.family();
    let mut writer = ObjectWriter::new(&args.show, args.line);
    for (index, (name, mut addresses)) in parse(&texts) {
        addresses.retain(|address| family.is_none() || address.family == family);
        if !addresses.is_empty() && link.is_none_or(|link| link == name) {
            let mut record = writer.record();
            print(&mut record, index, &name, &addresses);
            writer.write(record)?;
        }
    }
    writer.finish(false)
}

/// Reads the files. A kernel without IPv6 lacks one.
fn read_files() -> io::Result<[String; 3]> {
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

fn parse([hardware, igmp, igmp6]: &[String; 3]) -> Links {
    let mut links = Links::new();
    let mut add = |index: &str, name: &str, address: Option<MulticastAddress>| {
        if let (Ok(index), Some(address)) = (index.parse(), address) {
            let link = links.entry(index);
            let link = link.or_insert_with(|| (name.to_owned(), Vec::new()));
            link.1.push(address);
        }
    };
    for line in hardware.lines() {
        if let [index, name, users, is_static, address] = fields(line)[..] {
            add(index, name, hardware_address(users, is_static, address));
        }
    }
    // A line for a link, and below it a line for each of its groups.
    let (mut index, mut name) = ("", "");
    for line in igmp.lines().skip(1) {
        match fields(line)[..] {
            [group, users, ..] if line.starts_with('\t') => {
                add(index, name, ipv4_address(users, group));
            }
            [number, link, ..] => (index, name) = (number, link),
            _ => {}
        }
    }
    for line in igmp6.lines() {
        if let [index, name, group, users, ..] = fields(line)[..] {
            add(index, name, ipv6_address(users, group));
        }
    }
    links
}

fn fields(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn hardware_address(users: &str, is_static: &str, digits: &str) -> Option<MulticastAddress> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    let bytes: Vec<u8> = pairs.collect::<Option<_>>()?;
    Some(MulticastAddress {
        family: None,
        address: HardwareAddress::new(&bytes).to_string(),
        users: users.parse().ok()?,
        is_static: is_static != "0",
    })
}

/// The file has the address as a number in host byte order.
fn ipv4_address(users: &str, digits: &str) -> Option<MulticastAddress> {
    let number = u32::from_str_radix(digits, 16).ok()?;
    Some(MulticastAddress {
        family: Some(Family::V4),
        address: Ipv4Addr::from(number.to_ne_bytes()).to_string(),
        users: users.parse().ok()?,
        is_static: false,
    })
}

fn ipv6_address(users: &str, digits: &str) -> Option<MulticastAddress> {
    let number = u128::from_str_radix(digits, 16).ok()?;
    Some(MulticastAddress {
        family: Some(Family::V6),
        address: Ipv6Addr::from(number).to_string(),
        users: users.parse().ok()?,
        is_static: false,
    })
}

/// As `print_maddr`, ip/ipmaddr.c.
fn print(record: &mut Record, index: u32, name: &str, addresses: &[MulticastAddress]) {
    record.text(format_args!("{index}:\t{name}"));
    for it in addresses {
        let family = it
            .family
            .map_or("link".to_owned(), |family| family.to_string());
        record.text(format_args!("\n\t{family:<5} {}", it.address));
        if it.users != 1 {
            record.text(format_args!(" users {}", it.users));
        }
        if it.is_static {
            record.text(format_args!(" static"));
        }
    }
    record.json("ifindex", Some(index));
    record.json("ifname", Some(name));
    record.json(
        "maddr",
        Some(addresses.iter().map(json).collect::<Vec<_>>()),
    );
}

fn json(it: &MulticastAddress) -> Value {
    let mut shown = match it.family {
        Some(family) => json!({ "family": family.to_string(), "address": it.address }),
        None => json!({ "link": it.address }),
    };
    if it.users != 1 {
        shown["users"] = it.users.into();
    }
    if it.is_static {
        shown["features"] = "static".into();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as the kernel writes them (`dev_mc_seq_show`, net/core/net-procfs.c; `igmp_mc_seq_show`,
    /// net/ipv4/igmp.c; `igmp6_mc_seq_show`, net/ipv6/mcast.c), and malformed ones.
    #[test]
    fn malformed_lines_are_skipped() {
        let texts = [
            "3    va              1     1     333300000005\n3 va 1\nx y 1 0 zz\n",
            "Idx\tDevice\n\t\t\t\tzz 1\n3\tva        :     1      V3\n\t\t\t\tzz 1\n",
            "3    va              ff02000000000000000000000000zzzz     1 0000000C 0\n",
        ];
        let links = parse(&texts.map(str::to_owned));
        let (name, addresses) = &links[&3];
        assert_eq!((links.len(), name.as_str(), addresses.len()), (1, "va", 1));
        assert_eq!(addresses[0].address, "33:33:00:00:00:05");
        assert!(addresses[0].is_static);
    }
}
