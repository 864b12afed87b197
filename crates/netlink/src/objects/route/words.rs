//! Parses the arguments of `ip route`.

use super::{Encap, Hop, Route, RouteType, read_gateway_words};
use crate::schema::{Arguments, Flatten, InvalidValue, Parsed};
use crate::values::prefix::{Family, Prefix};

impl Route {
    /// Parses `[TYPE] DESTINATION [KEYWORD VALUE]…`, the arguments of `ip route add`. `default` has `family`, or
    /// without one the family of the next hop.
    ///
    /// # Errors
    /// [`InvalidValue`] with the first invalid argument.
    pub fn read_words(words: &mut Arguments<'_>, family: Option<Family>) -> Parsed<Self> {
        let mut route = Self {
            family,
            ..Self::new()
        };
        words.parse_while(|word, words| route.read_word(word, words))?;
        if let Some(word) = words.next() {
            return Err(unknown(word));
        }
        route.settle_family();
        Ok(route)
    }

    /// Parses the field with the keyword `word`; `Ok(false)` if it is not a keyword of routes.
    ///
    /// # Errors
    /// [`InvalidValue`] if the value is missing or invalid.
    pub fn read_word(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        words.offer(&["vrf", "to", "via", "nexthop", "encap"]);
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
            _ if self.parse_keyword(word, words)? => {}
            _ => return self.read_other(word, words),
        }
        Ok(true)
    }

    /// A metric, the type or the destination.
    fn read_other(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        let mut metrics = self.metrics.take().unwrap_or_default();
        let known = metrics.read_word(word, words)?;
        self.metrics = (!metrics.is_empty()).then_some(metrics);
        if known {
            return Ok(true);
        }
        if self.dst.is_some() {
            return Ok(false);
        }
        // The type precedes the destination.
        words.offer(&[
            "default",
            "unicast",
            "local",
            "broadcast",
            "multicast",
            "blackhole",
        ]);
        words.offer(&["unreachable", "prohibit", "throw"]);
        match (word.parse::<Prefix>(), kind(word)) {
            (Ok(prefix), _) => self.dst = Some(prefix),
            (_, Some(kind)) => self.kind = Some(kind),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Gives a default destination the family of the other fields.
    fn settle_family(&mut self) {
        let hops = self.nexthops.iter().flatten().map(|hop| hop.gateway);
        let via = self.via.map(|via| via.0);
        let src = self.src.map(|prefix| prefix.ip);
        let said = hops.chain([self.gateway, self.prefsrc, src, via]);
        let family = self.family.or(said.flatten().next().map(Family::of));
        let dst = self.dst.filter(|dst| !dst.is_everything());
        let family = dst.map(Prefix::family).or(family);
        match (self.dst, family) {
            (Some(dst), Some(family)) if dst.is_everything() => {
                self.dst = Some(family.everything());
            }
            _ => {}
        }
        // `inet6` may say what the destination says, too.
        if let Some(via) = self.via.filter(|via| family == Some(Family::of(via.0))) {
            (self.gateway, self.via) = (Some(via.0), None);
        }
    }
}

/// The route type called `word`; numbers are not accepted.
fn kind(word: &str) -> Option<RouteType> {
    word.parse::<u8>().is_err().then(|| word.parse().ok())?
}

fn unknown(word: &str) -> InvalidValue {
    // Words do not start with a digit, addresses of IPv4 and most of IPv6 do.
    let expected = match word.as_bytes() {
        [first, ..] if first.is_ascii_digit() => "a network, such as 192.0.2.0/24",
        _ => "a word of ip route",
    };
    InvalidValue::new(expected, Some(word))
}
