//! The command line of one kind of object: how its words are parsed, which objects they select, how it is printed.

use std::io::{self, Write};

use tapline::net::schema::{Arguments, AttributeSet, InvalidValue, Parsed};
use tapline::net::{Cause, Family, IfIndex, Listing, Netlink, NetlinkError, Object, Verb};
use thiserror::Error;

use super::handle::{NetHandle, unknown_word, usage_failure};
use super::names::Names;
use super::output::{DetailLevel, ObjectWriter, Record};
use super::verbs::{Action, COMMON, Verbs};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// What several objects are selected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Show,
    Flush,
}

/// Which objects a command is about.
pub struct Selection<O> {
    /// The filter of the list request to the kernel.
    pub filter: O,
    /// Further conditions.
    pub accepts: Box<dyn Fn(&O) -> bool>,
}

impl<O> Selection<O> {
    /// Every object that `filter` describes.
    pub fn all(filter: O) -> Self {
        let accepts = Box::new(|_: &O| true);
        Self { filter, accepts }
    }
}

/// Why `get` failed.
#[derive(Debug, Error)]
pub enum GetError {
    #[error(transparent)]
    Word(#[from] InvalidValue),
    #[error(transparent)]
    Kernel(#[from] NetlinkError),
}

/// An object on the command line.
pub trait CommandSyntax: Object {
    /// The command, and the key of the object in the JSON of `monitor`.
    const OBJECT: &'static str;
    const VERBS: Verbs = COMMON;
    /// Whether `flush` without arguments removes all objects.
    const FLUSHES_ALL: bool = false;

    /// Parses the arguments of `verb`.
    fn parse_arguments(
        verb: Verb,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Self>;

    /// Parses the arguments of `show` or `flush`.
    fn select(
        _: Purpose,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Selection<Self>> {
        Self::parse_arguments(Verb::List, family, words).map(Selection::all)
    }

    /// Runs `show`.
    fn show(handle: &mut NetHandle, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        let selection = select(handle, Purpose::Show, args.family(), words)?;
        show_selected::<Self>(handle, selection, args)
    }

    /// Lists the objects that `filter` describes.
    fn list(netlink: &mut Netlink, filter: &Self) -> Result<Listing<Self>, NetlinkError> {
        if !filter.is_one() {
            return netlink.list(filter);
        }
        let mut listing = Listing::default();
        listing.items.push(netlink.get(filter)?);
        Ok(listing)
    }

    /// Runs `flush`. Objects that disappear meanwhile, by themselves or with another object, are no error.
    fn flush(handle: &mut NetHandle, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        for object in Self::flush_list(handle, args.family(), words)? {
            match handle.netlink.del(&object) {
                Err(error) if !error.is_absence() => return Err(handle.failure(error)),
                _ => {}
            }
        }
        Ok(Exit::Done)
    }

    /// The objects that `flush` removes, last first: removing the first may remove others.
    fn flush_list(
        handle: &mut NetHandle,
        family: Option<Family>,
        words: &[String],
    ) -> Result<Vec<Self>, Failure> {
        if words.is_empty() && !Self::FLUSHES_ALL {
            let problem = "flush needs a selection, e.g. 'dev NAME'";
            return Err(usage_failure(Self::OBJECT, problem));
        }
        let selection = select(handle, Purpose::Flush, family, words)?;
        let listing = list_selected(handle, &selection)?;
        let items = listing.items.into_iter().rev();
        Ok(items.map(Object::settable).collect())
    }

    /// Runs an [`Action::Special`].
    fn special(_: &mut NetHandle, name: &str, _: &[String]) -> Result<Exit, Failure> {
        Err(usage_failure(Self::OBJECT, &format!("no action {name}")))
    }

    /// Runs `get`.
    fn get(
        netlink: &mut Netlink,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Result<Self, GetError> {
        let key = Self::parse_arguments(Verb::Get, family, words)?;
        Ok(netlink.get(&key)?)
    }

    /// A note after `verb` if its effect may surprise.
    fn advice(&self, _verb: Verb) -> Option<&'static str> {
        None
    }

    /// What to do if the kernel refuses `verb` for a reason that its message leaves open.
    fn refusal_advice(&self, _verb: Verb, _error: &NetlinkError) -> Option<String> {
        None
    }

    /// Whether a filter names one object. If the object is missing, that is an error, as in ip(8).
    fn is_one(&self) -> bool {
        false
    }

    /// Removes cached names after the object has been removed.
    fn forget(&self, _names: &mut Names) {}

    /// Drops the fields that `filter` fixes, which ip(8) does not repeat in text.
    fn drop_filtered(&mut self, _filter: &Self) {}

    /// Prints the object as iproute2 does, in text without the last line end.
    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel);
}

/// Parses the fields of `object` until the line ends.
pub fn parse_fields<T: AttributeSet>(mut object: T, words: &mut Arguments<'_>) -> Parsed<T> {
    while let Some(word) = words.next() {
        if !object.parse_keyword(word, words)? {
            return Err(unknown_word(word));
        }
    }
    Ok(object)
}

/// Advice if a request with an address lacks the device that it belongs to.
pub fn no_device(error: &NetlinkError, device: IfIndex) -> Option<String> {
    let is_missing = matches!(error.cause, Cause::Invalid(_)) && device == IfIndex(0);
    is_missing.then(|| "'dev NAME' names it".to_owned())
}

/// Runs one command.
pub fn run<O: CommandSyntax>(
    handle: &mut NetHandle,
    action: Action,
    words: &[String],
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let verb = match action {
        Action::Verb(Verb::List) => return O::show(handle, words, args),
        Action::Verb(Verb::Get) => return get::<O>(handle, words, args),
        Action::Verb(verb) => verb,
        Action::Flush => return O::flush(handle, words, args),
        Action::Special(name) => return O::special(handle, name, words),
    };
    let object = parse::<O>(handle, verb, args.family(), words)?;
    handle.netlink.change(verb, &object).map_err(|error| {
        let advice = object.refusal_advice(verb, &error);
        let mut failure = handle.failure(error);
        if let Some(advice) = advice {
            failure.line = format!("{} ({advice})", failure.line);
        }
        failure
    })?;
    if let Some(advice) = object.advice(verb) {
        writeln!(io::stderr(), "tapline: {}: {advice}", O::OBJECT)?;
    }
    Ok(Exit::Done)
}

/// Parses the arguments of `verb`.
pub fn parse<O: CommandSyntax>(
    handle: &mut NetHandle,
    verb: Verb,
    family: Option<Family>,
    words: &[String],
) -> Result<O, Failure> {
    handle.parse(O::OBJECT, words, |words| {
        O::parse_arguments(verb, family, words)
    })
}

/// Parses the arguments of `show` or `flush`.
pub fn select<O: CommandSyntax>(
    handle: &mut NetHandle,
    purpose: Purpose,
    family: Option<Family>,
    words: &[String],
) -> Result<Selection<O>, Failure> {
    handle.parse(O::OBJECT, words, |words| O::select(purpose, family, words))
}

fn list_selected<O: CommandSyntax>(
    handle: &mut NetHandle,
    Selection { filter, accepts }: &Selection<O>,
) -> Result<Listing<O>, Failure> {
    let listing = O::list(&mut handle.netlink, filter);
    let mut listing = listing.map_err(|error| handle.failure(error))?;
    listing.items.retain(accepts);
    Ok(listing)
}

/// Prints the selected objects.
pub fn show_selected<O: CommandSyntax>(
    handle: &mut NetHandle,
    selection: Selection<O>,
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let mut listing = list_selected(handle, &selection)?;
    let filter = selection.filter;
    if !filter.is_one() {
        if !args.show.json {
            let items = listing.items.iter_mut();
            items.for_each(|item| item.drop_filtered(&filter));
        }
        handle.names.load();
    }
    print_all(handle, &listing.items, listing.interrupted, args)
}

fn get<O: CommandSyntax>(
    handle: &mut NetHandle,
    words: &[String],
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let mut arguments = Arguments::recording(words, &mut handle.names);
    let object = O::get(&mut handle.netlink, args.family(), &mut arguments);
    let offered = arguments.into_offered();
    let object = object.map_err(|error| match error {
        GetError::Word(bad) => handle.parse_failure(O::OBJECT, &bad, &offered),
        GetError::Kernel(error) => handle.failure(error),
    })?;
    print_all(handle, &[object], false, args)
}

fn print_all<O: CommandSyntax>(
    handle: &mut NetHandle,
    objects: &[O],
    interrupted: bool,
    args: &NetArgs,
) -> Result<Exit, Failure> {
    let mut writer = ObjectWriter::new(&args.show, args.line);
    let level = writer.level();
    for object in objects {
        let mut record = writer.record();
        object.print(&mut record, &mut handle.names, level);
        writer.write(record)?;
    }
    writer.finish(interrupted)
}
