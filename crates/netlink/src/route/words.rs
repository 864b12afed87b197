//! Routes in the words of `ip route`.

use super::{Encap, Hop, Route, RouteType, read_gateway_words};
use crate::prefix::{Family, Prefix};
use crate::table::{BadWord, Table, Words};

impl Route {
    /// Reads `[TYPE] DESTINATION [WORD VALUE]…`, the words behind `ip route add`. `default` is of `family`, and
    /// where that is not said of the next hop's.
    ///
    /// # Errors
    /// [`BadWord`] with the first word that has no place.
    pub fn read_words(words: &mut Words<'_>, family: Option<Family>) -> Result<Self, BadWord> {
        let mut route = Self {
            family,
            ..Self::new()
        };
        words.take_while(|word, words| route.read_word(word, words))?;
        if let Some(word) = words.next() {
            return Err(unknown(word));
        }
        route.settle_family();
        Ok(route)
    }

    /// Reads what `word` begins; `Ok(false)` when that is nothing that a route has.
    ///
    /// # Errors
    /// [`BadWord`] when the value cannot be one.
    pub fn read_word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        match word {
            "vrf" => self.table = Some(words.vrf()?.1.into()),
            "to" => {
                if let Some(kind) = words.peek().and_then(kind) {
                    words.next();
                    self.kind = Some(kind);
                }
                self.dst = Some(words.value(word)?);
            }
            "via" => (self.gateway, self.via) = read_gateway_words(words)?,
            "nexthop" => {
                let hop = Hop::read_words(words)?;
                self.nexthops.get_or_insert_default().push(hop);
            }
            "encap" => self.encap = Some(Box::new(Encap::read_words(words)?)),
            "onlink" => self.onlink = Some(true),
            "protocol" => self.protocol = Some(words.value(word)?),
            "dsfield" => self.tos = Some(words.value(word)?),
            "priority" | "preference" => self.metric = Some(words.value(word)?),
            "oif" => self.dev = Some(words.value(word)?),
            _ if self.word(word, words)? => {}
            _ => return self.read_other(word, words),
        }
        Ok(true)
    }

    /// A metric, the type or the destination.
    fn read_other(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        let mut metrics = self.metrics.take().unwrap_or_default();
        let known = metrics.read_word(word, words)?;
        self.metrics = (!metrics.is_empty()).then_some(metrics);
        if known {
            return Ok(true);
        }
        if self.dst.is_some() {
            return Ok(false);
        }
        // The type stands before the destination, wherever that is.
        match (word.parse::<Prefix>(), kind(word)) {
            (Ok(prefix), _) => self.dst = Some(prefix),
            (_, Some(kind)) => self.kind = Some(kind),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Makes a destination that is everything one of the family that the rest speaks of.
    fn settle_family(&mut self) {
        let hops = self.nexthops.iter().flatten().map(|hop| hop.gateway);
        let said = hops.chain([self.gateway, self.prefsrc]).flatten().next();
        let family = self.family.or(said.map(Family::of));
        match (self.dst, family) {
            (Some(dst), Some(family)) if dst.is_everything() => {
                self.dst = Some(family.everything());
            }
            _ => {}
        }
    }
}

/// The type called `word`; a number is none.
fn kind(word: &str) -> Option<RouteType> {
    word.parse::<u8>().is_err().then(|| word.parse().ok())?
}

fn unknown(word: &str) -> BadWord {
    BadWord {
        wanted: "a word of ip route".to_owned(),
        found: Some(word.to_owned()),
    }
}
