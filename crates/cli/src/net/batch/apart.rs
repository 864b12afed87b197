//! Lines that are carried out by themselves: what is shown, and changes that are not made by a message of one object.

use clap::Parser;
use netlink::Verb;

use crate::args::{BatchArgs, NetArgs, in_our_words, leading_flags};
use crate::failure::{Exit, Failure};
use crate::net::door::Noun;
use crate::net::job::Stack;
use crate::net::verb::{self, Act};
use crate::usage;

/// A line with flags, and the words behind its noun.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Flagged {
    #[command(flatten)]
    net: NetArgs,
}

/// Such a line.
#[derive(Debug)]
pub struct Apart {
    noun: Noun,
    args: NetArgs,
    /// Whether it changes something and the batch is one that is taken back.
    is_for_good: bool,
}

/// Whether `act` is done by itself.
pub fn is_apart(noun: Noun, act: Act) -> bool {
    match act {
        Act::Do(verb) => matches!(verb, Verb::List | Verb::Get),
        // One message removes all.
        Act::Flush => noun == Noun::Fdb,
        Act::Own(_) => true,
    }
}

/// The noun that `words` begin with.
pub fn noun(words: &[String]) -> Result<Noun, Failure> {
    let word = words.first().map_or("", String::as_str);
    Noun::named(word)
        .ok_or_else(|| Failure::new(Exit::Usage, format!("{word:?} is no object to configure")))
}

impl Apart {
    /// Reads line `number`, which may have flags anywhere; those of the whole batch are its own, too.
    pub fn read(words: &[String], number: usize, batch: &BatchArgs) -> Result<Self, Failure> {
        let (flags, words) = words.split_at(leading_flags(words));
        let noun = noun(words)?;
        let typed = flags.iter().chain(&words[1..]);
        let flagged =
            Flagged::try_parse_from(in_our_words(typed)).map_err(|error| usage::failure(&error))?;
        let mut args = flagged.net;
        if args.netns.is_some() {
            let line = "-n is for the whole batch, not for a line";
            return Err(Failure::new(Exit::Usage, line));
        }
        (args.show, args.line) = (batch.show.of_line(args.show), Some(number));
        let (act, _) = verb::split(noun.door().verbs(), &args.words)?;
        let shows = matches!(act, Act::Do(Verb::List | Verb::Get));
        let is_for_good = batch.undo && !shows;
        Ok(Self {
            noun,
            args,
            is_for_good,
        })
    }

    /// Carries it out.
    pub fn run(&self, stack: &mut Stack) -> Result<(), Failure> {
        if self.is_for_good {
            let line = "what this line does cannot be taken back";
            return Err(Failure::new(Exit::Usage, line));
        }
        // A line before it may have given a link another name.
        stack.names.forget();
        let door = self.noun.door();
        let (act, words) = verb::split(door.verbs(), &self.args.words)?;
        let done = door.run(stack, act, words, &self.args);
        done.map(|_| ()).map_err(|failure| match failure.exit {
            Exit::Done => Failure::new(Exit::Failed, "nobody reads standard output any more"),
            _ => failure,
        })
    }
}
