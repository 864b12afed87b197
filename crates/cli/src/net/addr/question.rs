//! Which addresses, and of which links.

use netlink::table::{BadWord, Table, Words};
use netlink::{Addr, Family, IfIndex, Link, LinkKind, Object, PortKind, Prefix};

use crate::net::link::group;
use crate::net::spelled::{Purpose, unknown};

/// What the words behind `ip address show` ask for.
#[derive(Debug, Default)]
pub struct Question {
    pub link: Link,
    pub addr: Addr,
    /// The network they are in.
    to: Option<Prefix>,
    /// A pattern of their labels.
    label: Option<String>,
    /// Whether another of the same network is before it; in IPv6, whether it is made for privacy.
    second: Option<bool>,
}

impl Question {
    pub fn read(
        purpose: Purpose,
        family: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Self, BadWord> {
        let mut question = Self::default();
        question.addr.family = family;
        while let Some(word) = words.next() {
            if question.of_addresses(word, words)? {
                continue;
            }
            let of_links = question.of_links(word, words)?;
            // What is removed is chosen by itself.
            let misplaced = of_links && purpose == Purpose::Flush;
            if misplaced || !of_links && !question.dev(word, words) {
                return Err(unknown(word));
            }
        }
        if let Some(to) = question.to {
            question.addr.family.get_or_insert(to.family());
        }
        Ok(question)
    }

    fn of_addresses(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        match word {
            "to" => self.to = Some(words.value(word)?),
            "label" => self.label = Some(words.value(word)?),
            "primary" => self.second = Some(false),
            "secondary" | "temporary" => self.second = Some(true),
            "permanent" => self.addr.dynamic = Some(false),
            "dynamic" => self.addr.dynamic = Some(true),
            "tentative" => self.addr.tentative = Some(true),
            "deprecated" => self.addr.deprecated = Some(true),
            "dadfailed" => self.addr.dadfailed = Some(true),
            "scope" if words.skip(&["all"]) => self.addr.scope = None,
            "dev" => {
                let index: IfIndex = words.value(word)?;
                (self.addr.dev, self.link.index) = (Some(index), Some(index));
            }
            _ => return self.addr.word(word, words),
        }
        Ok(true)
    }

    fn of_links(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        match word {
            "up" => self.link.up = Some(true),
            "down" => self.link.up = Some(false),
            "master" => self.link.master = Some(words.value(word)?),
            "vrf" => self.link.master = Some(words.vrf()?.0),
            "group" => self.link.group = Some(group(words)?),
            "type" => {
                let kind: String = words.value(word)?;
                let link = std::mem::take(&mut self.link);
                self.link = match kind.strip_suffix("_slave") {
                    Some(master) => link.port(PortKind::named(master)),
                    None => link.kind(LinkKind::named(&kind)),
                };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The name of a link, without `dev`.
    fn dev(&mut self, word: &str, words: &mut Words<'_>) -> bool {
        if self.addr.dev.is_some() {
            return false;
        }
        let index = words.lookup().index(word);
        (self.addr.dev, self.link.index) = (index, index);
        index.is_some()
    }

    /// Whether links without addresses are meant, too.
    pub fn shows_bare_links(&self) -> bool {
        self.addr.family.is_none() && self.label.is_none()
    }

    /// Whether an address is meant.
    pub fn fits(&self, addr: &Addr) -> bool {
        let second = addr.secondary == Some(true) || addr.temporary == Some(true);
        Object::matches(addr, &self.addr)
            && self.second.is_none_or(|wanted| wanted == second)
            && self.label.as_ref().is_none_or(|pattern| {
                let label = addr.label.as_deref();
                // IPv6 addresses have none.
                label.is_some_and(|label| is_like(label, pattern))
            })
            && self
                .to
                .is_none_or(|to| addr.local.is_some_and(|local| to.contains(local.into())))
    }
}

/// Whether `text` is like `pattern`, in which `*` stands for any letters and `?` for one.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = letters.as_str();
            let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.any(|at| is_like(&text[at..], rest))
        }
        Some(letter) => {
            let mut found = text.chars();
            let first = found.next();
            first.is_some_and(|it| letter == '?' || it == letter)
                && is_like(found.as_str(), letters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_as_in_a_shell() {
        for (text, pattern, fits) in [
            ("eth0:1", "eth0:*", true),
            ("eth0", "eth0:*", false),
            ("eth0", "e?h*", true),
            ("eth0", "*0", true),
            ("eth0", "eth", false),
            ("", "*", true),
        ] {
            assert_eq!(is_like(text, pattern), fits, "{text} {pattern}");
        }
    }
}
