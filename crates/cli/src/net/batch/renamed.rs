//! Names of links that mean something else once the lines before have been carried out.

use std::collections::HashSet;

use netlink::Verb;

use super::apart::noun;
use super::line::Line;
use crate::net::door::Noun;
use crate::net::verb::{self, Act};

/// Words that are no names where a name may stand.
const NO_NAMES: [&str; 5] = ["dev", "name", "link", "type", "group"];

/// Beyond so many it is not told which they are.
const MOST_NAMES: usize = 4096;

/// The names that lines make, take away or give to others.
#[derive(Debug, Default)]
pub struct Renamed {
    names: HashSet<String>,
    /// Which ones they are cannot be told.
    all: bool,
}

impl Renamed {
    /// Whether `line` may speak of one of them.
    pub fn concerns(&self, line: &Line) -> bool {
        if self.names.is_empty() && !self.all {
            return false;
        }
        let words = line.words().unwrap_or_default();
        self.all || words.iter().any(|word| self.names.contains(word))
    }

    /// Adds those of `line`.
    pub fn note(&mut self, line: &Line) {
        let words = line.words().unwrap_or_default();
        let said = match words.first().map(String::as_str) {
            Some("-4" | "-6") => &words[1..],
            _ => &words[..],
        };
        let Ok(noun @ (Noun::Link | Noun::Tuntap)) = noun(said) else {
            return;
        };
        let Ok((act, words)) = verb::split(noun.door().verbs(), &said[1..]) else {
            return;
        };
        let takes_a_name = |word: &String| matches!(word.as_str(), "name" | "netns" | "altname");
        match act {
            Act::Do(Verb::Set) if !words.iter().any(takes_a_name) => return,
            Act::Do(Verb::List | Verb::Get) => return,
            Act::Flush => self.all = true,
            Act::Do(_) | Act::Own(_) => {}
        }
        self.all |= words.iter().any(|word| word == "group") && act == Act::Do(Verb::Del);
        let behind = |words: &[String], number: usize| {
            let word = words.get(number)?;
            (!NO_NAMES.contains(&word.as_str())).then(|| word.clone())
        };
        self.names.extend(behind(words, 0));
        for (at, word) in words.iter().enumerate() {
            self.names.extend(match word.as_str() {
                "dev" | "name" | "altname" => behind(words, at + 1),
                // `link add link LOWER NAME`.
                "link" => behind(words, at + 2),
                _ => None,
            });
        }
        self.all |= self.names.len() > MOST_NAMES;
    }
}
