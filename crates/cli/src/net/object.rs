//! The objects of the command line, like OBJECT in ip(8), and running a command on them.

use tapline::net::{Addr, Fdb, Link, Mdb, NamespaceNumber, Neigh, Nexthop, PortVlan, Route, Rule};

use super::command::{Commands, ObjectCommand};
use super::handle::NetHandle;
use super::objects::{Tuntap, Vrfs};
use super::verbs;
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetObject {
    Link,
    Addr,
    Route,
    Nexthop,
    Rule,
    Neigh,
    Fdb,
    Tuntap,
    Vrf,
    Vlan,
    Mdb,
    Netns,
}

/// The names of the objects. An abbreviation means the first name that starts with it, as in ip(8).
const NAMES: [(&str, NetObject); 14] = [
    ("address", NetObject::Addr),
    ("route", NetObject::Route),
    ("rule", NetObject::Rule),
    ("neighbour", NetObject::Neigh),
    ("neighbor", NetObject::Neigh),
    ("link", NetObject::Link),
    ("nexthop", NetObject::Nexthop),
    ("fdb", NetObject::Fdb),
    ("tuntap", NetObject::Tuntap),
    ("vrf", NetObject::Vrf),
    ("vlan", NetObject::Vlan),
    ("mdb", NetObject::Mdb),
    ("netns", NetObject::Netns),
    ("nsid", NetObject::Netns),
];

impl NetObject {
    /// The objects that `monitor` follows: all but the subsets of links.
    pub const MONITORED: [Self; 10] = [
        Self::Link,
        Self::Addr,
        Self::Route,
        Self::Nexthop,
        Self::Rule,
        Self::Neigh,
        Self::Fdb,
        Self::Vlan,
        Self::Mdb,
        Self::Netns,
    ];

    /// The object with this name or abbreviation.
    pub fn named(word: &str) -> Option<Self> {
        let matches = |(name, _): &&(&str, Self)| !word.is_empty() && name.starts_with(word);
        NAMES.iter().find(matches).map(|(_, object)| *object)
    }

    /// The names of the objects that `is_listed` selects.
    pub fn names(is_listed: impl Fn(Self) -> bool) -> String {
        let listed = NAMES.iter().filter(|(_, object)| is_listed(*object));
        let names: Vec<_> = listed.map(|(name, _)| *name).collect();
        names.join(", ")
    }

    pub fn commands(self) -> &'static dyn ObjectCommand {
        match self {
            Self::Link => Commands::<Link>::NEW,
            Self::Addr => Commands::<Addr>::NEW,
            Self::Route => Commands::<Route>::NEW,
            Self::Nexthop => Commands::<Nexthop>::NEW,
            Self::Rule => Commands::<Rule>::NEW,
            Self::Neigh => Commands::<Neigh>::NEW,
            Self::Fdb => Commands::<Fdb>::NEW,
            Self::Tuntap => &Tuntap,
            Self::Vrf => &Vrfs,
            Self::Vlan => Commands::<PortVlan>::NEW,
            Self::Mdb => Commands::<Mdb>::NEW,
            Self::Netns => Commands::<NamespaceNumber>::NEW,
        }
    }
}

/// Runs `tapline OBJECT …`.
pub fn run(object: NetObject, args: &NetArgs) -> Result<Exit, Failure> {
    let mut handle = NetHandle::open(args.netns.as_deref())?;
    let commands = object.commands();
    let (action, words) = verbs::split(commands.verbs(), &args.words)?;
    commands.run(&mut handle, action, words, args)
}
