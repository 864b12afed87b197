//! Minimises a difference to a short expression and packet.

use filter::FilterOptions;

use super::compare::{Compiled, Difference, Subject};
use super::packet::Packet;

/// Minimises the filter expression and the packet of a difference while they still reproduce it.
///
/// Removes words, one by one and in groups. Truncates the packet and clears its bytes.
pub fn minimise(text: &str, options: &FilterOptions, packet: &Packet) -> (String, Packet) {
    let mut words = words(text);
    let mut packet = packet.clone();
    let mut group = words.len();
    while group > 0 {
        let mut at = 0;
        while at + group <= words.len() {
            let mut fewer = words.clone();
            fewer.drain(at..at + group);
            let is_fit = has_guards(&fewer);
            if is_fit && differs(&fewer.join(" "), options, &packet).is_some() {
                words = fewer;
            } else {
                at += 1;
            }
        }
        group = group * 2 / 3;
    }
    let text = words.join(" ");
    shrink(&text, options, &mut packet);
    (text, packet)
}

/// Whether every load has a test of its protocol beside it, as written by [`super::text`].
fn has_guards(words: &[String]) -> bool {
    let is_load = |place: usize| words.get(place + 1).is_some_and(|word| word == "[");
    let is_guard = |place: usize, protocol: &String| {
        let end = words.len().min(place + 6);
        words[place] == *protocol && words[place + 1..end] == ["[", "0", "]", ">=", "0"]
    };
    let loads = (0..words.len()).filter(|&place| is_load(place));
    let mut protocols = loads.map(|place| &words[place]);
    protocols.all(|protocol| (0..words.len()).any(|place| is_guard(place, protocol)))
}

/// Returns the difference that an expression shows on a packet.
pub fn differs(text: &str, options: &FilterOptions, packet: &Packet) -> Option<Box<Difference>> {
    let mut subject = match Subject::compile(text, options) {
        Compiled::Both(subject) | Compiled::Ours(subject, _) => subject,
        Compiled::Theirs(_) | Compiled::Neither => return None,
    };
    let ours = match subject.ours(packet) {
        Ok(ours) => ours,
        Err(difference) => return Some(difference),
    };
    subject.theirs_beside(packet, ours).err()
}

fn shrink(text: &str, options: &FilterOptions, packet: &mut Packet) {
    let attempt = |smaller: Packet, packet: &mut Packet| {
        if differs(text, options, &smaller).is_some() {
            *packet = smaller;
        }
    };
    let mut cut = packet.bytes.len();
    while cut > 0 {
        if cut <= packet.bytes.len() {
            let mut smaller = packet.clone();
            smaller.bytes.truncate(packet.bytes.len() - cut);
            if packet.is_whole() {
                smaller.original_len = smaller.bytes.len() as u32;
            }
            attempt(smaller, packet);
        }
        cut /= 2;
    }
    for at in 0..packet.bytes.len() {
        if packet.bytes[at] != 0 {
            let mut smaller = packet.clone();
            smaller.bytes[at] = 0;
            attempt(smaller, packet);
        }
    }
}

/// Splits an expression into words, brackets and operators.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_inside = false;
    for letter in text.chars() {
        let is_part = letter.is_ascii_alphanumeric() || "._:/\\-".contains(letter);
        if is_part && is_inside {
            words.last_mut().expect("a word").push(letter);
        } else if letter != ' ' {
            // Keep two-character operators together.
            match words.last_mut() {
                Some(last)
                    if "<>=!&|".contains(letter)
                        && last.len() == 1
                        && "<>=!&|".contains(last.as_str()) =>
                {
                    last.push(letter);
                }
                _ => words.push(letter.to_string()),
            }
        }
        is_inside = is_part;
    }
    words
}
