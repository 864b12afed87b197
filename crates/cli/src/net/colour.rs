//! Colours, as ip(8) gives them to names and addresses (`attr_colors_light` and `attr_colors_dark`, lib/color.c).

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::args::{Color, ShowArgs};

/// What has a colour, and its code.
const NAME: u8 = 36;
const HARDWARE: u8 = 33;
const IPV4: u8 = 35;
const IPV6: u8 = 34;
const UP: u8 = 32;
const DOWN: u8 = 31;

/// Gives colours to what is shown.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    /// They are to be seen on a dark ground.
    on_dark: bool,
    /// Each line begins with a name.
    brief: bool,
}

impl Paint {
    /// That of text for which colours are asked, if they are.
    pub fn wanted(show: &ShowArgs) -> Option<Self> {
        let wanted = match show.color {
            Color::Never => false,
            Color::Always => true,
            Color::Auto => io::stdout().is_terminal(),
        };
        let paint = Self {
            on_dark: is_ground_dark(),
            brief: show.brief,
        };
        Some(paint).filter(|_| wanted && !show.json)
    }

    /// The text with colours.
    pub fn text(self, text: &str) -> String {
        let lines: Vec<_> = text.split('\n').map(|line| self.line(line)).collect();
        lines.join("\n")
    }

    fn line(self, line: &str) -> String {
        let mut painted = String::with_capacity(2 * line.len());
        let (mut before, mut at) = ("", 0);
        // The dev of a hop has none in ip(8).
        let is_hop = line.starts_with("\tnexthop");
        for part in line.split_inclusive(' ') {
            let word = part.trim_end();
            let place = Place { before, at, is_hop };
            match self.colour(word, place) {
                Some((colour, length)) => {
                    let (painted_part, rest) = part.split_at(length);
                    painted += &self.painted(colour, painted_part);
                    painted += rest;
                }
                None => painted += part,
            }
            if !word.is_empty() {
                (before, at) = (word, at + 1);
            }
        }
        painted
    }

    /// The colour of a word, and how much of it has it.
    fn colour(self, word: &str, place: Place<'_>) -> Option<(u8, usize)> {
        let Place { before, at, is_hop } = place;
        let is_name = before == "dev" && !is_hop
            || at == 1 && is_number(before) && word.ends_with(':')
            || at == 1 && self.brief && of_address(before).is_some();
        if is_name {
            return Some((NAME, word.len()));
        }
        let is_state = before == "state" || self.brief && at == 1;
        match word {
            "UP" if is_state => return Some((UP, word.len())),
            "DOWN" if is_state => return Some((DOWN, word.len())),
            _ => {}
        }
        // Of what is no route the length is no part of the network.
        let is_bare = ["inet", "inet6", "peer", "brd", "from", "to"].contains(&word_of(before));
        let address = match word.split_once('/') {
            Some((address, _)) if is_bare || self.brief => address,
            _ => word,
        };
        match of_address(address) {
            Some(colour) => Some((colour, address.len())),
            None => (self.brief && at == 0 && !word.is_empty()).then_some((NAME, word.len())),
        }
    }

    fn painted(self, colour: u8, text: &str) -> String {
        let strong = if self.on_dark { "1;" } else { "" };
        format!("\x1b[{strong}{colour}m{text}\x1b[0m")
    }
}

/// Where a word stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    before: &'a str,
    at: usize,
    is_hop: bool,
}

/// Whether it is that of a link, before its name.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(':');
    digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// What is behind the priority of a rule.
fn word_of(word: &str) -> &str {
    word.rsplit('\t').next().unwrap_or(word)
}

/// The colour of an address or a network.
fn of_address(word: &str) -> Option<u8> {
    let mut parts = word.split(':');
    let is_byte = |part: &str| part.len() == 2 && u8::from_str_radix(part, 16).is_ok();
    if parts.clone().count() == 6 && parts.all(is_byte) {
        return Some(HARDWARE);
    }
    let ip = word.split('/').next()?;
    if ip.parse::<Ipv4Addr>().is_ok() {
        Some(IPV4)
    } else {
        ip.parse::<Ipv6Addr>().ok().map(|_| IPV6)
    }
}

/// What `COLORFGBG` says last is the ground, and dark from 0 to 6 and at 8 (`set_color_palette`, lib/color.c).
fn is_ground_dark() -> bool {
    let said = std::env::var("COLORFGBG").unwrap_or_default();
    let ground = said.rsplit_once(';').map(|(_, ground)| ground);
    matches!(ground, Some("0" | "1" | "2" | "3" | "4" | "5" | "6" | "8"))
}
