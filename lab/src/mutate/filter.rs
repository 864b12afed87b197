//! Texts of filters: words, numbers and signs.

use super::{Plain, two};
use crate::oracle::Random;

/// Words of the language, values that they take, and signs.
const WORDS: [&str; 72] = [
    "and",
    "or",
    "not",
    "(",
    ")",
    "host",
    "net",
    "port",
    "portrange",
    "src",
    "dst",
    "src or dst",
    "src and dst",
    "ether",
    "ip",
    "ip6",
    "arp",
    "rarp",
    "tcp",
    "udp",
    "sctp",
    "icmp",
    "icmp6",
    "igmp",
    "proto",
    "protochain",
    "broadcast",
    "multicast",
    "gateway",
    "less",
    "greater",
    "len",
    "vlan",
    "mpls",
    "pppoed",
    "pppoes",
    "geneve",
    "vxlan",
    "inbound",
    "outbound",
    "mask",
    "link",
    "wlan",
    "type",
    "subtype",
    "dir",
    "lane",
    "any",
    "inner",
    "tcpflags",
    "tcp-syn",
    "icmptype",
    "[",
    "]",
    ":",
    "&",
    "|",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "<<",
    ">>",
    "=",
    "!=",
    "<=",
    ">=",
    "!",
    "10.1.2.3",
    "fe80::1",
];

/// Numbers at the ends of their ranges, in each base.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "07",
    "255",
    "0xff",
    "1500",
    "65535",
    "65536",
    "0xffffffff",
    "4294967296",
    "10.0.0.0/8",
    "00:11:22:33:44:55",
];

/// Changes one word, or the order of words; one time in eight bytes as `plain` does. The result is UTF-8.
pub fn filter(random: &mut Random, input: &[u8], plain: Plain<'_>) -> Vec<u8> {
    let text = String::from_utf8_lossy(input).into_owned();
    let mut words = words(&text);
    let [one, other] = two(random, words.len() + 1);
    let word = |random: &mut Random| {
        let word = if random.one_in(4) {
            random.word(&NUMBERS)
        } else {
            random.word(&WORDS)
        };
        format!(" {word} ")
    };
    match random.below(8) {
        0 => {
            let mut bytes = input.to_vec();
            plain(&mut bytes, input.len() + 16);
            return String::from_utf8_lossy(&bytes).into_owned().into_bytes();
        }
        1 if one < words.len() => drop(words.remove(one)),
        2 if one < words.len() => words[one] = word(random),
        3 if one.max(other) < words.len() => words.swap(one, other),
        4 => {
            // A term in parentheses, which may be negated.
            let (begin, end) = (one.min(other), one.max(other));
            words.insert(end, " ) ".to_owned());
            words.insert(begin, random.word(&[" ( ", " not ( "]).to_owned());
        }
        5 => {
            let (begin, end) = (one.min(other), one.max(other));
            let again = words[begin..end].to_vec();
            let joined = random.word(&[" and ", " or "]).to_owned();
            words.splice(end..end, [joined].into_iter().chain(again));
        }
        _ => words.insert(one, word(random)),
    }
    words.concat().into_bytes()
}

/// Runs of letters, digits, dots and dashes; each other character by itself.
fn words(text: &str) -> Vec<String> {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut words: Vec<String> = Vec::new();
    let mut was_inside = false;
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if is_inside(c) && was_inside => word.push(c),
            _ => words.push(c.to_string()),
        }
        was_inside = is_inside(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use filter::{FilterOptions, LinkType, NoNames, compile};

    use super::*;

    #[test]
    fn words_and_signs_are_taken_apart() {
        let expected = ["tcp", "[", "13", "]", "&", "tcp-syn", "!", "=", "0"];
        assert_eq!(words("tcp[13]&tcp-syn!=0"), expected);
        assert_eq!(words("a  b").concat(), "a  b");
    }

    #[test]
    fn many_mutated_filters_are_filters() {
        let mut random = Random::new(1);
        let options = FilterOptions::new(LinkType::Ethernet);
        let mut accepted = 0;
        for _ in 0..2000 {
            let mutated = filter(
                &mut random,
                b"tcp port 80 and host 10.0.0.1 or ip[8] < 5",
                &mut |bytes, _| bytes.push(0xff),
            );
            let text = String::from_utf8(mutated).expect("UTF-8");
            accepted += u32::from(compile(&text, &options, &NoNames).is_ok());
        }
        // Plain mutations leave hardly any.
        assert!(accepted > 100, "{accepted}");
    }
}
