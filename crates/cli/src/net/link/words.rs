//! What ip(8) calls the numbers of links.

use std::sync::LazyLock;

use netlink::table::{BadWord, Words};
use netlink::{Link, LinkFlags};

use crate::net::names::{Names, file};

/// Flags in the order of ip(8) (`print_link_flags`, ip/ipaddress.c; `IFF_…`, include/uapi/linux/if.h).
const FLAGS: [(u32, &str); 18] = [
    (0x8, "LOOPBACK"),
    (0x2, "BROADCAST"),
    (0x10, "POINTOPOINT"),
    (0x1000, "MULTICAST"),
    (0x80, "NOARP"),
    (0x200, "ALLMULTI"),
    (0x100, "PROMISC"),
    (0x400, "MASTER"),
    (0x800, "SLAVE"),
    (0x4, "DEBUG"),
    (0x8000, "DYNAMIC"),
    (0x4000, "AUTOMEDIA"),
    (0x2000, "PORTSEL"),
    (0x20, "NOTRAILERS"),
    (0x1, "UP"),
    (0x10000, "LOWER_UP"),
    (0x20000, "DORMANT"),
    (0x40000, "ECHO"),
];

/// Hardware types (`ARPHRD_…`, include/uapi/linux/if_arp.h) by the names of ip(8) (lib/ll_types.c).
const TYPES: [(u16, &str); 13] = [
    (1, "ether"),
    (32, "infiniband"),
    (512, "ppp"),
    (768, "ipip"),
    (769, "tunnel6"),
    (772, "loopback"),
    (776, "sit"),
    (778, "gre"),
    (801, "ieee802.11"),
    (802, "ieee802.11/prism"),
    (803, "ieee802.11/radiotap"),
    (823, "gre6"),
    (0xfffe, "none"),
];

pub fn flags(link: &Link) -> Vec<String> {
    let LinkFlags(flags) = link.flags.unwrap_or_default();
    let mut names = Vec::new();
    let (is_up, is_running) = (flags & 0x1 != 0, flags & 0x40 != 0);
    if is_up && !is_running {
        names.push("NO-CARRIER".to_owned());
    }
    let mut left = flags & !0x40;
    for (flag, name) in FLAGS {
        if left & flag != 0 {
            names.push(name.to_owned());
            left &= !flag;
        }
    }
    if left != 0 {
        names.push(format!("{left:x}"));
    }
    names
}

/// As ip(8) shows them: the last says that the link it is made on, or its peer, has not been set up.
pub fn shown_flags(link: &Link, names: &mut Names) -> Vec<String> {
    let mut shown = flags(link);
    let lower = link.lower.filter(|_| link.lower_namespace.is_none());
    if lower.is_some_and(|lower| names.is_down(lower)) {
        shown.push("M-DOWN".to_owned());
    }
    shown
}

pub fn hardware(link: &Link) -> String {
    let number = link.hardware.unwrap_or_default();
    let name = TYPES.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("[{number}]"), |(_, name)| (*name).to_owned())
}

/// The modes of links by the words that set them.
const MODES: [(u8, &str); 2] = [(0, "default"), (1, "dormant")];

/// Reads the word behind `mode`.
pub fn mode(words: &mut Words<'_>) -> Result<u8, BadWord> {
    let name: String = words.value("mode")?;
    let known = MODES.iter().find(|(_, known)| *known == name);
    known
        .map(|(mode, _)| *mode)
        .ok_or_else(|| BadWord::new("default or dormant", Some(&name)))
}

pub fn linkmode(mode: u8) -> String {
    let known = MODES.iter().find(|(known, _)| *known == mode);
    known.map_or_else(|| mode.to_string(), |(_, name)| name.to_uppercase())
}

/// The groups that have a name on this host, read once.
static GROUPS: LazyLock<Vec<(u32, String)>> = LazyLock::new(|| file("group"));

/// The name of a group; 0 is `default`.
pub fn group_name(number: u32) -> String {
    let known = GROUPS.iter().find(|(known, _)| *known == number);
    match (known, number) {
        (Some((_, name)), _) => name.clone(),
        (None, 0) => "default".to_owned(),
        _ => number.to_string(),
    }
}

/// Reads the word behind `group`: a name or a number.
pub fn group(words: &mut Words<'_>) -> Result<u32, BadWord> {
    let name: String = words.value("group")?;
    if name == "default" {
        return Ok(0);
    }
    let known = GROUPS.iter().find(|(_, known)| *known == name);
    known
        .map(|(number, _)| *number)
        .or_else(|| name.parse().ok())
        .ok_or_else(|| BadWord::new("a group", Some(&name)))
}
