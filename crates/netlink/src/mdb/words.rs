//! The words of `bridge mdb` that are more than a field and its value.

use super::{Mdb, MdbSource, MdbState};
use crate::table::{BadWord, Lookup, Words};

impl Mdb {
    /// Reads the states and `source_list ADDRESS,ADDRESS`.
    pub(super) fn read_word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        match word {
            "permanent" => self.state = Some(MdbState::Permanent),
            "temp" => self.state = Some(MdbState::Temporary),
            "source_list" => {
                let text: String = words.value(word)?;
                let sources: Result<Vec<MdbSource>, _> = text
                    .split(',')
                    // A time behind the address, as `bridge(8)` shows it, is not said.
                    .map(|source| source.split('/').next().unwrap_or_default())
                    .map(|source| source.parse::<std::net::IpAddr>().map(Into::into))
                    .collect();
                self.source_list = Some(sources.map_err(|_| BadWord {
                    wanted: word.to_owned(),
                    found: Some(text.clone()),
                })?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn show_words(
        &self,
        _: &mut dyn Lookup,
        show: &mut dyn FnMut(&'static str, String),
    ) {
        match self.state {
            Some(MdbState::Permanent) => show("permanent", String::new()),
            Some(MdbState::Temporary) => show("temp", String::new()),
            _ => {}
        }
        if let Some(sources) = &self.source_list {
            let sources: Vec<_> = sources
                .iter()
                .map(|source| source.address.to_string())
                .collect();
            show("source_list", sources.join(","));
        }
    }
}
