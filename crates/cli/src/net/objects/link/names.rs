//! ip(8)'s names of the numbers of links.

use tapline::net::schema::{Arguments, InvalidValue, NumberNames, Parsed, TextValue};
use tapline::net::{Link, LinkFlags};

use crate::net::names::{Names, iproute2_names};

/// Flags in the order of `print_link_flags`, ip/ipaddress.c (`IFF_…`, include/uapi/linux/if.h).
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

/// Hardware types (`ARPHRD_…`, include/uapi/linux/if_arp.h) with their names in lib/ll_types.c.
const HARDWARE_TYPES: [(u16, &str); 13] = [
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

const UP: u32 = 0x1;
const RUNNING: u32 = 0x40;

/// The flags, with `NO-CARRIER` and, if the lower link or the peer is down, `M-DOWN`.
pub fn flags(link: &Link, names: &mut Names) -> Vec<String> {
    let LinkFlags(flags) = link.flags.unwrap_or_default();
    let mut words = Vec::new();
    if flags & (UP | RUNNING) == UP {
        words.push("NO-CARRIER".to_owned());
    }
    let mut rest = flags & !RUNNING;
    for (flag, name) in FLAGS {
        if rest & flag != 0 {
            words.push(name.to_owned());
            rest &= !flag;
        }
    }
    if rest != 0 {
        words.push(format!("{rest:x}"));
    }
    let lower = link.lower.filter(|_| link.lower_namespace.is_none());
    if lower.is_some_and(|lower| names.is_down(lower)) {
        words.push("M-DOWN".to_owned());
    }
    words
}

pub fn hardware_type(link: &Link) -> String {
    let number = link.hardware.unwrap_or_default();
    let name = HARDWARE_TYPES.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("[{number}]"), |(_, name)| (*name).to_owned())
}

/// Link modes by their number.
const MODES: [&str; 2] = ["default", "dormant"];

pub fn parse_mode(words: &mut Arguments<'_>) -> Parsed<u8> {
    let name: String = words.value("mode")?;
    let number = MODES.iter().position(|known| *known == name);
    number
        .map(|number| number as u8)
        .ok_or_else(|| InvalidValue::new("one of default and dormant", Some(&name)))
}

pub fn mode_name(mode: u8) -> String {
    let known = MODES.get(usize::from(mode));
    known.map_or_else(|| mode.to_string(), |name| name.to_uppercase())
}

/// The name of a group; 0 is `default`.
pub fn group_name(number: u32) -> String {
    let mut known = iproute2_names(NumberNames::Group).iter().rev();
    match (known.find(|it| it.0 == number), number) {
        (Some((_, name)), _) => name.clone(),
        (None, 0) => "default".to_owned(),
        _ => number.to_string(),
    }
}

/// Parses the word behind `group`: a name or a number.
pub fn parse_group(words: &mut Arguments<'_>) -> Parsed<u32> {
    let name: String = words.value("group")?;
    let named = words.lookup().number(NumberNames::Group, &name);
    let number = match name.as_str() {
        "default" => Some(0),
        _ => named.or_else(|| TextValue::parse(&name, words.lookup())),
    };
    number.ok_or_else(|| InvalidValue::new("a group", Some(&name)))
}
