//! The words of `ip address` that mean several fields.

use std::net::IpAddr;

use super::Addr;
use crate::prefix::Prefix;
use crate::table::{BadWord, Lookup, Words};

impl Addr {
    /// Reads `local IP/LENGTH`, or that without its word; `peer IP/LENGTH`; flags; and the short words.
    pub(super) fn read_word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        let flag = |(name, _): &(&str, &mut Option<bool>)| *name == word;
        if let Some((_, on)) = self.flag_fields().into_iter().find(flag) {
            *on = Some(true);
            return Ok(true);
        }
        match word {
            "local" => self.take_local(words.value(word)?),
            "peer" | "remote" => {
                let peer: Prefix = words.value(word)?;
                self.peer = Some(peer.ip);
                self.prefixlen = Some(peer.len);
            }
            "brd" => self.broadcast = Some(words.value(word)?),
            "priority" | "preference" => self.metric = Some(words.value(word)?),
            _ if self.local.is_none() && word.contains(['.', ':']) => match word.parse() {
                Ok(local) => self.take_local(local),
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The prefix of a peer, where one was said before, stands.
    fn take_local(&mut self, local: Prefix) {
        self.local = Some(local.ip);
        if self.peer.is_none() {
            self.prefixlen = Some(local.len);
        }
    }

    pub(super) fn show_words(
        &self,
        _: &mut dyn Lookup,
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
