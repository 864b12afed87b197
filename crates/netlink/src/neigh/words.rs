//! The words of `ip neighbour` that are more than a field and its value.

use super::Neigh;
use crate::table::{BadWord, Lookup, Words};

impl Neigh {
    /// Reads `to IP`, or that without its word, the flags, and `use`.
    pub(super) fn read_word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        match word {
            "to" => self.dst = Some(words.value(word)?),
            "state" => self.state = Some(words.value(word)?),
            "proxy" => self.proxy = Some(true),
            "router" => self.router = Some(true),
            "extern_learn" => self.extern_learn = Some(true),
            "use" => self.resolve = Some(true),
            "managed" => self.managed = Some(true),
            _ if self.dst.is_none() => match word.parse() {
                Ok(dst) => self.dst = Some(dst),
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn show_words(
        &self,
        _: &mut dyn Lookup,
        show: &mut dyn FnMut(&'static str, String),
    ) {
        if let Some(dst) = self.dst {
            show("to", dst.to_string());
        }
        let flags = [
            ("proxy", self.proxy),
            ("router", self.router),
            ("extern_learn", self.extern_learn),
            ("use", self.resolve),
            ("managed", self.managed),
        ];
        for (word, _) in flags.into_iter().filter(|(_, on)| *on == Some(true)) {
            show(word, String::new());
        }
    }
}
