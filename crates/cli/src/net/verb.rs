//! What can be done, as ip(8) and bridge(8) let it be shortened: a beginning means the first word it fits, and
//! the order of the words is theirs.

use netlink::Verb;

use crate::failure::{Exit, Failure};

/// What a command does with objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Something that is done to one, or a question.
    Do(Verb),
    /// All that are like what is said are removed.
    Flush,
    /// What objects of this kind alone know, by its name.
    Own(&'static str),
}

/// The words of a noun, in the order in which they are tried.
pub type Verbs = &'static [(&'static str, Act)];

const ADD: (&str, Act) = ("add", Act::Do(Verb::Add));
const APPEND: (&str, Act) = ("append", Act::Do(Verb::Append));
const CHANGE: (&str, Act) = ("change", Act::Do(Verb::Set));
const CHG: (&str, Act) = ("chg", Act::Do(Verb::Set));
const SET: (&str, Act) = ("set", Act::Do(Verb::Set));
const REPLACE: (&str, Act) = ("replace", Act::Do(Verb::Replace));
const DELETE: (&str, Act) = ("delete", Act::Do(Verb::Del));
const GET: (&str, Act) = ("get", Act::Do(Verb::Get));
const SHOW: (&str, Act) = ("show", Act::Do(Verb::List));
const LST: (&str, Act) = ("lst", Act::Do(Verb::List));
const LIST: (&str, Act) = ("list", Act::Do(Verb::List));
const FLUSH: (&str, Act) = ("flush", Act::Flush);

/// Those of most objects (`do_ipaddr`, ip/ipaddress.c; `do_ipneigh`, ip/ipneigh.c; `do_fdb`, bridge/fdb.c).
pub const USUAL: Verbs = &[
    ADD, APPEND, CHANGE, CHG, REPLACE, DELETE, GET, SHOW, LST, LIST, FLUSH, SET,
];

/// Those of links (`do_iplink`, ip/iplink.c). The kernel replaces none: it makes one that is not there.
pub const OF_LINKS: Verbs = &[
    ADD,
    SET,
    CHANGE,
    ("replace", Act::Do(Verb::Add)),
    DELETE,
    SHOW,
    LST,
    LIST,
    ("property", Act::Own("property")),
    GET,
];

/// Those of routes (`do_iproute`, ip/iproute.c).
pub const OF_ROUTES: Verbs = &[
    LIST, SHOW, LST, GET, ADD, CHANGE, CHG, REPLACE, APPEND, DELETE, FLUSH, SET,
];

/// Those of rules and nexthops (`do_iprule`, ip/iprule.c; `do_ipnh`, ip/ipnexthop.c).
pub const OF_RULES: Verbs = &[LIST, LST, SHOW, ADD, REPLACE, DELETE, GET, FLUSH, SET];

/// Those of tun and tap (`do_iptuntap`, ip/iptuntap.c).
pub const OF_TUNTAP: Verbs = &[ADD, DELETE, SHOW, LST, LIST];

/// Those of VRFs (`do_ipvrf`, ip/ipvrf.c).
pub const OF_VRFS: Verbs = &[SHOW, LST, LIST];

/// Those of VLANs and of multicast groups (`do_vlan`, bridge/vlan.c; `do_mdb`, bridge/mdb.c).
pub const OF_BRIDGES: Verbs = &[ADD, REPLACE, DELETE, SHOW, LST, LIST, SET, GET];

/// What the first word asks to be done, and the words behind it; nothing is a question for all.
pub fn split(verbs: Verbs, words: &[String]) -> Result<(Act, &[String]), Failure> {
    let Some((first, rest)) = words.split_first() else {
        return Ok((Act::Do(Verb::List), words));
    };
    let fits = |(name, _): &&(&str, Act)| name.starts_with(first.as_str());
    match verbs.iter().find(fits) {
        // There is nothing to set, and more than one word begins so.
        Some((_, Act::Do(Verb::Set))) if rest.is_empty() && "show".starts_with(first.as_str()) => {
            Ok((Act::Do(Verb::List), rest))
        }
        Some((_, act)) if !first.is_empty() => Ok((*act, rest)),
        _ => {
            let line = format!("{first:?} is no verb (add, set, replace, append, del, show, get)");
            Err(Failure::new(Exit::Usage, line))
        }
    }
}
