//! A line of a batch as a command, and the link names that lines change.

use std::collections::HashSet;
use std::ffi::OsString;

use clap::Parser;
use tapline::net::{Batch, Family, Verb};

use super::line::Line;
use crate::args::{
    BatchArgs, NetArgs, NetnsArgs, NetnsCommand, Process, leading_flags, translate_flags, usage,
};
use crate::failure::{Exit, Failure};
use crate::net::command::BatchItems;
use crate::net::handle::{NetHandle, usage_failure};
use crate::net::netns;
use crate::net::object::NetObject;
use crate::net::verbs::{self, Action};

/// What a line does.
pub enum LineCommand {
    Empty,
    /// Adds items to the batch.
    Items(BatchItems),
    /// Runs on its own: the kernel has no message for the change, or the line prints objects.
    Standalone(Standalone),
}

impl LineCommand {
    /// Parses a line. A line that flushes selects among the objects that exist after the lines before.
    pub fn parse(
        line: &Line,
        args: &BatchArgs,
        handle: &mut NetHandle,
        batch: &mut Batch<'_>,
    ) -> Result<Self, Failure> {
        let words = line
            .words()
            .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
        let (family, command) = split_family(&words);
        let Some(first) = command.first() else {
            return Ok(Self::Empty);
        };
        if first.starts_with('-') {
            return Standalone::parse(&words, line.number, args).map(Self::Standalone);
        }
        let object = object(command)?;
        if object == NetObject::Netns {
            return Standalone::parse(&words, line.number, args).map(Self::Standalone);
        }
        let commands = object.commands();
        let (action, arguments) = verbs::split(commands.verbs(), &command[1..])?;
        let is_standalone = match action {
            Action::Verb(verb) => matches!(verb, Verb::List | Verb::Get),
            // One message flushes forwarding entries.
            Action::Flush => object == NetObject::Fdb,
            Action::Special(_) => true,
        };
        if is_standalone {
            return Standalone::parse(&words, line.number, args).map(Self::Standalone);
        }
        if action == Action::Flush {
            batch.flush();
        }
        let family = family.or(args.show.family());
        let items = commands.prepare(handle, action, family, arguments)?;
        Ok(Self::Items(items))
    }
}

/// The family flag at the start of a line, and the words after it.
fn split_family(words: &[String]) -> (Option<Family>, &[String]) {
    match words.first().map(String::as_str) {
        Some("-4") => (Some(Family::V4), &words[1..]),
        Some("-6") => (Some(Family::V6), &words[1..]),
        _ => (None, words),
    }
}

fn object(words: &[String]) -> Result<NetObject, Failure> {
    let word = words.first().map_or("", String::as_str);
    NetObject::named(word).ok_or_else(|| {
        let words = NetObject::names(|_| true);
        let line = format!("{word:?} is not an object to configure (use {words})");
        Failure::new(Exit::Usage, line)
    })
}

/// The flags of a line, and the words behind its object.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct LineArgs {
    #[command(flatten)]
    net: NetArgs,
}

/// The words behind `netns`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
#[command(disable_help_subcommand = true, infer_subcommands = true)]
struct NetnsLineArgs {
    #[command(flatten)]
    netns: NetnsArgs,
}

/// A line that runs on its own.
#[derive(Debug)]
pub struct Standalone {
    job: Job,
    /// The line changes something, and the batch has to undo its changes.
    is_not_undoable: bool,
}

#[derive(Debug)]
enum Job {
    Objects(NetObject, NetArgs),
    /// Names of namespaces are files.
    Namespaces(NetnsArgs),
}

impl Standalone {
    /// Parses a line with flags anywhere. It also has the flags of the batch.
    fn parse(words: &[String], number: usize, batch: &BatchArgs) -> Result<Self, Failure> {
        let (flags, words) = words.split_at(leading_flags(words));
        let object = object(words)?;
        let words = translate_flags(flags.iter().chain(&words[1..]));
        if object == NetObject::Netns {
            return Self::parse_namespaces(words, number, batch);
        }
        let parsed = LineArgs::try_parse_from(words);
        let mut args = parsed.map_err(|error| usage::failure(&error))?.net;
        check_namespace(args.netns.as_deref())?;
        args.show = batch.show.with_line(args.show);
        args.line = Some(number);
        let (action, _) = verbs::split(object.commands().verbs(), &args.words)?;
        let is_query = matches!(action, Action::Verb(Verb::List | Verb::Get));
        Ok(Self {
            job: Job::Objects(object, args),
            is_not_undoable: batch.undo && !is_query,
        })
    }

