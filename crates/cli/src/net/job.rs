//! One command: read, carried out, shown.

use std::io::{self, Write};

use abi::namespace::NetNamespace;
use netlink::table::{BadWord, Words};
use netlink::{Family, Netlink, NetlinkError, Verb};

use super::door::Noun;
use super::names::Names;
use super::page::Page;
use super::spelled::{Choice, NO_NAMESPACE, NO_TYPE, Purpose, Spelled, Unanswered};
use super::verb::{self, Act};
use crate::args::NetArgs;
use crate::failure::{self, Exit, Failure};

/// Runs `tapline NOUN …`.
pub fn run(noun: Noun, args: &NetArgs) -> Result<Exit, Failure> {
    let mut stack = Stack::open(args.netns.as_deref())?;
    let door = noun.door();
    let (act, words) = verb::split(door.verbs(), &args.words)?;
    door.run(&mut stack, act, words, args)
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

    /// What could not be read of `noun`: a name that no link or namespace has is no wrong usage.
    pub fn misread(&self, noun: &str, bad: &BadWord) -> Failure {
        let found = bad.found.as_deref();
        if let Some(name) = found.filter(|name| self.names.is_absent(name)) {
            let line = format!("{noun}: there is no link {name} ({})", failure::NO_LINK);
            return Failure::new(Exit::Failed, line);
        }
        if let Some(name) = found.filter(|_| bad.wanted == NO_NAMESPACE) {
            let line = format!("{noun}: there is no network namespace {name}");
            return Failure::new(Exit::Failed, line);
        }
        let bad = match bad.wanted.as_str() {
            NO_TYPE => NO_TYPE.to_owned(),
            _ => bad.to_string(),
        };
        let line = format!("{noun}: {bad} ('tapline {noun} --help' tells more)");
        Failure::new(Exit::Usage, line)
    }

    /// What the kernel refused, with the name of the link it was about: links are looked up by their names and
    /// changed by their indices; people know the names.
    pub fn refused(&mut self, mut error: NetlinkError) -> Failure {
        error.name_link(&mut self.names);
        error.into()
    }
}

/// Carries out a command on objects of one kind.
pub fn carry_out<O: Spelled>(
    stack: &mut Stack,
    act: Act,
    words: &[String],
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let verb = match act {
        Act::Do(Verb::List) => return O::show(stack, words, args),
        Act::Do(Verb::Get) => return ask::<O>(stack, words, args),
        Act::Do(verb) => verb,
        Act::Flush => return O::flush(stack, words, args),
        Act::Own(act) => return O::own(stack, act, words),
    };
    let object = read::<O>(stack, verb, args.family(), words)?;
    let netlink = &mut stack.netlink;
    let done = match verb {
        Verb::Add => netlink.add(&object),
        Verb::Replace => netlink.replace(&object),
        Verb::Set => netlink.set(&object),
        Verb::Append => netlink.append(&object),
        _ => netlink.del(&object),
    };
    done.map_err(|error| stack.refused(error))?;
    if let Some(advice) = object.advice(verb) {
        writeln!(io::stderr(), "tapline: {}: {advice}", O::NOUN)?;
    }
    Ok(Exit::Done)
}

/// Reads the words behind a verb.
pub fn read<O: Spelled>(
    stack: &mut Stack,
    verb: Verb,
    family: Option<Family>,
    words: &[String],
) -> Result<O, Failure> {
    let mut words = Words::new(words, &mut stack.names);
    let object = O::read(verb, family, &mut words);
    object.map_err(|bad| stack.misread(O::NOUN, &bad))
}

/// Reads which objects are meant.
pub fn choose<O: Spelled>(
    stack: &mut Stack,
    purpose: Purpose,
    family: Option<Family>,
    words: &[String],
) -> Result<Choice<O>, Failure> {
    let mut words = Words::new(words, &mut stack.names);
    let choice = O::choose(purpose, family, &mut words);
    choice.map_err(|bad| stack.misread(O::NOUN, &bad))
}

/// Answers a question for one.
fn ask<O: Spelled>(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
    let mut words = Words::new(words, &mut stack.names);
    let object = O::ask(&mut stack.netlink, args.family(), &mut words);
    let object = object.map_err(|unanswered| match unanswered {
        Unanswered::Word(bad) => stack.misread(O::NOUN, &bad),
        Unanswered::Kernel(error) => stack.refused(error),
    })?;
    put_all(stack, &[object], false, args)
}

/// Shows all that are meant.
pub fn list<O: Spelled>(
    stack: &mut Stack,
    words: &[String],
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let choice = choose(stack, Purpose::Show, args.family(), words)?;
    list_chosen::<O>(stack, choice, args)
}

/// Shows those that have been chosen.
pub fn list_chosen<O: Spelled>(
    stack: &mut Stack,
    choice: Choice<O>,
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let Choice { like, fits } = choice;
    let listing = O::all_like(&mut stack.netlink, &like);
    let mut listing = listing.map_err(|error| stack.refused(error))?;
    listing.items.retain(|item| fits(item));
    if !args.show.json && !like.is_one() {
        let items = listing.items.iter_mut();
        items.for_each(|item| item.leave_unsaid(&like));
    }
    if !like.is_one() {
        stack.names.load();
    }
    put_all(stack, &listing.items, listing.interrupted, args)
}

fn put_all<O: Spelled>(
    stack: &mut Stack,
    objects: &[O],
    interrupted: bool,
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let mut page = Page::new(args);
    let extent = page.extent();
    for object in objects {
        if page.is_json() {
            page.json(&object.json(&mut stack.names, extent))?;
        } else {
            page.text(&object.text(&mut stack.names, extent))?;
        }
    }
    page.end(interrupted)
}

/// Removes all that are meant. Nothing is said of those that go by themselves meanwhile, or with another.
pub fn flush<O: Spelled>(
    stack: &mut Stack,
    words: &[String],
    args: &NetArgs,
) -> Result<Exit, Failure> {
    for object in flushed::<O>(stack, args.family(), words)? {
        match stack.netlink.del(&object) {
            Err(error) if !error.is_absence() => return Err(stack.refused(error)),
            _ => {}
        }
    }
    Ok(Exit::Done)
}

/// What `flush` and `words` would remove, the last first: others may go with the first.
pub fn flushed<O: Spelled>(
    stack: &mut Stack,
    family: Option<Family>,
    words: &[String],
) -> Result<Vec<O>, Failure> {
    if words.is_empty() && !O::FLUSHES_ALL {
        let line = format!(
            "{noun}: flush needs to be told which, e.g. 'dev NAME' ('tapline {noun} --help' tells more)",
            noun = O::NOUN
        );
        return Err(Failure::new(Exit::Usage, line));
    }
    let Choice { like, fits } = choose::<O>(stack, Purpose::Flush, family, words)?;
    let listing = O::all_like(&mut stack.netlink, &like);
    let mut listing = listing.map_err(|error| stack.refused(error))?;
    listing.items.retain(|item| fits(item));
    let items = listing.items.into_iter().rev();
    Ok(items.map(netlink::Object::settable).collect())
}
