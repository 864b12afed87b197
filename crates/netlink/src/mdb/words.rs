//! Keywords of `bridge mdb` that need special parsing or formatting.

use super::{Mdb, MdbSource, MdbState};
use crate::schema::{Arguments, InvalidValue, NameLookup};

impl Mdb {
    /// Parses the states and `source_list ADDRESS,ADDRESS`.
    pub(super) fn read_word(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        match word {
            "permanent" => self.state = Some(MdbState::Permanent),
            "temp" => self.state = Some(MdbState::Temporary),
            "source_list" => {
                let text: String = words.value(word)?;
                let sources: Result<Vec<MdbSource>, _> = text
                    .split(',')
                    // `bridge(8)` shows a timer after the address; it is ignored.
                    .map(|source| source.split('/').next().unwrap_or_default())
                    .map(|source| source.parse::<std::net::IpAddr>().map(Into::into))
                    .collect();
                self.source_list = Some(sources.map_err(|_| InvalidValue::new(word, Some(&text)))?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn show_words(
        &self,
        _: &mut dyn NameLookup,
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