    /// Parses the words behind `netns`.
    fn parse_namespaces(
        words: Vec<OsString>,
        number: usize,
        batch: &BatchArgs,
    ) -> Result<Self, Failure> {
        use NetnsCommand::{Attach, Exec, Identify, List, ListId, Pids, Set};

        let parsed = NetnsLineArgs::try_parse_from(words);
        let mut args = parsed.map_err(|error| usage::failure(&error))?.netns;
        check_namespace(args.netns.as_deref())?;
        args.json |= batch.show.json;
        args.line = Some(number);
        let command = args.command.as_ref().unwrap_or(&List);
        if matches!(command, Exec { .. }) {
            let problem = "exec would run its program in place of the batch";
            return Err(usage_failure("netns", problem));
        }
        let is_query = matches!(
            command,
            List | ListId { .. } | Pids { .. } | Identify { .. }
        );
        // The batch does not enter its namespace, so `self` would be another one: it is rejected with `-n`.
        let is_self = matches!(
            command,
            Attach {
                process: Process::Current,
                ..
            } | Identify {
                process: Process::Current
            }
        );
        if is_self || matches!(command, List | Set { .. } | ListId { .. }) {
            args.netns.clone_from(&batch.netns);
        }
        Ok(Self {
            job: Job::Namespaces(args),
            is_not_undoable: batch.undo && !is_query,
        })
    }

    pub fn run(&self, handle: &mut NetHandle) -> Result<(), Failure> {
        if self.is_not_undoable {
            let line = "this line cannot be undone, so a batch with --undo cannot run it";
            return Err(Failure::new(Exit::Usage, line));
        }
        // Lines before may have renamed links.
        handle.names.forget();
        match self.job.run(handle) {
            Err(failure) if failure.exit == Exit::Done => {
                let line = "standard output is closed";
                Err(Failure::new(Exit::Failed, line))
            }
            result => result.map(|_| ()),
        }
    }
}

impl Job {
    fn run(&self, handle: &mut NetHandle) -> Result<Exit, Failure> {
        match self {
            Self::Objects(object, args) => {
                let commands = object.commands();
                let (action, words) = verbs::split(commands.verbs(), &args.words)?;
                commands.run(handle, action, words, args)
            }
            Self::Namespaces(args) => netns::run(args),
        }
    }
}

/// Rejects `-n` in a line.
fn check_namespace(name: Option<&str>) -> Result<(), Failure> {
    if name.is_some() {
        let line = "-n is for the whole batch, not for a line";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

/// Keywords that may stand where a link name may stand.
const KEYWORDS: [&str; 5] = ["dev", "name", "link", "type", "group"];

/// With more names than this every line is treated as if it used one.
const MAX_NAMES: usize = 4096;

/// The link names that waiting lines add, remove or change.
#[derive(Debug, Default)]
pub struct ChangedNames {
    names: HashSet<String>,
    /// Any name may have changed.
    all: bool,
}

impl ChangedNames {
    /// Whether `line` may use one of the names.
    pub fn affects(&self, line: &Line) -> bool {
        let is_changed = |word: &String| self.names.contains(word);
        self.all || !self.names.is_empty() && line.words().is_ok_and(|it| it.iter().any(is_changed))
    }

    /// Adds the names that `line` changes.
    pub fn add(&mut self, line: &Line) {
        let words = line.words().unwrap_or_default();
        let (_, command) = split_family(&words);
        let Ok(object @ (NetObject::Link | NetObject::Tuntap)) = object(command) else {
            return;
        };
        let Ok((action, words)) = verbs::split(object.commands().verbs(), &command[1..]) else {
            return;
        };
        let sets_name = |word: &String| matches!(word.as_str(), "name" | "netns" | "altname");
        match action {
            Action::Verb(Verb::Set) if !words.iter().any(sets_name) => return,
            Action::Verb(Verb::List | Verb::Get) => return,
            // A group of links.
            Action::Verb(Verb::Del) => self.all |= words.iter().any(|word| word == "group"),
            Action::Flush => self.all = true,
            Action::Verb(_) | Action::Special(_) => {}
        }
        let mut add = |at: usize| {
            let name = words
                .get(at)
                .filter(|word| !KEYWORDS.contains(&word.as_str()));
            self.names.extend(name.cloned());
        };
        add(0);
        for (at, word) in words.iter().enumerate() {
            match word.as_str() {
                "dev" | "name" | "altname" => add(at + 1),
                // `link add link LOWER NAME`
                "link" => add(at + 2),
                _ => {}
            }
        }
        self.all |= self.names.len() > MAX_NAMES;
    }
}
