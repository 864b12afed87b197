//! One command: read, carried out, shown.

use std::io::{self, Write};

use abi::namespace::NetNamespace;
use netlink::table::{BadWord, Lookup, Words};
use netlink::{Family, Netlink, Subject, Verb};
use serde_json::json;

use super::door::Noun;
use super::fields::printable;
use super::names::Names;
use super::spelled::{Extent, NO_LINK, Spelled, Unanswered};
use super::verb;
use crate::args::NetArgs;
use crate::failure::{self, Exit, Failure};
use crate::json;

/// Runs `tapline NOUN …`.
pub fn run(noun: Noun, args: &NetArgs) -> Result<Exit, Failure> {
    let mut stack = Stack::open(args.netns.as_deref())?;
    let (verb, words) = verb::split(&args.words)?;
    noun.door().run(&mut stack, verb, words, args)
}

/// A namespace's configuration, and what its links are called.
#[derive(Debug)]
pub struct Stack {
    pub netlink: Netlink,
    pub names: Names,
}

impl Stack {
    /// Opens that of the namespace called `name`, or of the program's own.
    pub fn open(name: Option<&str>) -> Result<Self, Failure> {
        let open = || match name {
            Some(name) => {
                let namespace = NetNamespace::named(name).map_err(|error| {
                    Failure::job_on(format!("network namespace {name}"), &error)
                })?;
                Ok::<_, Failure>(Netlink::open_in(&namespace)?)
            }
            None => Ok(Netlink::open()?),
        };
        Ok(Self {
            netlink: open()?,
            names: Names::new(open()?),
        })
    }
}

/// Carries out a command on objects of one kind.
pub fn carry_out<O: Spelled>(
    stack: &mut Stack,
    verb: Verb,
    words: &[String],
    args: &NetArgs,
) -> Result<Exit, Failure> {
    if verb == Verb::List {
        return O::show(stack, words, args);
    }
    let family = family(args);
    if verb == Verb::Get {
        let mut words = Words::new(words, &mut stack.names);
        let object = O::ask(&mut stack.netlink, family, &mut words);
        let object = object.map_err(|unanswered| match unanswered {
            Unanswered::Word(bad) => usage(O::NOUN, &bad),
            Unanswered::Kernel(error) => error.into(),
        })?;
        return show(stack, &[object], false, args);
    }
    let object = read::<O>(stack, verb, family, words)?;
    let Stack { netlink, names } = stack;
    let done = match verb {
        Verb::Add => netlink.add(&object),
        Verb::Replace => netlink.replace(&object),
        Verb::Set => netlink.set(&object),
        Verb::Append => netlink.append(&object),
        _ => netlink.del(&object),
    };
    done.map_err(|mut error| {
        // Links are looked up by their names and changed by their indices; people know the names.
        if let Subject::Link(index) = error.subject
            && let Some(name) = names.name(index)
        {
            error.subject = Subject::LinkNamed(name);
        }
        error
    })?;
    Ok(Exit::Done)
}

/// The family that is asked for.
pub fn family(args: &NetArgs) -> Option<Family> {
    match (args.v4, args.v6) {
        (true, _) => Some(Family::V4),
        (_, true) => Some(Family::V6),
        _ => None,
    }
}

/// Reads the words behind a verb.
pub fn read<O: Spelled>(
    stack: &mut Stack,
    verb: Verb,
    family: Option<Family>,
    words: &[String],
) -> Result<O, Failure> {
    let mut words = Words::new(words, &mut stack.names);
    O::read(verb, family, &mut words).map_err(|bad| usage(O::NOUN, &bad))
}

/// What could not be read: a name that nothing has is no wrong usage.
fn usage(noun: &str, bad: &BadWord) -> Failure {
    if bad.wanted == NO_LINK {
        let name = bad.found.as_deref().unwrap_or_default();
        return Failure::new(
            Exit::Failed,
            format!("{noun}: there is no link {name} ({})", failure::NO_LINK),
        );
    }
    Failure::new(
        Exit::Usage,
        format!("{noun}: {bad} ('tapline {noun} --help' tells more)"),
    )
}

/// Shows all that are like what `words` say.
pub fn list<O: Spelled>(
    stack: &mut Stack,
    words: &[String],
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let object = &read::<O>(stack, Verb::List, family(args), words)?;
    if object.is_one() {
        let found = stack.netlink.get(object)?;
        return show(stack, &[found], false, args);
    }
    let mut listing = stack.netlink.list(object)?;
    listing.items.retain(|item| item.is_shown(object));
    stack.names.load();
    show(stack, &listing.items, listing.interrupted, args)
}

fn show<O: Spelled>(
    stack: &mut Stack,
    objects: &[O],
    interrupted: bool,
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let extent = Extent {
        details: args.details,
        statistics: args.statistics,
    };
    let mut out = io::stdout().lock();
    for object in objects {
        if args.json {
            writeln!(
                out,
                "{}",
                json::line(&object.json(&mut stack.names, extent))
            )?;
        } else {
            let text = object.text(&mut stack.names, extent);
            writeln!(out, "{}", printable(&text))?;
        }
    }
    if args.json {
        let summary = json!({
            "event": "summary", "objects": objects.len(), "interrupted": interrupted,
        });
        writeln!(out, "{}", json::line(&summary))?;
    } else if interrupted {
        let line = "the list changed while it was made: some may be missing or shown twice";
        writeln!(io::stderr(), "tapline: {line}")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
