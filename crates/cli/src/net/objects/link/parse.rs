//! Parsing the arguments of `link add`, `set` and the like.

use std::fs;

use tapline::net::schema::{Arguments, Flatten, InvalidValue, Parsed};
use tapline::net::{
    BridgePort, IfIndex, IfName, Link, LinkKind, Namespace, OperState, PortKind, Verb, Veth,
};

use super::names::{parse_group, parse_mode};
use crate::net::handle::{NAMESPACE_WORD, unknown_word};

/// Parses the arguments of `verb`.
pub fn link(verb: Verb, words: &mut Arguments<'_>) -> Parsed<Link> {
    let mut link = Link::new();
    while let Some(word) = words.next() {
        if !parse_field(&mut link, verb, word, words)? {
            parse_name(&mut link, verb, word, words)?;
        }
    }
    Ok(link)
}

/// Parses the field that `word` starts; false if `word` starts none.
fn parse_field(link: &mut Link, verb: Verb, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
    if parse_owner(link, word, words)? {
        return Ok(true);
    }
    words.offer(&[
        "dev", "up", "down", "netns", "index", "nomaster", "vrf", "group",
    ]);
    words.offer(&["altname", "type", "mode"]);
    match word {
        // Behind the kind of a named link, `dev` is the link below.
        "dev" if verb == Verb::Add && link.name.is_some() && parse_kind(link, word, words)? => {}
        "dev" => {
            let name: String = words.value("dev")?;
            parse_name(link, verb, &name, words)?;
        }
        "up" => link.up = Some(true),
        "down" => link.up = Some(false),
        "netns" => {
            let name: String = words.value("netns")?;
            match name.parse() {
                Ok(pid) => link.namespace_pid = Some(pid),
                Err(_) => link.namespace = Some(namespace(&name)?),
            }
        }
        "index" => link.index = Some(index(words)?),
        // Other values are states of a bridge port.
        "state" if link.linkinfo.is_none() && words.peek().is_some_and(is_operational_state) => {
            link.state = Some(words.value("state")?);
        }
        "master" if words.peek().is_none() && link.port_kind().is_some() => {
            return parse_port(link, word, words);
        }
        "nomaster" => link.master = Some(IfIndex(0)),
        "vrf" => link.master = Some(words.vrf()?.0),
        // Behind `type vxlan` this is the multicast group of the remote ends.
        "group" if link.kind_name() == Some("vxlan") => return parse_kind(link, word, words),
        "group" => link.group = Some(parse_group(words)?),
        "altname" => {
            let name = words.value("altname")?;
            link.alternative_names.get_or_insert_default().push(name);
        }
        "type" => {
            let name: String = words.value("type")?;
            let before = std::mem::take(link);
            *link = match name.strip_suffix("_slave") {
                Some(master) => before.port(PortKind::named(master)),
                None => before.kind(LinkKind::named(&name)),
            };
        }
        "peer" if link.kind_name() == Some("veth") => {
            let peer = self::link(Verb::Add, words)?;
            *link = std::mem::take(link).kind(Veth::to(peer));
        }
        _ => {
            return Ok(parse_kind(link, word, words)?
                || parse_link_mode(link, word, words)?
                || link.parse_keyword(word, words)?
                || verb == Verb::Set && parse_port(link, word, words)?);
        }
    }
    Ok(true)
}

/// The index of a link, in decimal digits, also behind a zero (`iplink_parse`, ip/iplink.c).
fn index(words: &mut Arguments<'_>) -> Parsed<IfIndex> {
    let text: String = words.value("index")?;
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    let expected = "an index: a decimal number";
    number
        .map(IfIndex)
        .ok_or_else(|| InvalidValue::new(expected, Some(&text)))
}

/// Whether `word` is the name of an operational state.
fn is_operational_state(word: &str) -> bool {
    let is_number = word
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'x');
    !is_number && word.parse::<OperState>().is_ok()
}

/// Attributes of the kind and of the port.
fn parse_kind(link: &mut Link, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
    match &mut link.linkinfo {
        Some(info) => info.parse_keyword(word, words),
        None => Ok(false),
    }
}

/// The words of `bridge link set`, which does not name the type of the port.
fn parse_port(link: &mut Link, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
    let is_port = link.port_kind().is_some();
    let mut port = match link.port_kind() {
        Some(PortKind::Bridge(port)) => port.clone(),
        None if link.link_kind().is_none() => BridgePort::new(),
        _ => return Ok(false),
    };
    match word {
        "nobackup_port" => port.backup_port = Some(IfIndex(0)),
        // The change is for the bridge, not for the device: always so here.
        "master" => {}
        "hwmode" | "self" => {
            let wanted = "a word about a bridge port: switches of devices are not set here";
            return Err(InvalidValue::new(wanted, Some(word)));
        }
        _ if is_port || !port.parse_keyword(word, words)? => return Ok(false),
        _ => {}
    }
    *link = std::mem::take(link).port(PortKind::Bridge(port));
    Ok(true)
}

/// `mode` means the link mode unless the kind has a mode of its own.
fn parse_link_mode(link: &mut Link, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
    if word == "mode" {
        link.linkmode = Some(parse_mode(words)?);
    }
    Ok(word == "mode")
}

/// The network namespace with this name.
fn namespace(name: &str) -> Parsed<Namespace> {
    Namespace::named(name).map_err(|_| InvalidValue::new(NAMESPACE_WORD, Some(name)))
}

/// The user and the group that may open a tun device.
fn parse_owner(link: &mut Link, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
    let kind = link.linkinfo.as_mut().and_then(|info| info.kind.as_mut());
    let Some(LinkKind::Tun(tun)) = kind else {
        return Ok(false);
    };
    match word {
        "user" => tun.user = Some(id("/etc/passwd", "a user", words)?),
        "group" => tun.group = Some(id("/etc/group", "a group", words)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The next word as a number, or as a name in `file`, where the number is the third field.
fn id(file: &str, wanted: &str, words: &mut Arguments<'_>) -> Parsed<u32> {
    let name: String = words.value(wanted)?;
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    let number = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(&name)).then(|| fields.nth(1)?.parse().ok())?
    });
    number.ok_or_else(|| InvalidValue::new(wanted, Some(&name)))
}

/// The name of a new link, or an existing link.
fn parse_name(link: &mut Link, verb: Verb, name: &str, words: &mut Arguments<'_>) -> Parsed<()> {
    if link.index.is_some() && verb != Verb::Add || link.name.is_some() {
        return Err(unknown_word(name));
    }
    if verb == Verb::Add {
        let wanted = if name.len() > 15 {
            "a name: it is longer than 15 bytes"
        } else {
            "a name"
        };
        let name = IfName::new(name).map_err(|_| InvalidValue::new(wanted, Some(name)))?;
        link.name = Some(name);
    } else {
        // The index identifies the link, because `name` may set a new name.
        let index = words.lookup().index(name);
        link.index = Some(index.ok_or_else(|| unknown_word(name))?);
    }
    Ok(())
}
