//! Colors of names, addresses and states, as `ip -color` has them (lib/color.c).

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::args::{Color, ShowArgs};

const NAME: u8 = 36;
const MAC: u8 = 33;
const IPV4: u8 = 35;
const IPV6: u8 = 34;
const UP: u8 = 32;
const DOWN: u8 = 31;

/// Colors the words of printed text.
#[derive(Clone, Copy, Debug)]
pub struct Colors {
    /// With `-br` each line starts with a name or an address.
    brief: bool,
}

impl Colors {
    /// The colors if the flags enable them.
    pub fn new(args: &ShowArgs) -> Option<Self> {
        let enabled = match args.color {
            Color::Never => false,
            Color::Always => true,
            Color::Auto => io::stdout().is_terminal(),
        };
        (enabled && !args.json).then_some(Self { brief: args.brief })
    }

    pub fn text(self, text: &str) -> String {
        let lines: Vec<_> = text.split('\n').map(|line| self.line(line)).collect();
        lines.join("\n")
    }

    fn line(self, line: &str) -> String {
        let mut colored = String::with_capacity(2 * line.len());
        let (mut before, mut number) = ("", 0);
        // ip(8) does not color the device of a nexthop.
        let is_hop = line.starts_with("\tnexthop");
        for part in line.split_inclusive(' ') {
            let word = part.trim_end();
            let is_device = before == "dev" && !is_hop;
            let color = if is_device {
                Some((NAME, word.len()))
            } else {
                self.color(word, before, number)
            };
            match color {
                Some((color, length)) => {
                    let (word, rest) = part.split_at(length);
                    colored.push_str(&format_args!("\x1b[{color}m{word}\x1b[0m{rest}").to_string());
                }
                None => colored += part,
            }
            if !word.is_empty() {
                (before, number) = (word, number + 1);
            }
        }
        colored
    }

    /// The color of a word and how many of its bytes have it.
    fn color(self, word: &str, before: &str, number: usize) -> Option<(u8, usize)> {
        let is_index = before.ends_with(':') && before.trim_end_matches(':').parse::<u32>().is_ok();
        let is_name = number == 1
            && (is_index && word.ends_with(':') || self.brief && address_color(before).is_some());
        if is_name {
            return Some((NAME, word.len()));
        }
        let is_state = before == "state" || self.brief && number == 1;
        match word {
            "UP" if is_state => return Some((UP, word.len())),
            "DOWN" if is_state => return Some((DOWN, word.len())),
            _ => {}
        }
        // Only routes have the prefix length in color. A tab separates the priority of a rule.
        let before = before.rsplit('\t').next().unwrap_or(before);
        let is_bare = ["inet", "inet6", "peer", "brd", "from", "to"].contains(&before);
        let address = match word.split_once('/') {
            Some((address, _)) if is_bare || self.brief => address,
            _ => word,
        };
        match address_color(address) {
            Some(color) => Some((color, address.len())),
            None => (self.brief && number == 0 && !word.is_empty()).then_some((NAME, word.len())),
        }
    }
}

fn address_color(word: &str) -> Option<u8> {
    let is_byte = |part: &str| part.len() == 2 && u8::from_str_radix(part, 16).is_ok();
    let ip = word.split('/').next()?;
    if word.split(':').count() == 6 && word.split(':').all(is_byte) {
        Some(MAC)
    } else if ip.parse::<Ipv4Addr>().is_ok() {
        Some(IPV4)
    } else {
        ip.parse::<Ipv6Addr>().ok().map(|_| IPV6)
    }
}
