//! What every object command can do, whatever the type of its objects: run one command, prepare a line of a batch,
//! follow changes.

use std::marker::PhantomData;
use std::os::fd::AsFd;

use tapline::Namespace;
use tapline::net::codec::Message;
use tapline::net::{Batch, Event, Family, Malformed, NetlinkError, Watch};

use super::handle::{NetHandle, usage_failure};
use super::names::Names;
use super::output::{DetailLevel, Record};
use super::syntax::{self, CommandSyntax};
use super::verbs::{Action, Verbs};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// The commands of one kind of object.
pub trait ObjectCommand: Sync {
    fn verbs(&self) -> Verbs;

    /// Runs one command.
    fn run(
        &self,
        handle: &mut NetHandle,
        action: Action,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure>;

    /// Parses a line of a batch.
    fn prepare(
        &self,
        handle: &mut NetHandle,
        action: Action,
        family: Option<Family>,
        words: &[String],
    ) -> Result<BatchItems, Failure>;

    /// Follows all objects in a namespace, or in the namespace of this process.
    fn watch(&self, namespace: Option<&Namespace>) -> Result<Box<dyn ChangeStream>, NetlinkError>;

    /// The changes in a recorded notification; none if it is about other objects.
    fn replay(
        &self,
        _message: Message<'_>,
        _names: &mut Names,
        _format: ChangeFormat,
    ) -> Result<Vec<ChangeLine>, Malformed> {
        Ok(Vec::new())
    }
}

/// Adds items to a batch and returns their number.
pub type BatchItems = Box<dyn FnOnce(&mut Batch<'_>) -> usize>;

/// Changes of the objects of one kind.
pub trait ChangeStream: AsFd {
    /// The next change, without waiting.
    fn next(
        &mut self,
        names: &mut Names,
        format: ChangeFormat,
    ) -> Result<Option<ChangeLine>, NetlinkError>;
}

/// How changes are printed.
#[derive(Clone, Copy, Debug)]
pub struct ChangeFormat {
    pub is_json: bool,
    pub level: DetailLevel,
}

/// A printed change.
#[derive(Debug)]
pub struct ChangeLine {
    /// `added`, `changed`, `removed` or `overrun`.
    pub event: &'static str,
    pub object: &'static str,
    /// `None` after an overrun.
    pub record: Option<Record>,
}

/// The commands of the objects of type `O`.
pub struct Commands<O>(PhantomData<fn() -> O>);

impl<O: 'static> Commands<O> {
    pub const NEW: &'static Self = &Self(PhantomData);
}

impl<O: CommandSyntax> ObjectCommand for Commands<O> {
    fn verbs(&self) -> Verbs {
        O::VERBS
    }

    fn run(
        &self,
        handle: &mut NetHandle,
        action: Action,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure> {
        syntax::run::<O>(handle, action, words, args)
    }

    fn prepare(
        &self,
        handle: &mut NetHandle,
        action: Action,
        family: Option<Family>,
        words: &[String],
    ) -> Result<BatchItems, Failure> {
        let verb = match action {
            Action::Verb(verb) => verb,
            Action::Flush => {
                let objects = O::flush_list(handle, family, words)?;
                return Ok(Box::new(move |batch| {
                    for object in &objects {
                        batch.del(object);
                    }
                    objects.len()
                }));
            }
            Action::Special(name) => {
                let problem = format!("{name} cannot be an item of a batch");
                return Err(usage_failure(O::OBJECT, &problem));
            }
        };
        let object: O = syntax::parse(handle, verb, family, words)?;
        Ok(Box::new(move |batch| {
            batch.push(verb, &object);
            1
        }))
    }

    fn watch(&self, namespace: Option<&Namespace>) -> Result<Box<dyn ChangeStream>, NetlinkError> {
        watch(namespace, O::default())
    }

    fn replay(
        &self,
        message: Message<'_>,
        names: &mut Names,
        format: ChangeFormat,
    ) -> Result<Vec<ChangeLine>, Malformed> {
        let event = match message.kind {
            kind if kind == O::MESSAGES.new => "added",
            kind if kind == O::MESSAGES.del => "removed",
            _ => return Ok(Vec::new()),
        };
        let mut lines = Vec::new();
        O::default().decode_each(message.body, |object| {
            let mut record = Record::new(format.is_json);
            object.print(&mut record, names, format.level);
            lines.push(ChangeLine {
                event,
                object: O::OBJECT,
                record: Some(record),
            });
        })?;
        Ok(lines)
    }
}

/// Follows the objects that `filter` describes.
pub fn watch<O: CommandSyntax>(
    namespace: Option<&Namespace>,
    filter: O,
) -> Result<Box<dyn ChangeStream>, NetlinkError> {
    Ok(Box::new(match namespace {
        Some(namespace) => Watch::open_in(namespace, filter)?,
        None => Watch::open(filter)?,
    }))
}

impl<O: CommandSyntax> ChangeStream for Watch<O> {
    fn next(
        &mut self,
        names: &mut Names,
        format: ChangeFormat,
    ) -> Result<Option<ChangeLine>, NetlinkError> {
        let Some(event) = self.try_next()? else {
            return Ok(None);
        };
        let (event, object) = match event {
            Event::Added(object) => ("added", Some(object)),
            Event::Changed { after, .. } => ("changed", Some(after)),
            Event::Removed(object) => ("removed", Some(object)),
            _ => ("overrun", None),
        };
        let record = object.map(|object| {
            let mut record = Record::new(format.is_json);
            object.print(&mut record, names, format.level);
            if event == "removed" {
                object.forget(names);
            }
            record
        });
        Ok(Some(ChangeLine {
            event,
            object: O::OBJECT,
            record,
        }))
    }
}
