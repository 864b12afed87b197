//! Keywords of `bridge fdb` that need special parsing or formatting.

use super::{Fdb, FdbFlags, FdbState};
use crate::schema::{Arguments, InvalidValue, NameLookup};

impl Fdb {
    /// Parses a hardware address without a keyword, flags and states.
    pub(super) fn read_word(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        if let Some(flag) = FdbFlags::named(word) {
            self.flags = Some(self.flags.unwrap_or_default() | flag);
            return Ok(true);
        }
        match word {
            "to" => self.lladdr = Some(words.value(word)?),
            "brport" => self.dev = Some(words.value(word)?),
            "vid" => self.vlan = Some(words.value(word)?),
            "permanent" | "local" => self.state = Some(FdbState::Permanent),
            "static" | "temp" => self.state = Some(FdbState::Static),
            "dynamic" => self.state = Some(FdbState::Dynamic),
            _ if self.lladdr.is_none() => match word.parse() {
                Ok(lladdr) => self.lladdr = Some(lladdr),
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
        match self.state {
            Some(FdbState::Permanent) => show("permanent", String::new()),
            Some(FdbState::Static) => show("static", String::new()),
            Some(FdbState::Dynamic) => show("dynamic", String::new()),
            _ => {}
        }
        for (flag, word) in [
            (FdbFlags::SELF, "self"),
            (FdbFlags::MASTER, "master"),
            (FdbFlags::ROUTER, "router"),
            (FdbFlags::EXTERN_LEARN, "extern_learn"),
            (FdbFlags::STICKY, "sticky"),
            (FdbFlags::USE, "use"),
        ] {
            if self.flags.is_some_and(|flags| flags.contains(flag)) {
                show(word, String::new());
            }
        }
    }
}
