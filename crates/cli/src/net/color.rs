//! Colors of addresses and states, those of `ip -color` (lib/color.c).

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::args::{Color, ShowArgs};

const MAC: u8 = 33;
const IPV4: u8 = 35;
const IPV6: u8 = 34;
const UP: u8 = 32;
const DOWN: u8 = 31;

/// Whether the flags enable colors.
pub fn is_enabled(args: &ShowArgs) -> bool {
    let is_wanted = match args.color {
        Color::Never => false,
        Color::Always => true,
        Color::Auto => io::stdout().is_terminal(),
    };
    is_wanted && !args.json
}

/// `text` with colored words.
pub fn colored(text: &str) -> String {
    let parts = text.split_inclusive([' ', '\n']).map(|part| {
        let (word, space) = part.split_at(part.trim_end().len());
        match color(word) {
            Some(color) => format!("\x1b[{color}m{word}\x1b[0m{space}"),
            None => part.to_owned(),
        }
    });
    parts.collect()
}

fn color(word: &str) -> Option<u8> {
    let is_byte = |part: &str| part.len() == 2 && u8::from_str_radix(part, 16).is_ok();
    let ip = word.split('/').next()?;
    match word {
        "UP" => Some(UP),
        "DOWN" => Some(DOWN),
        _ if word.split(':').count() == 6 && word.split(':').all(is_byte) => Some(MAC),
        _ if ip.parse::<Ipv4Addr>().is_ok() => Some(IPV4),
        _ => ip.parse::<Ipv6Addr>().ok().map(|_| IPV6),
    }
}
