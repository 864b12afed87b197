//! Links as they are typed.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use abi::namespace::NetNamespace;
use netlink::table::{BadWord, Table, Word, Words};
use netlink::{BridgePort, IfIndex, IfName, Link, LinkKind, PortKind, Verb, Veth};

use super::owner::owner;
use super::words::{group, mode};
use crate::net::spelled::{NO_NAMESPACE, unknown};

/// Reads what is said of a link behind `verb`.
pub fn link(verb: Verb, words: &mut Words<'_>) -> Result<Link, BadWord> {
    let mut link = Link::new();
    while let Some(word) = words.next() {
        if !known(&mut link, verb, word, words)? {
            called(&mut link, verb, word, words)?;
        }
    }
    Ok(link)
}

/// Reads the field that `word` begins; false when it begins none.
fn known(link: &mut Link, verb: Verb, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
    if owner(link, word, words)? {
        return Ok(true);
    }
    match word {
        // Behind the kind of a link that has its name it is the one below.
        "dev"
            if verb == Verb::Add
                && link.name.is_some()
                && link
                    .linkinfo
                    .as_mut()
                    .map_or(Ok(false), |info| info.word(word, words))? => {}
        "dev" => {
            let name: String = words.value("dev")?;
            called(link, verb, &name, words)?;
        }
        "up" => link.up = Some(true),
        "down" => link.up = Some(false),
        "netns" => {
            let name: String = words.value("netns")?;
            match name.parse() {
                Ok(pid) => link.namespace_pid = Some(pid),
                Err(_) => link.namespace_fd = Some(namespace(&name)?),
            }
        }
        "index" => link.index = Some(IfIndex(words.value("index")?)),
        "master" if words.peek().is_none() && link.port_kind().is_some() => {
            return of_port(link, word, words);
        }
        "nomaster" => link.master = Some(IfIndex(0)),
        "vrf" => link.master = Some(words.vrf()?.0),
        // Behind the kind it is that of the other ends.
        "group" if link.kind_name() == Some("vxlan") => {
            let info = link.linkinfo.as_mut();
            return info.map_or(Ok(false), |info| info.word(word, words));
        }
        "group" => link.group = Some(group(words)?),
        "altname" => {
            let name = words.value("altname")?;
            link.alternative_names.get_or_insert_default().push(name);
        }
        "type" => {
            let name: String = words.value("type")?;
            let said = link.clone();
            *link = match name.strip_suffix("_slave") {
                Some(master) => said.port(PortKind::named(master)),
                None => said.kind(LinkKind::named(&name)),
            };
        }
        "peer" if link.kind_name() == Some("veth") => {
            let peer = self::link(Verb::Add, words)?;
            let said = link.clone();
            *link = said.kind(Veth::to(peer));
        }
        _ => {
            return Ok(flag(link, word, words)?
                || link
                    .linkinfo
                    .as_mut()
                    .map_or(Ok(false), |info| info.word(word, words))?
                || own(link, word, words)?
                || link.word(word, words)?
                || verb == Verb::Set && of_port(link, word, words)?);
        }
    }
    Ok(true)
}

/// The words of `bridge link set`, which says of no kind that it is a bridge's port.
fn of_port(link: &mut Link, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
    let said = link.port_kind();
    let mut port = match said {
        Some(PortKind::Bridge(port)) => port.clone(),
        None if link.link_kind().is_none() => BridgePort::new(),
        _ => return Ok(false),
    };
    match word {
        "nobackup_port" => port.backup_port = Some(IfIndex(0)),
        // As bridge(8) has it: the bridge is told, and not the device itself.
        "master" => {}
        "hwmode" | "self" => return Err(BadWord::new(NO_SWITCH, Some(word))),
        _ if said.is_some() || !port.word(word, words)? => return Ok(false),
        _ => {}
    }
    let whole = std::mem::take(link);
    *link = whole.port(PortKind::Bridge(port));
    Ok(true)
}

/// What the words of bridge(8) mean that set devices.
const NO_SWITCH: &str = "a word about a bridge's port: switches of devices are not set here";

/// The words that mean something else behind the kind of a link.
fn own(link: &mut Link, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
    if word == "mode" {
        link.linkmode = Some(mode(words)?);
    }
    Ok(word == "mode")
}

/// The descriptor of the namespace of this name; it stays open for what is made of the words.
fn namespace(name: &str) -> Result<i32, BadWord> {
    static OPEN: Mutex<BTreeMap<String, NetNamespace>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !open.contains_key(name) {
        let unknown = |_| BadWord::new(NO_NAMESPACE, Some(name));
        open.insert(name.to_owned(), NetNamespace::named(name).map_err(unknown)?);
    }
    Ok(open[name].as_fd().as_raw_fd())
}

/// The fields that are flags of the link itself.
fn flag(link: &mut Link, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
    let fields = [
        ("arp", &mut link.arp),
        ("multicast", &mut link.multicast),
        ("allmulticast", &mut link.allmulticast),
        ("promisc", &mut link.promisc),
        ("dynamic", &mut link.dynamic),
    ];
    for (name, field) in fields {
        if let Some(on) = bool::field(name, word, words)? {
            *field = Some(on);
            return Ok(true);
        }
    }
    Ok(false)
}

/// The link itself, by its name.
fn called(link: &mut Link, verb: Verb, name: &str, words: &mut Words<'_>) -> Result<(), BadWord> {
    let taken = link.index.is_some() && verb != Verb::Add || link.name.is_some();
    if taken {
        return Err(unknown(name));
    }
    if verb == Verb::Add {
        let wanted = if name.len() > 15 {
            "a name: it is longer than 15 bytes"
        } else {
            "a name"
        };
        let valid = IfName::new(name).map_err(|_| BadWord::new(wanted, Some(name)))?;
        link.name = Some(valid);
    } else {
        // By its index, so that a name behind it is the new one.
        let index = words.lookup().index(name);
        link.index = Some(index.ok_or_else(|| unknown(name))?);
    }
    Ok(())
}
