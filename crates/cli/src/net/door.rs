//! The nouns, one table, and what can be done with the objects of each.

use std::marker::PhantomData;

use abi::namespace::NetNamespace;
use netlink::{
    Addr, Batch, Event, Family, Fdb, Link, Mdb, NamespaceNumber, Neigh, NetlinkError, Nexthop,
    PortVlan, Route, Rule, Verb, Watch,
};
use serde_json::Value;

use super::job::{Stack, carry_out, read};
use super::names::Names;
use super::spelled::{Extent, Spelled};
use super::tuntap::Tuntap;
use super::verb::{Act, Verbs};
use super::vrf::Vrfs;
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// What can be done with the objects of a kind, whatever kind it is.
pub trait Door: Sync {
    /// The words for it.
    fn verbs(&self) -> Verbs;

    /// Carries out one command.
    fn run(
        &self,
        stack: &mut Stack,
        act: Act,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure>;

    /// Reads a command and returns what puts it into a batch.
    fn prepare(
        &self,
        stack: &mut Stack,
        act: Act,
        family: Option<Family>,
        words: &[String],
    ) -> Result<Put, Failure>;

    /// Follows all objects in a namespace, or in that of the program.
    fn watch(&self, namespace: Option<&NetNamespace>) -> Result<Box<dyn Follower>, NetlinkError>;
}

/// Puts items into a batch, and says how many.
pub type Put = Box<dyn FnOnce(&mut Batch<'_>) -> usize>;

/// What follows the objects of a kind.
pub trait Follower: std::os::fd::AsFd {
    /// The next change, if there is one: what happened, and to what.
    fn next(&mut self, names: &mut Names) -> Result<Option<Told>, NetlinkError>;
}

/// A change, as it is told.
#[derive(Debug)]
pub struct Told {
    /// `added`, `changed`, `removed` or `overrun`.
    pub event: &'static str,
    pub noun: &'static str,
    pub text: String,
    pub json: Value,
}

struct Of<O>(PhantomData<fn() -> O>);

/// The nouns of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
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

/// Nouns as they are typed, and what they mean; a beginning means the first it fits, as in ip(8).
const NOUNS: [(&str, Noun); 14] = [
    ("address", Noun::Addr),
    ("route", Noun::Route),
    ("rule", Noun::Rule),
    ("neighbour", Noun::Neigh),
    ("neighbor", Noun::Neigh),
    ("link", Noun::Link),
    ("nexthop", Noun::Nexthop),
    ("fdb", Noun::Fdb),
    ("tuntap", Noun::Tuntap),
    ("vrf", Noun::Vrf),
    ("vlan", Noun::Vlan),
    ("mdb", Noun::Mdb),
    ("netns", Noun::Netns),
    ("nsid", Noun::Netns),
];

impl Noun {
    /// The noun that `word` is or begins.
    pub fn named(word: &str) -> Option<Self> {
        let fits = |(name, _): &&(&str, Self)| !word.is_empty() && name.starts_with(word);
        NOUNS.iter().find(fits).map(|(_, noun)| *noun)
    }

    /// Those of which each has objects of its own.
    pub fn all() -> impl Iterator<Item = Self> {
        [
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
        ]
        .into_iter()
    }

    pub fn door(self) -> &'static dyn Door {
        match self {
            Self::Link => &Of::<Link>(PhantomData),
            Self::Addr => &Of::<Addr>(PhantomData),
            Self::Route => &Of::<Route>(PhantomData),
            Self::Nexthop => &Of::<Nexthop>(PhantomData),
            Self::Rule => &Of::<Rule>(PhantomData),
            Self::Neigh => &Of::<Neigh>(PhantomData),
            Self::Fdb => &Of::<Fdb>(PhantomData),
            Self::Tuntap => &Tuntap,
            Self::Vrf => &Vrfs,
            Self::Vlan => &Of::<PortVlan>(PhantomData),
            Self::Mdb => &Of::<Mdb>(PhantomData),
            Self::Netns => &Of::<NamespaceNumber>(PhantomData),
        }
    }
}

impl<O: Spelled> Door for Of<O> {
    fn verbs(&self) -> Verbs {
        O::VERBS
    }

    fn run(
        &self,
        stack: &mut Stack,
        act: Act,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure> {
        carry_out::<O>(stack, act, words, args)
    }

    fn prepare(
        &self,
        stack: &mut Stack,
        act: Act,
        family: Option<Family>,
        words: &[String],
    ) -> Result<Put, Failure> {
        let verb = match act {
            Act::Do(verb) => verb,
            Act::Flush => {
                let objects = O::flushed(stack, family, words)?;
                return Ok(Box::new(move |batch| {
                    for object in &objects {
                        batch.del(object);
                    }
                    objects.len()
                }));
            }
            Act::Own(act) => {
                let line = format!("{}: {act} is for a command of its own", O::NOUN);
                return Err(Failure::new(Exit::Usage, line));
            }
        };
        let object: O = read(stack, verb, family, words)?;
        Ok(Box::new(move |batch| {
            match verb {
                Verb::Add => batch.add(&object),
                Verb::Replace => batch.replace(&object),
                Verb::Set => batch.set(&object),
                Verb::Append => batch.append(&object),
                _ => batch.del(&object),
            };
            1
        }))
    }

    fn watch(&self, namespace: Option<&NetNamespace>) -> Result<Box<dyn Follower>, NetlinkError> {
        Ok(Box::new(match namespace {
            Some(namespace) => Watch::open_in(namespace, O::default())?,
            None => Watch::open(O::default())?,
        }))
    }
}

impl<O: Spelled> Follower for Watch<O> {
    fn next(&mut self, names: &mut Names) -> Result<Option<Told>, NetlinkError> {
        let extent = Extent::default();
        let tell = |event, object: &O, names: &mut Names| Told {
            event,
            noun: O::NOUN,
            text: object.text(names, extent),
            json: object.json(names, extent),
        };
        Ok(self.next_event()?.map(|event| match event {
            Event::Added(object) => tell("added", &object, names),
            Event::Changed { after, .. } => tell("changed", &after, names),
            Event::Removed(object) => {
                let told = tell("removed", &object, names);
                object.forget(names);
                told
            }
            _ => Told {
                event: "overrun",
                noun: O::NOUN,
                text: String::new(),
                json: Value::Null,
            },
        }))
    }
}
