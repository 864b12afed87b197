//! The verbs of each object, abbreviated as ip(8) and bridge(8) do: the first verb that starts with the typed word
//! wins, in the order of their sources.

use tapline::filter::similar_word;
use tapline::net::Verb;

use super::handle::did_you_mean;
use crate::failure::{Exit, Failure};

/// What a command does with objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// One of the library's verbs, on one object or as a query.
    Verb(Verb),
    /// Removes every object that matches.
    Flush,
    /// An action of this kind of object only, by its name.
    Special(&'static str),
}

/// The verbs of an object, in matching order.
pub type Verbs = &'static [(&'static str, Action)];

const ADD: (&str, Action) = ("add", Action::Verb(Verb::Add));
const APPEND: (&str, Action) = ("append", Action::Verb(Verb::Append));
const PREPEND: (&str, Action) = ("prepend", Action::Verb(Verb::Prepend));
const CHANGE: (&str, Action) = ("change", Action::Verb(Verb::Set));
const CHG: (&str, Action) = ("chg", Action::Verb(Verb::Set));
const SET: (&str, Action) = ("set", Action::Verb(Verb::Set));
const REPLACE: (&str, Action) = ("replace", Action::Verb(Verb::Replace));
const DELETE: (&str, Action) = ("delete", Action::Verb(Verb::Del));
const GET: (&str, Action) = ("get", Action::Verb(Verb::Get));
const SHOW: (&str, Action) = ("show", Action::Verb(Verb::List));
const LST: (&str, Action) = ("lst", Action::Verb(Verb::List));
const LIST: (&str, Action) = ("list", Action::Verb(Verb::List));
const FLUSH: (&str, Action) = ("flush", Action::Flush);

/// Most objects (`do_ipaddr`, ip/ipaddress.c; `do_ipneigh`, ip/ipneigh.c; `do_fdb`, bridge/fdb.c).
pub const COMMON: Verbs = &[
    ADD, APPEND, CHANGE, CHG, REPLACE, DELETE, GET, SHOW, LST, LIST, FLUSH, SET,
];

/// Links (`do_iplink`, ip/iplink.c). The kernel cannot replace a link, so `replace` adds one.
pub const LINK: Verbs = &[
    ADD,
    SET,
    CHANGE,
    ("replace", Action::Verb(Verb::Add)),
    DELETE,
    SHOW,
    LST,
    LIST,
    ("property", Action::Special("property")),
    GET,
];

/// Routes (`do_iproute`, ip/iproute.c).
pub const ROUTE: Verbs = &[
    LIST, SHOW, LST, GET, ADD, CHANGE, CHG, REPLACE, PREPEND, APPEND, DELETE, FLUSH, SET,
];

/// Rules and nexthops (`do_iprule`, ip/iprule.c; `do_ipnh`, ip/ipnexthop.c).
pub const RULE: Verbs = &[LIST, LST, SHOW, ADD, REPLACE, DELETE, GET, FLUSH, SET];

/// Tun and tap devices (`do_iptuntap`, ip/iptuntap.c).
pub const TUNTAP: Verbs = &[ADD, DELETE, SHOW, LST, LIST];

/// VRFs and multicast addresses (`do_ipvrf`, ip/ipvrf.c; `do_multiaddr`, ip/ipmaddr.c).
pub const SHOW_ONLY: Verbs = &[SHOW, LST, LIST];

/// VLANs and multicast groups (`do_vlan`, bridge/vlan.c; `do_mdb`, bridge/mdb.c).
pub const BRIDGE: Verbs = &[ADD, REPLACE, DELETE, SHOW, LST, LIST, SET, GET];

/// Splits `words` into the action and its arguments. Without words the action is `list`.
pub fn split(verbs: Verbs, words: &[String]) -> Result<(Action, &[String]), Failure> {
    let Some((first, rest)) = words.split_first() else {
        return Ok((Action::Verb(Verb::List), words));
    };
    let mut matching = verbs
        .iter()
        .filter(|(name, _)| !first.is_empty() && name.starts_with(first.as_str()));
    match matching.next() {
        // `link s` without arguments means show: set needs arguments.
        Some((_, Action::Verb(Verb::Set)))
            if rest.is_empty() && "show".starts_with(first.as_str()) =>
        {
            Ok((Action::Verb(Verb::List), rest))
        }
        Some((_, action)) => Ok((*action, rest)),
        None => {
            let names: Vec<_> = verbs.iter().map(|(name, _)| *name).collect();
            let meant = did_you_mean(similar_word(first, names.iter().copied()));
            let line = format!(
                "{first:?} is not a known verb{meant} (use {})",
                names.join(", ")
            );
            Err(Failure::new(Exit::Usage, line))
        }
    }
}
