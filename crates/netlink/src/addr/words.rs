//! Keywords of `ip address` that need special parsing or formatting.

use std::net::IpAddr;

use super::Addr;
use crate::prefix::Prefix;
use crate::schema::{Arguments, InvalidValue, NameLookup};

impl Addr {
    /// Parses `local IP/LENGTH`; the keyword is optional; `peer IP/LENGTH`; flags; and abbreviations.
    pub(super) fn read_word(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        let flag = |(name, _): &(&str, &mut Option<bool>)| *name == word;
        if let Some((_, on)) = self.flag_fields().into_iter().find(flag) {
            *on = Some(true);
            return Ok(true);
        }
        match word {
            "local" => {
                let local: String = words.value(word)?;
                self.take_local(&local)?;
            }
            "peer" | "remote" => {
                let peer: Prefix = words.value(word)?;
                self.peer = Some(peer.ip);
                self.prefixlen = Some(peer.len);
            }
            "brd" => self.broadcast = Some(words.value(word)?),
            "priority" | "preference" => self.metric = Some(words.value(word)?),
            _ if self.local.is_none() && word.contains(['.', ':']) => self.take_local(word)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Keeps the prefix length of a peer that was given before. Without a length, deletion matches any length.
    fn take_local(&mut self, text: &str) -> Result<(), InvalidValue> {
        let local: Prefix = text
            .parse()
            .map_err(|_| InvalidValue::new("an address", Some(text)))?;
        self.local = Some(local.ip);
        if self.peer.is_none() && text.contains('/') {
            self.prefixlen = Some(local.len);
        }
        Ok(())
    }

    pub(super) fn show_words(
        &self,
        _: &mut dyn NameLookup,
        show: &mut dyn FnMut(&'static str, String),
    ) {
        let mut flags = self.clone();
        for (word, on) in flags.flag_fields() {
            if *on == Some(true) {
                show(word, String::new());
            }
        }
        let Some(local) = self.local else { return };
        let prefix = |ip: IpAddr| match self.prefixlen {
            Some(length) => format!("{ip}/{length}"),
            None => ip.to_string(),
        };
        match self.peer {
            Some(peer) => {
                show("local", local.to_string());
                show("peer", prefix(peer));
            }
            None => show("local", prefix(local)),
        }
    }
}
