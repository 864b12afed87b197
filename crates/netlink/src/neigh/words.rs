//! Keywords of `ip neighbour` that need special parsing or formatting.

use super::Neigh;
use crate::schema::{Arguments, InvalidValue, NameLookup};

impl Neigh {
    /// Parses `to IP`; the keyword is optional, the flags, and `use`.
    pub(super) fn read_word(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
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
        _: &mut dyn NameLookup,
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
